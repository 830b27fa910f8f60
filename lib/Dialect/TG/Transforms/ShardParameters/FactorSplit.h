//===- FactorSplit.h - Where a factor lies in an operation ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_FACTORSPLIT_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_FACTORSPLIT_H

#include "DataMesh.h"

namespace regather::tg::spmd {

/// How the tensors of an operation are cut when one of its factors is.
struct FactorSplit {
  unsigned factor;
  /// The dimension of each operand and result that is cut; nothing for those
  /// that do not have the factor.
  llvm::SmallVector<std::optional<DimCut>, 4> operands, results;
  /// The factor's size is not divisible: the last parts are padded.
  bool uneven = false;
};

/// The factor that is cut when dimension `dim` of a tensor is cut into blocks:
/// the outermost one larger than one. Nothing if the dimension has none.
std::optional<unsigned> getOutermostFactor(const ShardingRule &rule,
                                           const TensorFactors &tensor,
                                           int64_t dim);

/// The factor that a cut of a dimension cuts, and its own outer parts. Nothing
/// if parts of several factors would be cut.
std::optional<std::pair<unsigned, int64_t>>
findCutFactor(const ShardingRule &rule, const TensorFactors &tensor,
              DimCut cut);

/// Cuts `factor` into as many blocks as there are ranks. Nothing if that is
/// not a cut of every tensor into blocks of one dimension, if the operation
/// needs the factor whole, or if a result that has no part is used. An uneven
/// cut may not meet other factors in the same dimension. With `outer`, the cut
/// is one of as many parts of the factor each, and blocks of a dimension need
/// not be contiguous.
std::optional<FactorSplit>
splitFactor(mlir::Operation *op, const ShardingRule &rule, unsigned factor,
            int64_t ranks, bool allowUneven,
            std::optional<int64_t> outer = std::nullopt);

/// True if the rule says what becomes of this result.
bool isDescribed(mlir::Operation *op, const ShardingRule &rule,
                 unsigned result);

/// True if nobody uses the results that the rule does not describe.
bool areUsedResultsDescribed(mlir::Operation *op, const ShardingRule &rule);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_FACTORSPLIT_H
