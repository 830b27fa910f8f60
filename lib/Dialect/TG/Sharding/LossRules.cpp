//===- LossRules.cpp - Rules of losses ------------------------------------===//
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

/// How a loss combines those of the elements, as the framework numbers it.
enum LossReduction { None, Mean, Sum };

//===----------------------------------------------------------------------===//
// Negative log likelihood
//===----------------------------------------------------------------------===//

/// Factors of the rows, which are the dimensions of the target.
static TensorFactors setRows(NodeRuleBuilder &b, FactorKind kind) {
  ArrayRef<int64_t> self = b.getShape("self"), target = b.getShape("target");
  size_t classDim = self.size() > 1 ? 1 : 0;
  if (self.size() != target.size() + 1) {
    (void)b.args.fail("target", "must have one dimension less than self");
    return {};
  }
  TensorFactors rows = addDims(b.rule, target, kind);
  DimFactors classes = addDim(b.rule, self[classDim], FactorKind::Whole);
  TensorFactors scores = rows;
  scores.insert(scores.begin() + classDim, classes);
  b.setOperand("self", scores);
  b.setOperand("target", rows);
  b.setOperand("weight", {classes});
  return rows;
}

/// Results are the loss, or one for each row, and the sum of weights, which is
/// zero if it is not needed. The mean is their quotient.
static void buildLikelihood(NodeRuleBuilder &b) {
  int64_t reduction = b.args.getInt("reduction");
  TensorFactors rows =
      setRows(b, reduction == Mean ? FactorKind::Whole : FactorKind::Sum);
  if (reduction != None)
    return;
  b.setResult(rows);
  b.addLinear({"self"});
}

static void buildLikelihoodBackward(NodeRuleBuilder &b) {
  TensorFactors rows = setRows(b, FactorKind::Parallel);
  ArrayRef<int64_t> self = b.getShape("self");
  if (b.args.hasFailed())
    return;
  if (b.args.getInt("reduction") == None)
    b.setOperand("grad_output", rows);
  size_t classDim = self.size() > 1 ? 1 : 0;
  rows.insert(rows.begin() + classDim,
              addDim(b.rule, self[classDim], FactorKind::Whole));
  b.setResult(rows);
  b.addLinear({"grad_output"});
}

//===----------------------------------------------------------------------===//
// Losses of pairs of elements
//===----------------------------------------------------------------------===//

static void setPairs(NodeRuleBuilder &b, const TensorFactors &factors) {
  ArrayRef<int64_t> shape = b.getShape("self");
  for (StringRef name : {"self", "target", "weight", "pos_weight"})
    b.setBroadcast(name, factors, shape);
}

static void buildPairs(NodeRuleBuilder &b) {
  int64_t reduction = b.args.getInt("reduction", Mean);
  FactorKind kind = reduction == Mean  ? FactorKind::Mean
                    : reduction == Sum ? FactorKind::Sum
                                       : FactorKind::Parallel;
  TensorFactors factors = addDims(b.rule, b.getShape("self"), kind);
  setPairs(b, factors);
  if (reduction == None)
    b.setResult(factors);
}

/// The gradient of a mean divides by the number of elements that it is given,
/// which parts would get wrong.
static void buildPairsBackward(NodeRuleBuilder &b) {
  FactorKind kind = b.args.getInt("reduction", Mean) == Mean
                        ? FactorKind::Whole
                        : FactorKind::Parallel;
  TensorFactors factors = addDims(b.rule, b.getShape("self"), kind);
  setPairs(b, factors);
  b.setBroadcast("grad_output", factors, b.getShape("self"));
  b.setResult(factors);
  b.addLinear({"grad_output"});
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

void regather::tg::sharding::addLossRules(NodeRuleTable &table) {
  table.add({Operator::AtenBinaryCrossEntropy,
             Operator::AtenBinaryCrossEntropyWithLogits,
             Operator::AtenHuberLoss, Operator::AtenMseLoss,
             Operator::AtenSmoothL1Loss},
            {buildPairs});
  table.add({Operator::AtenBinaryCrossEntropyBackward,
             Operator::AtenHuberLossBackward, Operator::AtenMseLossBackward,
             Operator::AtenSmoothL1LossBackward},
            {buildPairsBackward});
  table.add({Operator::AtenNllLoss2dBackward, Operator::AtenNllLossBackward},
            {buildLikelihoodBackward});
  table.add({Operator::AtenNllLoss2dForward, Operator::AtenNllLossForward},
            {buildLikelihood});
}
