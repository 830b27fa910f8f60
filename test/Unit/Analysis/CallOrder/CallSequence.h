//===- CallSequence.h - Write calls for tests -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_ANALYSIS_CALLORDER_CALLSEQUENCE_H
#define REGATHER_TEST_UNIT_ANALYSIS_CALLORDER_CALLSEQUENCE_H

#include "regather/Analysis/CallOrder.h"

namespace regather::test {

/// Calls as a stand-in would record them. Memory is one allocation of a
/// mebibyte at `kBase`, which `allocate` makes.
class CallSequence {
public:
  static constexpr uint64_t kBase = uint64_t(1) << 40;

  RecordedCall &add(const char *name) {
    RecordedCall &call = calls.emplace_back();
    call.name = name;
    call.line = static_cast<int64_t>(calls.size());
    return call;
  }
  void allocate() { add("cuMemAlloc_v2").allocation = {kBase, 1 << 20}; }
  void free() { add("cuMemFree_v2").allocation.address = kBase; }
  RecordedCall &onStream(const char *name, int64_t stream) {
    RecordedCall &call = add(name);
    call.stream = stream;
    return call;
  }
  /// A kernel; ranges are offsets and sizes.
  RecordedCall &launch(int64_t stream, std::vector<CallRange> reads,
                       std::vector<CallRange> writes) {
    RecordedCall &call = onStream("cuLaunchKernel", stream);
    for (CallRange range : reads)
      call.reads.push_back({kBase + range.address, range.bytes});
    for (CallRange range : writes)
      call.writes.push_back({kBase + range.address, range.bytes});
    return call;
  }
  /// A routine that has scratch memory and nothing else.
  RecordedCall &useScratch(const char *name, int64_t stream, CallRange range) {
    RecordedCall &call = onStream(name, stream);
    call.scratch = {{kBase + range.address, range.bytes}};
    return call;
  }
  RecordedCall &record(int64_t event, int64_t stream) {
    RecordedCall &call = onStream("cuEventRecord", stream);
    call.event = event;
    return call;
  }
  RecordedCall &wait(int64_t stream, int64_t event) {
    RecordedCall &call = onStream("cuStreamWaitEvent", stream);
    call.event = event;
    return call;
  }
  void beginCapture(int64_t stream) {
    onStream("cuStreamBeginCapture_v2", stream);
  }
  /// Ends the capture and makes a graph with the number.
  void endCapture(int64_t stream, int64_t graph) {
    onStream("cuStreamEndCapture", stream).graph = graph;
    RecordedCall &call = add("cuGraphInstantiateWithFlags");
    call.graph = call.executable = graph;
  }
  void launchGraph(int64_t graph, int64_t stream) {
    onStream("cuGraphLaunch", stream).executable = graph;
  }
  RecordedCall &collective(const char *name, int64_t rank, int64_t comm,
                           int64_t count) {
    RecordedCall &call = onStream(name, 2);
    call.rank = rank;
    call.comm = comm;
    call.count = count;
    return call;
  }

  /// The kinds of the findings, each with its line: `race@5 failed@7`.
  std::string check() const {
    std::string text;
    for (const CallFinding &finding : checkCalls({calls}))
      text += (text.empty() ? "" : " ") + getKindName(finding.kind).str() +
              "@" + std::to_string(finding.line);
    return text;
  }

  std::vector<RecordedCall> calls;
};

} // namespace regather::test

#endif // REGATHER_TEST_UNIT_ANALYSIS_CALLORDER_CALLSEQUENCE_H
