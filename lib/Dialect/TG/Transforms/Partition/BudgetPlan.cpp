//===- BudgetPlan.cpp - Save within a budget ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BudgetPlan.h"

#include "../ParameterRegathers.h"

#include "regather/Dialect/TG/Steps/Policies.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::partition;

FailureOr<CostModel> partition::loadCostModel(FunctionOpInterface func,
                                              StringRef nameOrPath) {
  Result<Cluster> cluster = loadCluster(nameOrPath);
  if (!cluster)
    return func.emitError(cluster.getMessage());
  return CostModel(std::move(*cluster));
}

namespace {
/// The planner's view of a step.
class BudgetProblem {
public:
  BudgetProblem(const Step &step, StepCosts &costs);

  RecomputationProblem take() { return std::move(problem); }
  FailureOr<BudgetPlan> solve(int64_t budget);

private:
  void findKept();
  void addForward(Operation *op);
  void addWait(WaitOp wait);
  void addOp(Operation *op, double seconds, ValueRange results,
             ArrayRef<Value> inputs);
  bool mayRecompute(Value value);
  bool isGatheredAgain(Value value);
  InFlightDiagnostic emitMinimum(int64_t budget,
                                 const RecomputationPlan &smallest);

  const Step &step;
  StepCosts &costs;
  /// Forward values that backward reads.
  llvm::DenseSet<Value> needed;
  /// By number of the operation: forward itself needs it.
  std::vector<bool> kept;
  RecomputationProblem problem;
  llvm::DenseMap<Value, uint32_t> numbers;
  /// By number.
  std::vector<Operation *> ops;
  std::vector<Value> values;
};
} // namespace

BudgetProblem::BudgetProblem(const Step &step, StepCosts &costs)
    : step(step), costs(costs) {
  for (auto [number, op] : llvm::enumerate(step.graph.getOps()))
    if (step.graph.isBackward(number))
      forEachInput(op, [&](Value input) { needed.insert(input); });
  findKept();
  for (auto [number, op] : llvm::enumerate(step.graph.getOps()))
    if (!step.graph.isBackward(number))
      addForward(op);
}

void BudgetProblem::findKept() {
  ArrayRef<Operation *> ops = step.graph.getOps();
  kept.resize(ops.size());
  Operation *terminator = step.graph.getBlock().getTerminator();
  for (unsigned number = ops.size(); number-- > 0;) {
    if (step.graph.isBackward(number))
      continue;
    kept[number] =
        !wouldOpBeTriviallyDead(ops[number]) ||
        llvm::any_of(ops[number]->getUsers(), [&](Operation *user) {
          return user == terminator || kept[step.graph.getNumber(user)];
        });
  }
}

/// True for parts of the chain of a parameter that is gathered again.
bool BudgetProblem::isGatheredAgain(Value value) {
  BlockArgument parameter = step.chains.getParameter(value);
  ReshardAttr reshard = parameter ? getReshard(step.func, parameter) : nullptr;
  return reshard && reshard.getKind() != ReshardKind::Never &&
         !isMarkedSaved(value);
}

bool BudgetProblem::mayRecompute(Value value) {
  Operation *op = value.getDefiningOp();
  auto wait = dyn_cast<WaitOp>(op);
  // What lies on the host is not moved again.
  if (wait && wait.getFuture().getDefiningOp<HostCopyOpInterface>())
    return false;
  if (!isRepeatable(op) || isMarkedSaved(value))
    return false;
  return mustRecompute(value) || !wait || isGatheredAgain(value);
}

/// Arguments cost nothing, since backward has them.
void BudgetProblem::addOp(Operation *op, double seconds, ValueRange results,
                          ArrayRef<Value> inputs) {
  // Backward gathers the parameter in any case, and operations that forward
  // does not need move to backward instead of running twice.
  if (isGatheredAgain(results[0]) || !kept[step.graph.getNumber(op)])
    seconds = 0;
  std::vector<uint32_t> numbersOfInputs;
  for (Value input : inputs)
    if (auto it = numbers.find(input); it != numbers.end())
      numbersOfInputs.push_back(it->second);
  uint32_t number = problem.addOp(seconds, mayRecompute(results[0]),
                                  std::move(numbersOfInputs));
  ops.push_back(op);
  for (Value result : results) {
    bool maySave = !isNeverSaved(step, result) && !mustRecompute(result) &&
                   !isReleased(step.func, step.chains, result);
    numbers[result] = problem.addValue(number, getValueBytes(result), maySave,
                                       needed.contains(result));
    values.push_back(result);
  }
}

/// The members of a collective are saved one by one.
void BudgetProblem::addWait(WaitOp wait) {
  auto collective = wait.getFuture().getDefiningOp<CollectiveOpInterface>();
  double seconds = collective ? costs.getCollective(collective).seconds /
                                    wait.getNumResults()
                              : 0;
  for (auto [input, tensor] :
       llvm::zip(getAwaitedInputs(wait), wait.getTensors()))
    addOp(wait, seconds, tensor, input);
}

void BudgetProblem::addForward(Operation *op) {
  if (auto wait = dyn_cast<WaitOp>(op))
    return addWait(wait);
  if (isa<CollectiveOpInterface, HostCopyOpInterface>(op) ||
      op->getNumResults() == 0)
    return;
  SmallVector<Value> inputs;
  forEachInput(op, [&](Value input) { inputs.push_back(input); });
  addOp(op, costs.getComputeSeconds(op), op->getResults(), inputs);
}

/// Says what the minimum consists of.
InFlightDiagnostic
BudgetProblem::emitMinimum(int64_t budget, const RecomputationPlan &smallest) {
  enum Reason { Parameter, Received, Marked, Unrepeatable, Rest, NumReasons };
  static constexpr StringLiteral kReasons[] = {
      "of gathered parameters", "received from other ranks",
      "marked to be saved", "that cannot be computed again",
      "from which the rest can be computed"};
  int64_t bytes[NumReasons] = {};
  Value largest;
  for (auto [number, value] : llvm::enumerate(values)) {
    if (!smallest.isSaved[number] || problem.values[number].bytes == 0)
      continue;
    Operation *op = value.getDefiningOp();
    Reason reason = isMarkedSaved(value)            ? Marked
                    : !isRepeatable(op)             ? Unrepeatable
                    : step.chains.isGathered(value) ? Parameter
                    : isa<WaitOp>(op)               ? Received
                                                    : Rest;
    bytes[reason] += problem.values[number].bytes;
    if (!largest || getValueBytes(value) > getValueBytes(largest))
      largest = value;
  }
  std::vector<std::string> parts;
  for (unsigned reason = 0; reason < NumReasons; ++reason)
    if (bytes[reason] > 0)
      parts.push_back((Twine(bytes[reason]) + " " + kReasons[reason]).str());
  InFlightDiagnostic diag =
      step.func.emitError()
      << "budget of " << budget << " bytes is below the minimum of "
      << smallest.savedBytes << " bytes: " << llvm::join(parts, ", ");
  diag.attachNote(largest.getLoc())
      << "the largest of the values, of " << getValueBytes(largest)
      << " bytes, is computed here";
  return diag;
}

FailureOr<BudgetPlan> BudgetProblem::solve(int64_t budget) {
  Result<RecomputationPlan> smallest = findSmallestPlan(problem);
  if (!smallest)
    return step.func.emitError()
           << "no partition saves and recomputes as marked: "
           << smallest.getMessage();
  if (smallest->savedBytes > budget)
    return emitMinimum(budget, *smallest);
  RecomputationPlan found = *planRecomputation(problem, budget);
  BudgetPlan plan;
  for (auto [number, value] : llvm::enumerate(values))
    if (found.isSaved[number])
      plan.saved.insert(value);
  for (auto [number, op] : llvm::enumerate(ops))
    if (found.isRecomputed[number])
      plan.recomputed.insert(op);
  plan.savedBytes = found.savedBytes;
  plan.seconds = found.seconds;
  plan.lowerBound = found.lowerBound;
  return plan;
}

RecomputationProblem partition::makeRecomputationProblem(const Step &step,
                                                         StepCosts &costs) {
  return BudgetProblem(step, costs).take();
}

FailureOr<BudgetPlan> partition::saveWithinBudget(const Step &step,
                                                  int64_t budget,
                                                  StepCosts &costs) {
  return BudgetProblem(step, costs).solve(budget);
}
