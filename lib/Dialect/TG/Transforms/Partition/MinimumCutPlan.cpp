//===- MinimumCutPlan.cpp - Save the fewest bytes -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Saving is cutting. A value v that forward computes has two nodes: behind the
// cut, on the side of the sink, `in` means that backward computes it, and `out`
// that backward has it.
//
//   in(v) -> out(v)     what saving v costs
//   out(u) -> in(v)     infinite, if v is computed from u: computing v takes u
//   out(v) -> sink      infinite, if backward reads v
//   source -> in(v)     infinite, if v may not be computed again; more than all
//                       bytes, if that takes a gather of a released parameter
//                       that backward does not gather anyway
//
// The results of one operation share their `in`. The members of a collective do
// not: its wait gives each of them on its own.
//
//===----------------------------------------------------------------------===//

#include "SavedValues.h"

#include "../ParameterRegathers.h"

#include "regather/Dialect/TG/Steps/Policies.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-partition"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::partition;

namespace {
class CutBuilder {
public:
  explicit CutBuilder(const Step &step) : step(step) {
    network.source = 0;
    network.sink = 1;
    network.numNodes = 2;
  }

  /// Called once.
  FlowNetwork build();
  /// Adds what a cut of the network saves.
  void addSaved(const MinimumCut &cut, SavedValues &saved) const;

private:
  /// Node numbers of a value.
  struct Nodes {
    uint32_t in;
    uint32_t out;
  };

  void addForward(Operation *op);
  void addWait(WaitOp wait);
  void addValue(Value value, uint32_t in);
  void addInput(Value input, uint32_t in);
  void addEdge(uint32_t from, uint32_t to, int64_t capacity) {
    network.edges.push_back({from, to, capacity});
  }
  bool mayRecompute(Value value);
  bool addsGather(Value value);
  int64_t getSaveCost(Value value);
  void findRegathered();
  void setGatherCosts();

  const Step &step;
  /// Parameters that backward gathers, whatever is computed again.
  llvm::DenseSet<BlockArgument> regathered;
  /// Edges that stand for further gathers.
  SmallVector<size_t> gatherEdges;
  FlowNetwork network;
  llvm::DenseMap<Value, Nodes> nodes;
};
} // namespace

/// Whether backward may compute the results of `op`, besides its policy: not
/// if that takes long, and not if saving them is cheaper than what they are
/// computed from.
static bool isCheap(Operation *op) {
  if (isa<WaitOp>(op))
    return false;
  auto costed = dyn_cast<CostOpInterface>(op);
  if (costed && costed.isLibraryCall())
    return false;
  OpCost cost = getOpCost(op);
  return cost.view || 4 * cost.writtenBytes >= cost.readBytes;
}

/// True if `op` cuts, out of a gathered parameter, a part for this rank alone,
/// which backward gathers in a smaller group.
static bool cutsPart(const Step &step, Operation *op) {
  Value result = op->getResult(0);
  return step.chains.getParameter(result) && !step.chains.isGathered(result) &&
         llvm::any_of(op->getOperands(), [&](Value input) {
           return step.chains.isGathered(input);
         });
}

bool CutBuilder::mayRecompute(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isRepeatable(op) || cutsPart(step, op))
    return false;
  if (isNeverSaved(step, value) || isReleased(step.func, step.chains, value))
    return true;
  switch (getPolicy(op).value_or(Policy::PreferSave)) {
  case Policy::MustSave:
  case Policy::Offload:
    return false;
  case Policy::MustRecompute:
    return true;
  case Policy::PreferRecompute:
    return !isa<WaitOp>(op);
  case Policy::PreferSave:
    return isCheap(op);
  }
  llvm_unreachable("unknown policy");
}

/// Parameters of which backward has a gather, or will have one because it reads
/// what is released.
void CutBuilder::findRegathered() {
  for (auto [number, op] : llvm::enumerate(step.graph.getOps())) {
    if (!step.graph.isBackward(number))
      continue;
    if (auto gather = dyn_cast<AllGatherOp>(op))
      for (unsigned member : step.chains.getMembers(gather))
        regathered.insert(step.chains.getParameter(gather.getInputs()[member]));
    forEachInput(op, [&](Value input) {
      if (isReleased(step.func, step.chains, input))
        regathered.insert(step.chains.getParameter(input));
    });
  }
}

/// True if computing `value`, which has arrived, again adds a gather to
/// backward that nobody has asked for.
bool CutBuilder::addsGather(Value value) {
  return isReleased(step.func, step.chains, value) &&
         !regathered.contains(step.chains.getParameter(value)) &&
         getPolicy(value.getDefiningOp()) != Policy::MustRecompute;
}

/// A further gather costs more than all that it could save.
void CutBuilder::setGatherCosts() {
  int64_t cost = 1;
  for (const FlowEdge &edge : network.edges)
    if (edge.capacity < kInfiniteCapacity)
      cost += edge.capacity;
  for (size_t edge : gatherEdges)
    network.edges[edge].capacity = cost;
}

/// Twice the bytes, four times the bytes where recomputing is preferred, and
/// the bytes where saving is.
int64_t CutBuilder::getSaveCost(Value value) {
  Operation *def = value.getDefiningOp();
  if (isNeverSaved(step, value) || mustRecompute(value) ||
      isReleased(step.func, step.chains, value))
    return kInfiniteCapacity;
  int64_t bytes = getValueBytes(value);
  std::optional<Policy> policy = getPolicy(def);
  if (policy == Policy::PreferSave)
    return bytes;
  return (policy == Policy::PreferRecompute ? 4 : 2) * bytes;
}

void CutBuilder::addValue(Value value, uint32_t in) {
  uint32_t out = network.numNodes++;
  nodes[value] = {in, out};
  addEdge(in, out, getSaveCost(value));
}

/// Arguments cost nothing: backward has them.
void CutBuilder::addInput(Value input, uint32_t in) {
  auto it = nodes.find(input);
  if (it != nodes.end())
    addEdge(it->second.out, in, kInfiniteCapacity);
}

void CutBuilder::addWait(WaitOp wait) {
  auto collective = wait.getFuture().getDefiningOp<CollectiveOpInterface>();
  for (auto [input, tensor] :
       llvm::zip(collective.getInputs(), wait.getTensors())) {
    uint32_t in = network.numNodes++;
    if (!mayRecompute(tensor)) {
      addEdge(network.source, in, kInfiniteCapacity);
    } else if (addsGather(tensor)) {
      gatherEdges.push_back(network.edges.size());
      addEdge(network.source, in, 0);
    }
    addInput(input, in);
    addValue(tensor, in);
  }
}

void CutBuilder::addForward(Operation *op) {
  if (auto wait = dyn_cast<WaitOp>(op))
    return addWait(wait);
  if (isa<CollectiveOpInterface>(op) || op->getNumResults() == 0)
    return;
  uint32_t in = network.numNodes++;
  if (!mayRecompute(op->getResult(0)))
    addEdge(network.source, in, kInfiniteCapacity);
  forEachInput(op, [&](Value input) { addInput(input, in); });
  for (Value result : op->getResults())
    addValue(result, in);
}

FlowNetwork CutBuilder::build() {
  findRegathered();
  for (auto [number, op] : llvm::enumerate(step.graph.getOps())) {
    if (!step.graph.isBackward(number)) {
      addForward(op);
      continue;
    }
    forEachInput(op, [&](Value input) { addInput(input, network.sink); });
  }
  setGatherCosts();
  return std::move(network);
}

void CutBuilder::addSaved(const MinimumCut &cut, SavedValues &saved) const {
  for (auto [value, node] : nodes)
    if (!cut.onSinkSide[node.in] && cut.onSinkSide[node.out])
      saved.insert(value);
}

void partition::reportCut(FunctionOpInterface func, int64_t value) {
  remark::analysis(func.getLoc(),
                   remark::RemarkOpts::name("minimum-cut").category(DEBUG_TYPE))
      << remark::metric("weighted_bytes", value);
}

FlowNetwork partition::buildCutNetwork(const Step &step) {
  return CutBuilder(step).build();
}

FailureOr<SavedValues> partition::cutMinimum(const Step &step) {
  CutBuilder builder(step);
  Result<MinimumCut> cut = findMinimumCut(builder.build());
  if (!cut)
    return step.func.emitError()
           << "no partition saves and recomputes as marked: "
           << cut.getMessage();
  reportCut(step.func, cut->value);
  SavedValues saved;
  builder.addSaved(*cut, saved);
  return saved;
}
