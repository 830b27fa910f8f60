//===- StepSharder.cpp - Shard the parameters of a step -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSharder.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// Of a parameter that is sharded.
static ValueState getShard(const Parameter &parameter) {
  return ValueState::getSplit(Group::Shard, parameter.dim);
}

ValueState StepSharder::getWantedState(const Gradient &gradient) const {
  return gradient.sharded ? getShard(step.parameters[gradient.parameter])
                          : ValueState::getWhole();
}

StepSharder::StepSharder(const Step &step, const DataMesh &mesh,
                         const ElementTypes &types, ArrayRef<Unit> units,
                         const GradientPlan &plan, ArrayRef<FlatBuffer> buffers)
    : step(step), mesh(mesh), types(types), units(units), plan(plan),
      buffers(buffers), dependence(step), partitioner(*step.block, mesh),
      buffersOfUnit(units.size()), flatArguments(buffers.size()),
      flatGradients(buffers.size()), arguments(planArguments(step, buffers)) {
  for (auto [number, buffer] : llvm::enumerate(buffers))
    buffersOfUnit[buffer.unit].push_back(number);
  for (unsigned i = 0, e = step.getTerminator()->getNumOperands(); i != e; ++i)
    if (RoleAttr role = step.getResultRole(i);
        role && role.getKind() == RoleKind::Loss)
      loss = step.getTerminator()->getOperand(i);
}

void StepSharder::run() {
  addArguments();
  startUnits();
  skipFlatCasts();
  for (Operation *op : step.operations) {
    if (auto it = gatherBefore.find(op); it != gatherBefore.end())
      for (unsigned unit : it->second)
        gatherUnit(unit, op);
    if (auto random = dyn_cast<RandomOp>(op); random && step.hasOwnBatches)
      partitioner.getCommunication().drawOwn(random, step.cutInto);
    partitioner.process(op);
    if (step.batchSlices.contains(op))
      splitBatch(op);
    if (auto it = plan.readyAfter.find(op); it != plan.readyAfter.end())
      for (unsigned unit : it->second)
        reduceUnit(unit, op);
    finishLoss(op);
  }
  convertResults();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// New arguments of the types that a rank holds, behind the old ones.
void StepSharder::addArguments() {
  argumentStates.assign(step.block->getNumArguments(), ValueState::getWhole());
  if (!mesh.dataAxes.getNames().empty())
    for (unsigned input : step.splitInputs)
      argumentStates[input] = ValueState::getSplit(Group::Data, 0);
  for (const Parameter &parameter : step.parameters)
    if (parameter.sharded && !parameter.flat)
      argumentStates[parameter.argument] = getShard(parameter);
  for (auto [state, parameter] : plan.shardedStates)
    argumentStates[state] = getShard(step.parameters[parameter]);
  for (const ArgumentSource &source : arguments)
    if (source.buffer)
      addFlatArgument(*source.buffer);
    else
      addArgument(source.argument);
}

void StepSharder::addArgument(unsigned argument) {
  BlockArgument old = step.block->getArgument(argument);
  const ValueState &state = argumentStates[argument];
  bool isOwnBatch = step.hasOwnBatches && state.group == Group::Data;
  Type type = old.getType();
  if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !isOwnBatch)
    type = mesh.getLocalType(tensor, state);
  if (auto it = step.parameterOfArgument.find(argument);
      it != step.parameterOfArgument.end())
    type = RankedTensorType::get(cast<RankedTensorType>(type).getShape(),
                                 step.parameters[it->second].stored);
  BlockArgument local = step.block->addArgument(type, old.getLoc());
  // The batch is whole if there is one rank, or if each rank has its own. One
  // rank of an elastic step has all segments.
  bool split =
      state.isSplit() && !isOwnBatch &&
      (state.group == Group::Shard || mesh.dataRanks > 1 || mesh.segments);
  partitioner.define(old, {split ? state : ValueState::getWhole(), local});
}

void StepSharder::addFlatArgument(const FlatBuffer &buffer) {
  SmallVector<Location> locations;
  for (unsigned number : buffer.parameters) {
    unsigned argument = step.parameters[number].argument;
    locations.push_back(step.block->getArgument(argument).getLoc());
  }
  flatArguments[&buffer - buffers.data()] = step.block->addArgument(
      RankedTensorType::get({buffer.shardSize}, buffer.stored),
      FusedLoc::get(step.getContext(), locations));
}

/// Cuts the rank's part out of one of several batches. The rows are not those
/// that the rank holds of the input, so the input has been gathered.
void StepSharder::splitBatch(Operation *slice) {
  if ((mesh.dataRanks == 1 && !mesh.segments) || step.hasOwnBatches)
    return;
  Value batch = slice->getResult(0);
  partitioner.getCommunication().setPlace(slice, Phase::Forward, StringAttr(),
                                          /*after=*/true);
  ValueVersion part =
      partitioner.getVersion(batch, ValueState::getSplit(Group::Data, 0));
  partitioner.addVersion(batch, part, /*outsideOptimizer=*/true,
                         /*insideOptimizer=*/true);
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

void StepSharder::startUnits() {
  for (auto [number, unit] : llvm::enumerate(units)) {
    std::optional<unsigned> first;
    for (unsigned parameter : unit.parameters)
      if (std::optional<unsigned> use = step.parameters[parameter].firstUse)
        first = std::min(first.value_or(*use), *use);
    if (first)
      gatherBefore[step.operations[*first]].push_back(number);
  }
}

namespace {
/// What one collective gathers: a parameter, or a buffer of several.
struct Gathered {
  const Parameter *parameter;
  const FlatBuffer *buffer;
  Value shard;
  RankedTensorType whole;
};
} // namespace

void StepSharder::gatherUnit(unsigned unit, Operation *user) {
  Communication &communication = partitioner.getCommunication();
  communication.setPlace(user, getPhase(user).value_or(Phase::Forward),
                         StringAttr::get(user->getContext(), units[unit].path));
  // Each element type has a collective of its own, because a collective sends
  // one message, and each dimension, which is one for all that it gathers, as
  // are the ranks.
  llvm::MapVector<std::tuple<Type, int64_t, unsigned>, SmallVector<Gathered>>
      byType;
  auto getKey = [](Type element, int64_t dim, Group over) {
    return std::make_tuple(element, dim, static_cast<unsigned>(over));
  };
  for (unsigned number : buffersOfUnit[unit]) {
    const FlatBuffer &buffer = buffers[number];
    bool isUsed = llvm::any_of(buffer.parameters, [&](unsigned parameter) {
      return step.parameters[parameter].firstUse.has_value();
    });
    if (!isUsed)
      continue;
    Type element = buffer.gathered;
    byType[getKey(element, 0, buffer.over)].push_back(
        {nullptr, &buffer, communication.castTo(flatArguments[number], element),
         RankedTensorType::get({buffer.getSize(mesh)}, element)});
  }
  for (unsigned number : units[unit].parameters) {
    const Parameter &parameter = step.parameters[number];
    if (!parameter.firstUse || parameter.flat)
      continue;
    Value argument = step.block->getArgument(parameter.argument);
    Type element = parameter.gathered;
    if (parameter.sharded) {
      byType[getKey(element, parameter.dim, Group::Shard)].push_back(
          {&parameter, nullptr,
           communication.castTo(
               partitioner.getAs(argument, getShard(parameter)), element),
           RankedTensorType::get(parameter.type.getShape(), element)});
      continue;
    }
    Value local = partitioner.getAs(argument, ValueState::getWhole());
    partitioner.define(argument, {ValueState::getWhole(),
                                  communication.castTo(
                                      local, parameter.type.getElementType())});
  }
  for (auto &[key, tensors] : byType) {
    SmallVector<Value> shards;
    SmallVector<Type> whole;
    for (const Gathered &tensor : tensors) {
      shards.push_back(tensor.shard);
      whole.push_back(tensor.whole);
    }
    auto over = static_cast<Group>(std::get<2>(key));
    // One rank has all of it: a gather would copy it.
    SmallVector<Value> values =
        mesh.getRanks(over) == 1
            ? shards
            : communication.gather(shards, /*dim=*/std::get<1>(key),
                                   mesh.getAxes(over), whole);
    for (auto [tensor, value] : llvm::zip_equal(tensors, values))
      if (tensor.buffer)
        defineMembers(*tensor.buffer, value);
      else
        defineGathered(*tensor.parameter, value);
  }
}

void StepSharder::defineMembers(const FlatBuffer &buffer, Value gathered) {
  SmallVector<const Parameter *> used;
  SmallVector<int64_t> offsets;
  SmallVector<Type> whole;
  for (auto [number, offset] :
       llvm::zip_equal(buffer.parameters, buffer.offsets)) {
    const Parameter &parameter = step.parameters[number];
    if (!parameter.firstUse)
      continue;
    used.push_back(&parameter);
    offsets.push_back(offset);
    whole.push_back(
        RankedTensorType::get(parameter.type.getShape(), buffer.gathered));
  }
  SmallVector<Value> members =
      partitioner.getCommunication().unflatten(gathered, offsets, whole);
  for (auto [parameter, member] : llvm::zip_equal(used, members))
    defineGathered(*parameter, member);
}

void StepSharder::defineGathered(const Parameter &parameter, Value gathered) {
  // The casts of the graph now happen before the gather.
  for (Operation *op : parameter.casts) {
    partitioner.define(op->getResult(0), {ValueState::getWhole(), gathered});
    partitioner.markReplaced(op);
  }
  if (!parameter.casts.empty())
    return;
  Value whole = partitioner.getCommunication().castTo(
      gathered, parameter.type.getElementType());
  Value argument = step.block->getArgument(parameter.argument);
  if (parameter.flat)
    return partitioner.define(argument, {ValueState::getWhole(), whole});
  partitioner.addVersion(argument, {ValueState::getWhole(), whole},
                         /*outsideOptimizer=*/true, /*insideOptimizer=*/false);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void StepSharder::reduceUnit(unsigned number, Operation *last) {
  Communication &communication = partitioner.getCommunication();
  communication.setPlace(
      last, getPhase(last).value_or(Phase::Backward),
      StringAttr::get(last->getContext(), units[number].path), /*after=*/true);
  // There are few: one for each element type and dimension.
  SmallVector<ReductionGroup, 2> groups;
  for (const Gradient &gradient : plan.ofUnit[number]) {
    ValueState state = getGradientState(gradient.value);
    if (!state.isPartial() || state.group != Group::Data) {
      finishGradient(gradient, partitioner.getAs(gradient.value,
                                                 getWantedState(gradient)));
      continue;
    }
    Value local = getLocalGradient(gradient.value);
    Type element = getReducedType(
        cast<RankedTensorType>(local.getType()).getElementType());
    local = communication.castTo(local, element);
    std::optional<int64_t> dim;
    if (gradient.sharded)
      dim = step.parameters[gradient.parameter].dim;
    ReductionGroup *group = llvm::find_if(groups, [&](auto &known) {
      return known.element == element && known.reduction == state.reduction &&
             known.dim == dim;
    });
    if (group == groups.end())
      group = &groups.emplace_back(
          ReductionGroup{element, state.reduction, dim, {}, {}});
    group->gradients.push_back(gradient);
    group->locals.push_back(local);
  }
  for (const ReductionGroup &group : groups)
    reduceTogether(group);
  reduceFlat(number);
}

void StepSharder::reduceTogether(const ReductionGroup &group) {
  Communication &communication = partitioner.getCommunication();
  SmallVector<Value> parts;
  if (group.dim) {
    parts = communication.scatter(group.locals, group.reduction, *group.dim,
                                  mesh.shardAxes, mesh.shardRanks);
    if (mesh.replicateAxes)
      parts = communication.reduce(parts, group.reduction, mesh.replicateAxes);
  } else {
    parts = communication.reduce(group.locals, group.reduction, mesh.dataAxes);
  }
  for (auto [gradient, part] : llvm::zip_equal(group.gradients, parts))
    finishGradient(gradient, part);
}

Type StepSharder::getReducedType(Type element) const {
  if (mesh.segments)
    return mesh.getSumType(element);
  return types.reduce && isa<FloatType>(element) ? types.reduce : element;
}

ValueState StepSharder::getGradientState(Value gradient) const {
  return step.hasOwnBatches
             ? ValueState::getPartial(Group::Data, Reduction::Avg)
             : partitioner.getState(gradient);
}

Value StepSharder::getLocalGradient(Value gradient) {
  // With a batch for each rank, the rank's own gradient stays in its place
  // until the end.
  return step.hasOwnBatches
             ? gradient
             : partitioner.getAs(gradient, partitioner.getState(gradient));
}

void StepSharder::finishGradient(const Gradient &gradient, Value local) {
  Value value = gradient.value;
  reduced[value] = local;
  // Other readers read the reduced gradient, in its original type; backward may
  // read that of the rank's own batch.
  if (llvm::all_of(value.getUsers(), [&](Operation *user) {
        return user == step.getTerminator();
      }))
    return;
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  ValueVersion version = {getWantedState(gradient),
                          partitioner.getCommunication().castTo(local, element),
                          /*zeroPadding=*/getGradientState(value).isPartial()};
  if (step.hasOwnBatches && !gradient.hasLocalReaders)
    partitioner.define(value, version);
  else if (gradient.hasLocalReaders && !gradient.sharded)
    value.replaceUsesWithIf(version.local, [](OpOperand &use) {
      return getPhase(use.getOwner()) == Phase::Optimizer;
    });
  else
    partitioner.addVersion(value, version,
                           /*outsideOptimizer=*/!gradient.hasLocalReaders,
                           /*insideOptimizer=*/true);
}

/// Reduces the loss where it is computed, not where the step ends.
void StepSharder::finishLoss(Operation *op) {
  if (!loss || loss.getDefiningOp() != op ||
      (partitioner.getState(loss).isWhole() && !dependence.contains(loss)))
    return;
  partitioner.getCommunication().setPlace(
      op, getPhase(op).value_or(Phase::Forward),
      op->getAttrOfType<StringAttr>(kModuleAttrName), /*after=*/true);
  if (step.hasOwnBatches)
    reduced[loss] = makeMean(loss);
  else
    (void)partitioner.getAs(loss, ValueState::getWhole());
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The state in which a result leaves the step.
static ValueState getResultState(RoleAttr role, ValueState computed,
                                 ArrayRef<ValueState> arguments) {
  if (role && role.namesArgument())
    return arguments[role.getArgument()];
  bool isLoss = role && role.getKind() == RoleKind::Loss;
  // A placement describes contiguous parts.
  return computed.isSplit() && computed.isContiguous() && !isLoss
             ? computed
             : ValueState::getWhole();
}

Value StepSharder::convertResult(unsigned result, PlacementAttr &placement) {
  Operation *terminator = step.getTerminator();
  Value value = terminator->getOperand(result);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return value;
  RoleAttr role = step.getResultRole(result);
  Operation *source = value.getDefiningOp();
  Communication &communication = partitioner.getCommunication();
  communication.setPlace(
      terminator,
      source ? getPhase(source).value_or(Phase::Forward) : Phase::Forward,
      source ? source->getAttrOfType<StringAttr>(kModuleAttrName)
             : StringAttr());
  ValueState state =
      getResultState(role, partitioner.getState(value), argumentStates);
  // An update or a gradient has the placement of its argument.
  if (!role || !role.namesArgument())
    placement = mesh.getPlacement(type, state, step.getResultPlacement(result));
  bool isGradient = role && role.getKind() == RoleKind::Gradient;
  if (!isGradient)
    return dependence.contains(value) ? convertOwnResult(result, placement)
                                      : partitioner.getAs(value, state);
  const Parameter &parameter =
      step.parameters[step.parameterOfArgument.lookup(role.getArgument())];
  auto it = reduced.find(value);
  Value local =
      it != reduced.end() ? it->second : partitioner.getAs(value, state);
  return communication.castTo(local, parameter.stored ==
                                             parameter.type.getElementType()
                                         ? type.getElementType()
                                         : parameter.stored);
}

/// The buffer of each gradient that lies in one, by number of the result.
static llvm::DenseMap<unsigned, unsigned>
findFlatResults(const Step &step, ArrayRef<FlatBuffer> buffers) {
  llvm::DenseMap<unsigned, unsigned> bufferOfResult;
  for (auto [number, buffer] : llvm::enumerate(buffers))
    for (unsigned parameter : buffer.parameters)
      if (std::optional<unsigned> result = step.parameters[parameter].gradient)
        bufferOfResult[*result] = number;
  return bufferOfResult;
}

Value StepSharder::makeMean(Value value) {
  return partitioner.getCommunication()
      .reduce(value, Reduction::Avg, mesh.dataAxes)
      .front();
}

Value StepSharder::convertOwnResult(unsigned result, PlacementAttr &placement) {
  Value value = step.getTerminator()->getOperand(result);
  if (auto it = reduced.find(value); it != reduced.end())
    return it->second;
  // Arguments have been replaced.
  Value own = value.getDefiningOp()
                  ? value
                  : partitioner.getAs(value, ValueState::getWhole());
  if (getResultForm(step, result) == ResultForm::Mean)
    return makeMean(own);
  placement = mesh.getPlacement(
      mesh.getJointType(cast<RankedTensorType>(value.getType())),
      ValueState::getSplit(Group::Data, 0), step.getResultPlacement(result));
  return own;
}

void StepSharder::convertResults() {
  Operation *terminator = step.getTerminator();
  llvm::DenseMap<unsigned, unsigned> flatResults =
      findFlatResults(step, buffers);
  llvm::SmallDenseSet<unsigned> returned;
  SmallVector<ResultSource> results;
  for (unsigned i = 0, e = terminator->getNumOperands(); i != e; ++i) {
    ResultSource source{i, Value(), PlacementAttr()};
    if (auto it = flatResults.find(i); it != flatResults.end()) {
      if (!returned.insert(it->second).second)
        continue;
      source.buffer = &buffers[it->second];
      source.value = getFlatGradient(it->second);
    } else {
      source.value = convertResult(i, source.placement);
    }
    results.push_back(source);
  }
  terminator->setOperands(llvm::map_to_vector(
      results, [](const ResultSource &source) { return source.value; }));
  partitioner.eraseReplaced();
  step.block->eraseArguments(0, argumentStates.size());
  replaceSignature(step, mesh, arguments, argumentStates, results);
}
