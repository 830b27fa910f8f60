//===- FxFile.cpp - The fields of a captured graph ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FxFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <utility>

using namespace mlir;
using namespace regather::fx;
using Kind = JsonValue::Kind;

static constexpr llvm::StringLiteral kSchema = "regather.fx";
static constexpr int64_t kVersion = 1;

FxFile::FxFile(llvm::SourceMgr &sourceMgr, MLIRContext *context)
    : context(context) {
  const llvm::MemoryBuffer *buffer =
      sourceMgr.getMemoryBuffer(sourceMgr.getMainFileID());
  text = buffer->getBuffer();
  fileName = StringAttr::get(context, buffer->getBufferIdentifier());
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Location FxFile::getFileLocation(size_t offset) {
  // SourceMgr counts columns from the start of the line each time, which is
  // quadratic for a graph that stands on one line.
  if (lineStarts.empty()) {
    lineStarts.push_back(0);
    for (size_t end = text.find('\n'); end != StringRef::npos;
         end = text.find('\n', end + 1))
      lineStarts.push_back(end + 1);
  }
  size_t line = llvm::upper_bound(lineStarts, offset) - lineStarts.begin();
  size_t column = offset - lineStarts[line - 1] + 1;
  // Without a column, the handler of diagnostics does not print the line.
  constexpr size_t kMaxShownLine = 200;
  size_t end = line < lineStarts.size() ? lineStarts[line] : text.size();
  if (end - lineStarts[line - 1] > kMaxShownLine)
    column = 0;
  return FileLineColLoc::get(fileName, line, column);
}

LocationAttr FxFile::getSourceLine(const JsonValue &node) const {
  const JsonValue *loc = node.is(Kind::Object) ? node.find("loc") : nullptr;
  if (!loc || !loc->is(Kind::Array) || loc->getElements().size() != 2)
    return {};
  const JsonValue &file = loc->getElements()[0];
  const JsonValue &line = loc->getElements()[1];
  constexpr int64_t kMaxLine = std::numeric_limits<int32_t>::max();
  if (!file.is(Kind::Integer) || !line.is(Kind::Integer) ||
      line.getInteger() < 0 || line.getInteger() > kMaxLine ||
      file.getInteger() < 0 ||
      file.getInteger() >= static_cast<int64_t>(sourceFiles.size()))
    return {};
  return FileLineColLoc::get(sourceFiles[file.getInteger()], line.getInteger(),
                             /*column=*/0);
}

FailureOr<Location> FxFile::getLocation(const JsonValue &node) {
  LocationAttr line = getSourceLine(node);
  if (const JsonValue *loc = node.find("loc"); loc && !line) {
    emitError(*loc) << "expects [file, line] with a file below "
                    << sourceFiles.size();
    return failure();
  }
  FailureOr<StringRef> name = requireString(node, "name");
  if (failed(name))
    return failure();
  return Location(
      NameLoc::get(StringAttr::get(context, *name),
                   line ? Location(line) : getFileLocation(node.getOffset())));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// The child of `parent` in which the value at `offset` lies: the last one that
/// does not begin after it.
static const JsonValue *findChild(const JsonValue &parent, size_t offset,
                                  llvm::raw_ostream &path) {
  if (parent.is(Kind::Array)) {
    ArrayRef<JsonValue> elements = parent.getElements();
    const JsonValue *child =
        llvm::partition_point(elements, [&](const JsonValue &element) {
          return element.getOffset() <= offset;
        });
    path << '[' << (child - elements.begin() - 1) << ']';
    return child - 1;
  }
  ArrayRef<JsonMember> members = parent.getMembers();
  const JsonMember *member =
      llvm::partition_point(members, [&](const JsonMember &candidate) {
        return candidate.value.getOffset() <= offset;
      });
  --member;
  if (path.tell() != 0)
    path << '.';
  path << member->key;
  return &member->value;
}

InFlightDiagnostic FxFile::emitError(const JsonValue &value) {
  ++numErrors;
  std::string path;
  llvm::raw_string_ostream stream(path);
  const JsonValue *nodes = getRoot().find("nodes");
  const JsonValue *node = nullptr;
  const JsonValue *parent = nullptr;
  for (const JsonValue *current = &getRoot();
       current->getOffset() != value.getOffset();) {
    const JsonValue *child = findChild(*current, value.getOffset(), stream);
    parent = std::exchange(current, child);
    if (parent == nodes)
      node = current;
  }
  LocationAttr loc = node ? getSourceLine(*node) : LocationAttr();
  InFlightDiagnostic diag =
      mlir::emitError(loc ? Location(loc) : getFileLocation(value.getOffset()));
  diag << (path.empty() ? "file" : path);
  const JsonValue *name =
      node && node->is(Kind::Object) ? node->find("name") : nullptr;
  if (name && name->is(Kind::String) && name != &value)
    diag << " of \"" << name->getString() << '"';
  diag << ": ";
  return diag;
}

LogicalResult FxFile::emitParseError(const JsonError &error) {
  ++numErrors;
  auto loc = cast<FileLineColLoc>(getFileLocation(error.offset));
  InFlightDiagnostic diag = mlir::emitError(loc)
                            << "invalid JSON: " << error.message;
  if (loc.getColumn() == 0) // Left out because the line is long.
    diag << ", at column " << error.offset - lineStarts[loc.getLine() - 1] + 1;
  if (error.opened)
    diag.attachNote(getFileLocation(*error.opened))
        << "this bracket is still open";
  return diag;
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

LogicalResult FxFile::expect(const JsonValue &value, Kind kind) {
  if (value.is(kind))
    return success();
  return emitError(value) << "expects " << describeKind(kind) << ", got "
                          << describeKind(value.getKind());
}

FailureOr<const JsonValue *> FxFile::lookup(const JsonValue &object,
                                            StringRef field, Kind kind) {
  const JsonValue *value = object.find(field);
  if (value && failed(expect(*value, kind)))
    return failure();
  return value;
}

const JsonValue *FxFile::require(const JsonValue &object, StringRef field,
                                 Kind kind) {
  FailureOr<const JsonValue *> value = lookup(object, field, kind);
  if (failed(value))
    return nullptr;
  if (!*value)
    emitError(object) << "misses field \"" << field << '"';
  return *value;
}

FailureOr<StringRef> FxFile::requireString(const JsonValue &object,
                                           StringRef field) {
  const JsonValue *value = require(object, field, Kind::String);
  if (!value)
    return failure();
  return value->getString();
}

FailureOr<ArrayRef<JsonValue>>
FxFile::getArray(const JsonValue &object, StringRef field, bool optional) {
  if (optional && !object.find(field))
    return ArrayRef<JsonValue>();
  const JsonValue *value = require(object, field, Kind::Array);
  if (!value)
    return failure();
  return value->getElements();
}

FailureOr<StringAttr> FxFile::getModule(const JsonValue &object) {
  FailureOr<const JsonValue *> value = lookup(object, "module", Kind::Integer);
  if (failed(value))
    return failure();
  if (!*value)
    return StringAttr();
  int64_t index = (*value)->getInteger();
  if (index >= 0 && index < static_cast<int64_t>(modules.size()))
    return modules[index];
  emitError(**value) << "expects a number below " << modules.size()
                     << ", the number of modules, got " << index;
  return failure();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

LogicalResult FxFile::readNames(StringRef field,
                                SmallVectorImpl<StringAttr> &names) {
  FailureOr<ArrayRef<JsonValue>> elements =
      getArray(getRoot(), field, /*optional=*/true);
  if (failed(elements))
    return failure();
  names.reserve(elements->size());
  for (const JsonValue &element : *elements) {
    if (failed(expect(element, Kind::String)))
      return failure();
    names.push_back(StringAttr::get(context, element.getString()));
  }
  return success();
}

LogicalResult FxFile::read() {
  if (std::optional<JsonError> error = document.parse(text))
    return emitParseError(*error);
  const JsonValue &root = getRoot();
  if (failed(expect(root, Kind::Object)))
    return failure();
  // Nothing else can be relied on before these two are known.
  const JsonValue *schema = require(root, "schema", Kind::String);
  if (!schema)
    return failure();
  if (schema->getString() != kSchema)
    return emitError(*schema) << "expects \"" << kSchema << "\", got \""
                              << schema->getString() << '"';
  const JsonValue *version = require(root, "version", Kind::Integer);
  if (!version)
    return failure();
  if (version->getInteger() != kVersion)
    return emitError(*version) << "expects version " << kVersion << ", got "
                               << version->getInteger();
  if (failed(readNames("modules", modules)))
    return failure();
  return readNames("files", sourceFiles);
}
