//===- NormalizationRules.cpp - Rules of norms ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::sharding;

//===----------------------------------------------------------------------===//
// Layer and RMS norm
//===----------------------------------------------------------------------===//

namespace {
/// Factors of the tensors of a norm of the last dimensions.
struct NormFactors {
  /// Of the input; of its last dimensions, which are whole; and of statistics,
  /// which have size 1 there.
  TensorFactors input, inner, statistics;
};
} // namespace

/// Sets the input, and the operands that have its shape, that of the statistics
/// and that of the normalized dimensions. Those that are not normalized have
/// factors of the first kind, the normalized ones of the second.
static NormFactors setNorm(NodeRuleBuilder &b, FactorKind kind,
                           FactorKind innerKind = FactorKind::Whole) {
  ArrayRef<int64_t> shape = b.getShape("input");
  size_t numInner = b.args.getInts("normalized_shape").size();
  NormFactors factors;
  if (numInner > shape.size()) {
    (void)b.args.fail("normalized_shape", "has too many dimensions");
    return factors;
  }
  factors.statistics = addDims(b.rule, shape.drop_back(numInner), kind);
  factors.inner = addDims(b.rule, shape.take_back(numInner), innerKind);
  factors.input = factors.statistics;
  llvm::append_range(factors.input, factors.inner);
  factors.statistics.resize(shape.size());
  for (StringRef name : {"input", "grad_out"})
    b.setOperand(name, factors.input);
  for (StringRef name : {"mean", "rstd"})
    b.setOperand(name, factors.statistics);
  for (StringRef name : {"weight", "bias"})
    b.setOperand(name, factors.inner);
  return factors;
}

static void buildNorm(NodeRuleBuilder &b) {
  NormFactors factors = setNorm(b, FactorKind::Parallel);
  b.setResult(factors.input);
  for (unsigned i = 1; i < b.rule.results.size(); ++i)
    b.setResult(factors.statistics, i);
}

/// The gradient of the input is computed row by row, those of weight and bias,
/// sums over all rows, column by column.
static void buildNormBackward(NodeRuleBuilder &b) {
  bool hasSums = false;
  for (unsigned i = 1; i < b.rule.results.size(); ++i)
    hasSums |= b.hasResult(i);
  NormFactors factors =
      setNorm(b, hasSums ? FactorKind::Sum : FactorKind::Parallel,
              b.hasResult(0) ? FactorKind::Whole : FactorKind::Parallel);
  b.setResult(factors.input);
  for (unsigned i = 1; i < b.rule.results.size(); ++i)
    b.setResult(factors.inner, i);
  b.addLinear({"grad_out"});
}

/// Some of the columns are all that a part normalizes.
static void adaptNormBackward(nodes::NodeArguments &whole, NodeOp part) {
  size_t numInner = whole.getInts("normalized_shape").size();
  SmallVector<unsigned, 1> input = whole.getOperandNumbers("input");
  size_t position = llvm::find(whole.getNames(), "normalized_shape") -
                    whole.getNames().begin();
  std::optional<ArrayAttr> args = part.getArgs();
  if (whole.hasFailed() || input.size() != 1 || !args ||
      position >= args->size())
    return;
  auto type = cast<RankedTensorType>(part.getOperand(input.front()).getType());
  SmallVector<Attribute> values(args->begin(), args->end());
  Builder builder(part.getContext());
  values[position] =
      builder.getI64ArrayAttr(type.getShape().take_back(numInner));
  part.setArgsAttr(builder.getArrayAttr(values));
}

//===----------------------------------------------------------------------===//
// Batch norm
//===----------------------------------------------------------------------===//

/// Sets the tensors of shape [batch, channels, ...], called `names`, and those
/// of shape [channels], which are all others; returns the factors of the
/// former. Statistics depend on all but the channel, unless given.
static TensorFactors setBatchNorm(NodeRuleBuilder &b, ArrayRef<StringRef> names,
                                  FactorKind kind) {
  ArrayRef<int64_t> shape = b.getShape(names[0]);
  if (shape.size() < 2) {
    (void)b.args.fail(names[0], "must have channels");
    return {};
  }
  TensorFactors factors = addDims(b.rule, shape, kind);
  factors[1] = addDim(b.rule, shape[1]);
  for (StringRef name : b.args.getNames())
    b.setOperand(name, llvm::is_contained(names, name)
                           ? factors
                           : TensorFactors{factors[1]});
  return factors;
}

/// Results other than the first hold one number for each channel, or nothing if
/// the statistics are given.
static void setChannelResults(NodeRuleBuilder &b, const DimFactors &channels,
                              int64_t numChannels) {
  for (unsigned i = 1; i < b.rule.results.size(); ++i) {
    if (!b.hasResult(i))
      continue;
    if (b.getResultShape(i) == ArrayRef(numChannels))
      b.setResult({channels}, i);
    else
      b.rule.unusable.push_back(i);
  }
}

static void buildBatchNorm(NodeRuleBuilder &b, bool isTraining) {
  TensorFactors factors = setBatchNorm(
      b, {"input"}, isTraining ? FactorKind::Whole : FactorKind::Parallel);
  if (b.args.hasFailed())
    return;
  b.setResult(factors);
  setChannelResults(b, factors[1], b.getShape("input")[1]);
}

static void buildBatchNormByMode(NodeRuleBuilder &b) {
  buildBatchNorm(b, b.args.getBool("training"));
}

static void buildBatchNormInference(NodeRuleBuilder &b) {
  buildBatchNorm(b, /*isTraining=*/false);
}

static void buildBatchNormBackward(NodeRuleBuilder &b) {
  bool isTraining = b.args.getBool("train");
  TensorFactors factors =
      setBatchNorm(b, {"grad_out", "input"},
                   isTraining ? FactorKind::Whole : FactorKind::Sum);
  if (b.args.hasFailed())
    return;
  b.setResult(factors);
  setChannelResults(b, factors[1], b.getShape("input")[1]);
  b.addLinear({"grad_out"});
}

//===----------------------------------------------------------------------===//
// Group norm
//===----------------------------------------------------------------------===//

/// Sets the operands of a norm of groups of channels, which stay whole, and
/// returns the factors of the input; along the batch, they are `kind`.
static TensorFactors setGroupNorm(NodeRuleBuilder &b, FactorKind kind) {
  ArrayRef<int64_t> shape = b.getShape("input");
  if (shape.size() < 2) {
    (void)b.args.fail("input", "must have channels");
    return {};
  }
  TensorFactors factors = addDims(b.rule, shape, FactorKind::Whole);
  factors[0] = addDim(b.rule, shape[0], kind);
  for (StringRef name : {"input", "grad_out"})
    b.setOperand(name, factors);
  for (StringRef name : {"mean", "rstd"})
    if (ArrayRef<int64_t> statistic = b.getShape(name); statistic.size() == 2)
      b.setOperand(
          name, {factors[0], addDim(b.rule, statistic[1], FactorKind::Whole)});
  return factors;
}

static void buildGroupNorm(NodeRuleBuilder &b) {
  TensorFactors factors = setGroupNorm(b, FactorKind::Parallel);
  if (b.args.hasFailed())
    return;
  b.setResult(factors);
  for (unsigned i = 1; i < b.rule.results.size(); ++i)
    if (ArrayRef<int64_t> shape = b.getResultShape(i); shape.size() == 2)
      b.setResult({factors[0], addDim(b.rule, shape[1], FactorKind::Whole)}, i);
}

static void buildGroupNormBackward(NodeRuleBuilder &b) {
  // The size of the batch is an argument, which is taken from this gradient.
  if (!b.hasResult(0))
    return;
  TensorFactors factors = setGroupNorm(b, FactorKind::Sum);
  b.setResult(factors);
  b.addLinear({"grad_out"});
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

void regather::tg::sharding::addNormalizationRules(NodeRuleTable &table) {
  table.add({Operator::AtenFusedRmsNorm, Operator::AtenNativeLayerNorm},
            {buildNorm});
  table.add({Operator::AtenFusedRmsNormBackward,
             Operator::AtenNativeLayerNormBackward},
            {buildNormBackward, adaptNormBackward});
  table.add({Operator::AtenNativeBatchNorm, Operator::AtenNativeBatchNormLegit,
             Operator::AtenNativeBatchNormLegitFunctional},
            {buildBatchNormByMode});
  table.add(Operator::AtenNativeBatchNormBackward, {buildBatchNormBackward});
  table.add(Operator::AtenNativeBatchNormLegitNoTraining,
            {buildBatchNormInference});
  table.add(Operator::AtenNativeGroupNorm, {buildGroupNorm});
  table.add(Operator::AtenNativeGroupNormBackward, {buildGroupNormBackward});
}
