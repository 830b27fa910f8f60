//===- FlatReductions.cpp - Reduce the gradients of flat buffers ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The gradients of a buffer are put behind each other and reduced as one
// tensor. Each element is combined in rank order, so the bits are those of
// gradients that are reduced one by one.
//
//===----------------------------------------------------------------------===//

#include "PartNodes.h"
#include "StepSharder.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// True if `state` is that of one summand, or maximum, of those of all ranks.
static bool isPartialOverData(const ValueState &state) {
  return state.isPartial() && state.group == Group::Data;
}

std::optional<Reduction>
StepSharder::getFlatReduction(const FlatBuffer &buffer) const {
  std::optional<Reduction> common;
  for (unsigned number : buffer.parameters) {
    ValueState state = getGradientState(plan.flat.at(number).value);
    std::optional<Reduction> reduction;
    if (isPartialOverData(state))
      reduction = state.reduction;
    else if (buffer.over == Group::Wide && mesh.dataRanks == 1 &&
             state.isWhole())
      reduction = Reduction::Sum;
    // What ranks of the axes that cut the model have are summands.
    if (!reduction || (common && *common != *reduction) ||
        (buffer.over == Group::Wide && *reduction == Reduction::Max))
      return std::nullopt;
    common = reduction;
  }
  return common;
}

Value StepSharder::flattenPartial(const FlatBuffer &buffer) {
  Communication &communication = partitioner.getCommunication();
  SmallVector<Value> locals;
  for (unsigned number : buffer.parameters)
    locals.push_back(
        communication.castTo(getLocalGradient(plan.flat.at(number).value),
                             getReducedType(buffer.computed)));
  return communication.flatten(locals, buffer.offsets, buffer.getSize(mesh));
}

Value StepSharder::castToGradient(Value reduced, const FlatBuffer &buffer) {
  Communication &communication = partitioner.getCommunication();
  if (!buffer.casts.empty())
    reduced = communication.castTo(reduced, buffer.computed);
  for (Type type : buffer.casts)
    reduced = communication.castTo(reduced, type);
  return communication.castTo(reduced, buffer.gradient);
}

Value StepSharder::flattenReduced(const FlatBuffer &buffer) {
  Communication &communication = partitioner.getCommunication();
  SmallVector<Value> wholes;
  for (unsigned number : buffer.parameters) {
    Value value = plan.flat.at(number).value;
    ValueState state = partitioner.getState(value);
    bool isPartial = isPartialOverData(state);
    bool isWide = buffer.over == Group::Wide;
    Value local =
        partitioner.getAs(value, isPartial ? state : ValueState::getWhole());
    if (isPartial || isWide)
      local = communication.castTo(local, getReducedType(buffer.computed));
    // The axes come in the order in which shards are reduced.
    for (AxesAttr axes : {mesh.shardAxes, mesh.replicateAxes})
      if (axes && isPartial)
        local = communication.reduce(local, state.reduction, axes).front();
    if (isWide)
      local =
          communication.reduce(local, Reduction::Sum, mesh.copyAxes).front();
    wholes.push_back(castToGradient(local, buffer));
  }
  Value flat =
      communication.flatten(wholes, buffer.offsets, buffer.getSize(mesh));
  return mesh.getRanks(buffer.over) == 1
             ? flat
             : communication.slice(flat, ValueState::getSplit(buffer.over, 0));
}

/// Ranks of the axes that cut the model have summands of what is a mean over
/// the batches of the others.
Value StepSharder::addCopies(Value mean) {
  PartNodes nodes(partitioner.getCommunication());
  Value copies =
      nodes.makeNumber(static_cast<double>(mesh.countRanks(mesh.copyAxes)),
                       cast<RankedTensorType>(mean.getType()).getElementType());
  return nodes.makeBinary(NodeTarget::AtenMulTensor, mean, copies);
}

/// Casts of gradients of which the buffers have their own.
void StepSharder::skipFlatCasts() {
  for (const FlatBuffer &buffer : buffers) {
    if (!buffer.gradient)
      continue;
    for (unsigned number : buffer.parameters) {
      Operation *user = step.getTerminator();
      for (Operation *cast : llvm::reverse(plan.flat.at(number).casts)) {
        if (!llvm::all_of(cast->getUsers(),
                          [&](Operation *other) { return other == user; }))
          break;
        partitioner.markReplaced(cast);
        user = cast;
      }
    }
  }
}

void StepSharder::reduceFlat(unsigned unit) {
  Communication &communication = partitioner.getCommunication();
  // There are few: one for each element type, kind of reduction and set of
  // ranks.
  SmallVector<FlatReductionGroup, 2> groups;
  for (unsigned number : buffersOfUnit[unit]) {
    const FlatBuffer &buffer = buffers[number];
    if (!buffer.gradient)
      continue;
    std::optional<Reduction> reduction = getFlatReduction(buffer);
    if (!reduction) {
      flatGradients[number] = flattenReduced(buffer);
      continue;
    }
    Type element = getReducedType(buffer.computed);
    FlatReductionGroup *group = llvm::find_if(groups, [&](auto &known) {
      return known.element == element && known.reduction == *reduction &&
             known.over == buffer.over;
    });
    if (group == groups.end())
      group = &groups.emplace_back(
          FlatReductionGroup{element, *reduction, buffer.over, {}, {}});
    group->buffers.push_back(number);
    group->locals.push_back(flattenPartial(buffer));
  }
  for (const FlatReductionGroup &group : groups) {
    SmallVector<Value> parts = communication.scatter(
        group.locals, group.reduction, /*dim=*/0, mesh.getAxes(group.over),
        mesh.getRanks(group.over));
    if (mesh.replicateAxes)
      parts = communication.reduce(parts, group.reduction, mesh.replicateAxes);
    if (group.over == Group::Wide && group.reduction == Reduction::Avg)
      for (Value &part : parts)
        part = addCopies(part);
    for (auto [number, part] : llvm::zip_equal(group.buffers, parts))
      flatGradients[number] = castToGradient(part, buffers[number]);
  }
}

/// A gradient that is an argument of the step is computed by no operation.
Value StepSharder::getFlatGradient(unsigned buffer) {
  if (!flatGradients[buffer]) {
    partitioner.getCommunication().setPlace(
        step.getTerminator(), Phase::Backward,
        StringAttr::get(step.getContext(), buffers[buffer].path));
    reduceFlat(buffers[buffer].unit);
  }
  return flatGradients[buffer];
}
