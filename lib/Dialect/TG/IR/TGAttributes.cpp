//===- TGAttributes.cpp - Attributes of the tg dialect --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TGLibraryAttributes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather::tg;

#include "regather/Dialect/TG/IR/TGEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "regather/Dialect/TG/IR/TGAttributes.cpp.inc"

/// Parses a keyword of an enumeration. Before the keyword that is none, the
/// error says `problem`.
template <typename Kind>
static std::optional<Kind>
parseKind(AsmParser &parser, std::optional<Kind> (*symbolize)(StringRef),
          const char *problem) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return std::nullopt;
  std::optional<Kind> kind = symbolize(keyword);
  if (!kind)
    parser.emitError(loc) << problem << " \"" << keyword << '"';
  return kind;
}

//===----------------------------------------------------------------------===//
// AxesAttr: <[dp, tp]>, within operations [dp, tp]
//===----------------------------------------------------------------------===//

AxesAttr AxesAttr::get(MLIRContext *context, ArrayRef<StringRef> names) {
  SmallVector<StringAttr> attrs;
  for (StringRef name : names)
    attrs.push_back(StringAttr::get(context, name));
  return get(context, ArrayRef<StringAttr>(attrs));
}

ParseResult regather::tg::parseAxisList(AsmParser &parser, AxesAttr &axes) {
  SmallVector<StringAttr> names;
  auto parseName = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseName,
                                     " in a list of mesh axes"))
    return failure();
  axes = parser.getChecked<AxesAttr>(loc, parser.getContext(),
                                     ArrayRef<StringAttr>(names));
  return success(axes != nullptr);
}

void regather::tg::printAxisList(AsmPrinter &printer, AxesAttr axes) {
  printer << '[';
  llvm::interleaveComma(
      axes.getNames(), printer.getStream(),
      [&](StringAttr name) { printer.printKeywordOrString(name.getValue()); });
  printer << ']';
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  AxesAttr axes;
  if (parser.parseLess() || parseAxisList(parser, axes) ||
      parser.parseGreater())
    return {};
  return axes;
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxisList(printer, *this);
  printer << '>';
}

LogicalResult AxesAttr::verify(llvm::function_ref<InFlightDiagnostic()> emit,
                               ArrayRef<StringAttr> names) {
  llvm::SmallDenseSet<StringAttr> seen;
  for (StringAttr name : names) {
    if (name.getValue().empty())
      return emit() << "axis names must not be empty";
    if (!seen.insert(name).second)
      return emit() << "axis \"" << name.getValue() << "\" is listed twice";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// AxisPlacementAttr: <[dp, tp] = shard 0>, within placements without <>
//===----------------------------------------------------------------------===//

static AxisPlacementAttr parseAxisPlacement(AsmParser &parser) {
  AxesAttr axes;
  if (parseAxisList(parser, axes) || parser.parseEqual())
    return {};
  auto kind = parseKind(parser, symbolizePlacementKind,
                        "expects \"shard\" or \"partial\", got");
  if (!kind)
    return {};
  int64_t dim = 0;
  Reduction reduction = Reduction::Sum;
  if (*kind == PlacementKind::Shard) {
    if (parser.parseInteger(dim))
      return {};
  } else {
    auto parsed = parseKind(parser, symbolizeReduction,
                            "expects a reduction (sum, avg or max), got");
    if (!parsed)
      return {};
    reduction = *parsed;
  }
  return AxisPlacementAttr::get(parser.getContext(), axes, *kind, dim,
                                reduction);
}

static void printAxisPlacement(AsmPrinter &printer,
                               AxisPlacementAttr placement) {
  printAxisList(printer, placement.getAxes());
  printer << " = " << stringifyPlacementKind(placement.getKind()) << ' ';
  if (placement.getKind() == PlacementKind::Shard)
    printer << placement.getDim();
  else
    printer << stringifyReduction(placement.getReduction());
}

Attribute AxisPlacementAttr::parse(AsmParser &parser, Type) {
  AxisPlacementAttr placement;
  if (parser.parseLess() || !(placement = parseAxisPlacement(parser)) ||
      parser.parseGreater())
    return {};
  return placement;
}

void AxisPlacementAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxisPlacement(printer, *this);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// PlacementAttr: <@mesh [[dp] = shard 0] of [10, 64]>
//===----------------------------------------------------------------------===//

Attribute PlacementAttr::parse(AsmParser &parser, Type) {
  StringAttr mesh;
  SmallVector<AxisPlacementAttr> axes;
  SmallVector<int64_t> globalShape;
  auto parseAxis = [&]() -> ParseResult {
    AxisPlacementAttr axis = parseAxisPlacement(parser);
    if (!axis)
      return failure();
    axes.push_back(axis);
    return success();
  };
  auto parseSize = [&]() {
    return parser.parseInteger(globalShape.emplace_back());
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseSymbolName(mesh) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return {};
  if (succeeded(parser.parseOptionalKeyword("of")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PlacementAttr>(
      loc, parser.getContext(), FlatSymbolRefAttr::get(mesh),
      ArrayRef<AxisPlacementAttr>(axes), ArrayRef<int64_t>(globalShape));
}

void PlacementAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printSymbolName(getMesh().getValue());
  printer << " [";
  llvm::interleaveComma(
      getAxes(), printer.getStream(),
      [&](AxisPlacementAttr axis) { printAxisPlacement(printer, axis); });
  printer << ']';
  if (!getGlobalShape().empty()) {
    printer << " of [";
    llvm::interleaveComma(getGlobalShape(), printer.getStream());
    printer << ']';
  }
  printer << '>';
}

LogicalResult
PlacementAttr::verify(llvm::function_ref<InFlightDiagnostic()> emit,
                      FlatSymbolRefAttr mesh, ArrayRef<AxisPlacementAttr> axes,
                      ArrayRef<int64_t> globalShape) {
  llvm::SmallDenseSet<StringAttr> seen;
  llvm::SmallSet<int64_t, 4> dims;
  for (AxisPlacementAttr axis : axes) {
    for (StringAttr name : axis.getAxes().getNames())
      if (!seen.insert(name).second)
        return emit() << "axis \"" << name.getValue() << "\" is placed twice";
    if (axis.getKind() != PlacementKind::Shard)
      continue;
    if (axis.getDim() < 0)
      return emit() << "sharded dimension must not be negative, got "
                    << axis.getDim();
    if (!dims.insert(axis.getDim()).second)
      return emit() << "dimension " << axis.getDim()
                    << " is sharded twice; list its axes together, as in "
                       "[dp, tp] = shard "
                    << axis.getDim();
  }
  for (int64_t size : globalShape)
    if (size < 0)
      return emit() << "global shape must not be negative, got " << size;
  return success();
}

LogicalResult regather::tg::verifyPlacement(
    llvm::function_ref<InFlightDiagnostic()> emitError, PlacementAttr placement,
    RankedTensorType local, MeshOp mesh) {
  ArrayRef<int64_t> global = placement.getGlobalShape();
  if (!global.empty() && static_cast<int64_t>(global.size()) != local.getRank())
    return emitError() << "global shape has " << global.size()
                       << " dimensions, but the tensor is " << local;
  SmallVector<int64_t> expected(global);
  if (expected.empty())
    expected.assign(local.getShape().begin(), local.getShape().end());
  for (AxisPlacementAttr axis : placement.getAxes()) {
    for (StringAttr name : axis.getAxes().getNames()) {
      if (mesh.getAxisSize(name.getValue()))
        continue;
      InFlightDiagnostic diag = emitError() << "mesh \"" << mesh.getSymName()
                                            << "\" has no axis \""
                                            << name.getValue() << '"';
      diag.attachNote(mesh.getLoc()) << "mesh declared here";
      return diag;
    }
    if (axis.getKind() != PlacementKind::Shard)
      continue;
    if (axis.getDim() >= local.getRank())
      return emitError() << "dimension " << axis.getDim()
                         << " is sharded, but the tensor is " << local;
    // A mesh that is itself invalid may be seen here before its verifier ran.
    int64_t ranks = mesh.getGroupSize(axis.getAxes());
    if (ranks < 1)
      return success();
    if (!global.empty())
      expected[axis.getDim()] = getShardSize(global[axis.getDim()], ranks);
  }
  for (auto [dim, size] : llvm::enumerate(expected))
    if (size != local.getDimSize(dim))
      return emitError() << "expects " << size << " elements along dimension "
                         << dim << " of each shard, got "
                         << local.getDimSize(dim) << " in " << local;
  return success();
}

FailureOr<SmallVector<int64_t>>
regather::tg::getGlobalShape(PlacementAttr placement, RankedTensorType local,
                             MeshOp mesh) {
  SmallVector<int64_t> shape(local.getShape());
  if (!placement)
    return shape;
  if (!placement.getGlobalShape().empty())
    return SmallVector<int64_t>(placement.getGlobalShape());
  for (AxisPlacementAttr axis : placement.getAxes()) {
    if (axis.getKind() != PlacementKind::Shard)
      continue;
    if (axis.getDim() >= local.getRank())
      return failure();
    shape[axis.getDim()] *= mesh.getGroupSize(axis.getAxes());
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// RoleAttr: <update of 3>
//===----------------------------------------------------------------------===//

Attribute RoleAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  auto kind = parseKind(parser, symbolizeRoleKind, "unknown role");
  if (!kind)
    return {};
  RoleAttr role = RoleAttr::get(parser.getContext(), *kind);
  int64_t argument = -1;
  if (role.namesArgument()) {
    if (parser.parseKeyword("of") || parser.parseInteger(argument))
      return {};
    if (argument < 0) {
      parser.emitError(loc)
          << "argument number must not be negative, got " << argument;
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return RoleAttr::get(parser.getContext(), *kind, argument);
}

void RoleAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyRoleKind(getKind());
  if (namesArgument())
    printer << " of " << getArgument();
  printer << '>';
}

//===----------------------------------------------------------------------===//
// ReshardAttr: <always>, <group of 2>
//===----------------------------------------------------------------------===//

Attribute ReshardAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  auto kind = parseKind(parser, symbolizeReshardKind,
                        "expects always, never or group, got");
  if (!kind)
    return {};
  int64_t ranks = 0;
  if (*kind == ReshardKind::Group) {
    if (parser.parseKeyword("of") || parser.parseInteger(ranks))
      return {};
    if (ranks < 2) {
      parser.emitError(loc)
          << "group must have at least two ranks, got " << ranks;
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return ReshardAttr::get(parser.getContext(), *kind, ranks);
}

void ReshardAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyReshardKind(getKind());
  if (getKind() == ReshardKind::Group)
    printer << " of " << getRanks();
  printer << '>';
}

//===----------------------------------------------------------------------===//
// PolicyAttr: <must_save>, <must_recompute, planned>
//===----------------------------------------------------------------------===//

Attribute PolicyAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  auto policy = parseKind(parser, symbolizePolicy,
                          "expects must_save, prefer_save, prefer_recompute, "
                          "must_recompute or offload, got");
  if (!policy)
    return {};
  bool planned = succeeded(parser.parseOptionalComma());
  if ((planned && parser.parseKeyword("planned")) || parser.parseGreater())
    return {};
  return PolicyAttr::get(parser.getContext(), *policy, planned);
}

void PolicyAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyPolicy(getValue());
  if (getPlanned())
    printer << ", planned";
  printer << '>';
}

void TGDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "regather/Dialect/TG/IR/TGAttributes.cpp.inc"
      >();
}
