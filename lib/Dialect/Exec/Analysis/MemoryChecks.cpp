//===- MemoryChecks.cpp - Races and lost values in programs ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/Exec/Analysis/MemoryChecks.h"

#include "ByteStates.h"

#include "regather/Dialect/Exec/Analysis/ProgramAccesses.h"
#include "regather/Dialect/TG/Kernels/KernelInPlace.h"

using namespace mlir;
using namespace regather;
using namespace regather::exec;

namespace {
/// For each lane, the number of leading steps whose operations on it are known
/// to be complete. A stream is a lane; in a graph, each stream but stream 0 is
/// another one.
using Clock = SmallVector<uint64_t, 2>;

class MemoryChecker {
public:
  explicit MemoryChecker(ProgramOp program);

  LogicalResult run() { return checkBlock(program.getBody().front(), true); }

private:
  LogicalResult checkBlock(Block &block, bool repeatLoops);
  LogicalResult checkOp(Operation *op, bool repeatLoops);
  LogicalResult checkAccess(StreamOpInterface op);
  LogicalResult checkOperands(StreamOpInterface op);
  LogicalResult checkOverlap(StreamOpInterface op, unsigned input,
                             unsigned output);
  bool allowsInPlace(Operation *op, unsigned input, unsigned output);
  LogicalResult checkRegions(Operation *op, bool repeatLoops);
  LogicalResult checkLoop(ForOp op);
  LogicalResult checkGraph(GraphOp op);
  LogicalResult checkReturn(ReturnOp op);
  LogicalResult runRegion(mlir::Region &region, unsigned times,
                          bool repeatLoops);
  LogicalResult read(const Access &access, Value buffer);
  LogicalResult write(const Access &access, Value buffer);
  void join(const Access &access, ArrayRef<ByteStates::Segment> first,
            ArrayRef<ByteStates::Segment> second, uint64_t start);

  ByteRange getRange(Value buffer);
  uint64_t getLane(uint64_t stream) {
    return inGraph && stream != 0 ? program.getStreams() + stream : stream;
  }
  uint64_t getStream(uint64_t lane) const {
    return lane % program.getStreams();
  }
  /// True if operations of the lane run one after the other.
  bool isInOrder(uint64_t lane) const {
    return lane == 0 || copying.test(getStream(lane));
  }
  bool isBefore(const Access &earlier, uint64_t lane) const;
  Access makeAccess(Operation *op, uint64_t stream);

  mutable ProgramOp program;
  /// Streams that only copy.
  llvm::BitVector copying;
  tg::InPlaceTable inPlacePairs;
  ByteStates states;
  llvm::DenseMap<Value, uint32_t> spaces;
  /// Of the host's arena, if the program is planned.
  uint32_t hostSpace = 0;
  /// What each lane knows, and each event.
  SmallVector<Clock, 2> clocks;
  llvm::DenseMap<Value, Clock> events;
  /// One after the last operation that was issued on each lane.
  Clock issued;
  uint64_t step = 0;
  bool inGraph = false;
};
} // namespace

static std::string getName(Value value) {
  std::string name = "'";
  llvm::raw_string_ostream stream(name);
  value.printAsOperand(stream, OpPrintingFlags());
  return name + "'";
}

MemoryChecker::MemoryChecker(ProgramOp program)
    : program(program), copying(findCopyStreams(program)),
      inPlacePairs(program->getParentOp()),
      clocks(2 * program.getStreams(), Clock(2 * program.getStreams())),
      issued(2 * program.getStreams()) {
  if (program.isPlanned())
    states.addSpace(static_cast<int64_t>(*program.getArena()), Value());
  if (program.isPlanned() && program.getHostArena())
    hostSpace =
        states.addSpace(static_cast<int64_t>(*program.getHostArena()), Value());
  auto addBuffer = [&](Value buffer, Value owner) {
    spaces[buffer] = states.addSpace(
        getBufferBytes(cast<MemRefType>(buffer.getType())), owner);
  };
  for (BlockArgument argument : program.getArguments())
    addBuffer(argument, argument);
  program.walk([&](Operation *op) {
    if (auto constant = dyn_cast<ConstantOp>(op))
      addBuffer(constant.getBuffer(), constant.getBuffer());
    auto slice = dyn_cast<SliceOp>(op);
    if (slice && !slice.getOffset())
      addBuffer(slice.getBuffer(), Value());
    if (auto host = dyn_cast<HostSliceOp>(op)) {
      if (host.getOffset())
        spaces[host.getBuffer()] = hostSpace;
      else
        addBuffer(host.getBuffer(), Value());
    }
    if (auto destination = dyn_cast<DestinationOp>(op))
      addBuffer(destination.getBuffer(), Value());
  });
}

/// The bytes of a buffer: in the arena, or in what it is a part of.
ByteRange MemoryChecker::getRange(Value buffer) {
  BufferPlace place = getPlace(buffer);
  int64_t begin = place.offset;
  auto slice = place.base.getDefiningOp<SliceOp>();
  if (slice && slice.getOffset())
    begin += static_cast<int64_t>(*slice.getOffset());
  auto host = place.base.getDefiningOp<HostSliceOp>();
  if (host && host.getOffset())
    begin += static_cast<int64_t>(*host.getOffset());
  return {spaces.lookup(place.base), begin,
          begin + getBufferBytes(cast<MemRefType>(buffer.getType()))};
}

Access MemoryChecker::makeAccess(Operation *op, uint64_t stream) {
  uint64_t lane = getLane(stream);
  Access access = {op, lane, step++};
  issued[lane] = step;
  return access;
}

/// True if `earlier` is complete before what `lane` is told next.
bool MemoryChecker::isBefore(const Access &earlier, uint64_t lane) const {
  // Operations of communication streams overlap.
  return !earlier.op || (earlier.lane == lane && isInOrder(lane)) ||
         clocks[lane][earlier.lane] > earlier.step;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// The last reader on a stream stands for those before it.
static void addReader(ByteState &state, const Access &access) {
  llvm::erase_if(state.readers, [&](const Access &reader) {
    return reader.lane == access.lane;
  });
  state.readers.push_back(access);
}

LogicalResult MemoryChecker::read(const Access &access, Value buffer) {
  ByteRange range = getRange(buffer);
  Value base = getPlace(buffer).base;
  SmallVector<ByteStates::Segment> segments = states.get(range);
  for (auto &[part, state] : segments) {
    if (state.owner != base) {
      InFlightDiagnostic diag = access.op->emitOpError()
                                << "reads " << getName(buffer) << ", but bytes "
                                << part.begin - range.begin << " to "
                                << part.end - range.begin - 1 << " of it ";
      if (state.owner)
        diag << "hold " << getName(state.owner);
      else
        diag << "were not written on every way here";
      if (state.writer.op)
        diag.attachNote(state.writer.op->getLoc()) << "last written here";
      return diag;
    }
    if (!isBefore(state.writer, access.lane)) {
      InFlightDiagnostic diag =
          access.op->emitOpError()
          << "reads " << getName(buffer) << " on stream "
          << getStream(access.lane)
          << " without waiting for what writes it on stream "
          << getStream(state.writer.lane);
      diag.attachNote(state.writer.op->getLoc()) << "written here";
      return diag;
    }
    addReader(state, access);
  }
  states.set(range, segments);
  return success();
}

LogicalResult MemoryChecker::write(const Access &access, Value buffer) {
  ByteRange range = getRange(buffer);
  Value base = getPlace(buffer).base;
  if (isa_and_nonnull<ConstantOp>(base.getDefiningOp()))
    return access.op->emitOpError() << "writes to a constant";
  if (auto argument = dyn_cast<BlockArgument>(base);
      argument &&
      !program.getArgAttr(argument.getArgNumber(), tg::kDonatedAttrName))
    return access.op->emitOpError()
           << "writes to argument " << argument.getArgNumber()
           << ", which is not donated";
  for (auto &[part, state] : states.get(range)) {
    auto check = [&](const Access &earlier, StringRef what) -> LogicalResult {
      if (isBefore(earlier, access.lane))
        return success();
      InFlightDiagnostic diag =
          access.op->emitOpError()
          << "writes " << getName(buffer) << " on stream "
          << getStream(access.lane) << " without waiting for what " << what
          << " the same bytes on stream " << getStream(earlier.lane);
      diag.attachNote(earlier.op->getLoc()) << "in flight since here";
      return diag;
    };
    if (failed(check(state.writer, "writes")))
      return failure();
    for (const Access &reader : state.readers)
      if (reader.step != access.step && failed(check(reader, "reads")))
        return failure();
  }
  states.set(range, {base, access, {}});
  return success();
}

//===----------------------------------------------------------------------===//
// One operation
//===----------------------------------------------------------------------===//

/// True if `op` may read `input` and write `output` in one place.
bool MemoryChecker::allowsInPlace(Operation *op, unsigned input,
                                  unsigned output) {
  if (auto collective = dyn_cast<CollectiveOp>(op))
    return input == output &&
           (collective.getKind() == CollectiveKind::AllReduce ||
            collective.getKind() == CollectiveKind::Broadcast);
  auto launch = dyn_cast<LaunchOp>(op);
  if (!launch)
    return isa<CopyOp>(op);
  return llvm::is_contained(inPlacePairs.lookup(launch.getKernelAttr()),
                            tg::InPlacePair(input, output));
}

LogicalResult MemoryChecker::checkOverlap(StreamOpInterface op, unsigned input,
                                          unsigned output) {
  Value from = op.getReads()[input], to = op.getWrites()[output];
  ByteRange source = getRange(from), target = getRange(to);
  bool isSame = source.begin == target.begin && source.end == target.end;
  if (isSame && allowsInPlace(op, input, output))
    return success();
  return op.emitOpError() << "writes " << getName(to) << " over its operand "
                          << getName(from)
                          << (isSame ? ", which it may not do in place"
                                     : ", of which it shares a part");
}

/// Checks that operands share bytes only where the operation can handle it.
LogicalResult MemoryChecker::checkOperands(StreamOpInterface op) {
  struct Operand {
    ByteRange range;
    unsigned number;
    bool isOutput;
  };
  SmallVector<Operand> operands;
  for (auto [isOutput, values] :
       {std::pair(false, op.getReads()), std::pair(true, op.getWrites())})
    for (auto [i, value] : llvm::enumerate(values)) {
      ByteRange range = getRange(value);
      if (range.begin != range.end)
        operands.push_back({range, static_cast<unsigned>(i), isOutput});
    }
  llvm::sort(operands, [](const Operand &a, const Operand &b) {
    return std::tie(a.range.space, a.range.begin, a.isOutput, a.number) <
           std::tie(b.range.space, b.range.begin, b.isOutput, b.number);
  });
  // Operands that reach beyond the place of the current one.
  SmallVector<const Operand *> open;
  for (const Operand &operand : operands) {
    llvm::erase_if(open, [&](const Operand *other) {
      return other->range.space != operand.range.space ||
             other->range.end <= operand.range.begin;
    });
    for (const Operand *other : open) {
      if (!operand.isOutput && !other->isOutput)
        continue;
      if (operand.isOutput && other->isOutput)
        return op.emitOpError()
               << "has two outputs that share bytes, "
               << getName(op.getWrites()[other->number]) << " and "
               << getName(op.getWrites()[operand.number]);
      const Operand &input = operand.isOutput ? *other : operand;
      const Operand &output = operand.isOutput ? operand : *other;
      if (failed(checkOverlap(op, input.number, output.number)))
        return failure();
    }
    open.push_back(&operand);
  }
  return success();
}

LogicalResult MemoryChecker::checkAccess(StreamOpInterface op) {
  if (failed(checkOperands(op)))
    return failure();
  Access access = makeAccess(op, op.getStream());
  for (Value buffer : op.getReads())
    if (failed(read(access, buffer)))
      return failure();
  for (Value buffer : op.getWrites())
    if (failed(write(access, buffer)))
      return failure();
  return success();
}

/// Nothing is in flight any more.
LogicalResult MemoryChecker::checkReturn(ReturnOp op) {
  clocks[0].assign(clocks.size(), ++step);
  Access access = makeAccess(op, 0);
  for (Value result : op.getOperands())
    if (failed(read(access, result)))
      return failure();
  return success();
}

LogicalResult MemoryChecker::checkOp(Operation *op, bool repeatLoops) {
  if (auto access = dyn_cast<StreamOpInterface>(op))
    return checkAccess(access);
  if (auto record = dyn_cast<RecordOp>(op)) {
    uint64_t lane = getLane(record.getStream());
    Clock clock = clocks[lane];
    clock[lane] = step;
    events[record.getEvent()] = std::move(clock);
  } else if (auto wait = dyn_cast<WaitOp>(op)) {
    for (auto [known, recorded] :
         llvm::zip(clocks[getLane(wait.getStream())], events[wait.getEvent()]))
      known = std::max(known, recorded);
  } else if (auto graph = dyn_cast<GraphOp>(op)) {
    return checkGraph(graph);
  } else if (auto end = dyn_cast<ReturnOp>(op)) {
    return checkReturn(end);
  } else if (op->getNumRegions() > 0) {
    return checkRegions(op, repeatLoops);
  }
  return success();
}

LogicalResult MemoryChecker::checkBlock(Block &block, bool repeatLoops) {
  for (Operation &op : block)
    if (failed(checkOp(&op, repeatLoops)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Runs a region a number of times. Everything that it issues has to be known
/// to be complete when it ends.
LogicalResult MemoryChecker::runRegion(mlir::Region &region, unsigned times,
                                       bool repeatLoops) {
  Clock before = issued;
  for (unsigned time = 0; time != times; ++time) {
    if (failed(checkBlock(region.front(), repeatLoops && time == 0)))
      return failure();
    for (auto [lane, end] : llvm::enumerate(issued))
      if (lane != 0 && end != before[lane] && clocks[0][lane] < end)
        return region.getParentOp()->emitOpError()
               << "ends a region while something that it has started on stream "
               << getStream(lane) << " is in flight; stream 0 must wait for it";
  }
  return success();
}

/// Nothing in a graph begins before it is launched, nor is in flight after it.
LogicalResult MemoryChecker::checkGraph(GraphOp op) {
  inGraph = true;
  Clock launch = clocks[0];
  launch[0] = step;
  for (uint64_t stream = 1; stream < program.getStreams(); ++stream)
    clocks[getLane(stream)] = launch;
  LogicalResult result = runRegion(op.getBody(), 1, /*repeatLoops=*/false);
  inGraph = false;
  return result;
}

/// No two buffers of a loop share bytes: the next iteration reads what this one
/// leaves.
LogicalResult MemoryChecker::checkLoop(ForOp op) {
  struct Buffer {
    ByteRange range;
    size_t number;
    Value value;
  };
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Buffer> buffers;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      Value base = getPlace(operand).base;
      if (isa_and_nonnull<SliceOp, HostSliceOp>(base.getDefiningOp()) &&
          seen.insert(base).second)
        if (ByteRange range = getRange(base); range.begin != range.end)
          buffers.push_back({range, buffers.size(), base});
    }
  });
  llvm::sort(buffers, [](const Buffer &a, const Buffer &b) {
    return std::tie(a.range.space, a.range.begin, a.number) <
           std::tie(b.range.space, b.range.begin, b.number);
  });
  for (size_t i = 1; i < buffers.size(); ++i) {
    const Buffer &first = buffers[i - 1], &second = buffers[i];
    if (first.range.space != second.range.space ||
        second.range.begin >= first.range.end)
      continue;
    InFlightDiagnostic diag = op.emitOpError()
                              << "touches " << getName(first.value) << " and "
                              << getName(second.value) << ", which share bytes";
    diag.attachNote(first.value.getLoc()) << "one buffer";
    diag.attachNote(second.value.getLoc()) << "the other";
    return diag;
  }
  return success();
}

/// Leaves bytes as they are after either of two ways: what they do not agree on
/// may not be read. Operations before `start` are from before the regions.
void MemoryChecker::join(const Access &access,
                         ArrayRef<ByteStates::Segment> first,
                         ArrayRef<ByteStates::Segment> second, uint64_t start) {
  auto isWritten = [&](const ByteState &state) {
    return state.writer.op && state.writer.step >= start;
  };
  auto touch = [&](ByteState &state, const ByteState &after) {
    if (isWritten(after))
      state.writer = access;
    addReader(state, access);
  };
  for (const auto &[range, after] : first) {
    SmallVector<ByteStates::Segment> segments = states.get(range);
    for (auto &[part, state] : segments) {
      state.owner = after.owner;
      touch(state, after);
    }
    states.set(range, segments);
  }
  for (const auto &[range, after] : second) {
    SmallVector<ByteStates::Segment> segments = states.get(range);
    for (auto &[part, state] : segments) {
      if (state.owner != after.owner)
        state.owner = Value();
      touch(state, after);
    }
    states.set(range, segments);
  }
}

LogicalResult MemoryChecker::checkRegions(Operation *op, bool repeatLoops) {
  Access access = makeAccess(op, 0);
  auto loop = dyn_cast<ForOp>(op);
  if (loop) {
    if (failed(checkLoop(loop)))
      return failure();
    for (Value bound : {loop.getLower(), loop.getUpper(), loop.getStep()})
      if (failed(read(access, bound)))
        return failure();
  } else if (failed(read(access, cast<IfOp>(op).getCondition()))) {
    return failure();
  }
  SmallVector<Clock, 2> known = clocks;
  Clock issuedBefore = issued;
  uint64_t start = step;
  SmallVector<ByteRange> touched;
  auto getSegments = [&](ArrayRef<ByteRange> ranges) {
    SmallVector<ByteStates::Segment> segments;
    for (const ByteRange &range : ranges)
      llvm::append_range(segments, states.get(range));
    return segments;
  };
  // The first region, or none; the second, or none.
  SmallVector<ByteStates::Segment> first, second;
  size_t mark = states.mark();
  if (loop && failed(write(makeAccess(op, 0), loop.getIndex())))
    return failure();
  // The second iteration meets what the first one leaves.
  if (failed(runRegion(op->getRegion(0), loop && repeatLoops ? 2 : 1,
                       repeatLoops)))
    return failure();
  touched = states.getChanges(mark);
  first = getSegments(touched);
  states.rollBack(mark);
  clocks = known;

  mark = states.mark();
  if (!loop && !op->getRegion(1).empty() &&
      failed(runRegion(op->getRegion(1), 1, repeatLoops)))
    return failure();
  llvm::append_range(touched, states.getChanges(mark));
  second = getSegments(mergeRanges(touched));
  states.rollBack(mark);
  clocks = known;
  // Of what the regions have started, nothing is in flight.
  issued = issuedBefore;
  join(makeAccess(op, 0), first, second, start);
  return success();
}

LogicalResult regather::exec::verifyMemory(ProgramOp program) {
  return MemoryChecker(program).run();
}

namespace {
struct ProgramVerification
    : public tg::VerifiableStepOpInterface::ExternalModel<ProgramVerification,
                                                          ProgramOp> {
  LogicalResult verifyStep(Operation *op) const {
    return verifyMemory(cast<ProgramOp>(op));
  }
};
} // namespace

void regather::exec::registerMemoryChecks(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ExecDialect *) {
    ProgramOp::attachInterface<ProgramVerification>(*context);
  });
}
