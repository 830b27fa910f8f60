//===- CapturedGraphs.cpp - Captures and what replays them ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallChecker.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace regather;
using namespace regather::callorder;

using Kind = CallFinding::Kind;

bool CallChecker::runCaptureCall(const RecordedCall &call) {
  if (call.name == "cuStreamBeginCapture_v2") {
    if (getCapture(call.stream) != 0)
      report(Kind::IllegalCapture, call, nullptr,
             formatv("{0} captures a stream that is being captured",
                     callorder::describe(call)));
    capturedStreams[call.stream] = captures.size();
    captures.emplace_back().origin = call.stream;
    ++numOpenCaptures;
    return true;
  }
  if (call.name == "cuStreamEndCapture") {
    endCapture(call);
    return true;
  }
  if (call.name == "cuGraphInstantiateWithFlags") {
    auto it = graphs.find(call.graph);
    if (it == graphs.end())
      report(Kind::UnknownGraph, call, nullptr,
             formatv("{0} instantiates graph {1}, which was not captured",
                     callorder::describe(call), call.graph));
    else
      executables[call.executable].capture = it->second;
    return true;
  }
  if (call.name != "cuGraphLaunch")
    return false;
  launch(call);
  return true;
}

void CallChecker::endCapture(const RecordedCall &call) {
  size_t number = getCapture(call.stream);
  if (number == 0 || captures[number].origin != call.stream)
    return report(Kind::IllegalCapture, call, nullptr,
                  formatv("{0} ends a capture that did not begin on the stream",
                          callorder::describe(call)));
  Capture &capture = captures[number];
  capture.groups.resize(capture.calls.size());
  capture.isOpen = false;
  --numOpenCaptures;
  checkJoined(call, capture);
  SmallVector<int64_t> members;
  for (const auto &[stream, member] : capturedStreams)
    if (member == number)
      members.push_back(stream);
  for (int64_t stream : members)
    capturedStreams.erase(stream);
  if (call.graph != 0)
    graphs[call.graph] = number;
}

/// Checks that the origin has waited for all that runs on other streams.
void CallChecker::checkJoined(const RecordedCall &end, const Capture &capture) {
  StreamClocks local;
  DenseMap<int64_t, size_t> lanes;
  DenseMap<int64_t, Clock> recorded;
  DenseMap<int64_t, const RecordedCall *> last;
  auto getLane = [&](int64_t stream) {
    auto [it, inserted] = lanes.try_emplace(stream, 0);
    if (inserted)
      it->second = local.addLane();
    return it->second;
  };
  size_t origin = getLane(capture.origin);
  for (const RecordedCall *call : capture.calls) {
    size_t lane = getLane(call->stream);
    if (call->name == "cuEventRecord") {
      recorded[call->event] = local.get(lane);
    } else if (call->name == "cuStreamWaitEvent") {
      local.join(lane, recorded[call->event]);
    } else {
      local.advance(lane);
      last[call->stream] = call;
    }
  }
  for (auto [stream, lane] : lanes)
    if (lane != origin && last.contains(stream) &&
        !local.isBefore({lane, local.get(lane)[lane]}, origin))
      report(Kind::IllegalCapture, end, last[stream],
             formatv("{0} ends a capture without waiting for {1}",
                     callorder::describe(end),
                     callorder::describe(*last[stream])));
}

/// Runs what was captured once more. A graph is one piece of work of the stream
/// that launches it, so that stream takes the place of the origin; the other
/// streams of the graph know what the origin tells them.
void CallChecker::launch(const RecordedCall &call) {
  auto found = executables.find(call.executable);
  if (found == executables.end())
    return report(Kind::UnknownGraph, call, nullptr,
                  formatv("{0} launches graph {1}, which was not made",
                          callorder::describe(call), call.executable));
  ++statistics.graphLaunches;
  Executable &executable = found->second;
  const Capture &capture = captures[executable.capture];
  size_t origin = getLane(call.stream);
  for (auto [stream, lane] : executable.lanes)
    clocks.restart(lane);
  auto getReplayLane = [&](int64_t stream) {
    if (stream == capture.origin)
      return origin;
    auto [it, inserted] = executable.lanes.try_emplace(stream, 0);
    if (inserted)
      it->second = clocks.addLane();
    return it->second;
  };
  // Even an empty graph comes after what the host knows to be complete.
  clocks.advance(origin);
  DenseMap<int64_t, Clock> recorded;
  for (auto [captured, group] : zip_equal(capture.calls, capture.groups)) {
    size_t lane = getReplayLane(captured->stream);
    if (captured->name == "cuEventRecord") {
      recorded[captured->event] = clocks.get(lane);
    } else if (captured->name == "cuStreamWaitEvent") {
      clocks.join(lane, recorded[captured->event]);
    } else {
      touch(*captured, &call, lane, group);
      ++statistics.replayedCalls;
    }
  }
}
