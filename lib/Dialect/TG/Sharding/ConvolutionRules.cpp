//===- ConvolutionRules.cpp - Rules of convolutions -----------------------===//
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
/// Factors of the tensors of a convolution. Spatial dimensions are whole: a
/// window reads across the border of parts.
struct ConvolutionFactors {
  TensorFactors input, weight, output;
};
} // namespace

/// Shapes are [batch, in, ...] for the input, [out, in / groups, ...] for the
/// weight, or [in, out / groups, ...] if transposed, and [batch, out, ...] for
/// the output. Channels are whole if there are groups.
static FailureOr<ConvolutionFactors>
addConvolution(NodeRuleBuilder &b, ArrayRef<int64_t> output, FactorKind batch,
               FactorKind in, FactorKind out) {
  ArrayRef<int64_t> input = b.getShape("input"), weight = b.getShape("weight");
  if (input.size() < 3 || weight.size() != input.size() ||
      output.size() != input.size())
    return failure();
  ConvolutionFactors factors;
  factors.input = addDims(b.rule, input, FactorKind::Whole);
  factors.weight = addDims(b.rule, weight, FactorKind::Whole);
  factors.output = addDims(b.rule, output, FactorKind::Whole);
  factors.input[0] = factors.output[0] = addDim(b.rule, input[0], batch);
  if (b.args.getInt("groups") != 1)
    return factors;
  bool isTransposed = b.args.getBool("transposed");
  factors.input[1] = factors.weight[isTransposed ? 0 : 1] =
      addDim(b.rule, input[1], in);
  factors.output[1] = factors.weight[isTransposed ? 1 : 0] =
      addDim(b.rule, output[1], out);
  return factors;
}

static void buildConvolution(NodeRuleBuilder &b) {
  // Every part of a sum over channels would hold the bias, which counts once.
  bool hasBias = b.args.has("bias");
  FailureOr<ConvolutionFactors> factors = addConvolution(
      b, b.getResultShape(), FactorKind::Parallel,
      hasBias ? FactorKind::Whole : FactorKind::Sum, FactorKind::Parallel);
  if (failed(factors))
    return;
  b.setOperand("input", factors->input);
  b.setOperand("weight", factors->weight);
  b.setOperand("bias", {factors->output[1]});
  b.setResult(factors->output);
  for (StringRef name : {"input", "weight"})
    if (hasBias)
      b.addLinear({name, "bias"});
    else
      b.addLinear(name);
}

/// The gradients of weight and bias are sums over the batch. The channels of
/// the output are listed among the arguments, and stay whole.
static void buildConvolutionBackward(NodeRuleBuilder &b) {
  // The gradient of the bias does not depend on the channels of the input.
  FailureOr<ConvolutionFactors> factors =
      addConvolution(b, b.getShape("grad_output"), FactorKind::Sum,
                     b.hasResult(2) ? FactorKind::Whole : FactorKind::Parallel,
                     FactorKind::Whole);
  if (failed(factors))
    return;
  b.setOperand("grad_output", factors->output);
  b.setOperand("input", factors->input);
  b.setOperand("weight", factors->weight);
  b.setResult(factors->input, 0);
  b.setResult(factors->weight, 1);
  b.setResult({factors->output[1]}, 2);
  b.addLinear({"grad_output"});
}

void regather::tg::sharding::addConvolutionRules(NodeRuleTable &table) {
  table.add(Operator::AtenConvolution, {buildConvolution});
  table.add(Operator::AtenConvolutionBackward, {buildConvolutionBackward});
}
