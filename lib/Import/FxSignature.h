//===- FxSignature.h - Arguments and results of the step --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_IMPORT_FXSIGNATURE_H
#define REGATHER_LIB_IMPORT_FXSIGNATURE_H

#include "FxFile.h"
#include "FxMeshes.h"
#include "FxValues.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::fx {

/// Reads `parameters`, `buffers`, `inputs` and `outputs`.
class FxSignature {
public:
  FxSignature(FxFile &file, FxMeshes &meshes, FxValues &values)
      : file(file), meshes(meshes), values(values) {}

  /// Makes @step with an argument for each parameter, buffer and input, in
  /// this order, and defines the placeholders among `nodes`. The function
  /// returns nothing yet.
  llvm::FailureOr<mlir::func::FuncOp>
  readArguments(llvm::ArrayRef<JsonValue> nodes, mlir::OpBuilder &builder);

  /// Makes the return at the end of `func`, whose body is complete, and gives
  /// the results their roles.
  llvm::LogicalResult readResults(mlir::func::FuncOp func, size_t numNodes);

private:
  struct Argument {
    mlir::Type type;
    mlir::DictionaryAttr attrs;
    mlir::Location loc;
    size_t node;
  };

  llvm::LogicalResult readArgument(const JsonValue &entry, tg::RoleKind role,
                                   llvm::ArrayRef<JsonValue> nodes);
  llvm::FailureOr<mlir::NamedAttrList>
  readAttributes(const JsonValue &entry, tg::RoleKind role, mlir::Type type);
  llvm::LogicalResult checkPlaceholders(llvm::ArrayRef<JsonValue> nodes);
  /// The role of one of `outputs`; null for a plain output.
  llvm::FailureOr<tg::RoleAttr> readRole(const JsonValue &entry);

  FxFile &file;
  FxMeshes &meshes;
  FxValues &values;
  llvm::SmallVector<Argument, 0> arguments;
  /// Number of the argument that a placeholder became.
  llvm::DenseMap<size_t, unsigned> argumentOfNode;
  /// Names of arguments, and the role and number of each.
  llvm::StringMap<std::pair<tg::RoleKind, unsigned>> argumentOfName;
};

} // namespace regather::fx

#endif // REGATHER_LIB_IMPORT_FXSIGNATURE_H
