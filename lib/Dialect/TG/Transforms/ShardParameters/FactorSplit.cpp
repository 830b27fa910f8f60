//===- FactorSplit.cpp - Where a factor lies in an operation --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorSplit.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

std::optional<unsigned> regather::tg::spmd::getOutermostFactor(
    const ShardingRule &rule, const TensorFactors &tensor, int64_t dim) {
  for (unsigned factor : tensor[dim])
    if (rule.factors[factor].size != 1)
      return factor;
  return std::nullopt;
}

bool regather::tg::spmd::isDescribed(Operation *op, const ShardingRule &rule,
                                     unsigned result) {
  return getRuledTensor(op->getResult(result).getType()) &&
         !llvm::is_contained(rule.unusable, result);
}

bool regather::tg::spmd::areUsedResultsDescribed(Operation *op,
                                                 const ShardingRule &rule) {
  for (unsigned i = 0, e = op->getNumResults(); i != e; ++i)
    if (!isDescribed(op, rule, i) && !op->getResult(i).use_empty())
      return false;
  return true;
}

std::optional<std::pair<unsigned, int64_t>>
regather::tg::spmd::findCutFactor(const ShardingRule &rule,
                                  const TensorFactors &tensor, DimCut cut) {
  int64_t rest = cut.outer;
  for (unsigned factor : tensor[cut.dim]) {
    int64_t size = rule.factors[factor].size;
    if (size == 1)
      continue;
    if (rest < size)
      return size % rest == 0 ? std::optional(std::make_pair(factor, rest))
                              : std::nullopt;
    if (rest % size != 0)
      return std::nullopt;
    rest /= size;
  }
  return std::nullopt;
}

/// Finds the dimension of `tensor` that is cut with `factor`. Fails if the cut
/// does not leave a block of the tensor, unless `outer` says that it need not.
static LogicalResult locate(const ShardingRule &rule,
                            const TensorFactors &tensor, unsigned factor,
                            bool alone, std::optional<int64_t> outer,
                            std::optional<DimCut> &found) {
  for (auto [dim, factors] : llvm::enumerate(tensor)) {
    if (!llvm::is_contained(factors, factor))
      continue;
    if (found || (!outer && getOutermostFactor(rule, tensor, dim) != factor))
      return failure();
    // Padding of an inner factor would lie between the elements of the tensor.
    if (alone && llvm::any_of(factors, [&](unsigned other) {
          return other != factor && rule.factors[other].size != 1;
        }))
      return failure();
    found = DimCut(dim, outer.value_or(1));
    for (unsigned other : factors) {
      if (other == factor)
        break;
      found->outer *= rule.factors[other].size;
    }
  }
  return success();
}

/// True if the parts of the results can be put together again.
static bool hasParts(FactorKind kind, bool uneven) {
  switch (kind) {
  case FactorKind::Parallel:
  case FactorKind::Sum:
  case FactorKind::Max:
    return true;
  case FactorKind::Mean:
    return !uneven;
  // There is no collective that computes minima.
  case FactorKind::Min:
  case FactorKind::Whole:
    return false;
  }
  llvm_unreachable("unknown kind of factor");
}

std::optional<FactorSplit> regather::tg::spmd::splitFactor(
    Operation *op, const ShardingRule &rule, unsigned factor, int64_t ranks,
    bool allowUneven, std::optional<int64_t> outer) {
  FactorSplit split;
  split.factor = factor;
  split.uneven = rule.factors[factor].size % (ranks * outer.value_or(1)) != 0;
  if ((split.uneven && (!allowUneven || outer.value_or(1) != 1)) ||
      !hasParts(rule.factors[factor].kind, split.uneven) ||
      !areUsedResultsDescribed(op, rule))
    return std::nullopt;
  for (const TensorFactors &tensor : rule.operands)
    if (failed(locate(rule, tensor, factor, split.uneven, outer,
                      split.operands.emplace_back())))
      return std::nullopt;
  for (const TensorFactors &tensor : rule.results)
    if (failed(locate(rule, tensor, factor, split.uneven, outer,
                      split.results.emplace_back())))
      return std::nullopt;
  return split;
}
