//===- Policies.cpp - Marks to save or to recompute -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/Policies.h"

using namespace mlir;
using namespace regather::tg;

PolicyAttr regather::tg::getPolicyAttr(Operation *op) {
  auto policy = op->getAttrOfType<PolicyAttr>(kPolicyAttrName);
  if (auto wait = dyn_cast<WaitOp>(op); wait && !policy)
    policy = wait.getFuture().getDefiningOp()->getAttrOfType<PolicyAttr>(
        kPolicyAttrName);
  return policy;
}

std::optional<Policy> regather::tg::getPolicy(Operation *op) {
  PolicyAttr policy = getPolicyAttr(op);
  return policy ? std::optional(policy.getValue()) : std::nullopt;
}

/// True for policies under which backward reads the value itself.
static bool saves(Policy policy) {
  return policy == Policy::MustSave || policy == Policy::Offload;
}

bool regather::tg::isMarkedSaved(Value value) {
  Operation *def = value.getDefiningOp();
  std::optional<Policy> policy = def ? getPolicy(def) : std::nullopt;
  return policy && saves(*policy);
}

/// Constraints before preferences; of two that agree, the one that costs no
/// time.
static int getStrength(Policy policy) {
  switch (policy) {
  case Policy::MustSave:
    return 5;
  case Policy::Offload:
    return 4;
  case Policy::MustRecompute:
    return 3;
  case Policy::PreferSave:
    return 2;
  case Policy::PreferRecompute:
    return 1;
  }
  llvm_unreachable("unknown policy");
}

LogicalResult regather::tg::combinePolicies(Operation *op,
                                            Operation *duplicate) {
  return combinePolicies(op,
                         duplicate->getAttrOfType<PolicyAttr>(kPolicyAttrName),
                         duplicate->getLoc());
}

LogicalResult regather::tg::combinePolicies(Operation *op, PolicyAttr other,
                                            Location location) {
  auto policy = op->getAttrOfType<PolicyAttr>(kPolicyAttrName);
  if (!other || policy == other)
    return success();
  if (!policy) {
    op->setAttr(kPolicyAttrName, other);
    return success();
  }
  Policy ours = policy.getValue(), theirs = other.getValue();
  bool contradict = (saves(ours) && theirs == Policy::MustRecompute) ||
                    (saves(theirs) && ours == Policy::MustRecompute);
  // A plan gives way to what the model says.
  if (policy.getPlanned() != other.getPlanned() &&
      (contradict || ours == theirs)) {
    if (policy.getPlanned())
      op->setAttr(kPolicyAttrName, other);
    return success();
  }
  if (contradict) {
    InFlightDiagnostic diag = emitError(location)
                              << "'" << stringifyPolicy(theirs)
                              << "' contradicts the policy of an operation "
                                 "that computes the same value";
    diag.attachNote(op->getLoc())
        << "which is '" << stringifyPolicy(ours) << "' here";
    return diag;
  }
  if (getStrength(theirs) > getStrength(ours))
    op->setAttr(kPolicyAttrName, other);
  return success();
}

/// The results that a recorded decision saves.
static ArrayRef<int64_t> getSavedResults(Operation *op) {
  auto results = op->getAttrOfType<DenseI64ArrayAttr>(kSavedResultsAttrName);
  return results ? results.asArrayRef() : ArrayRef<int64_t>();
}

bool regather::tg::hasRecord(Operation *op) {
  return op->hasAttr(kSavedResultsAttrName);
}

bool regather::tg::isRecordedSaved(Operation *op, unsigned index) {
  return llvm::is_contained(getSavedResults(op), index);
}

void regather::tg::recordSaved(Operation *op, unsigned index) {
  if (isRecordedSaved(op, index))
    return;
  SmallVector<int64_t> results(getSavedResults(op));
  results.push_back(index);
  llvm::sort(results);
  op->setAttr(kSavedResultsAttrName,
              DenseI64ArrayAttr::get(op->getContext(), results));
}

void regather::tg::keepSavedResults(Operation *op, LaunchOp launch,
                                    ValueRange outputs) {
  if (!hasRecord(op))
    return;
  SmallVector<int64_t> saved;
  for (auto [number, value] : llvm::enumerate(outputs)) {
    auto result = dyn_cast<OpResult>(value);
    if (result && result.getOwner() == op &&
        isRecordedSaved(op, result.getResultNumber()))
      saved.push_back(static_cast<int64_t>(number));
  }
  launch->setAttr(kSavedResultsAttrName,
                  DenseI64ArrayAttr::get(launch.getContext(), saved));
}

void regather::tg::keepOffloadMarks(LaunchOp launch, ValueRange outputs) {
  PolicyAttr policy;
  SmallVector<int64_t> marked;
  for (auto [number, value] : llvm::enumerate(outputs)) {
    auto result = dyn_cast<OpResult>(value);
    PolicyAttr own = result ? getPolicyAttr(result.getOwner()) : PolicyAttr();
    if (!own || own.getValue() != Policy::Offload ||
        (hasRecord(result.getOwner()) &&
         !isRecordedSaved(result.getOwner(), result.getResultNumber())))
      continue;
    policy = own;
    marked.push_back(static_cast<int64_t>(number));
  }
  if (!policy)
    return;
  launch->setAttr(kPolicyAttrName, policy);
  launch->setAttr(kSavedResultsAttrName,
                  DenseI64ArrayAttr::get(launch.getContext(), marked));
}
