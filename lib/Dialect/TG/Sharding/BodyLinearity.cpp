//===- BodyLinearity.cpp - In which arguments a body is linear ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyLinearity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather::tg::sharding;

/// A long product is linear in each factor; more sets than these are dropped,
/// which keeps the analysis linear.
static constexpr size_t kMaxSets = 8;

static void addSet(LinearSets &sets, llvm::SmallBitVector set) {
  if (sets.size() < kMaxSets && !llvm::is_contained(sets, set))
    sets.push_back(std::move(set));
}

LinearSets regather::tg::sharding::intersect(const LinearSets &lhs,
                                             const LinearSets &rhs) {
  LinearSets sets;
  for (const llvm::SmallBitVector &set : lhs)
    if (llvm::is_contained(rhs, set))
      sets.push_back(set);
  return sets;
}

BodyLinearity::BodyLinearity(Block &body)
    : numArguments(body.getNumArguments()) {
  fixed.dependencies.resize(numArguments);
  for (BlockArgument argument : body.getArguments()) {
    Info &info = infos[argument];
    info.dependencies.resize(numArguments);
    info.dependencies.set(argument.getArgNumber());
    info.sets.push_back(info.dependencies);
  }
  for (Operation &op : body.without_terminator())
    visit(op);
}

const BodyLinearity::Info &BodyLinearity::lookup(Value value) const {
  auto it = infos.find(value);
  return it == infos.end() ? fixed : it->second;
}

LinearSets BodyLinearity::getSets(Value value) const {
  return lookup(value).sets;
}

bool BodyLinearity::dependsOn(Value value,
                              const llvm::SmallBitVector &set) const {
  return lookup(value).dependencies.anyCommon(set);
}

LinearSets BodyLinearity::getProduct(const Info &lhs, const Info &rhs) const {
  LinearSets sets;
  for (const llvm::SmallBitVector &set : lhs.sets)
    if (!rhs.dependencies.anyCommon(set))
      addSet(sets, set);
  for (const llvm::SmallBitVector &set : rhs.sets)
    if (!lhs.dependencies.anyCommon(set))
      addSet(sets, set);
  return sets;
}

LinearSets BodyLinearity::getSum(const Info &lhs, const Info &rhs) const {
  LinearSets sets;
  for (const llvm::SmallBitVector &left : lhs.sets)
    for (const llvm::SmallBitVector &right : rhs.sets) {
      // Each side must be linear in the union: not depend on the rest of it.
      llvm::SmallBitVector onlyLeft = left, onlyRight = right, both = left;
      onlyLeft.reset(right);
      onlyRight.reset(left);
      both |= right;
      if (!lhs.dependencies.anyCommon(onlyRight) &&
          !rhs.dependencies.anyCommon(onlyLeft))
        addSet(sets, both);
    }
  return sets;
}

void BodyLinearity::visit(Operation &op) {
  Info info = fixed;
  for (Value operand : op.getOperands())
    info.dependencies |= lookup(operand).dependencies;
  // A region may read any argument.
  if (op.getNumRegions() > 0)
    info.dependencies.set();
  auto operand = [&](unsigned i) -> const Info & {
    return lookup(op.getOperand(i));
  };
  llvm::TypeSwitch<Operation *>(&op)
      .Case<arith::MulFOp, arith::MulIOp>(
          [&](Operation *) { info.sets = getProduct(operand(0), operand(1)); })
      .Case<arith::AddFOp, arith::SubFOp, arith::AddIOp, arith::SubIOp>(
          [&](Operation *) { info.sets = getSum(operand(0), operand(1)); })
      .Case<arith::DivFOp>([&](Operation *) {
        for (const llvm::SmallBitVector &set : operand(0).sets)
          if (!operand(1).dependencies.anyCommon(set))
            addSet(info.sets, set);
      })
      .Case<arith::NegFOp, arith::ExtFOp>(
          [&](Operation *) { info.sets = operand(0).sets; })
      .Case<arith::SelectOp>([&](Operation *) {
        for (const llvm::SmallBitVector &set : getSum(operand(1), operand(2)))
          if (!operand(0).dependencies.anyCommon(set))
            addSet(info.sets, set);
      });
  for (Value result : op.getResults())
    infos[result] = info;
}
