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
/// that shares it). Rows of the query are independent of each other unless the
/// node masks by position; rows of the key and widths stay whole.
struct AttentionFactors {
  DimFactors batch, queryHeads, keyHeads, rows, columns, width, valueWidth;
};
} // namespace

/// `groups` is the kind of the factors that only the query has.
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
  factors.rows =
      addDim(b.rule, query[2],
             b.args.getBool("is_causal", false) ? FactorKind::Whole : groups);
  factors.columns = addDim(b.rule, key[2], FactorKind::Whole);
  factors.width = addDim(b.rule, key[3], FactorKind::Whole);
  if (b.getShape("value").size() == 4)
    factors.valueWidth =
        addDim(b.rule, b.getShape("value")[3], FactorKind::Whole);
  return factors;
}

/// Factors of a tensor of the query's rows.
static TensorFactors addQueries(NodeRuleBuilder &b, ArrayRef<int64_t> shape,
                                const AttentionFactors &attention) {
  TensorFactors factors = addDims(b.rule, shape, FactorKind::Whole);
  if (shape.size() >= 2) {
    factors[0] = attention.batch;
    factors[1] = attention.queryHeads;
  }
  if (shape.size() >= 3)
    factors[2] = attention.rows;
  return factors;
}

/// Those of the key and of the value, which their gradients have, too.
static TensorFactors getKeys(const AttentionFactors &attention) {
  return {attention.batch, attention.keyHeads, attention.columns,
          attention.width};
}
static TensorFactors getValues(const AttentionFactors &attention) {
  return {attention.batch, attention.keyHeads, attention.columns,
          attention.valueWidth};
}

/// Sets what forward and backward read.
static void setInputs(NodeRuleBuilder &b, const AttentionFactors &factors) {
  for (StringRef name : {"query", "grad_out", "out", "logsumexp"})
    b.setOperand(name, addQueries(b, b.getShape(name), factors));
  b.setOperand("key", getKeys(factors));
  b.setOperand("value", getValues(factors));
  // The mask is broadcast to [batch, heads of the query, rows, columns].
  ArrayRef<int64_t> query = b.getShape("query");
  SmallVector<int64_t> scores = {query[0], query[1], query[2],
                                 b.getShape("key")[2]};
  b.setBroadcast("attn_mask", addQueries(b, scores, factors), scores);
}

static void buildAttention(NodeRuleBuilder &b) {
  FailureOr<AttentionFactors> factors =
      addHeads(b, FactorKind::Parallel, FactorKind::Parallel);
  if (failed(factors))
    return;
  setInputs(b, *factors);
  for (unsigned i = 0; i < b.rule.results.size(); ++i)
    b.setResult(addQueries(b, b.getResultShape(i), *factors), i);
  // The second result, if there is one, does not depend on the value.
  if (b.rule.results.size() == 1)
    b.addLinear({"value"});
}

/// The gradients of key and value are sums over groups and rows; that of the
/// mask, where there is one, may be a sum over the batch.
static void buildAttentionBackward(NodeRuleBuilder &b) {
  bool hasMask = b.rule.results.size() > 3;
  bool sumsBatch = hasMask && b.getResultShape(3)[0] == 1;
  FailureOr<AttentionFactors> factors = addHeads(
      b, sumsBatch ? FactorKind::Sum : FactorKind::Parallel, FactorKind::Sum);
  if (failed(factors))
    return;
  setInputs(b, *factors);
  TensorFactors gradients[] = {addQueries(b, b.getResultShape(), *factors),
                               getKeys(*factors), getValues(*factors)};
  for (unsigned i = 0; i < b.rule.results.size() && i < 3; ++i)
    b.setResult(gradients[i], i);
  if (hasMask)
    b.setResult({sumsBatch ? DimFactors() : factors->batch, factors->queryHeads,
                 factors->rows, factors->columns},
                3);
  b.addLinear({"grad_out"});
}

void regather::tg::sharding::addAttentionRules(NodeRuleTable &table) {
  table.add({Operator::AtenScaledDotProductAttention,
             Operator::AtenScaledDotProductFlashAttentionForCpu,
             Operator::RegatherAttention},
            {buildAttention});
  table.add({Operator::AtenScaledDotProductFlashAttentionForCpuBackward,
             Operator::RegatherAttentionBackward,
             Operator::RegatherBiasedAttentionBackward},
            {buildAttentionBackward});
}
