//===- AxisSharder.cpp - Shard a step over one more axis ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisSharder.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

AxisSharder::AxisSharder(const Step &step, const DataMesh &mesh,
                         const AxisSeeds &seeds, bool isTrial)
    : step(step), mesh(mesh), seeds(seeds),
      partitioner(*step.block, mesh, FactorGoal::LeastCommunication,
                  isTrial ? "" : "tg-shard-step") {}

void AxisSharder::run() {
  addArguments();
  findEarlyResults();
  partitioner.setCutArgument([this](BlockArgument argument, int64_t dim) {
    return cutArgument(argument, dim);
  });
  partitioner.setWantedState(
      [this](Value value) { return getWantedState(value); });
  for (Operation *op : step.operations) {
    partitioner.process(op);
    convertEarly(op);
  }
  convertResults();
}

int64_t AxisSharder::countShardedParameters() const {
  return llvm::count_if(step.parameters, [&](const Parameter &parameter) {
    return arguments[parameter.argument].state.isSplit();
  });
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// New arguments of the types that a rank holds, behind the old ones.
void AxisSharder::addArguments() {
  unsigned count = step.block->getNumArguments();
  arguments.resize(count);
  for (unsigned i = 0; i != count; ++i) {
    BlockArgument old = step.block->getArgument(i);
    Argument &argument = arguments[i];
    auto type = dyn_cast<RankedTensorType>(old.getType());
    RoleAttr role = step.getArgumentRole(i);
    auto seed = seeds.arguments.find(i);
    if (seed != seeds.arguments.end() && seed->second)
      argument.state = ValueState::getSplit(Group::Shard, *seed->second);
    argument.isOpen = seed == seeds.arguments.end() && type && role &&
                      (role.getKind() == RoleKind::Parameter ||
                       role.getKind() == RoleKind::OptimizerState);
    argument.local = step.block->addArgument(
        type ? mesh.getLocalType(type, argument.state) : old.getType(),
        old.getLoc());
    numbers[argument.local] = i;
    bool isStationary = argument.state.isSplit() && role &&
                        role.getKind() == RoleKind::Parameter;
    partitioner.define(old, {argument.state, argument.local,
                             /*zeroPadding=*/true, isStationary});
  }
}

Value AxisSharder::cutArgument(BlockArgument value, int64_t dim) {
  unsigned number = value.getArgNumber();
  if (number >= arguments.size())
    number = numbers.lookup(value);
  Argument &argument = arguments[number];
  ValueState wanted = ValueState::getSplit(Group::Shard, dim);
  if (!argument.isOpen)
    return argument.state == wanted ? argument.local : BlockArgument();
  auto type = cast<RankedTensorType>(argument.local.getType());
  // An uneven part is padded, which an argument may be only once.
  PlacementAttr before = step.getArgumentPlacement(number);
  if (type.getDimSize(dim) % mesh.getBlocks(Group::Shard) != 0 &&
      (before || mesh.segments || type.getDimSize(dim) < mesh.shardRanks))
    return nullptr;
  argument.isOpen = false;
  argument.state = wanted;
  argument.local.setType(mesh.getLocalType(type, wanted));
  gatherEarlierUses(number);
  return argument.local;
}

void AxisSharder::gatherEarlierUses(unsigned number) {
  Argument &argument = arguments[number];
  BlockArgument old = step.block->getArgument(number);
  ValueVersion part = {argument.state, argument.local, /*zeroPadding=*/true,
                       /*isStationary=*/true};
  if (argument.local.use_empty())
    return partitioner.define(old, part);
  Operation *first = nullptr;
  for (Operation *user : argument.local.getUsers()) {
    Operation *op = step.block->findAncestorOpInBlock(*user);
    if (!first || op->isBeforeInBlock(first))
      first = op;
  }
  Communication &communication = partitioner.getCommunication();
  Communication::Place place = communication.getPlace();
  communication.setPlace(first);
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : argument.local.getUses())
    uses.push_back(&use);
  Value whole = communication
                    .gather(argument.local, argument.state.dim, mesh.shardAxes,
                            old.getType())
                    .front();
  for (OpOperand *use : uses)
    use->set(whole);
  communication.setPlace(place);
  gathered.push_back(whole.getDefiningOp());
  ValueVersion versions[] = {part, {ValueState::getWhole(), whole}};
  partitioner.define(old, versions);
  // Operations that read it whole may be rebuilt on parts.
  std::swap(versions[0], versions[1]);
  partitioner.define(whole, versions);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

ValueState AxisSharder::getArgumentState(unsigned number) {
  // What nothing has cut until now stays whole.
  arguments[number].isOpen = false;
  return arguments[number].state;
}

ValueState AxisSharder::getResultState(unsigned result) {
  RoleAttr role = step.getResultRole(result);
  if (role && role.namesArgument())
    return getArgumentState(role.getArgument());
  ValueState computed =
      partitioner.getState(step.getTerminator()->getOperand(result));
  bool isLoss = role && role.getKind() == RoleKind::Loss;
  // A placement describes contiguous parts.
  return computed.isSplit() && computed.isContiguous() && !isLoss
             ? computed
             : ValueState::getWhole();
}

void AxisSharder::findEarlyResults() {
  for (auto [number, value] :
       llvm::enumerate(step.getTerminator()->getOperands()))
    if (RoleAttr role = step.getResultRole(number);
        role && (role.getKind() == RoleKind::Gradient ||
                 role.getKind() == RoleKind::Loss))
      earlyResults[value].push_back(number);
}

std::optional<ValueState> AxisSharder::getWantedState(Value value) {
  // Casts and sums of a gradient are in between.
  constexpr unsigned maxOperations = 4;
  for (unsigned i = 0; i != maxOperations; ++i) {
    if (auto early = earlyResults.find(value); early != earlyResults.end())
      return getResultState(early->second.front());
    if (!value.hasOneUse())
      break;
    Operation *user = *value.getUsers().begin();
    auto type = user->getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(user->getResult(0).getType())
                    : RankedTensorType();
    if (!type || !isa<ShardingRuleOpInterface>(user) ||
        type.getShape() != cast<RankedTensorType>(value.getType()).getShape())
      break;
    value = user->getResult(0);
  }
  return std::nullopt;
}

void AxisSharder::convertEarly(Operation *op) {
  Communication &communication = partitioner.getCommunication();
  for (Value result : op->getResults()) {
    auto seed = seeds.values.find(result);
    auto early = earlyResults.find(result);
    if (seed == seeds.values.end() && early == earlyResults.end())
      continue;
    communication.setPlace(op, getPhase(op).value_or(Phase::Forward),
                           op->getAttrOfType<StringAttr>(kModuleAttrName),
                           /*after=*/true);
    if (seed != seeds.values.end()) {
      ValueState state = seed->second
                             ? ValueState::getSplit(Group::Shard, *seed->second)
                             : ValueState::getWhole();
      partitioner.addVersion(result, partitioner.getVersion(result, state),
                             /*outsideOptimizer=*/true,
                             /*insideOptimizer=*/true);
    }
    if (early != earlyResults.end())
      for (unsigned number : early->second)
        (void)partitioner.getZeroPadded(result, getResultState(number));
  }
}

void AxisSharder::convertResults() {
  Operation *terminator = step.getTerminator();
  SmallVector<ResultSource> results;
  SmallVector<Value> values;
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    ResultSource source{static_cast<unsigned>(number), value};
    if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
      Operation *op = value.getDefiningOp();
      partitioner.getCommunication().setPlace(
          terminator,
          op ? getPhase(op).value_or(Phase::Forward) : Phase::Forward,
          op ? op->getAttrOfType<StringAttr>(kModuleAttrName) : StringAttr());
      ValueState state = getResultState(number);
      RoleAttr role = step.getResultRole(number);
      // Arguments have zeros behind their end, and what they become, too.
      source.value = role && role.namesArgument()
                         ? partitioner.getZeroPadded(value, state).local
                         : partitioner.getAs(value, state);
      if (!role || !role.namesArgument())
        source.placement =
            mesh.getPlacement(type, state, step.getResultPlacement(number));
    } else {
      source.value = partitioner.getAs(value, ValueState::getWhole());
    }
    results.push_back(source);
    values.push_back(source.value);
  }
  terminator->setOperands(values);
  partitioner.eraseReplaced();
  for (Operation *wait : gathered) {
    if (!wait->use_empty())
      continue;
    Operation *collective = wait->getOperand(0).getDefiningOp();
    wait->erase();
    collective->erase();
  }
  step.block->eraseArguments(0, arguments.size());
  SmallVector<ValueState> states;
  for (const Argument &argument : arguments)
    states.push_back(argument.state);
  replaceSignature(step, mesh, planArguments(step, {}), states, results);
}
