//===- StateUpdates.cpp - What updates states of the optimizer ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateUpdates.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-offload-states"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::states;

static RoleAttr getResultRole(FunctionOpInterface func, unsigned result) {
  return func.getResultAttrOfType<RoleAttr>(result, kRoleAttrName);
}

static bool isState(FunctionOpInterface func, unsigned argument) {
  auto role = func.getArgAttrOfType<RoleAttr>(argument, kRoleAttrName);
  return role && role.getKind() == RoleKind::OptimizerState;
}

/// Why a state cannot lie on the host; empty if it can.
static StringRef findObstacle(FunctionOpInterface func, BlockArgument argument,
                              Value update) {
  if (!func.getArgAttr(argument.getArgNumber(), kDonatedAttrName))
    return "it is not donated";
  if (!update)
    return "the step does not update it";
  auto result = dyn_cast<OpResult>(update);
  if (!result || result.getOwner()->getBlock() != argument.getOwner())
    return "its update is not computed in the step";
  if (isa<WaitOp>(result.getOwner()))
    return "its update comes from other ranks";
  if (result.getType() != argument.getType())
    return "its update has another type";
  if (llvm::any_of(argument.getUsers(), [](Operation *user) {
        return user->hasTrait<OpTrait::IsTerminator>();
      }))
    return "the step returns it as it was";
  if (llvm::any_of(argument.getUsers(), [&](Operation *user) {
        return user->getBlock() != argument.getOwner();
      }))
    return "control flow reads it";
  return "";
}

std::vector<StateUpdate> states::findUpdates(FunctionOpInterface func,
                                             const StepGraph &graph,
                                             int64_t minBytes) {
  Operation *terminator = graph.getBlock().getTerminator();
  llvm::DenseMap<int64_t, unsigned> updateOf;
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i)
    if (RoleAttr role = getResultRole(func, i);
        role && role.getKind() == RoleKind::Update)
      updateOf[role.getArgument()] = i;
  llvm::DenseMap<Operation *, size_t> numbers;
  std::vector<StateUpdate> updates;
  for (BlockArgument argument : graph.getBlock().getArguments()) {
    int64_t bytes = getValueBytes(argument);
    if (!isState(func, argument.getArgNumber()) || bytes < minBytes)
      continue;
    auto it = updateOf.find(argument.getArgNumber());
    Value update =
        it == updateOf.end() ? Value() : terminator->getOperand(it->second);
    if (StringRef obstacle = findObstacle(func, argument, update);
        !obstacle.empty()) {
      remark::missed(func.getLoc(),
                     remark::RemarkOpts::name("on-device").category(DEBUG_TYPE))
          << remark::reason("state {0} stays on the device: {1}",
                            argument.getArgNumber(), obstacle);
      continue;
    }
    auto result = cast<OpResult>(update);
    auto [known, isNew] =
        numbers.try_emplace(result.getOwner(), updates.size());
    if (isNew)
      updates.emplace_back().op = result.getOwner();
    StateUpdate &found = updates[known->second];
    found.states.push_back({argument, it->second, result, bytes});
    found.bytes += bytes;
  }
  llvm::sort(updates, [&](const StateUpdate &lhs, const StateUpdate &rhs) {
    return graph.getNumber(lhs.op) < graph.getNumber(rhs.op);
  });
  return updates;
}
