//===- VerifyStep.cpp - Check a training step as a whole ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyStep/Boundary.h"
#include "VerifyStep/ElasticSums.h"
#include "VerifyStep/Phases.h"

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Library/LibraryCalls.h"
#include "regather/Dialect/TG/Steps/Fingerprint.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "tg-verify-step"

namespace regather::tg {
#define GEN_PASS_DEF_VERIFYSTEPPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Values that differ between ranks
//===----------------------------------------------------------------------===//

namespace {
/// Marks, forward from its sources, every value that may differ between ranks.
/// Each value enters the worklist once.
class RankDependence {
public:
  explicit RankDependence(FunctionOpInterface func);

  bool contains(Value value) const { return dependent.contains(value); }
  size_t size() const { return dependent.size(); }

private:
  void add(Value value) {
    if (dependent.insert(value).second)
      worklist.push_back(value);
  }
  void addRange(ValueRange values) {
    for (Value value : values)
      add(value);
  }
  void visitUse(OpOperand &use);

  llvm::DenseSet<Value> dependent;
  SmallVector<Value> worklist;
};
} // namespace

/// True if every rank of the mesh takes part, so that a gather or an
/// all-reduce leaves the same values everywhere.
static bool coversMesh(CollectiveOpInterface op) {
  MeshOp mesh = lookupMesh(op, op.getMeshAttr());
  return mesh && mesh.getGroupSize(op.getAxesAttr()) == mesh.getNumRanks();
}

/// True if all ranks of a group have the same results.
static bool givesEqualResults(CollectiveOpInterface op) {
  return isa<AllGatherOp, AllReduceOp, BroadcastOp>(op);
}

/// True if the results are equal on all ranks whatever the operands are.
static bool equalisesRanks(CollectiveOpInterface op) {
  return givesEqualResults(op) && coversMesh(op);
}

RankDependence::RankDependence(FunctionOpInterface func) {
  for (BlockArgument argument : func.getArguments()) {
    auto placement = func.getArgAttrOfType<PlacementAttr>(
        argument.getArgNumber(), kPlacementAttrName);
    if (placement && !placement.getAxes().empty())
      add(argument);
  }
  func.walk([&](Operation *op) {
    if (isa<AxisIndexOp>(op))
      addRange(op->getResults());
    // Other collectives leave each rank something else.
    if (auto collective = dyn_cast<CollectiveOpInterface>(op);
        collective && !givesEqualResults(collective))
      addRange(op->getResults());
  });
  while (!worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses())
      visitUse(use);
}

void RankDependence::visitUse(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto collective = dyn_cast<CollectiveOpInterface>(user);
      collective && equalisesRanks(collective))
    return;
  addRange(user->getResults());
  // The operands of a terminator become results of its parent, or arguments of
  // the next iteration. The operands of an operation with regions become
  // arguments of these.
  Operation *owner =
      user->hasTrait<OpTrait::IsTerminator>() ? user->getParentOp() : user;
  if (isa<FunctionOpInterface>(owner))
    return;
  addRange(owner->getResults());
  for (Region &region : owner->getRegions())
    for (Block &block : region)
      addRange(block.getArguments());
}

/// The operands that decide whether, or how often, the regions of `op` run.
static SmallVector<Value> getControlOperands(Operation *op) {
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    SmallVector<Value> control;
    for (const auto &bounds : {loop.getLoopLowerBounds(),
                               loop.getLoopUpperBounds(), loop.getLoopSteps()})
      for (OpFoldResult bound : bounds.value_or(SmallVector<OpFoldResult>()))
        if (auto value = dyn_cast<Value>(bound))
          control.push_back(value);
    if (auto loopOp = dyn_cast<scf::WhileOp>(op))
      control.push_back(loopOp.getConditionOp().getCondition());
    return control;
  }
  if (isa<RegionBranchOpInterface>(op))
    return SmallVector<Value>(op->getOperands());
  return {};
}

/// Checks that no collective is nested in rank-dependent control flow.
static LogicalResult verifyEqualOrder(FunctionOpInterface func,
                                      const RankDependence &dependence) {
  WalkResult result = func.walk([&](CollectiveOpInterface op) {
    for (Operation *parent = op->getParentOp(); parent != func;
         parent = parent->getParentOp()) {
      for (Value control : getControlOperands(parent)) {
        if (!dependence.contains(control))
          continue;
        InFlightDiagnostic diag =
            op.emitOpError() << "is nested in control flow that may differ "
                                "between ranks, so that ranks may start other "
                                "collectives, or in another order";
        diag.attachNote(parent->getLoc())
            << "'" << parent->getName() << "' depends on the rank here";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Checks that only states of the optimizer, and their updates, enter and leave
/// a function on the host.
static LogicalResult verifyPlacesAtEntry(FunctionOpInterface func) {
  auto isState = [&](unsigned argument) {
    auto role = func.getArgAttrOfType<RoleAttr>(argument, kRoleAttrName);
    return role && role.getKind() == RoleKind::OptimizerState;
  };
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (isOnHost(type) && !isState(i))
      return func.emitError()
             << "argument " << i
             << " lies on the host, where only states of an optimizer may "
                "enter a function";
  // An update has the type of its argument.
  for (auto [i, type] : llvm::enumerate(func.getResultTypes())) {
    auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
    if (isOnHost(type) && !(role && role.getKind() == RoleKind::Update))
      return func.emitError()
             << "result " << i
             << " lies on the host, where only updates of what lies there may "
                "leave a function";
  }
  return success();
}

/// Checks that nothing computes with what lies on the host.
static LogicalResult verifyPlaces(FunctionOpInterface func) {
  if (failed(verifyPlacesAtEntry(func)))
    return failure();
  // What has to be copied there to be one of the parts of a flat tensor.
  auto isCopiedForThis = [](Value part) {
    auto wait = part.getDefiningOp<WaitOp>();
    return wait && part.hasOneUse() &&
           isa_and_nonnull<OffloadOp>(wait.getFuture().getDefiningOp());
  };
  WalkResult walk = func.walk([&](Operation *op) {
    if (isa<HostCopyOpInterface, UnflattenOp>(op) ||
        (op->hasTrait<OpTrait::ReturnLike>() && op->getParentOp() == func))
      return WalkResult::advance();
    if (auto flatten = dyn_cast<FlattenOp>(op)) {
      if (!isOnHost(flatten.getFlat().getType()) ||
          (flatten.getGaps().empty() &&
           llvm::all_of(flatten.getTensors(), isCopiedForThis)))
        return WalkResult::advance();
      op->emitOpError() << "expects parts without gaps, each copied to the "
                           "host for this alone";
      return WalkResult::interrupt();
    }
    for (Value operand : op->getOperands())
      if (isOnHost(operand.getType())) {
        InFlightDiagnostic diag = op->emitOpError()
                                  << "reads a tensor that lies on the host, "
                                     "which only 'tg.fetch' can";
        diag.attachNote(operand.getLoc()) << "copied there here";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Checks the types of values of `func`: shapes are static, futures stay in.
static LogicalResult verifyTypes(FunctionOpInterface func) {
  auto check = [&](Value value, Location loc) -> LogicalResult {
    auto shaped = dyn_cast<ShapedType>(value.getType());
    if (!shaped || shaped.hasStaticShape())
      return success();
    std::string name;
    llvm::raw_string_ostream stream(name);
    value.printAsOperand(stream, OpPrintingFlags());
    if (!shaped.hasRank())
      return emitError(loc)
             << "'" << name << "' must have a static shape, got " << shaped;
    int64_t dim = llvm::find_if(shaped.getShape(), ShapedType::isDynamic) -
                  shaped.getShape().begin();
    return emitError(loc) << "'" << name << "' must have a static shape, but "
                          << "dimension " << dim << " of " << shaped
                          << " is dynamic";
  };
  for (ArrayRef<Type> types : {func.getArgumentTypes(), func.getResultTypes()})
    for (Type type : types)
      if (isa<FutureType>(type))
        return func.emitError() << "a future may not enter or leave a function";
  bool failedAny = false;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          failedAny |= failed(check(argument, argument.getLoc()));
    for (Value result : op->getResults())
      failedAny |= failed(check(result, op->getLoc()));
  });
  return failure(failedAny);
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

static LogicalResult verifyNames(FunctionOpInterface func) {
  llvm::StringMap<unsigned> seen;
  auto check = [&](StringAttr name, unsigned argument) -> LogicalResult {
    auto [it, inserted] = seen.try_emplace(name.getValue(), argument);
    if (inserted)
      return success();
    return func.emitError()
           << "arguments " << it->second << " and " << argument
           << " have the same name \"" << name.getValue() << '"';
  };
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    if (auto name = func.getArgAttrOfType<StringAttr>(i, kNameAttrName);
        name && failed(check(name, i)))
      return failure();
    if (auto members = func.getArgAttrOfType<MembersAttr>(i, kMembersAttrName))
      for (MemberAttr member : members.getMembers())
        if (failed(check(member.getName(), i)))
          return failure();
  }
  return success();
}

/// Checks that there is at most one of each input that the driver feeds.
static LogicalResult verifyDriverInputs(FunctionOpInterface func) {
  std::optional<unsigned> learningRate, step;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
    if (!role || (role.getKind() != RoleKind::LearningRate &&
                  role.getKind() != RoleKind::Step))
      continue;
    std::optional<unsigned> &seen =
        role.getKind() == RoleKind::Step ? step : learningRate;
    if (seen)
      return func.emitError()
             << "arguments " << *seen << " and " << i << " both have role \""
             << stringifyRoleKind(role.getKind()) << '"';
    seen = i;
  }
  return success();
}

static LogicalResult verifyRoles(FunctionOpInterface func) {
  std::optional<unsigned> loss;
  llvm::DenseMap<int64_t, unsigned> gradients, updates;
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i) {
    auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
    if (!role)
      continue;
    if (role.getKind() == RoleKind::Loss) {
      if (loss)
        return func.emitError()
               << "results " << *loss << " and " << i << " are both the loss";
      loss = i;
      continue;
    }
    if (!role.namesArgument())
      continue;
    auto &seen = role.getKind() == RoleKind::Gradient ? gradients : updates;
    auto [it, inserted] = seen.try_emplace(role.getArgument(), i);
    if (!inserted)
      return func.emitError()
             << "results " << it->second << " and " << i << " are both the "
             << stringifyRoleKind(role.getKind()) << " of argument "
             << role.getArgument();
  }
  // A step without an optimizer returns its gradients. It may still update
  // buffers, and parameters that the model itself changes.
  auto isOfOptimizer = [&](unsigned argument) {
    auto role = func.getArgAttrOfType<RoleAttr>(argument, kRoleAttrName);
    return role && (role.getKind() == RoleKind::LearningRate ||
                    role.getKind() == RoleKind::OptimizerState);
  };
  if (llvm::none_of(llvm::seq(0u, func.getNumArguments()), isOfOptimizer))
    return success();
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i)
    if (gradients.count(i) && !updates.count(i))
      return func.emitError() << "argument " << i << " has a gradient (result "
                              << gradients.lookup(i)
                              << ") but no update, although the step has an "
                                 "optimizer";
  return success();
}

namespace {
struct VerifyStep : public regather::tg::impl::VerifyStepPassBase<VerifyStep> {
  using VerifyStepPassBase::VerifyStepPassBase;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (!func.isExternal() && failed(verifyFunction(func)))
        signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult verifyFunction(FunctionOpInterface func) {
    if (auto step = dyn_cast<VerifiableStepOpInterface>(*func);
        step && failed(step.verifyStep()))
      return failure();
    if (auto kernel = dyn_cast<KernelOp>(*func);
        kernel && failed(verifyLibraryCall(kernel)))
      return failure();
    if (failed(verifyTypes(func)) || failed(verifyPlaces(func)) ||
        failed(verifyNames(func)) || failed(verifyDriverInputs(func)) ||
        failed(verifyRoles(func)))
      return failure();
    RankDependence dependence(func);
    numRankDependent += dependence.size();
    int64_t collectives = 0;
    func.walk([&](CollectiveOpInterface) { ++collectives; });
    numCollectives += collectives;
    if (failed(verifyEqualOrder(func, dependence)) ||
        failed(verifyPhases(func)) || failed(verifyElasticSums(func)) ||
        failed(verifyBoundary(func, policies)))
      return failure();
    if (fingerprint && collectives > 0)
      emitRemark(func.getLoc())
          << "fingerprint "
          << llvm::utohexstr(getCommunicationFingerprint(func),
                             /*LowerCase=*/true,
                             /*Width=*/16)
          << " of " << collectives << " collectives";
    return success();
  }
};
} // namespace
