//===- CollectBoundary.cpp - What lives on from forward to backward -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectReport.h"

#include "regather/Driver/BoundaryStatistics.h"

#include "regather/Dialect/TG/Steps/Policies.h"

using namespace mlir;
using namespace regather;
using namespace regather::report;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::string getText(Operation *op, StringRef attribute) {
  auto text = op->getAttrOfType<StringAttr>(attribute);
  return text ? text.str() : "";
}

/// What carries out `op`: the target of a node, the collective of a wait.
static std::string getOpName(Operation *op) {
  if (auto node = dyn_cast<NodeOp>(op))
    return node.getTarget().str();
  if (auto wait = dyn_cast<WaitOp>(op))
    op = wait.getFuture().getDefiningOp();
  return op->getName().getStringRef().str();
}

/// "4x256xf32".
static std::string getTypeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  StringRef shape = text;
  if (shape.consume_front("tensor<"))
    shape.consume_back(">");
  return shape.str();
}

//===----------------------------------------------------------------------===//
// Gathered parameters
//===----------------------------------------------------------------------===//

namespace {
/// Collects what forward gathers, in the order of the program.
class ParameterCollector {
public:
  ParameterCollector(func::FuncOp func, const DecisionRemarks &remarks)
      : func(func), remarks(remarks), graph(func.getBody().front()),
        chains(cast<FunctionOpInterface>(func.getOperation()), graph) {}

  std::vector<GatheredParameter>
  collect(const llvm::MapVector<BlockArgument, int64_t> &kept);
  const StepGraph &getGraph() const { return graph; }
  const ParameterChains &getChains() const { return chains; }

private:
  void addForward(BlockArgument argument, int64_t bytes);
  void decide(BlockArgument argument, GatheredParameter &parameter) const;

  func::FuncOp func;
  const DecisionRemarks &remarks;
  StepGraph graph;
  ParameterChains chains;
  std::vector<GatheredParameter> parameters;
  llvm::DenseMap<BlockArgument, unsigned> numbers;
};
} // namespace

void ParameterCollector::addForward(BlockArgument argument, int64_t bytes) {
  auto [it, inserted] = numbers.try_emplace(argument, parameters.size());
  if (!inserted) {
    int64_t &gathered = parameters[it->second].gatheredBytes;
    gathered = std::max(gathered, bytes);
    return;
  }
  unsigned number = argument.getArgNumber();
  GatheredParameter parameter;
  parameter.name = getParameterName(
      cast<FunctionOpInterface>(func.getOperation()), argument);
  if (auto module = func.getArgAttrOfType<StringAttr>(number, kModuleAttrName))
    parameter.module = module.str();
  if (auto members =
          func.getArgAttrOfType<MembersAttr>(number, kMembersAttrName))
    for (MemberAttr member : members.getMembers())
      parameter.members.push_back(member.getName().str());
  parameter.shardBytes = getValueBytes(argument);
  parameter.gatheredBytes = bytes;
  parameters.push_back(std::move(parameter));
}

/// Says what becomes of a parameter after forward, and why.
void ParameterCollector::decide(BlockArgument argument,
                                GatheredParameter &parameter) const {
  parameter.decision = parameter.keptBytes > 0         ? "kept"
                       : parameter.regatheredBytes > 0 ? "gathered again"
                                                       : "released";
  parameter.reason = remarks.getReason(parameter.name).str();
  if (!parameter.reason.empty())
    return;
  if (parameter.keptBytes > 0)
    parameter.reason = "nobody has decided about it";
  else if (parameter.regatheredBytes > 0)
    parameter.reason = "the step says so";
  else
    parameter.reason = "backward does not read it";
}

std::vector<GatheredParameter> ParameterCollector::collect(
    const llvm::MapVector<BlockArgument, int64_t> &kept) {
  llvm::DenseMap<BlockArgument, int64_t> regathered;
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    auto wait = dyn_cast<WaitOp>(op);
    auto gather =
        wait ? wait.getFuture().getDefiningOp<AllGatherOp>() : nullptr;
    if (!gather)
      continue;
    for (auto [input, tensor] :
         llvm::zip(gather.getInputs(), wait.getTensors())) {
      BlockArgument argument = chains.getParameter(input);
      if (!argument)
        continue;
      int64_t bytes = getValueBytes(tensor);
      if (graph.isBackward(number))
        regathered[argument] +=
            std::max<int64_t>(bytes - getValueBytes(input), 0);
      else
        addForward(argument, bytes);
    }
  }
  for (auto [argument, number] : numbers) {
    GatheredParameter &parameter = parameters[number];
    parameter.keptBytes = kept.lookup(argument);
    parameter.regatheredBytes = regathered.lookup(argument);
    decide(argument, parameter);
  }
  return std::move(parameters);
}

//===----------------------------------------------------------------------===//
// Saved values
//===----------------------------------------------------------------------===//

static std::string getReason(Operation *op) {
  if (std::optional<Policy> policy = getPolicy(op))
    return "marked " + stringifyPolicy(*policy).str();
  if (!isRepeatable(op))
    return "would not come out the same again";
  if (isa<WaitOp>(op))
    return "was communicated";
  auto costed = dyn_cast<CostOpInterface>(op);
  if (costed && costed.isLibraryCall())
    return "slow to compute";
  OpCost cost = getOpCost(op);
  if (!cost.view && 4 * cost.writtenBytes < cost.readBytes)
    return "small beside what it is computed from";
  return "backward reads it";
}

static SavedValue describeSaved(Value value) {
  Operation *op = value.getDefiningOp();
  SavedValue saved;
  saved.id = getText(op, kIdAttrName);
  if (op->getNumResults() > 1)
    saved.id += ":" + std::to_string(cast<OpResult>(value).getResultNumber());
  saved.op = getOpName(op);
  saved.module = getText(op, kModuleAttrName);
  saved.type = getTypeText(value.getType());
  saved.reason = getReason(op);
  saved.bytes = getValueBytes(value);
  saved.flops = getOpCost(op).flops;
  return saved;
}

static RecomputedOp describeRecomputed(Operation *op) {
  RecomputedOp recomputed{getText(op, kIdAttrName), getOpName(op),
                          getText(op, kModuleAttrName), 0, getOpCost(op).flops};
  for (Value result : op->getResults())
    recomputed.bytes += getValueBytes(result);
  return recomputed;
}

Boundary regather::collectBoundary(func::FuncOp func,
                                   const DecisionRemarks &remarks) {
  ParameterCollector parameters(func, remarks);
  Boundary boundary;
  std::vector<CrossingValue> crossing =
      findCrossingValues(cast<FunctionOpInterface>(func.getOperation()),
                         parameters.getGraph(), parameters.getChains());
  for (const CrossingValue &value : crossing)
    if (!value.gathered && value.bytes > 0)
      boundary.saved.push_back(describeSaved(value.value));
  boundary.parameters = parameters.collect(countGathered(crossing));
  for (Operation *op : findRecomputed(func->getParentOfType<ModuleOp>()))
    if (!isa<CollectiveOpInterface, WaitOp>(op) && !getOpCost(op).view)
      boundary.recomputed.push_back(describeRecomputed(op));
  BoundaryCount count = countBoundary(func->getParentOfType<ModuleOp>());
  boundary.savedBytes = count.savedBytes;
  boundary.gatheredBytes = count.gatheredBytes;
  boundary.recomputedFlops = count.recomputedFlops;
  return boundary;
}
