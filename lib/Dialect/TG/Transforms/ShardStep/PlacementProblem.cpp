//===- PlacementProblem.cpp - A step as a problem of strategies -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementProblem.h"

#include "OperationStrategies.h"
#include "ValueStrategies.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

namespace {
/// A value with its strategies.
struct ValueForms {
  ValueUses uses;
  std::vector<ValueStrategy> strategies;
  /// Operations that read it, each once, in order.
  llvm::SmallSetVector<Operation *, 2> readers;
  bool leavesStep = false;
  std::optional<uint32_t> node;
};

class ProblemBuilder {
public:
  ProblemBuilder(const Step &step, const DataMesh &mesh,
                 ArrayRef<PlacedValue> placed, const PlacementCosts &costs)
      : step(step), mesh(mesh), placed(placed), costs(costs), forms(step, mesh),
        prices(step.getContext(), mesh, costs) {
    for (const PlacedValue &one : placed)
      placedDims[one.value] = one.dims;
  }

  std::optional<PlacementProblem> build();

private:
  void listOperations();
  void listValues();
  void findUses(Value value, ValueForms &own);
  void findArgumentStates(BlockArgument argument, ValueUses &uses);
  bool mayBeScattered(Operation *op, unsigned result) const;
  double countReaders(Value value, const ValueForms &own) const;

  bool needsNode(Value value, const ValueForms &own) const;
  void addNodes();
  void addOperationNode(Operation *op);
  void addValueNode(Value value, ValueForms &own);
  void connect(Value value, ValueForms &own);
  void joinEnds(Operation *op, const ValueForms &own, unsigned result);
  void connectResults();
  void connectLayers();
  void addEdge(uint32_t from, uint32_t to, std::vector<double> units);
  void notePlaces();

  ArrayRef<OperationStrategy> getStrategies(Operation *op) const {
    return strategies.find(op)->second;
  }
  /// True if what `strategy` makes of `value` serves all operands of `op` that
  /// are this value.
  bool servesAll(const ValueStrategy &strategy, Value value, Operation *op,
                 const OperationStrategy &reader, bool isKept) const;

  const Step &step;
  const DataMesh &mesh;
  ArrayRef<PlacedValue> placed;
  const PlacementCosts &costs;
  PlacementForms forms;
  PartPrices prices;
  llvm::DenseMap<Operation *, std::vector<OperationStrategy>> strategies;
  llvm::MapVector<Value, ValueForms> values;
  llvm::DenseMap<Operation *, uint32_t> operationNodes;
  /// By value, how often what reads it is there, at least.
  llvm::DenseMap<Value, double> readerTimes;
  llvm::DenseMap<Value, ArrayRef<int64_t>> placedDims;
  /// What equal layers give to each other.
  llvm::DenseSet<Value> crossing;
  PlacementProblem problem;
};
} // namespace

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

void ProblemBuilder::listOperations() {
  StrategyLister lister(forms, prices, costs);
  for (Operation *op : step.operations)
    strategies[op] = lister.list(op);
}

/// Arguments that nobody has decided about become what something wants; others
/// stay whole.
void ProblemBuilder::findArgumentStates(BlockArgument argument,
                                        ValueUses &uses) {
  uses.states.push_back(ValueState::getWhole());
  RoleAttr role = step.getArgumentRole(argument.getArgNumber());
  if (!role || (role.getKind() != RoleKind::Parameter &&
                role.getKind() != RoleKind::OptimizerState))
    return;
  for (DimCut cut : forms.getCuts(argument))
    if (cut.outer == 1)
      uses.states.push_back(ValueState::getSplit(Group::Shard, cut));
}

static void insert(SmallVectorImpl<ValueState> &states,
                   const ValueState &state) {
  if (!llvm::is_contained(states, state))
    states.push_back(state);
}

/// A collective is counted with the module of what first reads its result,
/// through views, which the partitioner may look through.
double ProblemBuilder::countReaders(Value value, const ValueForms &own) const {
  double least = std::numeric_limits<double>::infinity();
  for (Operation *op : own.readers) {
    least = std::min(least, costs.getFolded().countOperation(op));
    if (isViewedWhole(op))
      for (Value result : op->getResults())
        if (auto it = readerTimes.find(result); it != readerTimes.end())
          least = std::min(least, it->second);
  }
  if (own.leavesStep || own.uses.isScattered || own.readers.empty())
    least = std::min(least, own.uses.times);
  return least;
}

/// A sum over what is cut that lies like an operand is scattered at once.
bool ProblemBuilder::mayBeScattered(Operation *op, unsigned result) const {
  const ShardingRule *rule = forms.getRule(op);
  return rule && !rule->results[result].empty() &&
         llvm::is_contained(rule->operands, rule->results[result]) &&
         llvm::any_of(forms.getSplits(op), [&](const FactorSplit &split) {
           return !split.results[result];
         });
}

void ProblemBuilder::findUses(Value value, ValueForms &own) {
  ValueUses &uses = own.uses;
  uses.value = value;
  Operation *def = value.getDefiningOp();
  if (def) {
    uses.times = costs.getFolded().countOperation(def);
    auto number = cast<OpResult>(value).getResultNumber();
    for (const OperationStrategy &strategy : getStrategies(def))
      insert(uses.states, strategy.results[number]);
    uses.isScattered = mayBeScattered(def, number);
  } else {
    auto argument = cast<BlockArgument>(value);
    uses.times = costs.getFolded().countArgument(argument.getArgNumber());
    findArgumentStates(argument, uses);
  }
  bool isTensor = isa<RankedTensorType>(value.getType());
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    if (op == step.getTerminator()) {
      own.leavesStep = true;
      RoleAttr role = step.getResultRole(use.getOperandNumber());
      if (role && role.namesArgument())
        for (DimCut cut :
             forms.getCuts(step.block->getArgument(role.getArgument())))
          insert(uses.demands, ValueState::getSplit(Group::Shard, cut));
      insert(uses.demands, ValueState::getWhole());
      continue;
    }
    // What a region reads is needed whole, for which nothing is counted.
    if (op->getBlock() != step.block)
      continue;
    uses.isKept |= isTensor && def && mayKeepResults(def) &&
                   getPhase(op) == Phase::Backward;
    own.readers.insert(op);
    for (const OperationStrategy &strategy : getStrategies(op))
      for (ArrayRef<std::optional<ValueState>> demands :
           {ArrayRef(strategy.demands), ArrayRef(strategy.secondDemands)})
        if (!demands.empty() && demands[use.getOperandNumber()])
          insert(uses.demands, *demands[use.getOperandNumber()]);
  }
  if (auto it = placedDims.find(value); def && it != placedDims.end())
    for (int64_t dim : it->second)
      insert(uses.demands, ValueState::getSplit(Group::Shard, dim));
}

void ProblemBuilder::listValues() {
  for (BlockArgument argument : step.block->getArguments())
    findUses(argument, values[argument]);
  for (Operation *op : step.operations)
    for (Value result : op->getResults())
      findUses(result, values[result]);
  for (auto &[value, own] : llvm::reverse(values)) {
    readerTimes[value] = own.uses.readerTimes = countReaders(value, own);
    own.strategies = listValueStrategies(own.uses, prices, mesh);
  }
}

//===----------------------------------------------------------------------===//
// Nodes and edges
//===----------------------------------------------------------------------===//

void ProblemBuilder::addEdge(uint32_t from, uint32_t to,
                             std::vector<double> units) {
  problem.edges.push_back({from, to, std::move(units)});
}

void ProblemBuilder::addOperationNode(Operation *op) {
  operationNodes[op] = problem.nodes.size();
  std::vector<StrategyCost> &node = problem.nodes.emplace_back();
  double times = costs.getFolded().countOperation(op);
  for (const OperationStrategy &strategy : getStrategies(op))
    node.push_back({times * strategy.units, 0, 0});
}

void ProblemBuilder::addValueNode(Value value, ValueForms &own) {
  own.node = problem.nodes.size();
  std::vector<StrategyCost> &node = problem.nodes.emplace_back();
  auto argument = dyn_cast<BlockArgument>(value);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  RoleAttr role =
      argument ? step.getArgumentRole(argument.getArgNumber()) : RoleAttr();
  bool isParameter = role && role.getKind() == RoleKind::Parameter;
  for (const ValueStrategy &strategy : own.strategies) {
    StrategyCost &cost = node.emplace_back(strategy.cost);
    if (!argument || !type)
      continue;
    double bytes =
        own.uses.times *
        static_cast<double>(getTensorBytes(
            strategy.state.isSplit() ? mesh.getLocalType(type, strategy.state)
                                     : type));
    cost.keptBytes += (isParameter ? kKeptPerParameter : 1) * bytes;
    cost.parameterBytes += isParameter ? bytes : 0;
  }
}

bool ProblemBuilder::servesAll(const ValueStrategy &strategy, Value value,
                               Operation *op, const OperationStrategy &reader,
                               bool isKept) const {
  auto servesOne = [&](ArrayRef<std::optional<ValueState>> demands) {
    return llvm::all_of(llvm::zip(op->getOperands(), demands), [&](auto pair) {
      const auto &[operand, demand] = pair;
      return operand != value || !demand ||
             serves(strategy, {op, *demand}, isKept);
    });
  };
  return servesOne(reader.demands) && servesOne(reader.secondDemands);
}

/// An edge between what computes a value and the one operation that reads it:
/// the cheapest conversion from one form to the other.
void ProblemBuilder::joinEnds(Operation *op, const ValueForms &own,
                              unsigned result) {
  Operation *reader = own.readers.front();
  Value value = op->getResult(result);
  std::vector<double> units;
  for (const OperationStrategy &from : getStrategies(op))
    for (const OperationStrategy &to : getStrategies(reader)) {
      double least = kNever;
      for (const ValueStrategy &strategy : own.strategies)
        if (strategy.state == from.results[result] &&
            servesAll(strategy, value, reader, to, /*isKept=*/false))
          least = std::min(least, strategy.cost.units);
      units.push_back(least);
    }
  addEdge(operationNodes.lookup(op), operationNodes.lookup(reader),
          std::move(units));
}

/// A value that one operation reads, and nothing else, is an edge.
bool ProblemBuilder::needsNode(Value value, const ValueForms &own) const {
  return isa<BlockArgument>(value) || own.leavesStep || own.uses.isKept ||
         own.readers.size() > 1 || crossing.contains(value) ||
         placedDims.contains(value);
}

/// In the order of the step, which messages of the solver follow: arguments
/// where they are first read.
void ProblemBuilder::addNodes() {
  auto add = [&](Value value) {
    auto *it = values.find(value);
    if (it != values.end() && !it->second.node && needsNode(value, it->second))
      addValueNode(value, it->second);
  };
  for (Operation *op : step.operations) {
    for (Value operand : op->getOperands())
      add(operand);
    addOperationNode(op);
    for (Value result : op->getResults())
      add(result);
  }
  for (BlockArgument argument : step.block->getArguments())
    add(argument);
}

void ProblemBuilder::connect(Value value, ValueForms &own) {
  Operation *def = value.getDefiningOp();
  if (!own.node) {
    if (!own.readers.empty())
      joinEnds(def, own, cast<OpResult>(value).getResultNumber());
    return;
  }
  if (def) {
    auto number = cast<OpResult>(value).getResultNumber();
    std::vector<double> units;
    for (const OperationStrategy &from : getStrategies(def))
      for (const ValueStrategy &strategy : own.strategies)
        units.push_back(strategy.state == from.results[number] ? 0 : kNever);
    addEdge(operationNodes.lookup(def), *own.node, std::move(units));
  }
  for (Operation *reader : own.readers) {
    std::vector<double> units;
    for (const ValueStrategy &strategy : own.strategies)
      for (const OperationStrategy &to : getStrategies(reader))
        units.push_back(servesAll(strategy, value, reader, to, own.uses.isKept)
                            ? 0
                            : kNever);
    addEdge(*own.node, operationNodes.lookup(reader), std::move(units));
  }
}

/// Gradients and updates leave the step as their arguments lie, losses whole.
void ProblemBuilder::connectResults() {
  for (auto [number, value] :
       llvm::enumerate(step.getTerminator()->getOperands())) {
    ValueForms &own = values.find(value)->second;
    RoleAttr role = step.getResultRole(number);
    if (role && role.namesArgument()) {
      const ValueForms &argument =
          values.find(step.block->getArgument(role.getArgument()))->second;
      if (*own.node == *argument.node)
        continue;
      std::vector<double> units;
      for (const ValueStrategy &strategy : own.strategies)
        for (const ValueStrategy &wanted : argument.strategies)
          units.push_back(
              serves(strategy, {nullptr, wanted.state}, own.uses.isKept)
                  ? 0
                  : kNever);
      addEdge(*own.node, *argument.node, std::move(units));
      continue;
    }
    bool isLoss = role && role.getKind() == RoleKind::Loss;
    for (auto [strategy, cost] :
         llvm::zip_equal(own.strategies, problem.nodes[*own.node])) {
      bool isWhole =
          serves(strategy, {nullptr, ValueState::getWhole()}, own.uses.isKept);
      bool isPart = !isLoss && (!strategy.state.isPartial() ||
                                strategy.conversions != Conversions::None);
      if (!isWhole && !isPart)
        cost.units = kNever;
    }
  }
}

/// What a layer gives to the next lies as what it gets.
void ProblemBuilder::connectLayers() {
  for (auto [in, out] : costs.getFolded().crossings) {
    const ValueForms &a = values.find(in)->second,
                     &b = values.find(out)->second;
    std::vector<double> units;
    for (const ValueStrategy &first : a.strategies)
      for (const ValueStrategy &second : b.strategies)
        units.push_back(first.state == second.state ? 0 : kNever);
    addEdge(*a.node, *b.node, std::move(units));
  }
}

void ProblemBuilder::notePlaces() {
  for (const PlacedValue &one : placed) {
    const ValueForms &own = values.find(one.value)->second;
    PlacementProblem::Place place{*own.node, {}};
    bool isArgument = isa<BlockArgument>(one.value);
    for (const ValueStrategy &strategy : own.strategies) {
      ValueState state = strategy.state;
      if (!isArgument && strategy.conversions == Conversions::One)
        state = strategy.other;
      bool isPlaced = state.isSplit() && state.isContiguous() &&
                      llvm::is_contained(one.dims, state.dim);
      place.dims.push_back(isPlaced ? std::optional(state.dim) : std::nullopt);
    }
    problem.places[one.value] = std::move(place);
  }
}

std::optional<PlacementProblem> ProblemBuilder::build() {
  if (!forms.find(placed))
    return std::nullopt;
  listOperations();
  for (auto [in, out] : costs.getFolded().crossings) {
    crossing.insert(in);
    crossing.insert(out);
  }
  listValues();
  addNodes();
  for (auto &[value, own] : values)
    connect(value, own);
  connectResults();
  connectLayers();
  notePlaces();
  return std::move(problem);
}

std::optional<PlacementProblem> regather::tg::spmd::buildPlacementProblem(
    const Step &step, const DataMesh &mesh, ArrayRef<PlacedValue> placed,
    const PlacementCosts &costs) {
  return ProblemBuilder(step, mesh, placed, costs).build();
}
