//===- SplitSums.cpp - Sums to one number as two nodes --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitSums.h"

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Kernels/RowSums.h"
#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace regather::tg;

/// True for a node without arguments besides one tensor of floats, of which it
/// gives the sum or mean.
static bool sumsUpAll(NodeOp node) {
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  if (target != NodeTarget::AtenSumDefault &&
      target != NodeTarget::AtenMeanDefault)
    return false;
  if (node.getInputs().size() != 1 || node.getNumResults() != 1 ||
      node.getEffects() || (node.getArgs() && node.getArgs()->size() != 1))
    return false;
  auto self = dyn_cast<RankedTensorType>(node.getInputs().front().getType());
  auto result = dyn_cast<RankedTensorType>(node.getResult(0).getType());
  return self && result && self.hasStaticShape() && result.getRank() == 0 &&
         isa<FloatType>(self.getElementType()) &&
         isa<Float32Type, Float64Type>(result.getElementType()) &&
         getNumRowDims(self.getShape()) > 0;
}

/// A node with the attributes of `node`, but no identity.
static Value makeSumNode(OpBuilder &b, NodeOp node, NodeTarget target,
                         Value input, ArrayRef<Attribute> others, Type type) {
  SmallVector<Attribute> args = {OperandAttr::get(b.getContext(), 0)};
  llvm::append_range(args, others);
  auto made =
      NodeOp::create(b, node.getLoc(), TypeRange(type), getName(target), input,
                     b.getArrayAttr(args), DictionaryAttr(), /*effects=*/false);
  for (NamedAttribute attribute : node->getDiscardableAttrs())
    if (attribute.getName() != kIdAttrName)
      made->setDiscardableAttr(attribute.getName(), attribute.getValue());
  return made.getResult(0);
}

static void splitSum(NodeOp node) {
  OpBuilder b(node);
  Value value = node.getInputs().front();
  auto self = cast<RankedTensorType>(value.getType());
  auto result = cast<RankedTensorType>(node.getResult(0).getType());
  Value sum = value;
  // Rows of rows, as the conversion of the node adds them.
  while (true) {
    auto type = cast<RankedTensorType>(sum.getType());
    int64_t kept = getNumRowDims(type.getShape());
    if (kept == 0)
      break;
    auto dims = llvm::to_vector(llvm::seq<int64_t>(kept, type.getRank()));
    sum = makeSumNode(b, node, NodeTarget::AtenSumDimIntList, sum,
                      {b.getI64ArrayAttr(dims), b.getBoolAttr(false)},
                      RankedTensorType::get(type.getShape().take_front(kept),
                                            result.getElementType()));
  }
  sum = makeSumNode(b, node, NodeTarget::AtenSumDefault, sum, {}, result);
  if (findNodeTarget(node.getTarget()) == NodeTarget::AtenMeanDefault) {
    auto count = static_cast<double>(self.getNumElements());
    sum = makeSumNode(b, node, NodeTarget::AtenDivScalar, sum,
                      {b.getF64FloatAttr(count)}, result);
  }
  if (Attribute id = node->getAttr(kIdAttrName))
    sum.getDefiningOp()->setAttr(kIdAttrName, id);
  node.getResult(0).replaceAllUsesWith(sum);
  node.erase();
}

unsigned kernels::splitWholeSums(Block &block) {
  SmallVector<NodeOp> nodes;
  for (NodeOp node : block.getOps<NodeOp>())
    if (sumsUpAll(node) && !hasRecord(node))
      nodes.push_back(node);
  for (NodeOp node : nodes)
    splitSum(node);
  return nodes.size();
}
