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

#include "StepSharder.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

static const ValueState shard = ValueState::getSplit(Group::Shard, 0);

std::optional<ValueState>
StepSharder::getFlatState(const FlatBuffer &buffer) const {
  std::optional<ValueState> common;
  for (unsigned number : buffer.parameters) {
    ValueState state = getGradientState(plan.flat.at(number).value);
    if (!state.isPartial() || state.group != Group::Data)
      return std::nullopt;
    if (common && !(*common == state))
      return std::nullopt;
    common = state;
  }
  return common;
}

Value StepSharder::flattenPartial(const FlatBuffer &buffer,
                                  const ValueState &state) {
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
    if (!state.isPartial() || state.group != Group::Data) {
      wholes.push_back(castToGradient(
          partitioner.getAs(value, ValueState::getWhole()), buffer));
      continue;
    }
    Value local = communication.castTo(partitioner.getAs(value, state),
                                       getReducedType(buffer.computed));
    // The axes come in the order in which shards are reduced.
    for (AxesAttr axes : {mesh.shardAxes, mesh.replicateAxes})
      if (axes)
        local = communication.reduce(local, state.reduction, axes).front();
    wholes.push_back(castToGradient(local, buffer));
  }
  Value flat =
      communication.flatten(wholes, buffer.offsets, buffer.getSize(mesh));
  return mesh.shardRanks == 1 ? flat : communication.slice(flat, shard);
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
  // There are few: one for each element type and kind of reduction.
  SmallVector<FlatReductionGroup, 2> groups;
  for (unsigned number : buffersOfUnit[unit]) {
    const FlatBuffer &buffer = buffers[number];
    if (!buffer.gradient)
      continue;
    std::optional<ValueState> state = getFlatState(buffer);
    if (!state) {
      flatGradients[number] = flattenReduced(buffer);
      continue;
    }
    Type element = getReducedType(buffer.computed);
    FlatReductionGroup *group = llvm::find_if(groups, [&](auto &known) {
      return known.element == element && known.reduction == state->reduction;
    });
    if (group == groups.end())
      group = &groups.emplace_back(
          FlatReductionGroup{element, state->reduction, {}, {}});
    group->buffers.push_back(number);
    group->locals.push_back(flattenPartial(buffer, *state));
  }
  for (const FlatReductionGroup &group : groups) {
    SmallVector<Value> parts =
        communication.scatter(group.locals, group.reduction, /*dim=*/0,
                              mesh.shardAxes, mesh.shardRanks);
    if (mesh.replicateAxes)
      parts = communication.reduce(parts, group.reduction, mesh.replicateAxes);
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
