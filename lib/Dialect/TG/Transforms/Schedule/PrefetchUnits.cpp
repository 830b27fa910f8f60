//===- PrefetchUnits.cpp - Collectives that move by a distance ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrefetchUnits.h"

#include "regather/Dialect/TG/Chains/ParameterChains.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::schedule;

/// True for a GEMM, attention, and the like, and for a kernel that stands
/// for one.
static bool isLibraryCall(Operation *op, const SymbolTable &symbols) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    if (auto kernel = symbols.lookup<KernelOp>(launch.getKernel()))
      return kernel.getLibraryCall().has_value();
  auto costed = dyn_cast<CostOpInterface>(op);
  return costed && costed.isLibraryCall();
}

/// By operation: neither it nor anything that depends on it does the work of a
/// layer. Casts, updates and other reductions, which follow the reduction of a
/// gradient, do not.
static std::vector<bool> findTails(const StepGraph &graph,
                                   const SymbolTable &symbols) {
  std::vector<bool> isTail(graph.getOps().size());
  for (unsigned i = isTail.size(); i-- != 0;) {
    Operation *op = graph.getOps()[i];
    isTail[i] = !isLibraryCall(op, symbols) &&
                llvm::all_of(op->getUsers(), [&](Operation *user) {
                  Operation *other =
                      graph.getBlock().findAncestorOpInBlock(*user);
                  return other->hasTrait<OpTrait::IsTerminator>() ||
                         isTail[graph.getNumber(other)];
                });
  }
  return isTail;
}

std::vector<PrefetchPlan> schedule::findPrefetchUnits(FunctionOpInterface func,
                                                      const StepGraph &graph,
                                                      unsigned depth) {
  SymbolTable symbols(func->getParentOp());
  ParameterChains chains(func, graph);
  std::vector<bool> isTail = findTails(graph, symbols);
  using Key = std::tuple<Attribute, Attribute, int, int>;
  llvm::MapVector<Key, PrefetchPlan> plans;
  auto getPlan = [&](CollectiveOpInterface op, int phase) -> PrefetchPlan & {
    bool isReduction = !isa<AllGatherOp>(*op);
    PrefetchPlan &plan =
        plans[{op.getMeshAttr(), op.getAxesAttr(), isReduction, phase}];
    plan.depth = depth;
    return plan;
  };
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (!collective)
      continue;
    if (auto gather = dyn_cast<AllGatherOp>(op)) {
      if (!chains.getMembers(gather).empty())
        getPlan(collective, static_cast<int>(collective.getPhase()))
            .prefetched.push_back(number);
    } else if (isa<ReduceScatterOp, AllReduceOp>(op) && isTail[number] &&
               graph.isBackward(number)) {
      getPlan(collective, /*phase=*/0).deferred.push_back(number);
    }
  }
  std::vector<PrefetchPlan> result;
  for (auto &[key, plan] : plans)
    result.push_back(std::move(plan));
  return result;
}
