//===- RunTrace.cpp - What the ranks did in a step ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/RunTrace.h"

#include "ReportJson.h"

#include <set>

using namespace regather;

static OrderedJson nameTrack(const char *what, size_t process, int32_t thread,
                             const std::string &name) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", process},
          {"tid", thread},
          {"args", {{"name", name}}}};
}

static const char *getCategory(RunSpan::Kind kind) {
  switch (kind) {
  case RunSpan::Kind::Computation:
    return "computation";
  case RunSpan::Kind::Wait:
    return "exposed";
  case RunSpan::Kind::Communication:
    return "communication";
  }
  return "";
}

/// The thread that issues everything computes and waits, or else stream 0 of a
/// device.
static int32_t getTrack(const RunSpan &span) {
  bool isBeside = span.isOnDevice && span.stream != 0;
  return span.kind == RunSpan::Kind::Communication || isBeside ? 1 + span.stream
                                                               : 0;
}

static OrderedJson toJson(const RunSpan &span, size_t process) {
  OrderedJson event = {{"ph", "X"},
                       {"name", span.name},
                       {"cat", getCategory(span.kind)},
                       {"pid", process},
                       {"tid", getTrack(span)},
                       {"ts", span.begin * 1e6},
                       {"dur", (span.end - span.begin) * 1e6}};
  if (!span.place.empty())
    event["args"] = {{"at", span.place}};
  return event;
}

std::string
regather::formatTrace(const std::vector<std::vector<RunSpan>> &ranks) {
  OrderedJson events = OrderedJson::array();
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    events.push_back(
        nameTrack("process_name", rank, 0, "rank " + std::to_string(rank)));
    events.push_back(nameTrack("thread_name", rank, 0, "compute"));
    std::set<int32_t> streams;
    for (const RunSpan &span : ranks[rank])
      if (getTrack(span) != 0)
        streams.insert(span.stream);
    for (int32_t stream : streams)
      events.push_back(nameTrack("thread_name", rank, 1 + stream,
                                 "stream " + std::to_string(stream)));
    for (const RunSpan &span : ranks[rank])
      events.push_back(toJson(span, rank));
  }
  OrderedJson trace = {{"displayTimeUnit", "ms"}};
  trace["traceEvents"] = std::move(events);
  return trace.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) +
         '\n';
}
