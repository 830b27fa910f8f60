//===- PlacementForms.h - How values of a step may lie ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTFORMS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTFORMS_H

#include "../ShardParameters/SortedRows.h"
#include "../ShardParameters/SplitLookups.h"
#include "../ShardParameters/SplitSoftmax.h"
#include "../ShardParameters/Step.h"

#include <memory>

namespace regather::tg::spmd {

/// A value along a dimension of which a placement may be chosen.
struct PlacedValue {
  mlir::Value value;
  llvm::SmallVector<int64_t> dims;
};

/// All cuts that values of a step can have, whatever is placed: what follows
/// from the cuts of placed values by the factors of operations, from operands
/// to results and to other operands, and back. More than the partitioner uses,
/// never less.
class PlacementForms {
public:
  PlacementForms(const Step &step, const DataMesh &mesh);

  /// False if some value has more cuts than are worth looking at. Near-linear
  /// in the step, times the cuts of a value.
  bool find(llvm::ArrayRef<PlacedValue> placed);

  llvm::ArrayRef<DimCut> getCuts(mlir::Value value) const;
  /// Null if the operation needs everything whole.
  const ShardingRule *getRule(mlir::Operation *op) const;
  /// In which ways an operation is carried out on parts by its rule.
  llvm::ArrayRef<FactorSplit> getSplits(mlir::Operation *op) const;
  /// Null if it has nothing to do with sorted rows; see SortedRows.
  bool isSorted(mlir::Operation *op) const {
    return sortedRows.find(op) != nullptr;
  }

private:
  struct OpForms {
    std::optional<ShardingRule> rule;
    llvm::SmallVector<FactorSplit, 4> splits;
  };

  OpForms &getForms(mlir::Operation *op);
  void add(mlir::Value value, DimCut cut);
  void addSplit(mlir::Operation *op, const ShardingRule &rule,
                const TensorFactors &tensor, DimCut cut);
  void passOn(mlir::Operation *op, const TensorFactors *tensor,
              mlir::Value value, DimCut cut);
  void passOnDivided(mlir::Operation *op, mlir::Value value, DimCut cut);

  const Step &step;
  const DataMesh &mesh;
  SortedRows sortedRows;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<OpForms>> forms;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<DimCut, 4>> cuts;
  std::vector<std::pair<mlir::Value, DimCut>> open;
  bool hasTooMany = false;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTFORMS_H
