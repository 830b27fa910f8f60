//===- ChainGradients.cpp - Backward of attention in products -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainMatcher.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

#include <cmath>

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::attention;

/// True if `node` only sets to zero what forward has hidden.
bool ChainMatcher::undoesMask(NodeOp node, NodeTarget target, Value gradient) {
  if ((chain.maskKind != MaskKind::Shows &&
       chain.maskKind != MaskKind::Hides) ||
      getMatrixShape(gradient) != ArrayRef(chain.maskedShape))
    return false;
  nodes::NodeArguments args(node, target, /*isQuiet=*/true);
  bool isFill = getInfo(target).op == NodeOperator::AtenMaskedFill;
  if (!isFill && getInfo(target).op != NodeOperator::AtenWhere)
    return false;
  bool hides = chain.maskKind == MaskKind::Hides;
  StringRef kept = isFill || !hides ? "self" : "other";
  StringRef filling = isFill ? "value" : hides ? "self" : "other";
  if ((isFill && !hides) ||
      args.getTensor(isFill ? "mask" : "condition") != chain.mask ||
      !args.isTensor(kept) || args.getTensor(kept) != gradient ||
      gradient.getType() != node.getResult(0).getType())
    return false;
  bool isZero = args.isTensor(filling)
                    ? getFilling(args.getTensor(filling)) == 0.0
                    : args.getFloat(filling) == 0;
  return isZero && !args.hasFailed();
}

/// From the softmax's gradient up to the product of the gradient and the value.
bool ChainMatcher::matchGradientOfProbabilities() {
  Value gradient = chain.softmaxBackward.getInputs()[0];
  while (true) {
    values.push_back(gradient);
    auto node = gradient.getDefiningOp<NodeOp>();
    if (!node || !gradient.hasOneUse())
      return fail("the gradient of the probabilities is read elsewhere");
    if (isNode(node, NodeOperator::AtenBmm)) {
      gradProbabilitiesProduct = node;
      break;
    }
    if (!keepsMatrices(node) && !convertsFloats(node))
      return fail("the gradient of the probabilities is given by " +
                  getCalledName(node));
    gradient = node.getInputs()[0];
  }
  Value gradOutput = gradProbabilitiesProduct.getInputs()[0];
  if (chain.gradOutput && getStack(chain.gradOutput) != getStack(gradOutput))
    return fail("the gradient of the value is not that of this output");
  chain.gradOutput = gradOutput;
  if (getStack(gradProbabilitiesProduct.getInputs()[1]) !=
      getStack(chain.getValue()).transpose())
    return fail("the gradient of the probabilities is not that of this value");
  return true;
}

/// Multiplies the gradient until it has the scale of the scores.
bool ChainMatcher::takeScaled(Value &gradient, double scale) {
  auto isEqual = [&] {
    return std::abs(scale - chain.scale) <= 1e-6 * std::abs(chain.scale);
  };
  while (!isEqual()) {
    if (!gradient.hasOneUse())
      return false;
    auto node = dyn_cast<NodeOp>(*gradient.getUsers().begin());
    std::optional<double> factor =
        node ? getFactor(node, gradient) : std::nullopt;
    if (!factor)
      return false;
    scale *= *factor;
    gradient = node.getResult(0);
  }
  return true;
}

bool ChainMatcher::matchGradientsOfOperands() {
  SmallVector<Leaf> leaves;
  if (!collectLeaves(chain.softmaxBackward.getResult(0),
                     "the gradients of the scores, or of a mask,",
                     /*isGradient=*/true, leaves))
    return false;
  for (const Leaf &leaf : leaves) {
    auto product = cast<NodeOp>(leaf.use->getOwner());
    bool isLeft = leaf.use->getOperandNumber() == 0;
    MatrixStack other = getStack(product.getInputs()[isLeft ? 1 : 0]);
    Value &gradient = isLeft ? chain.gradQuery : chain.gradKey;
    MatrixStack operand =
        getStack(isLeft ? chain.getKey() : chain.getQuery()).transpose();
    if (leaf.isTransposed || gradient || other != operand)
      return fail("a product that reads the gradients of the scores gives none "
                  "of the query or the key");
    gradient = product.getResult(0);
    chain.backwardProducts.push_back(product);
    if (!takeScaled(gradient, leaf.scale))
      return fail("gradients have another scale than the scores");
  }
  return true;
}

bool ChainMatcher::matchBackward() {
  if (!chain.softmaxBackward && !gradValueProduct)
    return true;
  if (gradValueProduct) {
    chain.gradOutput = gradValueProduct.getInputs()[1];
    chain.gradValue = gradValueProduct.getResult(0);
    chain.backwardProducts.push_back(gradValueProduct);
  }
  if (!chain.softmaxBackward)
    return true;
  nodes::NodeArguments args(chain.softmaxBackward,
                            NodeTarget::AtenSoftmaxBackwardDataDefault,
                            /*isQuiet=*/true);
  auto rank =
      static_cast<int64_t>(getMatrixShape(chain.softmax.getResult(0)).size());
  if (args.getDim("dim", rank) != rank - 1 || args.hasFailed())
    return fail("the gradient of the softmax has another dimension");
  if (!matchGradientOfProbabilities() || !matchGradientsOfOperands())
    return false;
  if (!chain.gradQuery && !chain.gradKey)
    return fail("nobody reads the gradient of the softmax");
  chain.backwardProducts.push_back(gradProbabilitiesProduct);
  return true;
}
