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
#include "FxRandom.h"
#include "FxValues.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::fx {

/// Reads `parameters`, `buffers`, `inputs` and `outputs`.
class FxSignature {
public:
  FxSignature(FxFile &file, FxMeshes &meshes, FxValues &values,
              FxRandom &random)
      : file(file), meshes(meshes), values(values), random(random) {}

  /// Makes @step with an argument for each parameter, buffer and input, in
  /// this order, and defines the placeholders among `nodes`. If they draw
  /// random numbers, the seed and the offset come last. The function returns
  /// nothing yet.
  llvm::FailureOr<mlir::func::FuncOp>
  readArguments(llvm::ArrayRef<JsonValue> nodes, mlir::OpBuilder &builder);

  /// Makes the return at the end of `func`, whose body is complete, and gives
  /// the results their roles. The next offset of random numbers comes last.
  llvm::LogicalResult readResults(mlir::func::FuncOp func, size_t numNodes);

private:
  struct Argument {
    mlir::Type type;
    mlir::DictionaryAttr attrs;
    mlir::Location loc;
    /// None for what is no placeholder.
    std::optional<size_t> node;
  };

  llvm::LogicalResult readArgument(const JsonValue &entry, tg::RoleKind role,
                                   llvm::ArrayRef<JsonValue> nodes);
  llvm::FailureOr<mlir::NamedAttrList>
  readAttributes(const JsonValue &entry, tg::RoleKind role, mlir::Type type);
  llvm::LogicalResult checkPlaceholders(llvm::ArrayRef<JsonValue> nodes);
  /// Adds a state of the random numbers.
  llvm::LogicalResult addRandomArgument(llvm::StringRef name);
  /// The role of one of `outputs`; null for a plain output.
  llvm::FailureOr<tg::RoleAttr> readRole(const JsonValue &entry);

  FxFile &file;
  FxMeshes &meshes;
  FxValues &values;
  FxRandom &random;
  llvm::SmallVector<Argument, 0> arguments;
  /// Number of the argument that a placeholder became.
  llvm::DenseMap<size_t, unsigned> argumentOfNode;
  /// Names of arguments, and the role and number of each.
  llvm::StringMap<std::pair<tg::RoleKind, unsigned>> argumentOfName;
};

} // namespace regather::fx

#endif // REGATHER_LIB_IMPORT_FXSIGNATURE_H
