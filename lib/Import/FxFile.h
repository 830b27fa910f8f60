//===- FxFile.h - The fields of a captured graph ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Typed access to the fields of a .fx.json file, and errors about them that
// say where: `nodes[17].args[1] of "add_3": ...`.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_IMPORT_FXFILE_H
#define REGATHER_LIB_IMPORT_FXFILE_H

#include "Json.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace regather::fx {

/// One parsed file. Every reading function reports what it does not accept.
class FxFile {
public:
  /// Importing goes on after an error, so that one run reports several, but
  /// not without end.
  static constexpr unsigned kMaxErrors = 20;

  FxFile(llvm::SourceMgr &sourceMgr, mlir::MLIRContext *context);

  /// Parses the text, checks schema and version, and interns the tables of
  /// modules and source files.
  llvm::LogicalResult read();

  mlir::MLIRContext *getContext() const { return context; }
  const JsonValue &getRoot() const { return document.getRoot(); }

  /// Starts an error about `value`. The path to it is found by descending from
  /// the root, so that nothing has to be carried along where all goes well. An
  /// error within a node stands at the node's source line and names the node.
  mlir::InFlightDiagnostic emitError(const JsonValue &value);
  bool hasErrors() const { return numErrors != 0; }
  bool hasTooManyErrors() const { return numErrors >= kMaxErrors; }

  /// Checks that `value` is of `kind`.
  llvm::LogicalResult expect(const JsonValue &value, JsonValue::Kind kind);

  /// The field of an object that must be there, or null after an error.
  const JsonValue *require(const JsonValue &object, llvm::StringRef field,
                           JsonValue::Kind kind);
  /// The field if it is there. Fails if it has another kind.
  llvm::FailureOr<const JsonValue *>
  lookup(const JsonValue &object, llvm::StringRef field, JsonValue::Kind kind);

  llvm::FailureOr<llvm::StringRef> requireString(const JsonValue &object,
                                                 llvm::StringRef field);
  /// The elements of an array; none if the field is absent and `optional`.
  llvm::FailureOr<llvm::ArrayRef<JsonValue>> getArray(const JsonValue &object,
                                                      llvm::StringRef field,
                                                      bool optional = false);

  /// The path of the module that `object` belongs to; null if absent.
  llvm::FailureOr<mlir::StringAttr> getModule(const JsonValue &object);
  /// Where the node stands in the model's source, under the node's name.
  /// Without a `loc`, its place in the file.
  llvm::FailureOr<mlir::Location> getLocation(const JsonValue &node);
  /// A place in the file.
  mlir::Location getFileLocation(size_t offset);

private:
  /// The source line of a node, or null if it has none that can be read.
  mlir::LocationAttr getSourceLine(const JsonValue &node) const;
  llvm::LogicalResult readNames(llvm::StringRef field,
                                llvm::SmallVectorImpl<mlir::StringAttr> &names);
  llvm::LogicalResult emitParseError(const JsonError &error);

  mlir::MLIRContext *context;
  llvm::StringRef text;
  mlir::StringAttr fileName;
  JsonDocument document;
  llvm::SmallVector<mlir::StringAttr, 0> modules;
  llvm::SmallVector<mlir::StringAttr, 0> sourceFiles;
  /// Offsets at which lines begin; filled when first asked for.
  llvm::SmallVector<size_t, 0> lineStarts;
  unsigned numErrors = 0;
};

} // namespace regather::fx

#endif // REGATHER_LIB_IMPORT_FXFILE_H
