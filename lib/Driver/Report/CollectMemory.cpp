//===- CollectMemory.cpp - Bytes in use over a program --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectReport.h"

#include "regather/Dialect/Exec/Analysis/ProgramAccesses.h"

#include <numeric>

using namespace mlir;
using namespace regather;
using namespace regather::exec;
using namespace regather::report;

/// How many buffers a report lists at the peak.
static constexpr size_t kNumLargest = 16;

namespace {
/// What is known of a buffer.
struct BufferFacts {
  /// What writes it first; null for arguments.
  Operation *writer = nullptr;
  std::optional<tg::Phase> phase;
  /// Made of parameters alone, and behind a gather.
  bool isParameter = false, isGathered = false;
  bool isGradient = false, isReadByBackward = false;
};

class MemoryCollector {
public:
  explicit MemoryCollector(ProgramOp program)
      : program(program), accesses(program) {}

  FailureOr<report::MemoryCurve> collect();

private:
  void findPhases();
  void findFacts();
  void visit(Operation *op, std::optional<tg::Phase> phase);
  void visitCollective(CollectiveOp op, std::optional<tg::Phase> phase);
  void endOverwritten();
  MemoryUse getUse(uint32_t buffer) const;
  void addBytes(uint32_t buffer, report::MemoryCurve &curve) const;
  void findPeak(report::MemoryCurve &curve) const;
  LiveBuffer describe(uint32_t buffer) const;
  int64_t getBytes(uint32_t buffer) const {
    return getBufferBytes(
        cast<MemRefType>(accesses.getBuffers()[buffer].getType()));
  }
  /// Of the device.
  bool isArgument(uint32_t buffer) const {
    Value value = accesses.getBuffers()[buffer];
    return isa<BlockArgument>(value) && !isHostBuffer(value.getType());
  }
  bool isHostArgument(uint32_t buffer) const {
    Value value = accesses.getBuffers()[buffer];
    return isa<BlockArgument>(value) && isHostBuffer(value.getType());
  }
  /// Null for arguments and for what lies on the host.
  SliceOp getSlice(uint32_t buffer) const {
    return accesses.getBuffers()[buffer].getDefiningOp<SliceOp>();
  }

  ProgramOp program;
  ProgramAccesses accesses;
  std::vector<BufferLifetime> lifetimes;
  /// By instruction; that of the one before, if it has none itself.
  std::vector<std::optional<tg::Phase>> phases;
  std::vector<BufferFacts> facts;
};
} // namespace

//===----------------------------------------------------------------------===//
// What buffers hold
//===----------------------------------------------------------------------===//

void MemoryCollector::findPhases() {
  std::optional<tg::Phase> phase;
  for (Operation *op : accesses.getOps()) {
    if (auto own = op->getAttrOfType<tg::PhaseAttr>(tg::kPhaseAttrName))
      phase = own.getValue();
    phases.push_back(phase);
  }
}

void MemoryCollector::visit(Operation *op, std::optional<tg::Phase> phase) {
  auto access = dyn_cast<StreamOpInterface>(op);
  if (!access)
    return;
  bool isChain = false, isOther = false, isGathered = false;
  for (Value value : access.getReads()) {
    std::optional<uint32_t> number = accesses.getNumber(value);
    if (!number)
      continue;
    BufferFacts &read = facts[*number];
    (read.isParameter ? isChain : isOther) = true;
    isGathered |= read.isGathered;
    read.isReadByBackward |= phase == tg::Phase::Backward;
    // What backward computes for the optimizer.
    read.isGradient |=
        phase == tg::Phase::Optimizer && read.phase == tg::Phase::Backward;
  }
  for (Value value : access.getWrites()) {
    std::optional<uint32_t> number = accesses.getNumber(value);
    if (!number || facts[*number].writer || !getSlice(*number))
      continue;
    BufferFacts &written = facts[*number];
    written.writer = op;
    written.phase = phase;
    written.isParameter = isChain && !isOther;
    written.isGathered = written.isParameter && isGathered;
  }
}

/// A gather of parameters, or a reduction of gradients.
void MemoryCollector::visitCollective(CollectiveOp op,
                                      std::optional<tg::Phase> phase) {
  bool reduces = op.getReduction().has_value();
  for (auto [input, output] : llvm::zip(op.getInputs(), op.getOutputs())) {
    std::optional<uint32_t> from = accesses.getNumber(input);
    std::optional<uint32_t> to = accesses.getNumber(output);
    if (!from || !to)
      continue;
    facts[*to].isParameter = facts[*from].isParameter;
    facts[*to].isGathered = facts[*from].isParameter;
    if (reduces && phase == tg::Phase::Backward)
      facts[*from].isGradient = facts[*to].isGradient = true;
  }
}

void MemoryCollector::findFacts() {
  facts.resize(accesses.getBuffers().size());
  for (auto [number, value] : llvm::enumerate(accesses.getBuffers())) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto role = argument ? program.getArgAttrOfType<tg::RoleAttr>(
                               argument.getArgNumber(), tg::kRoleAttrName)
                         : nullptr;
    facts[number].isParameter =
        role && role.getKind() == tg::RoleKind::Parameter;
  }
  for (auto [number, op] : llvm::enumerate(accesses.getOps())) {
    visit(op, phases[number]);
    if (auto collective = dyn_cast<CollectiveOp>(op))
      visitCollective(collective, phases[number]);
  }
}

MemoryUse MemoryCollector::getUse(uint32_t buffer) const {
  const BufferFacts &known = facts[buffer];
  if (isArgument(buffer))
    return MemoryUse::Arguments;
  if (known.isGathered)
    return MemoryUse::Gathered;
  if (known.isGradient)
    return MemoryUse::Gradients;
  return known.phase == tg::Phase::Forward && known.isReadByBackward
             ? MemoryUse::Saved
             : MemoryUse::Temporary;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// Bytes of two buffers count once: a buffer whose place another one takes, in
/// one operation, ends where that one begins.
void MemoryCollector::endOverwritten() {
  std::vector<llvm::SmallVector<uint32_t, 2>> ending(accesses.getOps().size() +
                                                     1);
  for (uint32_t i = 0; i < facts.size(); ++i)
    if (getSlice(i) && lifetimes[i].endsInOneOp)
      ending[lifetimes[i].end].push_back(i);
  for (uint32_t i = 0; i < facts.size(); ++i) {
    SliceOp slice = getSlice(i);
    if (!slice || lifetimes[i].begin + 1 >= ending.size())
      continue;
    for (uint32_t other : ending[lifetimes[i].begin + 1])
      if (other != i && getSlice(other).getOffset() == slice.getOffset())
        lifetimes[other].end = lifetimes[i].begin;
  }
}

/// Adds a buffer to the differences from one instruction to the next.
void MemoryCollector::addBytes(uint32_t buffer,
                               report::MemoryCurve &curve) const {
  const BufferLifetime &lifetime = lifetimes[buffer];
  std::vector<int64_t> &bytes =
      curve.bytes[static_cast<unsigned>(getUse(buffer))];
  bool isTaken = isArgument(buffer);
  if (!isTaken && !getSlice(buffer))
    return;
  uint64_t begin = isTaken ? 0 : lifetime.begin;
  uint64_t end = isTaken ? bytes.size() : lifetime.end;
  if (begin >= end)
    return;
  bytes[begin] += getBytes(buffer);
  if (end < bytes.size())
    bytes[end] -= getBytes(buffer);
}

LiveBuffer MemoryCollector::describe(uint32_t buffer) const {
  const BufferFacts &known = facts[buffer];
  LiveBuffer live;
  live.use = getUse(buffer);
  live.bytes = getBytes(buffer);
  if (!known.writer)
    return live;
  if (auto launch = dyn_cast<LaunchOp>(known.writer))
    live.op = launch.getKernel().str();
  else if (auto collective = dyn_cast<CollectiveOp>(known.writer))
    live.op = stringifyCollectiveKind(collective.getKind()).str();
  else
    live.op = known.writer->getName().getStringRef().str();
  if (auto module =
          known.writer->getAttrOfType<StringAttr>(tg::kModuleAttrName))
    live.module = module.str();
  if (known.phase)
    live.phase = tg::stringifyPhase(*known.phase).str();
  return live;
}

void MemoryCollector::findPeak(report::MemoryCurve &curve) const {
  for (uint64_t i = 0; i < curve.getLength(); ++i)
    if (curve.getTotal(i) > curve.getTotal(curve.peak))
      curve.peak = i;
  std::vector<uint32_t> live;
  for (uint32_t i = 0; i < facts.size(); ++i)
    if (getSlice(i) && lifetimes[i].begin <= curve.peak &&
        curve.peak < lifetimes[i].end)
      live.push_back(i);
  llvm::sort(live, [&](uint32_t lhs, uint32_t rhs) {
    return std::make_pair(-getBytes(lhs), lhs) <
           std::make_pair(-getBytes(rhs), rhs);
  });
  live.resize(std::min(live.size(), kNumLargest));
  for (uint32_t buffer : live)
    curve.largest.push_back(describe(buffer));
}

/// Forward, backward from its first operation on, and what comes behind its
/// last one.
static std::vector<PhaseSpan>
findSpans(ArrayRef<std::optional<tg::Phase>> phases) {
  auto isBackward = [](std::optional<tg::Phase> phase) {
    return phase == tg::Phase::Backward;
  };
  uint64_t length = phases.size();
  uint64_t begin = llvm::find_if(phases, isBackward) - phases.begin();
  uint64_t end = length - (llvm::find_if(llvm::reverse(phases), isBackward) -
                           phases.rbegin());
  std::vector<PhaseSpan> spans;
  auto add = [&](const char *name, uint64_t first, uint64_t last) {
    if (first < last)
      spans.push_back({name, first, last});
  };
  if (begin == length) {
    add("forward", 0, length);
    return spans;
  }
  add("forward", 0, begin);
  add("backward", begin, end);
  add("optimizer", end, length);
  return spans;
}

FailureOr<report::MemoryCurve> MemoryCollector::collect() {
  FailureOr<std::vector<BufferLifetime>> computed = accesses.computeLifetimes();
  if (failed(computed))
    return failure();
  lifetimes = std::move(*computed);
  findPhases();
  findFacts();
  endOverwritten();
  report::MemoryCurve curve;
  curve.phases = findSpans(phases);
  curve.arenaBytes = static_cast<int64_t>(program.getArena().value_or(0));
  curve.hostBytes = static_cast<int64_t>(program.getHostArena().value_or(0));
  for (std::vector<int64_t> &bytes : curve.bytes)
    bytes.resize(accesses.getOps().size());
  for (uint32_t i = 0; i < facts.size(); ++i) {
    addBytes(i, curve);
    if (isArgument(i))
      curve.argumentBytes += getBytes(i);
    else if (isHostArgument(i))
      curve.hostArgumentBytes += getBytes(i);
  }
  for (std::vector<int64_t> &bytes : curve.bytes)
    std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  findPeak(curve);
  return curve;
}

FailureOr<report::MemoryCurve> regather::collectMemory(ProgramOp program) {
  return MemoryCollector(program).collect();
}
