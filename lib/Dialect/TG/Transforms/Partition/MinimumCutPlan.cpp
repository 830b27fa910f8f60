//===- MinimumCutPlan.cpp - Save the fewest bytes -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What backward may compute again and what saving costs, for the minimum cut of
// regather/Analysis/Recomputation/SavingCut.h.
//
// The results of one operation are computed together. The members of a
// collective are not: its wait gives each of them on its own. A gather of a
// released parameter that backward does not do anyway costs more than all
// bytes.
//
//===----------------------------------------------------------------------===//

#include "SavedValues.h"

#include "../ParameterRegathers.h"

#include "regather/Analysis/Recomputation/SavingCut.h"
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
  explicit CutBuilder(const Step &step) : step(step) {}

  /// Called once.
  SavingProblem build();
  /// By value of the problem.
  ArrayRef<Value> getValues() const { return values; }

private:
  void addForward(Operation *op);
  void addWait(WaitOp wait);
  void addOp(bool mayRecompute, bool addsGather, ValueRange inputs,
             ValueRange results);
  bool mayRecompute(Value value);
  bool addsGather(Value value);
  int64_t getSaveCost(Value value);
  void findRegathered();

  const Step &step;
  /// Parameters that backward gathers, whatever is computed again.
  llvm::DenseSet<BlockArgument> regathered;
  SavingProblem problem;
  SmallVector<Value> values;
  llvm::DenseMap<Value, uint32_t> numbers;
};
} // namespace

/// Whether backward may compute the results of `op` again if no policy decides:
/// not if that takes long, and not if they have fewer bytes than what they are
/// computed from.
static bool isCheap(Operation *op) {
  if (isa<WaitOp>(op))
    return false;
  auto costed = dyn_cast<CostOpInterface>(op);
  if (costed && costed.isLibraryCall())
    return false;
  OpCost cost = getOpCost(op);
  return isCheapAgain(cost.view, cost.writtenBytes, cost.readBytes);
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

int64_t CutBuilder::getSaveCost(Value value) {
  Operation *def = value.getDefiningOp();
  if (isNeverSaved(step, value) || mustRecompute(value) ||
      isReleased(step.func, step.chains, value))
    return kInfiniteCapacity;
  std::optional<Policy> policy = getPolicy(def);
  SavingPreference preference =
      policy == Policy::PreferSave        ? SavingPreference::Save
      : policy == Policy::PreferRecompute ? SavingPreference::Recompute
                                          : SavingPreference::None;
  return getSavingCost(getValueBytes(value), preference);
}

/// Arguments cost nothing: backward has them.
void CutBuilder::addOp(bool mayRecompute, bool addsGather, ValueRange inputs,
                       ValueRange results) {
  SavingProblem::Op op;
  op.mayRecompute = mayRecompute;
  op.addsGather = addsGather;
  for (Value input : inputs)
    if (auto it = numbers.find(input); it != numbers.end())
      op.inputs.push_back(it->second);
  problem.ops.push_back(std::move(op));
  for (Value result : results) {
    numbers[result] = values.size();
    values.push_back(result);
    problem.values.push_back(
        {static_cast<uint32_t>(problem.ops.size() - 1), getSaveCost(result)});
  }
}

void CutBuilder::addWait(WaitOp wait) {
  // What lies on the host is not moved again.
  bool isMoved = isa<HostCopyOpInterface>(wait.getFuture().getDefiningOp());
  for (auto [input, tensor] :
       llvm::zip(getAwaitedInputs(wait), wait.getTensors()))
    addOp(!isMoved && mayRecompute(tensor), addsGather(tensor), input, tensor);
}

void CutBuilder::addForward(Operation *op) {
  if (auto wait = dyn_cast<WaitOp>(op))
    return addWait(wait);
  if (isa<CollectiveOpInterface, HostCopyOpInterface>(op) ||
      op->getNumResults() == 0)
    return;
  SmallVector<Value> inputs;
  forEachInput(op, [&](Value input) { inputs.push_back(input); });
  addOp(mayRecompute(op->getResult(0)), /*addsGather=*/false, inputs,
        op->getResults());
}

SavingProblem CutBuilder::build() {
  findRegathered();
  for (auto [number, op] : llvm::enumerate(step.graph.getOps())) {
    if (!step.graph.isBackward(number)) {
      addForward(op);
      continue;
    }
    forEachInput(op, [&](Value input) {
      if (auto it = numbers.find(input); it != numbers.end())
        problem.needed.push_back(it->second);
    });
  }
  return std::move(problem);
}

void partition::reportCut(FunctionOpInterface func, int64_t value) {
  remark::analysis(func.getLoc(),
                   remark::RemarkOpts::name("minimum-cut").category(DEBUG_TYPE))
      << remark::metric("weighted_bytes", value);
}

FlowNetwork partition::buildCutNetwork(const Step &step) {
  return buildSavingNetwork(CutBuilder(step).build());
}

FailureOr<SavedValues> partition::cutMinimum(const Step &step) {
  CutBuilder builder(step);
  Result<SavingCut> cut = cutSavings(builder.build());
  if (!cut)
    return step.func.emitError()
           << "no partition saves and recomputes as marked: "
           << cut.getMessage();
  reportCut(step.func, cut->value);
  SavedValues saved;
  for (auto [number, value] : llvm::enumerate(builder.getValues()))
    if (cut->isSaved[number])
      saved.insert(value);
  return saved;
}
