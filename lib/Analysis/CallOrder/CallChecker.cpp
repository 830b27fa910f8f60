//===- CallChecker.cpp - Follow the calls of a process --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallChecker.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace regather;
using namespace regather::callorder;

using Kind = CallFinding::Kind;

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

std::string regather::callorder::describe(const RecordedCall &call,
                                          const RecordedCall *launch) {
  std::string text = call.name;
  StringRef what = call.kernel.empty() ? call.description : call.kernel;
  if (!what.empty())
    text += formatv(" \"{0}\"", what);
  if (call.instruction)
    text += formatv(" of instruction {0}", *call.instruction);
  if (call.stream != 0)
    text += formatv(" on stream {0}", call.stream);
  text += formatv(" (line {0}", call.line);
  if (launch)
    text += formatv(", in the graph launched in line {0}", launch->line);
  return text + ")";
}

std::string CallChecker::describe(CallRange range) const {
  auto it = allocations.upper_bound(range.address);
  if (it != allocations.begin()) {
    const auto &[begin, call] = *std::prev(it);
    if (range.address - begin < call->allocation.bytes)
      return formatv("bytes {0} to {1} of the allocation in line {2}",
                     range.address - begin,
                     range.address - begin + range.bytes - 1, call->line);
  }
  return formatv("{0} bytes at {1:x}", range.bytes, range.address);
}

void CallChecker::report(Kind kind, const RecordedCall &call,
                         const RecordedCall *other, std::string message) {
  if (reported.try_emplace({kind, &call, other}, true).second)
    findings.push_back({kind, std::move(message), call.line, record});
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

void CallChecker::checkOrder(const CallAccess &earlier, const CallAccess &later,
                             CallRange part, const char *earlierDoes,
                             const char *laterDoes) {
  bool isSame = earlier.call == later.call && earlier.launch == later.launch;
  if (!earlier.call || isSame || clocks.isBefore(earlier.tick, later.tick.lane))
    return;
  report(Kind::Race, *later.call, earlier.call,
         formatv("{0} {1} {2}, which {3} {4}; nothing orders the two",
                 callorder::describe(*later.call, later.launch), laterDoes,
                 describe(part),
                 callorder::describe(*earlier.call, earlier.launch),
                 earlierDoes));
}

void CallChecker::read(const CallAccess &access, CallRange range) {
  history.visit(range, [&](CallRange part, ByteHistoryState *state) {
    if (!state)
      return report(Kind::NotAllocated, *access.call, nullptr,
                    formatv("{0} reads {1}, which are not allocated",
                            callorder::describe(*access.call, access.launch),
                            describe(part)));
    if (!state->writer.call)
      report(Kind::NeverWritten, *access.call, nullptr,
             formatv("{0} reads {1}, which nothing has written",
                     callorder::describe(*access.call, access.launch),
                     describe(part)));
    checkOrder(state->writer, access, part, "writes", "reads");
    erase_if(state->readers, [&](const CallAccess &reader) {
      return reader.tick.lane == access.tick.lane &&
             reader.tick.time < access.tick.time;
    });
    state->readers.push_back(access);
  });
}

/// True if the call uses these bytes for intermediate values.
static bool isScratch(const CallAccess &access, CallRange part) {
  return any_of(access.call->scratch, [&](CallRange range) {
    return range.address <= part.address &&
           part.address - range.address < range.bytes;
  });
}

void CallChecker::write(const CallAccess &access, CallRange range) {
  history.visit(range, [&](CallRange part, ByteHistoryState *state) {
    if (!state)
      return report(Kind::NotAllocated, *access.call, nullptr,
                    formatv("{0} writes {1}, which are not allocated",
                            callorder::describe(*access.call, access.launch),
                            describe(part)));
    auto describeUse = [&](const CallAccess &user, const char *otherwise) {
      return isScratch(user, part) ? "has as scratch memory" : otherwise;
    };
    const char *does = describeUse(access, "writes");
    if (state->writer.call)
      checkOrder(state->writer, access, part,
                 describeUse(state->writer, "writes"), does);
    for (const CallAccess &reader : state->readers)
      checkOrder(reader, access, part, "reads", does);
    *state = {access, {}};
  });
}

void CallChecker::touch(const RecordedCall &call, const RecordedCall *launch,
                        size_t lane, int64_t group) {
  laneGroups.resize(clocks.getNumLanes());
  bool isSameTick = group != 0 && laneGroups[lane] == std::pair(group, launch);
  if (!isSameTick)
    clocks.advance(lane);
  laneGroups[lane] = {group, launch};
  CallAccess access = {&call, launch, {lane, clocks.get(lane)[lane]}};
  for (CallRange range : call.reads)
    read(access, range);
  for (CallRange range : call.writes)
    write(access, range);
  for (CallRange range : call.scratch)
    write(access, range);
  start(call, launch);
}

void CallChecker::start(const RecordedCall &call, const RecordedCall *launch) {
  bool isCollective =
      StringSwitch<bool>(call.name)
          .Cases({"ncclAllGather", "ncclAllReduce", "ncclAlltoAll"}, true)
          .Cases({"ncclBroadcast", "ncclReduce", "ncclReduceScatter"}, true)
          .Default(false);
  if (!isCollective)
    return;
  DenseMap<int64_t, size_t> &numbers = communicators[call.rank];
  size_t communicator =
      numbers.try_emplace(call.comm, numbers.size()).first->second;
  collectives[call.rank].push_back({&call, launch, communicator});
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void CallChecker::free(const RecordedCall &call) {
  auto found = allocations.find(call.allocation.address);
  if (found == allocations.end())
    return report(Kind::NotAllocated, call, nullptr,
                  formatv("{0} frees memory at {1:x}, which is not allocated",
                          callorder::describe(call), call.allocation.address));
  CallRange range = found->second->allocation;
  history.visit(range, [&](CallRange part, ByteHistoryState *state) {
    auto check = [&](const CallAccess &user) {
      if (user.call && !clocks.isBefore(user.tick, StreamClocks::kHost))
        report(Kind::NotAllocated, call, user.call,
               formatv("{0} frees {1}, which {2} may still use",
                       callorder::describe(call), describe(part),
                       callorder::describe(*user.call, user.launch)));
    };
    if (!state)
      return;
    check(state->writer);
    for_each(state->readers, check);
  });
  history.free(range);
  allocations.erase(found);
}

bool CallChecker::runMemoryCall(const RecordedCall &call) {
  if (call.name == "cuMemAlloc_v2") {
    allocations[call.allocation.address] = &call;
    history.allocate(call.allocation);
    return true;
  }
  if (call.name != "cuMemFree_v2")
    return false;
  free(call);
  return true;
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

static bool isHostWait(StringRef name) {
  return StringSwitch<bool>(name)
      .Cases({"cuCtxSynchronize", "cuEventQuery", "cuEventSynchronize"}, true)
      .Cases({"cuStreamQuery", "cuStreamSynchronize"}, true)
      .Default(false);
}

static bool isAllocation(StringRef name) {
  return StringSwitch<bool>(name)
      .Cases({"cuMemAlloc_v2", "cuMemFree_v2"}, true)
      .Cases({"cuMemFreeHost", "cuMemHostAlloc"}, true)
      .Default(false);
}

static bool isCreation(StringRef name) {
  return StringSwitch<bool>(name)
      .Cases({"cuEventCreate", "cuEventDestroy_v2", "cuModuleLoadDataEx"}, true)
      .Cases({"cuModuleUnload", "cuStreamCreate", "cuStreamDestroy_v2"}, true)
      .Case("cuStreamCreateWithPriority", true)
      .Cases({"cublasLtCreate", "cudnnCreate", "ncclCommInitRank"}, true)
      .Cases({"ncclCommInitRankConfig", "ncclCommSplit"}, true)
      .Default(false);
}

/// Checks what a call may do where it stands.
void CallChecker::checkHabits(const RecordedCall &call) {
  bool waits = isHostWait(call.name), allocates = isAllocation(call.name);
  if (numOpenCaptures > 0 && (waits || allocates))
    report(Kind::IllegalCapture, call, nullptr,
           formatv("{0} is not allowed while a stream is captured",
                   callorder::describe(call)));
  // A query does not wait.
  bool asks = StringRef(call.name).ends_with("Query");
  // The host has to read the value that a branch depends on.
  bool decides = StringRef(call.description).starts_with("exec.if") ||
                 StringRef(call.description).starts_with("exec.for");
  if (call.instruction && !decides &&
      ((waits && !asks) || allocates || isCreation(call.name)))
    report(Kind::WithinStep, call, nullptr,
           formatv("{0} {1} within a step", callorder::describe(call),
                   waits ? "makes the host wait" : "makes or ends an object"));
}

bool CallChecker::runHostCall(const RecordedCall &call) {
  if (!isHostWait(call.name))
    return false;
  if (call.name == "cuCtxSynchronize") {
    for (size_t lane = 1; lane < clocks.getNumLanes(); ++lane)
      clocks.join(StreamClocks::kHost, clocks.get(lane));
  } else if (call.event != 0) {
    auto it = events.find(call.event);
    if (it != events.end() && it->second.capture == 0)
      clocks.join(StreamClocks::kHost, it->second.clock);
  } else {
    clocks.join(StreamClocks::kHost, clocks.get(getLane(call.stream)));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

size_t CallChecker::getLane(int64_t stream) {
  auto [it, inserted] = lanes.try_emplace(stream, 0);
  if (inserted) {
    it->second = clocks.addLane();
    ++statistics.streams;
  }
  return it->second;
}

void CallChecker::recordEvent(const RecordedCall &call) {
  Event &event = events[call.event];
  event.capture = getCapture(call.stream);
  if (event.capture != 0)
    captures[event.capture].calls.push_back(&call);
  else
    event.clock = clocks.get(getLane(call.stream));
}

void CallChecker::waitForEvent(const RecordedCall &call) {
  auto it = events.find(call.event);
  if (it == events.end())
    return report(Kind::EventNotRecorded, call, nullptr,
                  formatv("{0} waits for event {1}, which was not recorded",
                          callorder::describe(call), call.event));
  const Event &event = it->second;
  size_t capture = getCapture(call.stream);
  if (event.capture == 0 && capture == 0)
    return clocks.join(getLane(call.stream), event.clock);
  auto fail = [&](const char *why) {
    report(Kind::IllegalCapture, call, nullptr,
           formatv("{0} waits for event {1}, which {2}",
                   callorder::describe(call), call.event, why));
  };
  if (event.capture == 0)
    return fail("was recorded outside of the capture");
  if (!captures[event.capture].isOpen)
    return fail("was recorded in a capture that is over");
  if (capture != 0 && capture != event.capture)
    return fail("was recorded in another capture");
  // The stream takes part from now on.
  capturedStreams[call.stream] = event.capture;
  captures[event.capture].calls.push_back(&call);
}

void CallChecker::runStreamCall(const RecordedCall &call) {
  if (call.name == "cuEventRecord")
    return recordEvent(call);
  if (call.name == "cuStreamWaitEvent")
    return waitForEvent(call);
  if (call.name == "ncclGroupEnd") {
    openGroups.erase(call.stream);
    return;
  }
  // Without bytes it may still be a collective.
  if (call.reads.empty() && call.writes.empty() && call.scratch.empty() &&
      call.comm == 0)
    return;
  int64_t group = 0;
  if (StringRef(call.name).starts_with("nccl")) {
    int64_t &open = openGroups[call.stream];
    open = open ? open : ++numGroups;
    group = open;
  }
  if (size_t number = getCapture(call.stream)) {
    captures[number].calls.push_back(&call);
    captures[number].groups.resize(captures[number].calls.size());
    captures[number].groups.back() = group;
    return;
  }
  touch(call, /*launch=*/nullptr, getLane(call.stream), group);
}

void CallChecker::runCall(const RecordedCall &call) {
  ++statistics.calls;
  checkHabits(call);
  // These results are answers, not failures: work is not done yet, or another
  // image has to be tried.
  bool isAnswer = call.result == "CUDA_ERROR_NOT_READY" ||
                  call.result == "CUDA_ERROR_NO_BINARY_FOR_GPU";
  if (!call.result.empty() && !isAnswer)
    report(Kind::Failed, call, nullptr,
           formatv("{0} fails with {1}: {2}", callorder::describe(call),
                   call.result, call.problem));
  // The rest is about what calls do. A call that failed may still tell what it
  // was meant to do.
  if (!runMemoryCall(call) && !runHostCall(call) && !runCaptureCall(call) &&
      call.stream != 0)
    runStreamCall(call);
}

void CallChecker::run(ArrayRef<RecordedCall> calls) {
  for (const RecordedCall &call : calls)
    runCall(call);
}
