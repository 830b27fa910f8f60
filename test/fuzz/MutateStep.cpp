//===- MutateStep.cpp - Changes that keep a step valid --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MutateStep.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;

namespace {
/// Changes the operations of one block.
class Mutator {
public:
  Mutator(Block &block, Draw &draw) : block(block), draw(draw) {
    for (Operation &op : block.without_terminator())
      if (isa<tg::NodeOp>(op))
        nodes.push_back(&op);
  }

  void mutate() {
    if (nodes.empty())
      return;
    tg::NodeOp node = cast<tg::NodeOp>(draw.oneOf(llvm::ArrayRef(nodes)));
    switch (draw.below(5)) {
    case 0:
      return swapTarget(node);
    case 1:
      return repeat(node);
    case 2:
      return swapOperands(node);
    case 3:
      return move(node);
    default:
      return mark(node);
    }
  }

private:
  void swapTarget(tg::NodeOp node);
  void repeat(tg::NodeOp node);
  void swapOperands(tg::NodeOp node);
  void move(tg::NodeOp node);
  void mark(tg::NodeOp node);

  Block &block;
  Draw &draw;
  std::vector<Operation *> nodes;
};
} // namespace

static bool isForward(Operation *op) {
  return tg::getPhase(op) == tg::Phase::Forward;
}

/// Functions of one element become other ones.
void Mutator::swapTarget(tg::NodeOp node) {
  static constexpr StringLiteral kFunctions[] = {
      "aten.relu.default", "aten.neg.default", "aten.clone.default",
      "aten.abs.default"};
  if (llvm::is_contained(kFunctions, node.getTarget()))
    node.setTarget(kFunctions[draw.below(4)]);
}

/// Some readers take a copy, which lies behind the original.
void Mutator::repeat(tg::NodeOp node) {
  OpBuilder builder(node);
  builder.setInsertionPointAfter(node);
  Operation *copy = builder.clone(*node);
  for (auto [from, to] :
       llvm::zip_equal(node->getResults(), copy->getResults()))
    from.replaceUsesWithIf(to, [&](OpOperand &use) {
      return use.getOwner() != copy && draw.percent(50);
    });
}

/// The first two operands change places. So the result differs between the same
/// ranks as before.
void Mutator::swapOperands(tg::NodeOp node) {
  if (node->getNumOperands() < 2)
    return;
  Value first = node->getOperand(0), second = node->getOperand(1);
  if (first.getType() != second.getType())
    return;
  node->setOperand(0, second);
  node->setOperand(1, first);
}

/// To any place between what it reads and what reads it.
void Mutator::move(tg::NodeOp node) {
  Operation *user = block.getTerminator();
  for (Operation *reader : node->getUsers())
    if (Operation *ancestor = block.findAncestorOpInBlock(*reader);
        ancestor->isBeforeInBlock(user))
      user = ancestor;
  std::vector<Operation *> places;
  for (Operation *op = node->getNextNode(); op && op != user;
       op = op->getNextNode())
    places.push_back(op);
  if (!places.empty())
    node->moveAfter(draw.oneOf(llvm::ArrayRef(places)));
}

void Mutator::mark(tg::NodeOp node) {
  if (!isForward(node))
    return;
  tg::Policy policy =
      draw.oneOf({tg::Policy::MustSave, tg::Policy::PreferSave,
                  tg::Policy::PreferRecompute, tg::Policy::MustRecompute});
  node->setAttr(tg::kPolicyAttrName,
                tg::PolicyAttr::get(node.getContext(), policy));
}

void regather::fuzz::mutateStep(ModuleOp module, Draw &draw, unsigned changes) {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal() || !func.getBody().hasOneBlock())
      continue;
    Mutator mutator(func.getBody().front(), draw);
    for (unsigned i = 0; i != changes; ++i)
      mutator.mutate();
  }
}

StepNames regather::fuzz::collectNames(ModuleOp module) {
  std::set<std::string> modules, parameters, ids, axes;
  module.walk([&](Operation *op) {
    if (auto name = op->getAttrOfType<StringAttr>(tg::kModuleAttrName))
      modules.insert(name.str());
    if (auto id = op->getAttrOfType<StringAttr>(tg::kIdAttrName))
      ids.insert(id.str());
    if (auto mesh = dyn_cast<tg::MeshOp>(op))
      for (StringAttr axis : mesh.getAxes().getNames())
        axes.insert(axis.str());
    auto func = dyn_cast<func::FuncOp>(op);
    for (unsigned i = 0; func && i != func.getNumArguments(); ++i)
      if (auto name = func.getArgAttrOfType<StringAttr>(i, tg::kNameAttrName))
        parameters.insert(name.str());
  });
  modules.erase("");
  auto list = [](const std::set<std::string> &set) {
    return std::vector<std::string>(set.begin(), set.end());
  };
  return {list(modules), list(parameters), list(ids), list(axes)};
}
