//===- FxCollectives.cpp - Functional collectives and waits ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch types data in flight as a plain tensor, and gives each result of a
// coalesced collective a wait of its own. Here a collective makes one future,
// and the first of its waits becomes the one tg.wait for all results; the
// others name its tensors.
//
//===----------------------------------------------------------------------===//

#include "FxCollectives.h"

#include "FxArguments.h"

#include "regather/Dialect/TG/Steps/Policies.h"

using namespace mlir;
using namespace regather;
using namespace regather::fx;
using Kind = JsonValue::Kind;

/// The collective that a target starts.
std::optional<FxCollectives::Operator>
FxCollectives::getOperator(tg::NodeTarget target) {
  switch (target) {
  case tg::NodeTarget::C10dAllGatherIntoTensorDefault:
  case tg::NodeTarget::C10dAllGatherIntoTensorCoalescedDefault:
    return Operator::AllGather;
  case tg::NodeTarget::C10dReduceScatterTensorDefault:
  case tg::NodeTarget::C10dReduceScatterTensorCoalescedDefault:
    return Operator::ReduceScatter;
  case tg::NodeTarget::C10dAllReduceDefault:
  case tg::NodeTarget::C10dAllReduceCoalescedDefault:
    return Operator::AllReduce;
  case tg::NodeTarget::C10dAllToAllSingleDefault:
    return Operator::AllToAll;
  case tg::NodeTarget::C10dBroadcastDefault:
    return Operator::Broadcast;
  default:
    return std::nullopt;
  }
}

FailureOr<bool> FxCollectives::import(const Call &call, OpBuilder &builder) {
  std::optional<tg::NodeTarget> target =
      tg::findNodeTarget(call.target.getString());
  if (target == tg::NodeTarget::C10dWaitTensorDefault)
    return importWait(call, builder);
  std::optional<Operator> kind = target ? getOperator(*target) : std::nullopt;
  if (!kind)
    return false;
  size_t numArguments = tg::getInfo(*target).parameters.count(' ') + 1;
  if (failed(checkArguments(call, numArguments)) ||
      failed(importCollective(*kind, call, builder)))
    return failure();
  return true;
}

LogicalResult FxCollectives::checkArguments(const Call &call, size_t number) {
  FailureOr<ArrayRef<JsonValue>> args = file.getArray(call.json, "args");
  FailureOr<const JsonValue *> kwargs =
      file.lookup(call.json, "kwargs", Kind::Object);
  if (failed(args) || failed(kwargs))
    return failure();
  if (args->size() != number)
    return file.emitError(*call.json.find("args"))
           << "\"" << call.target.getString() << "\" takes " << number
           << " arguments, got " << args->size();
  if (*kwargs && !(*kwargs)->getMembers().empty())
    return file.emitError(**kwargs) << "\"" << call.target.getString()
                                    << "\" takes positional arguments only";
  return success();
}

const JsonValue *FxCollectives::getArgument(const Call &call, size_t index,
                                            Kind kind) {
  const JsonValue &argument = call.json.find("args")->getElements()[index];
  return succeeded(file.expect(argument, kind)) ? &argument : nullptr;
}

std::optional<tg::Reduction>
FxCollectives::readReduction(const JsonValue &name) {
  std::optional<tg::Reduction> reduction =
      tg::symbolizeReduction(name.getString().lower());
  if (!reduction)
    file.emitError(name) << "expects reduction sum, avg or max, got \""
                         << name.getString() << '"';
  return reduction;
}

/// Sizes that differ, or that do not give one piece to each rank, cannot be
/// said in tg. No list means even pieces.
LogicalResult FxCollectives::checkEvenSplits(const JsonValue &splits,
                                             int64_t numRanks) {
  ArrayRef<JsonValue> sizes = splits.getElements();
  for (const JsonValue &size : sizes)
    if (failed(file.expect(size, Kind::Integer)))
      return failure();
  bool equal = llvm::all_of(sizes, [&](const JsonValue &size) {
    return size.getInteger() == sizes.front().getInteger();
  });
  if (sizes.empty() ||
      (equal && static_cast<int64_t>(sizes.size()) == numRanks))
    return success();
  return file.emitError(splits)
         << "expects " << numRanks << " equal sizes, one for each rank";
}

LogicalResult FxCollectives::importCollective(Operator kind, const Call &call,
                                              OpBuilder &builder) {
  // Arguments after the tensors, in the order of the operator's schema. The
  // process group always comes last.
  size_t next = 1;
  std::optional<tg::Reduction> reduction;
  if (kind == Operator::ReduceScatter || kind == Operator::AllReduce) {
    const JsonValue *name = getArgument(call, next++, Kind::String);
    if (!name || !(reduction = readReduction(*name)))
      return failure();
  }
  const JsonValue *groupSize = nullptr;
  if (kind == Operator::AllGather || kind == Operator::ReduceScatter) {
    groupSize = getArgument(call, next++, Kind::Integer);
    if (!groupSize)
      return failure();
  }
  const JsonValue *outputSplits = nullptr, *inputSplits = nullptr;
  if (kind == Operator::AllToAll) {
    outputSplits = getArgument(call, next++, Kind::Array);
    inputSplits = getArgument(call, next++, Kind::Array);
    if (!outputSplits || !inputSplits)
      return failure();
  }
  const JsonValue *root = nullptr;
  if (kind == Operator::Broadcast) {
    root = getArgument(call, next++, Kind::Integer);
    if (!root)
      return failure();
    if (root->getInteger() < 0)
      return file.emitError(*root)
             << "rank must not be negative, got " << root->getInteger();
  }
  const JsonValue *groupName = getArgument(call, next, Kind::String);
  const Group *group = groupName ? meshes.getGroup(*groupName) : nullptr;
  if (!group)
    return failure();
  if (groupSize && groupSize->getInteger() != group->numRanks)
    return file.emitError(*groupSize)
           << "process group \"" << groupName->getString() << "\" has "
           << group->numRanks << " ranks, got " << groupSize->getInteger();
  if (outputSplits &&
      (failed(checkEvenSplits(*outputSplits, group->numRanks)) ||
       failed(checkEvenSplits(*inputSplits, group->numRanks))))
    return failure();

  const JsonValue &tensors = call.json.find("args")->getElements().front();
  FailureOr<SmallVector<Value>> inputs =
      readTensors(file, values, tensors, call.number);
  if (failed(inputs))
    return failure();
  if (inputs->empty())
    return file.emitError(tensors) << "expects at least one tensor";
  if (inputs->size() != call.types.size() ||
      !llvm::all_of(call.types, llvm::IsaPred<RankedTensorType>))
    return file.emitError(*call.json.find("outputs"))
           << "expects " << inputs->size() << " tensors, one for each input";

  auto future = tg::FutureType::get(builder.getContext(), call.types);
  constexpr int64_t kDim = 0;
  Operation *op = nullptr;
  switch (kind) {
  case Operator::AllGather:
    op = tg::AllGatherOp::create(builder, call.loc, future, *inputs,
                                 group->mesh, group->axes,
                                 builder.getI64IntegerAttr(kDim), call.phase,
                                 /*generation=*/nullptr);
    break;
  case Operator::ReduceScatter:
    op = tg::ReduceScatterOp::create(
        builder, call.loc, future, *inputs, group->mesh, group->axes,
        builder.getI64IntegerAttr(kDim),
        tg::ReductionAttr::get(builder.getContext(), *reduction),
        /*accumulate=*/nullptr, call.phase, /*generation=*/nullptr);
    break;
  case Operator::AllReduce:
    op = tg::AllReduceOp::create(
        builder, call.loc, future, *inputs, group->mesh, group->axes,
        tg::ReductionAttr::get(builder.getContext(), *reduction),
        /*accumulate=*/nullptr, call.phase, /*generation=*/nullptr);
    break;
  case Operator::AllToAll:
    op = tg::AllToAllOp::create(builder, call.loc, future, *inputs, group->mesh,
                                group->axes, builder.getI64IntegerAttr(kDim),
                                builder.getI64IntegerAttr(kDim), call.phase,
                                /*generation=*/nullptr);
    break;
  case Operator::Broadcast:
    op = tg::BroadcastOp::create(
        builder, call.loc, future, *inputs, group->mesh, group->axes,
        builder.getI64IntegerAttr(root->getInteger()), call.phase,
        /*generation=*/nullptr);
    break;
  }
  op->setDiscardableAttrs(call.attrs);
  values.defineInFlight(call.number, op->getResult(0), inputs->size());
  return success();
}

/// Further waits for one collective are the first one; their marks are, too.
LogicalResult FxCollectives::addPolicy(const Call &call, Value arrived) {
  tg::PolicyAttr policy;
  for (NamedAttribute attr : call.attrs)
    if (attr.getName() == tg::kPolicyAttrName)
      policy = cast<tg::PolicyAttr>(attr.getValue());
  Operation *wait = arrived.getDefiningOp();
  auto other = wait->getAttrOfType<tg::PolicyAttr>(tg::kPolicyAttrName);
  auto contradict = [](tg::PolicyAttr lhs, tg::PolicyAttr rhs) {
    return lhs.getValue() == tg::Policy::MustSave &&
           rhs.getValue() == tg::Policy::MustRecompute;
  };
  if (policy && other &&
      (contradict(policy, other) || contradict(other, policy)))
    return file.emitError(*call.json.find("recompute"))
           << "'" << tg::stringifyPolicy(policy.getValue()) << "' contradicts '"
           << tg::stringifyPolicy(other.getValue())
           << "' of another wait for the same collective";
  return tg::combinePolicies(wait, policy, call.loc);
}

FailureOr<bool> FxCollectives::importWait(const Call &call,
                                          OpBuilder &builder) {
  if (failed(checkArguments(call, 1)))
    return failure();
  const JsonValue *reference = getArgument(call, 0, Kind::Object);
  if (!reference)
    return failure();
  FailureOr<Output> source = values.find(*reference, call.number);
  if (failed(source))
    return failure();
  Value future = values.getFuture(source->first);
  if (!future) {
    // A collective that tg does not have is an opaque node, and so is its wait.
    auto producer = values.resolve(*reference, call.number);
    if (failed(producer))
      return failure();
    if (producer->getDefiningOp<tg::NodeOp>())
      return false;
    file.emitError(*reference)
        << "waits for \"" << values.getName(source->first)
        << "\", which no collective started";
    return failure();
  }
  ValueRange arrived = values.getArrived(source->first);
  tg::WaitOp wait;
  if (arrived.empty()) {
    wait = tg::WaitOp::create(builder, call.loc, future);
    SmallVector<NamedAttribute> attrs(call.attrs);
    attrs.emplace_back(tg::kPhaseAttrName, call.phase);
    wait->setDiscardableAttrs(attrs);
    arrived = wait.getTensors();
  } else if (failed(addPolicy(call, arrived[source->second]))) {
    return failure();
  }
  if (call.types.size() != 1 ||
      call.types.front() != arrived[source->second].getType()) {
    file.emitError(*call.json.find("outputs"))
        << "expects one output of type " << arrived[source->second].getType()
        << ", that of \"" << values.getName(source->first) << '"';
    return failure();
  }
  values.defineWait(call.number, *source, arrived);
  return true;
}
