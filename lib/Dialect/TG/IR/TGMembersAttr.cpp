//===- TGMembersAttr.cpp - What a flat argument holds ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace regather::tg;

int64_t MemberAttr::getNumElements() const {
  return llvm::product_of(getShape());
}

//===----------------------------------------------------------------------===//
// MemberAttr: <"norm.weight" at 0 of [64] registration 0 aliases ["tied"]>
//===----------------------------------------------------------------------===//

static MemberAttr parseMember(AsmParser &parser) {
  std::string name;
  int64_t offset = 0, registration = -1;
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> aliases;
  if (parser.parseString(&name) || parser.parseKeyword("at") ||
      parser.parseInteger(offset) || parser.parseKeyword("of") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
        return parser.parseInteger(shape.emplace_back());
      }))
    return {};
  if (succeeded(parser.parseOptionalKeyword("registration")) &&
      parser.parseInteger(registration))
    return {};
  auto parseAlias = [&]() -> ParseResult {
    std::string alias;
    if (parser.parseString(&alias))
      return failure();
    aliases.push_back(parser.getBuilder().getStringAttr(alias));
    return success();
  };
  if (succeeded(parser.parseOptionalKeyword("aliases")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAlias))
    return {};
  return MemberAttr::get(parser.getContext(),
                         parser.getBuilder().getStringAttr(name), offset, shape,
                         registration, aliases);
}

static void printMember(AsmPrinter &printer, MemberAttr member) {
  printer.printString(member.getName().getValue());
  printer << " at " << member.getOffset() << " of [";
  llvm::interleaveComma(member.getShape(), printer.getStream());
  printer << ']';
  if (member.getRegistration() >= 0)
    printer << " registration " << member.getRegistration();
  if (member.getAliases().empty())
    return;
  printer << " aliases [";
  llvm::interleaveComma(
      member.getAliases(), printer.getStream(),
      [&](StringAttr alias) { printer.printString(alias.getValue()); });
  printer << ']';
}

Attribute MemberAttr::parse(AsmParser &parser, Type) {
  MemberAttr member;
  if (parser.parseLess() || !(member = parseMember(parser)) ||
      parser.parseGreater())
    return {};
  return member;
}

void MemberAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printMember(printer, *this);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// MembersAttr: <["norm.weight" at 0 of [64], ...]>
//===----------------------------------------------------------------------===//

Attribute MembersAttr::parse(AsmParser &parser, Type) {
  SmallVector<MemberAttr> members;
  SMLoc loc = parser.getCurrentLocation();
  auto parseOne = [&]() {
    return success(
        static_cast<bool>(members.emplace_back(parseMember(parser))));
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<MembersAttr>(loc, parser.getContext(),
                                        ArrayRef<MemberAttr>(members));
}

void MembersAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(
      getMembers(), printer.getStream(),
      [&](MemberAttr member) { printMember(printer, member); });
  printer << "]>";
}

LogicalResult MembersAttr::verify(llvm::function_ref<InFlightDiagnostic()> emit,
                                  ArrayRef<MemberAttr> members) {
  llvm::SmallDenseSet<StringAttr> names;
  int64_t end = 0;
  for (MemberAttr member : members) {
    StringRef name = member.getName().getValue();
    if (!names.insert(member.getName()).second)
      return emit() << "two members are called \"" << name << '"';
    if (member.getOffset() < end)
      return emit() << "member \"" << name << "\" begins at element "
                    << member.getOffset()
                    << ", but the one before it ends at element " << end;
    std::optional<int64_t> size = 1;
    for (int64_t extent : member.getShape()) {
      if (extent < 0)
        return emit() << "shape of member \"" << name
                      << "\" must not be negative, got " << extent;
      size = size ? llvm::checkedMul(*size, extent) : size;
    }
    std::optional<int64_t> behind =
        size ? llvm::checkedAdd(member.getOffset(), *size) : std::nullopt;
    if (!behind)
      return emit() << "member \"" << name
                    << "\" has more elements than 64 bits can count";
    end = *behind;
  }
  return success();
}

MembersAttr
MembersAttr::rename(llvm::function_ref<std::string(StringRef)> newName) const {
  Builder builder(getContext());
  SmallVector<MemberAttr> members;
  for (MemberAttr member : getMembers()) {
    SmallVector<StringAttr> aliases;
    for (StringAttr alias : member.getAliases())
      aliases.push_back(builder.getStringAttr(newName(alias.getValue())));
    members.push_back(MemberAttr::get(
        getContext(), builder.getStringAttr(newName(member.getName())),
        member.getOffset(), member.getShape(), member.getRegistration(),
        aliases));
  }
  return MembersAttr::get(getContext(), members);
}
