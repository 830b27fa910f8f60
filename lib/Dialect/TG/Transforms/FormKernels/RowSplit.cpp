//===- RowSplit.cpp - Operations on blocks of rows ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Transforms/RowSplit.h"

#include "../ShardParameters/FactorSplit.h"

using namespace mlir;
using namespace regather::tg;
using kernels::RowSplit;

/// Rows must be independent, because splitting a sum over them would change its
/// order.
static std::optional<RowSplit> splitAt(Operation *op, const ShardingRule &rule,
                                       const TensorFactors &tensor, int64_t dim,
                                       int64_t rows = 0) {
  if (dim >= static_cast<int64_t>(tensor.size()))
    return std::nullopt;
  std::optional<unsigned> factor = spmd::getOutermostFactor(rule, tensor, dim);
  if (!factor || rule.factors[*factor].kind != FactorKind::Parallel)
    return std::nullopt;
  if (rows == 0)
    rows = rule.factors[*factor].size;
  if (rows == 0)
    return std::nullopt;
  std::optional<spmd::FactorSplit> split =
      spmd::splitFactor(op, rule, *factor, rows, /*allowUneven=*/false);
  if (!split)
    return std::nullopt;
  RowSplit found{rows, {}, {}};
  found.operands.append(split->operands.begin(), split->operands.end());
  found.results.append(split->results.begin(), split->results.end());
  return found;
}

static std::optional<ShardingRule> getRule(Operation *op) {
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!interface)
    return std::nullopt;
  return interface.getShardingRule();
}

RowSplit kernels::splitRows(Operation *op) {
  if (std::optional<ShardingRule> rule = getRule(op))
    for (const TensorFactors &result : rule->results)
      for (int64_t dim = 0, rank = result.size(); dim != rank; ++dim)
        if (auto split = splitAt(op, *rule, result, dim))
          return *split;
  RowSplit whole;
  whole.operands.resize(op->getNumOperands());
  whole.results.resize(op->getNumResults());
  return whole;
}

std::optional<RowSplit> kernels::splitRowsOfOperand(Operation *op,
                                                    unsigned operand,
                                                    int64_t dim, int64_t rows) {
  std::optional<ShardingRule> rule = getRule(op);
  if (!rule)
    return std::nullopt;
  return splitAt(op, *rule, rule->operands[operand], dim, rows);
}

std::optional<RowSplit> kernels::splitRowsOfResult(Operation *op,
                                                   unsigned result, int64_t dim,
                                                   int64_t rows) {
  std::optional<ShardingRule> rule = getRule(op);
  if (!rule)
    return std::nullopt;
  return splitAt(op, *rule, rule->results[result], dim, rows);
}

/// The factors of a tensor from the outermost, without the rows, which are the
/// first factor of dimension `dim`, or the outer part of it.
static SmallVector<ShardingFactor> getInnerFactors(const ShardingRule &rule,
                                                   const TensorFactors &tensor,
                                                   std::optional<int64_t> dim,
                                                   int64_t rows) {
  SmallVector<ShardingFactor> factors;
  for (auto [number, dimFactors] : llvm::enumerate(tensor))
    for (unsigned factor : dimFactors) {
      bool isRows = dim == number && factor == dimFactors.front();
      if (!isRows || rule.factors[factor].size > rows)
        factors.push_back(rule.factors[factor]);
    }
  return factors;
}

bool kernels::canDivideRows(Operation *op, const RowSplit &split) {
  std::optional<ShardingRule> rule = getRule(op);
  if (!rule)
    return false;
  auto isParallel = [](const ShardingFactor &factor) {
    return factor.kind == FactorKind::Parallel;
  };
  bool isDivisible = false;
  for (auto [tensor, dim] : llvm::zip_equal(rule->results, split.results))
    isDivisible |= llvm::any_of(getInnerFactors(*rule, tensor, dim, split.rows),
                                isParallel);
  for (auto [tensor, dim] : llvm::zip_equal(rule->operands, split.operands)) {
    bool isReduced = false;
    for (const ShardingFactor &factor :
         getInnerFactors(*rule, tensor, dim, split.rows)) {
      if (isReduced && isParallel(factor))
        return false;
      isReduced |= !isParallel(factor) && factor.kind != FactorKind::Whole;
    }
    isDivisible |= isReduced;
  }
  return isDivisible;
}
