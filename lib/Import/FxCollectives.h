//===- FxCollectives.h - Functional collectives and waits -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_IMPORT_FXCOLLECTIVES_H
#define REGATHER_LIB_IMPORT_FXCOLLECTIVES_H

#include "FxFile.h"
#include "FxMeshes.h"
#include "FxValues.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

namespace regather::fx {

/// What every operation made for one call has.
struct Call {
  const JsonValue &json;
  size_t number;
  const JsonValue &target;
  mlir::Location loc;
  tg::PhaseAttr phase;
  llvm::SmallVector<mlir::Type> types;
  /// `tg.id`, `tg.module` and `tg.policy`, sorted by name; `tg.phase` comes
  /// separately, because collectives hold their phase themselves.
  llvm::SmallVector<mlir::NamedAttribute> attrs;
};

/// Imports calls of PyTorch's `_c10d_functional` operators.
class FxCollectives {
public:
  FxCollectives(FxFile &file, FxMeshes &meshes, FxValues &values)
      : file(file), meshes(meshes), values(values) {}

  /// Imports `call` if it is a collective that tg has, or waits for one.
  /// Returns false, with nothing made, if it is to become an opaque node.
  llvm::FailureOr<bool> import(const Call &call, mlir::OpBuilder &builder);

private:
  enum class Operator {
    AllGather,
    ReduceScatter,
    AllReduce,
    AllToAll,
    Broadcast
  };

  static std::optional<Operator> getOperator(tg::NodeTarget target);
  llvm::LogicalResult importCollective(Operator kind, const Call &call,
                                       mlir::OpBuilder &builder);
  llvm::LogicalResult addPolicy(const Call &call, mlir::Value arrived);
  llvm::FailureOr<bool> importWait(const Call &call, mlir::OpBuilder &builder);

  /// Checks that there are `number` arguments, all of them positional.
  llvm::LogicalResult checkArguments(const Call &call, size_t number);
  /// The argument `index`, which exists, or null if it has another kind.
  const JsonValue *getArgument(const Call &call, size_t index,
                               JsonValue::Kind kind);
  std::optional<tg::Reduction> readReduction(const JsonValue &name);
  llvm::LogicalResult checkEvenSplits(const JsonValue &splits,
                                      int64_t numRanks);

  FxFile &file;
  FxMeshes &meshes;
  FxValues &values;
};

} // namespace regather::fx

#endif // REGATHER_LIB_IMPORT_FXCOLLECTIVES_H
