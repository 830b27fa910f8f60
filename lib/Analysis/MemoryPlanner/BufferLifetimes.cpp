//===- BufferLifetimes.cpp - Lifetimes in a program of streams ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/MemoryPlanner/BufferLifetimes.h"

#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace llvm;
using namespace regather;

namespace {
/// For each stream, the number of leading program steps whose operations on
/// that stream are complete.
using Clock = std::vector<uint64_t>;

/// An operation that begins a lifetime, and what is complete before it runs.
struct Opening {
  uint64_t step;
  Clock clock;
};

class LifetimeAnalysis {
public:
  explicit LifetimeAnalysis(const StreamProgram &program);
  Result<std::vector<BufferLifetime>> run();

private:
  Failure checkNumbers() const;
  Failure visit(uint64_t step);
  Failure access(uint64_t step, uint32_t buffer, StringRef verb);
  ArrayRef<uint64_t> getLastAccesses(uint32_t buffer) const {
    return ArrayRef(lastAccess)
        .slice(size_t(buffer) * program.numStreams, program.numStreams);
  }
  uint64_t findEnd(uint32_t buffer) const;
  bool endsInOneOp(uint32_t buffer) const;

  static constexpr uint64_t kNever = UINT64_MAX;

  const StreamProgram &program;
  /// What the next operation of each stream knows to be complete.
  std::vector<Clock> clocks;
  std::vector<bool> overlaps;
  /// By event; empty until it is recorded.
  std::vector<Clock> events;
  /// By stream, in the order of the program.
  std::vector<std::vector<Opening>> openings;
  std::vector<bool> isLiveIn;
  /// The step of the first write; `kNever` if there was none.
  std::vector<uint64_t> firstWrite;
  /// By buffer and stream, one after the last access.
  std::vector<uint64_t> lastAccess;
};
} // namespace

LifetimeAnalysis::LifetimeAnalysis(const StreamProgram &program)
    : program(program), clocks(program.numStreams, Clock(program.numStreams)),
      overlaps(program.numStreams), events(program.numEvents),
      openings(program.numStreams), isLiveIn(program.numBuffers),
      firstWrite(program.numBuffers, kNever),
      lastAccess(size_t(program.numBuffers) * program.numStreams) {}

Failure LifetimeAnalysis::checkNumbers() const {
  auto check = [](ArrayRef<uint32_t> numbers, uint32_t count, StringRef kind,
                  const Twine &where) -> Failure {
    for (uint32_t number : numbers)
      if (number >= count)
        return makeFailure("{0} names {1} {2}, but there are only {3}",
                           where.str(), kind, number, count);
    return Failure();
  };
  for (auto [step, op] : enumerate(program.ops)) {
    std::string where = ("operation " + Twine(step)).str();
    if (Failure failure = check(op.stream, program.numStreams, "stream", where))
      return failure;
    for (ArrayRef<uint32_t> buffers : {ArrayRef(op.reads), ArrayRef(op.writes)})
      if (Failure failure = check(buffers, program.numBuffers, "buffer", where))
        return failure;
    if (Failure failure = check(op.waits, program.numEvents, "event", where))
      return failure;
    if (op.records)
      if (Failure failure =
              check(*op.records, program.numEvents, "event", where))
        return failure;
  }
  if (Failure failure = check(program.overlapping, program.numStreams, "stream",
                              "the list of streams that overlap"))
    return failure;
  if (Failure failure = check(program.liveIn, program.numBuffers, "buffer",
                              "the list of buffers live before the program"))
    return failure;
  return check(program.liveOut, program.numBuffers, "buffer",
               "the list of buffers live after the program");
}

Failure LifetimeAnalysis::access(uint64_t step, uint32_t buffer,
                                 StringRef verb) {
  const StreamOp &op = program.ops[step];
  uint64_t &last = lastAccess[size_t(buffer) * program.numStreams + op.stream];
  last = step + 1;
  if (isLiveIn[buffer])
    return Failure();
  uint64_t first = firstWrite[buffer];
  if (first == kNever)
    return makeFailure(
        "operation {0} {1} buffer {2}, which nothing has written", step, verb,
        buffer);
  uint32_t writer = program.ops[first].stream;
  bool isOrdered = writer == op.stream && !overlaps[writer];
  if (first != step && !isOrdered && clocks[op.stream][writer] <= first)
    return makeFailure("operation {0} on stream {1} {2} buffer {3} without "
                       "waiting for operation {4} on stream {5}, which first "
                       "writes it",
                       step, op.stream, verb, buffer, first, writer);
  return Failure();
}

Failure LifetimeAnalysis::visit(uint64_t step) {
  const StreamOp &op = program.ops[step];
  Clock &clock = clocks[op.stream];
  for (uint32_t event : op.waits) {
    if (events[event].empty())
      return makeFailure("operation {0} waits for event {1}, which no earlier "
                         "operation records",
                         step, event);
    for (auto [known, recorded] : zip(clock, events[event]))
      known = std::max(known, recorded);
  }
  for (uint32_t buffer : op.reads)
    if (Failure failure = access(step, buffer, "reads"))
      return failure;
  bool opens = false;
  for (uint32_t buffer : op.writes) {
    if (firstWrite[buffer] == kNever && !isLiveIn[buffer]) {
      firstWrite[buffer] = step;
      opens = true;
    }
    if (Failure failure = access(step, buffer, "writes"))
      return failure;
  }
  if (opens)
    openings[op.stream].push_back({step, clock});
  // Everything that follows on this stream runs after this operation.
  if (!overlaps[op.stream])
    clock[op.stream] = step + 1;
  if (op.records) {
    events[*op.records] = clock;
    events[*op.records][op.stream] = step + 1;
  }
  return Failure();
}

uint64_t LifetimeAnalysis::findEnd(uint32_t buffer) const {
  ArrayRef<uint64_t> last = getLastAccesses(buffer);
  uint64_t end = *std::max_element(last.begin(), last.end());
  for (uint32_t reader = 0; reader != program.numStreams; ++reader) {
    for (uint32_t stream = 0; stream != program.numStreams; ++stream) {
      if (last[reader] == 0 || (stream == reader && !overlaps[stream]))
        continue;
      // Clocks only go forward along a stream.
      auto waiting =
          partition_point(openings[stream], [&](const Opening &opening) {
            return opening.clock[reader] < last[reader];
          });
      // The last opening that does not wait for the access. If it comes before
      // the access, it is no hazard, and does not prolong the lifetime either.
      if (waiting != openings[stream].begin())
        end = std::max(end, std::prev(waiting)->step + 1);
    }
  }
  return end;
}

bool LifetimeAnalysis::endsInOneOp(uint32_t buffer) const {
  ArrayRef<uint64_t> last = getLastAccesses(buffer);
  uint64_t end = *std::max_element(last.begin(), last.end());
  if (end == 0)
    return false;
  uint32_t stream = program.ops[end - 1].stream;
  auto opening = partition_point(openings[stream], [&](const Opening &other) {
    return other.step < end - 1;
  });
  if (overlaps[stream] || opening == openings[stream].end() ||
      opening->step != end - 1)
    return false;
  for (uint32_t other = 0; other != program.numStreams; ++other)
    if (other != stream && opening->clock[other] < last[other])
      return false;
  return true;
}

Result<std::vector<BufferLifetime>> LifetimeAnalysis::run() {
  if (Failure failure = checkNumbers())
    return failure;
  for (uint32_t stream : program.overlapping)
    overlaps[stream] = true;
  for (uint32_t buffer : program.liveIn)
    isLiveIn[buffer] = true;
  for (uint64_t step = 0; step != program.ops.size(); ++step)
    if (Failure failure = visit(step))
      return failure;
  std::vector<BufferLifetime> lifetimes(program.numBuffers);
  for (uint32_t buffer = 0; buffer != program.numBuffers; ++buffer) {
    if (isLiveIn[buffer])
      lifetimes[buffer] = {0, findEnd(buffer), endsInOneOp(buffer)};
    else if (firstWrite[buffer] != kNever)
      lifetimes[buffer] = {firstWrite[buffer], findEnd(buffer),
                           endsInOneOp(buffer)};
  }
  for (uint32_t buffer : program.liveOut) {
    if (!isLiveIn[buffer] && firstWrite[buffer] == kNever)
      return makeFailure("buffer {0} is live after the program, but nothing "
                         "writes it",
                         buffer);
    lifetimes[buffer].end = program.ops.size();
  }
  return lifetimes;
}

Result<std::vector<BufferLifetime>>
regather::computeLifetimes(const StreamProgram &program) {
  return LifetimeAnalysis(program).run();
}
