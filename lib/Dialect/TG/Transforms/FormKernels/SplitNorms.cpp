//===- SplitNorms.cpp - Gradients of a norm as two nodes ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitNorms.h"

#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace regather::tg;

/// True if the node has both kinds of gradients, and its last argument says so.
static bool computesAllGradients(NodeOp node) {
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  if (target != NodeTarget::AtenNativeLayerNormBackwardDefault &&
      target != NodeTarget::AtenFusedRmsNormBackwardDefault)
    return false;
  std::optional<ArrayAttr> args = node.getArgs();
  auto mask = args && !args->empty()
                  ? dyn_cast<ArrayAttr>((*args).getValue().back())
                  : ArrayAttr();
  if (!mask || mask.size() != node.getNumResults() || node.getKwargsAttr() ||
      node.getResult(0).use_empty() ||
      llvm::all_of(node.getResults().drop_front(),
                   [](Value value) { return value.use_empty(); }))
    return false;
  return llvm::all_of(mask,
                      [](Attribute value) {
                        auto isWanted = dyn_cast<BoolAttr>(value);
                        return isWanted && isWanted.getValue();
                      }) &&
         llvm::all_of(node.getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// The node with those of its results whose `isWanted` is set.
static NodeOp maskResults(OpBuilder &builder, NodeOp node,
                          ArrayRef<bool> isWanted) {
  auto none = regather::tg::OpaqueType::get(builder.getContext(),
                                            builder.getStringAttr("none"));
  SmallVector<Type> types;
  for (auto [type, wanted] : llvm::zip_equal(node.getResultTypes(), isWanted))
    types.push_back(wanted ? type : none);
  SmallVector<Attribute> args((*node.getArgs()).begin(),
                              (*node.getArgs()).end());
  args.back() = builder.getArrayAttr(
      llvm::map_to_vector(isWanted, [&](bool wanted) -> Attribute {
        return builder.getBoolAttr(wanted);
      }));
  auto part = NodeOp::create(builder, node.getLoc(), types, node.getInputs(),
                             node->getAttrs());
  part.setArgsAttr(builder.getArrayAttr(args));
  return part;
}

static void split(NodeOp node) {
  OpBuilder builder(node);
  SmallVector<bool> isWanted(node.getNumResults(), false);
  isWanted.front() = true;
  NodeOp rows = maskResults(builder, node, isWanted);
  for (auto [wanted, value] : llvm::zip_equal(isWanted, node.getResults()))
    wanted = !wanted && !value.use_empty();
  NodeOp columns = maskResults(builder, node, isWanted);
  columns->removeAttr(kIdAttrName);
  for (auto [number, value] : llvm::enumerate(node.getResults()))
    value.replaceAllUsesWith((number == 0 ? rows : columns).getResult(number));
  node.erase();
}

unsigned kernels::splitNormGradients(Block &block) {
  SmallVector<NodeOp> nodes;
  for (NodeOp node : block.getOps<NodeOp>())
    if (computesAllGradients(node) && !hasRecord(node))
      nodes.push_back(node);
  for (NodeOp node : nodes)
    split(node);
  return nodes.size();
}
