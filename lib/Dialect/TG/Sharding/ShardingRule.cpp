//===- ShardingRule.cpp - How an operation splits over ranks --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

using namespace mlir;
using namespace regather::tg;

unsigned ShardingRule::addFactor(int64_t size, FactorKind kind) {
  factors.push_back({size, kind});
  return factors.size() - 1;
}

void ShardingRule::addLinear(ArrayRef<unsigned> set) {
  llvm::SmallBitVector bits(operands.size());
  for (unsigned operand : set)
    bits.set(operand);
  linear.push_back(std::move(bits));
}

bool ShardingRule::isWhole() const {
  return linear.empty() && llvm::all_of(factors, [](const ShardingFactor &f) {
           return f.kind == FactorKind::Whole;
         });
}

/// One factor of kind Whole for each dimension larger than one.
static TensorFactors getWholeFactors(ShardingRule &rule, Type type) {
  TensorFactors dims;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return dims;
  for (int64_t size : tensor.getShape()) {
    dims.emplace_back();
    if (size != 1)
      dims.back().push_back(rule.addFactor(size, FactorKind::Whole));
  }
  return dims;
}

ShardingRule ShardingRule::getWhole(Operation *op) {
  ShardingRule rule;
  for (Type type : op->getOperandTypes())
    rule.operands.push_back(getWholeFactors(rule, type));
  for (Type type : op->getResultTypes())
    rule.results.push_back(getWholeFactors(rule, type));
  return rule;
}

static LogicalResult verifySizes(const ShardingRule &rule,
                                 ArrayRef<TensorFactors> tensors,
                                 TypeRange types) {
  if (tensors.size() != types.size())
    return failure();
  for (auto [dims, type] : llvm::zip(tensors, types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (dims.size() != (tensor ? tensor.getShape().size() : 0))
      return failure();
    for (auto [d, factors] : llvm::enumerate(dims)) {
      int64_t size = 1;
      for (unsigned factor : factors)
        size *= rule.factors[factor].size;
      if (!factors.empty() && size != tensor.getDimSize(d))
        return failure();
    }
  }
  return success();
}

LogicalResult ShardingRule::verify(Operation *op) const {
  if (failed(verifySizes(*this, operands, op->getOperandTypes())) ||
      failed(verifySizes(*this, results, op->getResultTypes())))
    return failure();
  for (auto [i, factor] : llvm::enumerate(factors)) {
    if (factor.kind != FactorKind::Parallel)
      continue;
    for (auto [r, result] : llvm::enumerate(results))
      if (!llvm::is_contained(unusable, r) &&
          llvm::none_of(result, [i = i](const DimFactors &dim) {
            return llvm::is_contained(dim, i);
          }))
        return failure();
  }
  return success();
}

void regather::tg::registerShardingExternalModels(DialectRegistry &registry) {}
