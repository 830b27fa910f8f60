//===- Boundary.cpp - Check what backward reads of forward ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Boundary.h"

#include "../ParameterRegathers.h"

#include "regather/Dialect/TG/Steps/Policies.h"

using namespace mlir;
using namespace regather::tg;

/// Checks that a wait and its collective, which together make one value, do not
/// have opposite marks.
static LogicalResult verifyMarks(WaitOp wait) {
  Operation *collective = wait.getFuture().getDefiningOp();
  auto own = wait->getAttrOfType<PolicyAttr>(kPolicyAttrName);
  auto other = collective->getAttrOfType<PolicyAttr>(kPolicyAttrName);
  auto contradict = [](Policy lhs, Policy rhs) {
    return lhs == Policy::MustRecompute &&
           (rhs == Policy::MustSave || rhs == Policy::Offload);
  };
  if (!own || !other ||
      !(contradict(own.getValue(), other.getValue()) ||
        contradict(other.getValue(), own.getValue())))
    return success();
  InFlightDiagnostic diag = wait.emitError()
                            << "'" << stringifyPolicy(own.getValue())
                            << "' contradicts the policy of the collective "
                               "that is waited for";
  diag.attachNote(collective->getLoc())
      << "which is '" << stringifyPolicy(other.getValue()) << "' here";
  return diag;
}

namespace {
class BoundaryVerifier {
public:
  BoundaryVerifier(FunctionOpInterface func, bool checkPolicies)
      : func(func), graph(func.getFunctionBody().front()), chains(func, graph),
        checkPolicies(checkPolicies) {}

  LogicalResult verify();

private:
  LogicalResult verifyRead(Value value, Operation *reader, bool isSaved);

  FunctionOpInterface func;
  StepGraph graph;
  ParameterChains chains;
  bool checkPolicies;
};
} // namespace

/// `value`, of forward, is read by `reader`, of backward, or is saved for
/// another function.
LogicalResult BoundaryVerifier::verifyRead(Value value, Operation *reader,
                                           bool isSaved) {
  Operation *def = value.getDefiningOp();
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (isReleased(func, chains, value)) {
    BlockArgument parameter = chains.getParameter(value);
    stream << "gathered parameter \"" << getParameterName(func, parameter)
           << "\" lives on from forward to backward, although its '"
           << kReshardAttrName << "' is " << getReshard(func, parameter);
  } else if ((checkPolicies || isSaved) &&
             getPolicy(def) == Policy::MustRecompute && isRepeatable(def)) {
    stream << "value lives on from forward to backward, although its policy is "
              "'must_recompute'";
  }
  if (message.empty())
    return success();
  InFlightDiagnostic diag = def->emitError() << message;
  diag.attachNote(reader->getLoc())
      << (isSaved ? "it is saved here" : "backward reads it here");
  return diag;
}

LogicalResult BoundaryVerifier::verify() {
  LogicalResult result = success();
  auto check = [&](Value value, Operation *reader, bool isSaved) {
    if (succeeded(result) && graph.isForwardValue(value))
      result = verifyRead(value, reader, isSaved);
  };
  for (Operation *op : graph.getOps()) {
    if (auto wait = dyn_cast<WaitOp>(op); wait && failed(verifyMarks(wait)))
      return failure();
    if (graph.isBackward(op))
      forEachInput(op, [&](Value value) { check(value, op, false); });
  }
  Operation *terminator = graph.getBlock().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
    if (role && role.getKind() == RoleKind::Saved)
      check(value, terminator, true);
  }
  return result;
}

LogicalResult regather::tg::verifyBoundary(FunctionOpInterface func,
                                           bool checkPolicies) {
  if (!func.getFunctionBody().hasOneBlock() || isa<KernelOp>(func))
    return success();
  return BoundaryVerifier(func, checkPolicies).verify();
}
