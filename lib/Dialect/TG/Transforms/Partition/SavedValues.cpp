//===- SavedValues.cpp - What forward hands to backward -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SavedValues.h"

#include "../ParameterRegathers.h"

#include "regather/Dialect/TG/Steps/Policies.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::partition;

bool partition::isNeverSaved(const Step &step, Value value) {
  return isRepeatable(value.getDefiningOp()) &&
         (step.chains.isConstant(value) ||
          !isa<RankedTensorType>(value.getType()));
}

bool partition::mustRecompute(Value value) {
  Operation *def = value.getDefiningOp();
  return getPolicy(def) == Policy::MustRecompute && isRepeatable(def);
}

OperandRange partition::getAwaitedInputs(WaitOp wait) {
  Operation *start = wait.getFuture().getDefiningOp();
  if (auto copy = dyn_cast<HostCopyOpInterface>(start))
    return copy.getInputs();
  return cast<CollectiveOpInterface>(start).getInputs();
}

/// Calls `visit` for each forward value.
static void forEachForwardValue(const Step &step,
                                function_ref<void(OpResult)> visit) {
  for (auto [number, op] : llvm::enumerate(step.graph.getOps()))
    if (!step.graph.isBackward(number))
      llvm::for_each(op->getResults(), visit);
}

SavedValues partition::saveEverything(const Step &step) {
  SavedValues saved;
  forEachForwardValue(step, [&](OpResult value) {
    if (!isNeverSaved(step, value) && !mustRecompute(value) &&
        !isReleased(step.func, step.chains, value))
      saved.insert(value);
  });
  return saved;
}

FailureOr<SavedValues> partition::replayRecord(const Step &step) {
  SavedValues saved;
  bool hasRecord = false;
  forEachForwardValue(step, [&](OpResult value) {
    Operation *op = value.getOwner();
    bool isRecorded = isRecordedSaved(op, value.getResultNumber());
    hasRecord |= isRecorded || getPolicy(op).has_value();
    if (isNeverSaved(step, value) || mustRecompute(value))
      return;
    if (isRecorded || isMarkedSaved(value) || !isRepeatable(op))
      saved.insert(value);
  });
  if (hasRecord)
    return saved;
  return step.func.emitError()
         << "there is nothing to replay: no operation of forward has '"
         << kSavedResultsAttrName << "' or '" << kPolicyAttrName << "'";
}
