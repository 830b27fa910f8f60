//===- FactorizationRules.cpp - Rules of factorizations -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"
#include "RuleParts.h"

using namespace mlir;
using namespace regather::tg::sharding;

/// The factors of the batch for the leading dimensions, and whole ones for the
/// rest: what belongs to one matrix.
static TensorFactors getBatched(ShardingRule &rule, ArrayRef<DimFactors> batch,
                                ArrayRef<int64_t> shape) {
  TensorFactors factors;
  for (auto [i, size] : llvm::enumerate(shape))
    factors.push_back(i < batch.size() ? batch[i]
                                       : addDim(rule, size, FactorKind::Whole));
  return factors;
}

/// The matrices of a batch are independent of each other.
static void buildFactorization(NodeRuleBuilder &b, StringRef name,
                               StringRef other) {
  ArrayRef<int64_t> shape = b.getShape(name);
  if (shape.size() < 2)
    return;
  TensorFactors batch = addDims(b.rule, shape.drop_back(2));
  b.setOperand(name, getBatched(b.rule, batch, shape));
  if (!other.empty())
    b.setOperand(other, getBatched(b.rule, batch, b.getShape(other)));
  for (unsigned i = 0; i < 3; ++i) {
    if (!b.hasResult(i))
      continue;
    ArrayRef<int64_t> result = b.getResultShape(i);
    // What was not asked for has no elements, and no batch.
    bool hasBatch = result.take_front(batch.size()) == shape.drop_back(2);
    b.setResult(getBatched(b.rule,
                           hasBatch ? ArrayRef(batch) : ArrayRef<DimFactors>(),
                           result),
                i);
  }
}

static void buildCholeskyEx(NodeRuleBuilder &b) {
  buildFactorization(b, "self", "");
}
static void buildLuFactorEx(NodeRuleBuilder &b) {
  buildFactorization(b, "A", "");
}
static void buildQr(NodeRuleBuilder &b) { buildFactorization(b, "A", ""); }
static void buildLuUnpack(NodeRuleBuilder &b) {
  buildFactorization(b, "LU_data", "LU_pivots");
}

void regather::tg::sharding::addFactorizationRules(NodeRuleTable &table) {
  table.add(Operator::AtenLinalgCholeskyEx, {buildCholeskyEx});
  table.add(Operator::AtenLinalgLuFactorEx, {buildLuFactorEx});
  table.add(Operator::AtenLinalgQr, {buildQr});
  table.add(Operator::AtenLuUnpack, {buildLuUnpack});
}
