//===- PlanMemory.cpp - Place the buffers of a program --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanMemory/Destinations.h"
#include "PlanMemory/Donation.h"

#include "regather/Analysis/MemoryPlanner/MemoryPlanner.h"
#include "regather/Dialect/Exec/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

namespace regather::exec {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "regather/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace regather::exec

#define DEBUG_TYPE "exec-plan-memory"

using namespace mlir;
using namespace regather;
using namespace regather::exec;

/// Outputs that may lie where an input lies that dies in the same step. Each
/// buffer is in one pair as an output and in one as an input.
static std::vector<InPlaceHint>
findInPlaceHints(const ProgramAccesses &accesses,
                 ArrayRef<BufferLifetime> lifetimes, InPlaceOutputs &inPlace) {
  std::vector<InPlaceHint> hints;
  auto getSlice = [&](Value value) -> std::optional<uint32_t> {
    std::optional<uint32_t> number = accesses.getNumber(value);
    return number && accesses.getBuffers()[*number].getDefiningOp<SliceOp>()
               ? number
               : std::nullopt;
  };
  for (auto [step, op] : llvm::enumerate(accesses.getOps())) {
    auto access = dyn_cast<StreamOpInterface>(op);
    if (!access || !isa<LaunchOp, CopyOp>(op))
      continue;
    llvm::SmallDenseSet<uint32_t> taken;
    for (Value output : access.getWrites()) {
      std::optional<uint32_t> result = getSlice(output);
      if (!result || lifetimes[*result].begin != step)
        continue;
      for (Value input : access.getReads()) {
        std::optional<uint32_t> operand = getSlice(input);
        if (!operand || !lifetimes[*operand].endsInOneOp ||
            lifetimes[*operand].end != step + 1 || taken.contains(*operand) ||
            !inPlace.allows(op, input, output))
          continue;
        taken.insert(*operand);
        hints.push_back({*result, *operand});
        break;
      }
    }
  }
  return hints;
}

namespace {
struct PlanMemory : public exec::impl::PlanMemoryPassBase<PlanMemory> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  void runOnOperation() override {
    InPlaceOutputs inPlaceOutputs(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(plan(program, inPlaceOutputs)))
        return signalPassFailure();
  }

  LogicalResult plan(ProgramOp program, InPlaceOutputs &inPlaceOutputs) {
    forgetPlaces(program);
    eraseUnused(program);
    std::optional<ProgramAccesses> accesses(std::in_place, program);
    FailureOr<std::vector<BufferLifetime>> lifetimes =
        accesses->computeLifetimes();
    if (failed(lifetimes))
      return failure();
    if (donate) {
      DonationResult donation =
          donateArguments(program, *accesses, *lifetimes, inPlaceOutputs);
      numDonated += donation.numDonated;
      numCopied += donation.numCopied;
      if (donation.changed() &&
          failed(computeAgain(program, accesses, lifetimes)))
        return failure();
    }
    if (callerResults) {
      if (failed(checkHostResults(program)))
        return failure();
      DestinationResult destinations = placeResultsAtCaller(program);
      numDestinations += destinations.numComputed;
      numResultsCopied += destinations.numCopied;
      if (destinations.changed() &&
          failed(computeAgain(program, accesses, lifetimes)))
        return failure();
    }
    return place(program, *accesses, *lifetimes, inPlaceOutputs);
  }

  static LogicalResult
  computeAgain(ProgramOp program, std::optional<ProgramAccesses> &accesses,
               FailureOr<std::vector<BufferLifetime>> &lifetimes) {
    eraseUnused(program);
    accesses.emplace(program);
    lifetimes = accesses->computeLifetimes();
    return success(succeeded(lifetimes));
  }

  /// The caller's memory is that of the device.
  static LogicalResult checkHostResults(ProgramOp program) {
    auto end = cast<ReturnOp>(program.getBody().front().back());
    for (auto [i, value] : llvm::enumerate(end.getOperands()))
      if (isHostBuffer(value.getType()) &&
          !isa<BlockArgument>(getPlace(value).base))
        return end.emitOpError()
               << "returns result " << i
               << " on the host in no argument, where the caller, who has "
                  "memory for it, does not get it";
    return success();
  }

  static void forgetPlaces(ProgramOp program) {
    program.removeArenaAttr();
    program.removeLowerBoundAttr();
    program.removeHostArenaAttr();
    program.removeHostLowerBoundAttr();
    program.walk([](SliceOp slice) { slice.removeOffsetAttr(); });
    program.walk([](HostSliceOp slice) { slice.removeOffsetAttr(); });
  }

  static void eraseUnused(ProgramOp program) {
    // Views come after what they are views of.
    SmallVector<Operation *> buffers;
    program.walk([&](Operation *op) {
      if (isa<SliceOp, HostSliceOp, ViewOp, ConstantOp>(op))
        buffers.push_back(op);
    });
    for (Operation *op : llvm::reverse(buffers))
      if (op->use_empty())
        op->erase();
  }

  LogicalResult place(ProgramOp program, const ProgramAccesses &accesses,
                      ArrayRef<BufferLifetime> lifetimes,
                      InPlaceOutputs &inPlaceOutputs) {
    // Slices come first, those of the host behind them, arguments last.
    MemoryPlanRequest request, onHost;
    for (auto [buffer, lifetime] :
         llvm::zip_equal(accesses.getBuffers(), lifetimes)) {
      bool isDevice = buffer.getDefiningOp<SliceOp>();
      if (!isDevice && !buffer.getDefiningOp<HostSliceOp>())
        break;
      (isDevice ? request : onHost)
          .buffers.push_back(
              {uint64_t(getBufferBytes(cast<MemRefType>(buffer.getType()))),
               program.getAlignment(), lifetime.begin, lifetime.end,
               /*fixedOffset=*/std::nullopt});
    }
    if (inPlace)
      request.inPlace = findInPlaceHints(accesses, lifetimes, inPlaceOutputs);
    MemoryPlannerOptions options;
    options.effort = effort;
    Result<MemoryPlan> plan = planMemory(request, options);
    Result<MemoryPlan> hostPlan = planMemory(onHost, options);
    if (!plan || !hostPlan)
      return program.emitError()
             << "cannot plan memory: " << (plan ? hostPlan : plan).getMessage();
    apply(program, accesses, *plan, *hostPlan);
    report(program, request, *plan, *hostPlan);
    return success();
  }

  static void apply(ProgramOp program, const ProgramAccesses &accesses,
                    const MemoryPlan &plan, const MemoryPlan &hostPlan) {
    ArrayRef<Value> buffers = accesses.getBuffers();
    for (auto [offset, buffer] : llvm::zip_first(plan.offsets, buffers))
      cast<SliceOp>(buffer.getDefiningOp()).setOffset(offset);
    for (auto [offset, buffer] : llvm::zip_first(
             hostPlan.offsets, buffers.drop_front(plan.offsets.size())))
      cast<HostSliceOp>(buffer.getDefiningOp()).setOffset(offset);
    program.setArena(plan.peak);
    program.setLowerBound(plan.lowerBound);
    if (hostPlan.offsets.empty())
      return;
    program.setHostArena(hostPlan.peak);
    program.setHostLowerBound(hostPlan.lowerBound);
  }

  void report(ProgramOp program, const MemoryPlanRequest &request,
              const MemoryPlan &plan, const MemoryPlan &hostPlan) {
    int64_t reused = 0;
    for (const InPlaceHint &hint : request.inPlace)
      if (plan.offsets[hint.result] == plan.offsets[hint.operand])
        reused += int64_t(request.buffers[hint.result].size);
    arenaBytes += int64_t(plan.peak);
    lowerBoundBytes += int64_t(plan.lowerBound);
    hostArenaBytes += int64_t(hostPlan.peak);
    inPlaceBytes += reused;
    remark::passed(program.getLoc(),
                   remark::RemarkOpts::name("planned").category(DEBUG_TYPE))
        << remark::reason("'{0}' has {1} buffers in an arena",
                          program.getName(), request.buffers.size())
        << remark::metric("arena_bytes", int64_t(plan.peak))
        << remark::metric("lower_bound_bytes", int64_t(plan.lowerBound))
        << remark::metric("in_place_bytes", reused);
    if (!hostPlan.offsets.empty())
      remark::passed(program.getLoc(),
                     remark::RemarkOpts::name("host").category(DEBUG_TYPE))
          << remark::reason("'{0}' has {1} buffers in an arena of the host",
                            program.getName(), hostPlan.offsets.size())
          << remark::metric("arena_bytes", int64_t(hostPlan.peak))
          << remark::metric("lower_bound_bytes", int64_t(hostPlan.lowerBound));
  }
};
} // namespace
