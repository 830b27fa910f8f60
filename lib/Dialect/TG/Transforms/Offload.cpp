//===- Offload.cpp - Keep values in memory of the host --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Offload/OffloadCandidates.h"
#include "Partition/BudgetPlan.h"

#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Steps/StepCosts.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

#include <numeric>

#define DEBUG_TYPE "tg-offload"

namespace regather::tg {
#define GEN_PASS_DEF_OFFLOADPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::offload;

namespace {
struct Offload : public regather::tg::impl::OffloadPassBase<Offload> {
  using OffloadPassBase::OffloadPassBase;

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    for (FunctionOpInterface func : getSteps(getOperation()))
      if (failed(offloadFrom(func)))
        return signalPassFailure();
  }

private:
  LogicalResult checkOptions();
  LogicalResult offloadFrom(FunctionOpInterface func);
  FailureOr<std::vector<OffloadCandidate>>
  choose(FunctionOpInterface func, const StepGraph &graph,
         std::vector<OffloadCandidate> candidates);
  std::vector<OffloadCandidate>
  takeBytes(const StepGraph &graph, std::vector<OffloadCandidate> candidates,
            StepCosts &costs) const;
  void report(FunctionOpInterface func, ArrayRef<OffloadCandidate> chosen,
              size_t numCandidates, int64_t candidateBytes);
};
} // namespace

LogicalResult Offload::checkOptions() {
  if ((mode == OffloadMode::Bytes) == (bytes.getValue().bytes >= 0))
    return success();
  return emitError(getOperation().getLoc())
         << "mode bytes and option 'bytes', a number of bytes, need each other";
}

//===----------------------------------------------------------------------===//
// What to offload
//===----------------------------------------------------------------------===//

/// True if the policy of what computes `value` is to offload it.
static bool isMarked(OpResult value) {
  Operation *op = value.getOwner();
  return getPolicy(op) == Policy::Offload &&
         (!hasRecord(op) || isRecordedSaved(op, value.getResultNumber()));
}

static int64_t countBytes(ArrayRef<OffloadCandidate> candidates) {
  int64_t sum = 0;
  for (const OffloadCandidate &candidate : candidates)
    sum += candidate.bytes;
  return sum;
}

/// Those that lie idle longest come first: their copies hide best, and they
/// free memory for most of the step.
std::vector<OffloadCandidate>
Offload::takeBytes(const StepGraph &graph,
                   std::vector<OffloadCandidate> candidates,
                   StepCosts &costs) const {
  std::vector<double> begins;
  double now = 0;
  for (Operation *op : graph.getOps()) {
    begins.push_back(now);
    now += costs.getComputeSeconds(op);
  }
  auto getIdle = [&](const OffloadCandidate &candidate) {
    return begins[candidate.firstBackward] - begins[candidate.lastForward];
  };
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::make_pair(-getIdle(candidates[a]), a) <
           std::make_pair(-getIdle(candidates[b]), b);
  });
  int64_t left = bytes.getValue().bytes;
  size_t count = 0;
  for (; count < order.size() && left > 0; ++count)
    left -= candidates[order[count]].bytes;
  order.resize(count);
  llvm::sort(order);
  std::vector<OffloadCandidate> taken;
  for (size_t number : order)
    taken.push_back(candidates[number]);
  return taken;
}

FailureOr<std::vector<OffloadCandidate>>
Offload::choose(FunctionOpInterface func, const StepGraph &graph,
                std::vector<OffloadCandidate> candidates) {
  if (mode == OffloadMode::Marked)
    llvm::erase_if(candidates, [](const OffloadCandidate &candidate) {
      return !isMarked(candidate.value);
    });
  if (candidates.empty())
    return candidates;
  FailureOr<CostModel> model = partition::loadCostModel(func, cluster);
  if (failed(model))
    return failure();
  const Device &device = model->getCluster().device;
  if (device.hostBandwidth <= 0)
    return func.emitError() << "cluster \"" << model->getCluster().name
                            << "\" says nothing of a host ('device.host'), to "
                               "which values are to be offloaded";
  if (mode == OffloadMode::Bytes) {
    FailureOr<StepCosts> costs = StepCosts::create(getOperation(), *model);
    if (failed(costs))
      return failure();
    candidates = takeBytes(graph, std::move(candidates), *costs);
  }
  int64_t sum = countBytes(candidates);
  if (static_cast<double>(sum) > device.hostMemoryBytes)
    return func.emitError()
           << "offloads " << sum << " bytes, but a device of cluster \""
           << model->getCluster().name << "\" has "
           << static_cast<int64_t>(device.hostMemoryBytes)
           << " bytes of its host";
  return candidates;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
/// Lets backward read copies that come from the host.
class HostCopies {
public:
  HostCopies(const StepGraph &graph, const Views &views)
      : graph(graph), views(views) {}

  void add(const OffloadCandidate &candidate);
  /// Comes last.
  void replaceReaders();

private:
  Value fetch(Value host, const OffloadCandidate &candidate);
  void markPhase(Operation *op, Phase phase, Operation *like);
  Value getCopy(Value value);

  const StepGraph &graph;
  const Views &views;
  /// By offloaded value, and by view of one.
  IRMapping copies;
};
} // namespace

void HostCopies::markPhase(Operation *op, Phase phase, Operation *like) {
  op->setAttr(kPhaseAttrName, PhaseAttr::get(op->getContext(), phase));
  for (StringRef name : {StringRef(kModuleAttrName), StringRef(kIdAttrName)})
    if (Attribute value = like->getAttr(name))
      op->setAttr(name, value);
}

void HostCopies::add(const OffloadCandidate &candidate) {
  Value value = candidate.value;
  auto type = cast<RankedTensorType>(value.getType());
  Operation *producer = candidate.value.getOwner();
  OpBuilder builder(producer->getContext());
  builder.setInsertionPointAfter(producer);
  auto away = OffloadOp::create(
      builder, value.getLoc(),
      FutureType::get(builder.getContext(), {getHostType(type)}), value);
  markPhase(away, Phase::Forward, producer);
  Operation *last = graph.getOps()[candidate.lastForward];
  if (last != producer)
    builder.setInsertionPointAfter(last);
  auto onHost = WaitOp::create(builder, value.getLoc(), away.getFuture());

  builder.setInsertionPoint(graph.getOps()[candidate.firstBackward]);
  auto back = FetchOp::create(builder, value.getLoc(),
                              FutureType::get(builder.getContext(), {type}),
                              onHost.getTensors());
  markPhase(back, Phase::Backward, producer);
  auto wait = WaitOp::create(builder, value.getLoc(), back.getFuture());
  copies.map(value, wait.getTensors().front());
}

/// The copy of an offloaded value, or the same view of it.
Value HostCopies::getCopy(Value value) {
  SmallVector<Operation *> missing;
  for (Value source = value; !copies.contains(source);
       source = missing.back()->getOperand(0))
    missing.push_back(source.getDefiningOp());
  for (Operation *view : llvm::reverse(missing)) {
    Value source = copies.lookup(view->getOperand(0));
    OpBuilder builder(source.getContext());
    builder.setInsertionPointAfterValue(source);
    markPhase(builder.clone(*view, copies), Phase::Backward, view);
  }
  return copies.lookup(value);
}

void HostCopies::replaceReaders() {
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    if (!graph.isBackward(number))
      continue;
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        Value value = operand.get();
        if (copies.contains(views.getRoot(value)) &&
            graph.isForwardValue(value))
          operand.set(getCopy(value));
      }
    });
  }
}

void Offload::report(FunctionOpInterface func,
                     ArrayRef<OffloadCandidate> chosen, size_t numCandidates,
                     int64_t candidateBytes) {
  for (const OffloadCandidate &candidate : chosen) {
    auto id =
        candidate.value.getOwner()->getAttrOfType<StringAttr>(kIdAttrName);
    remark::passed(candidate.value.getLoc(),
                   remark::RemarkOpts::name("offloaded").category(DEBUG_TYPE))
        << remark::add(
               "'{0}' is kept on the host for backward",
               id ? id.getValue().str()
                  : candidate.value.getOwner()->getName().getStringRef().str())
        << remark::metric("bytes", candidate.bytes);
  }
  int64_t sum = countBytes(chosen);
  numOffloaded += chosen.size();
  offloadedBytes += sum;
  if (!chosen.empty() || mode != OffloadMode::Marked)
    remark::analysis(func.getLoc(),
                     remark::RemarkOpts::name("total").category(DEBUG_TYPE))
        << remark::metric("offloaded", chosen.size())
        << remark::metric("bytes", sum)
        << remark::metric("candidates", numCandidates)
        << remark::metric("candidate_bytes", candidateBytes);
}

LogicalResult Offload::offloadFrom(FunctionOpInterface func) {
  StepGraph graph(func.getFunctionBody().front());
  if (!graph.hasBackward())
    return success();
  Views views(graph);
  std::vector<OffloadCandidate> candidates =
      findCandidates(graph, views, minBytes.getValue().bytes);
  size_t numCandidates = candidates.size();
  int64_t candidateBytes = countBytes(candidates);
  FailureOr<std::vector<OffloadCandidate>> chosen =
      choose(func, graph, std::move(candidates));
  if (failed(chosen))
    return failure();
  report(func, *chosen, numCandidates, candidateBytes);
  HostCopies copies(graph, views);
  for (const OffloadCandidate &candidate : *chosen)
    copies.add(candidate);
  copies.replaceReaders();
  return success();
}
