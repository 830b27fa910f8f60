//===- AttentionRules.cpp - Rules of scaled-dot-product attention ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

namespace {
/// Factors of [batch, heads, rows, width], and of tensors that lack the last
/// dimension. A head of the query is (head of the key, position in the group
/// that shares it); rows and width stay whole.
struct AttentionFactors {
  DimFactors batch, queryHeads, keyHeads;
};
} // namespace

/// `groups` is the kind of the factor that only the query's heads have.
static FailureOr<AttentionFactors>
addHeads(NodeRuleBuilder &b, FactorKind batch, FactorKind groups) {
  ArrayRef<int64_t> query = b.getShape("query"), key = b.getShape("key");
  // Dropout depends on positions in the whole tensor.
  if (b.args.getFloat("dropout_p", 0) != 0 || query.size() != 4 ||
      key.size() != 4 || key[1] == 0 || query[1] % key[1] != 0)
    return failure();
  AttentionFactors factors;
  factors.batch = addDim(b.rule, query[0], batch);
  factors.keyHeads = addDim(b.rule, key[1]);
  factors.queryHeads = factors.keyHeads;
  llvm::append_range(factors.queryHeads,
                     addDim(b.rule, query[1] / key[1], groups));
  return factors;
}

/// Factors of a tensor whose first two dimensions are given.
static TensorFactors addRows(NodeRuleBuilder &b, ArrayRef<int64_t> shape,
                             const DimFactors &batch, const DimFactors &heads) {
  TensorFactors factors = addDims(b.rule, shape, FactorKind::Whole);
  if (shape.size() >= 2) {
    factors[0] = batch;
    factors[1] = heads;
  }
  return factors;
}

/// Sets what forward and backward read.
static void setInputs(NodeRuleBuilder &b, const AttentionFactors &factors) {
  for (StringRef name : {"query", "grad_out", "out", "logsumexp"})
    b.setOperand(
        name, addRows(b, b.getShape(name), factors.batch, factors.queryHeads));
  for (StringRef name : {"key", "value"})
    b.setOperand(name,
                 addRows(b, b.getShape(name), factors.batch, factors.keyHeads));
  // The mask is broadcast to [batch, heads of the query, rows, columns].
  ArrayRef<int64_t> query = b.getShape("query");
  SmallVector<int64_t> scores = {query[0], query[1], query[2],
                                 b.getShape("key")[2]};
  b.setBroadcast("attn_mask",
                 addRows(b, scores, factors.batch, factors.queryHeads), scores);
}

static void buildAttention(NodeRuleBuilder &b) {
  FailureOr<AttentionFactors> factors =
      addHeads(b, FactorKind::Parallel, FactorKind::Parallel);
  if (failed(factors))
    return;
  setInputs(b, *factors);
  for (unsigned i = 0; i < b.rule.results.size(); ++i)
    b.setResult(
        addRows(b, b.getResultShape(i), factors->batch, factors->queryHeads),
        i);
  // The second result, if there is one, does not depend on the value.
  if (b.rule.results.size() == 1)
    b.addLinear({"value"});
}

/// The gradients of key and value are sums over the groups.
static void buildAttentionBackward(NodeRuleBuilder &b) {
  FailureOr<AttentionFactors> factors =
      addHeads(b, FactorKind::Parallel, FactorKind::Sum);
  if (failed(factors))
    return;
  setInputs(b, *factors);
  for (unsigned i = 0; i < b.rule.results.size() && i < 3; ++i)
    b.setResult(addRows(b, b.getResultShape(i), factors->batch,
                        i == 0 ? factors->queryHeads : factors->keyHeads),
                i);
  b.addLinear({"grad_out"});
}

void regather::tg::sharding::addAttentionRules(NodeRuleTable &table) {
  table.add({Operator::AtenScaledDotProductAttention,
             Operator::AtenScaledDotProductFlashAttentionForCpu},
            {buildAttention});
  table.add(Operator::AtenScaledDotProductFlashAttentionForCpuBackward,
            {buildAttentionBackward});
}
