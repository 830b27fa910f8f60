//===- TraceWriter.cpp - Timelines for Perfetto ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Timeline/WriteTimeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace regather;

namespace {
/// Writes the events of the Trace Event Format.
class TraceWriter {
public:
  TraceWriter(llvm::json::OStream &stream, const TimedGraph &graph,
              llvm::ArrayRef<TimelineOp> ops)
      : stream(stream), graph(graph), ops(ops) {}

  void write(const Timeline &timeline, unsigned process);

private:
  using Body = llvm::function_ref<void()>;

  /// An event `phase` of a process, and of one of its threads.
  void event(llvm::StringRef phase, llvm::StringRef name, unsigned process,
             unsigned thread, Body body);
  void nameProcess(llvm::StringRef kind, llvm::StringRef name, unsigned process,
                   unsigned thread, unsigned place);
  void time(llvm::StringRef name, double seconds);
  void box(const TimelineBox &box, unsigned process, unsigned thread);
  void arrow(const TimelineBox &wait, unsigned process);

  llvm::json::OStream &stream;
  const TimedGraph &graph;
  llvm::ArrayRef<TimelineOp> ops;
  unsigned numArrows = 0;
};
} // namespace

/// In microseconds, which is what the format counts in, to a nanosecond.
void TraceWriter::time(llvm::StringRef name, double seconds) {
  stream.attributeBegin(name);
  stream.rawValue(llvm::formatv("{0:F3}", seconds * 1e6).str());
  stream.attributeEnd();
}

void TraceWriter::event(llvm::StringRef phase, llvm::StringRef name,
                        unsigned process, unsigned thread, Body body) {
  stream.object([&] {
    stream.attribute("ph", phase);
    stream.attribute("name", name);
    stream.attribute("pid", process);
    stream.attribute("tid", thread);
    body();
  });
}

void TraceWriter::nameProcess(llvm::StringRef kind, llvm::StringRef name,
                              unsigned process, unsigned thread,
                              unsigned place) {
  event("M", (kind + "_name").str(), process, thread, [&] {
    stream.attributeObject("args", [&] { stream.attribute("name", name); });
  });
  event("M", (kind + "_sort_index").str(), process, thread, [&] {
    stream.attributeObject("args",
                           [&] { stream.attribute("sort_index", place); });
  });
}

void TraceWriter::box(const TimelineBox &box, unsigned process,
                      unsigned thread) {
  const TimelineOp &op = ops[box.op];
  event("X", op.name, process, thread, [&] {
    time("ts", box.begin);
    time("dur", box.end - box.begin);
    stream.attribute("cat", getBoxKindName(box.kind));
    stream.attributeObject("args", [&] {
      stream.attribute("op", op.target);
      if (!op.module.empty())
        stream.attribute("module", op.module);
      if (op.bytes > 0)
        stream.attribute("received_bytes", op.bytes);
      if (box.isCritical)
        stream.attribute("critical", true);
    });
  });
}

/// From the end of a collective to that of the wait that it holds up.
void TraceWriter::arrow(const TimelineBox &wait, unsigned process) {
  unsigned stream = graph.ops[wait.op].stream;
  unsigned number = ++numArrows;
  auto end = [&](llvm::StringRef phase, unsigned thread) {
    event(phase, "exposed", process, thread, [&] {
      time("ts", wait.end);
      this->stream.attribute("cat", "exposed");
      this->stream.attribute("id", number);
      if (phase == "f")
        this->stream.attribute("bp", "e");
    });
  };
  end("s", 1 + stream);
  end("f", 0);
}

void TraceWriter::write(const Timeline &timeline, unsigned process) {
  nameProcess("process", timeline.name, process, 0, process);
  for (auto [i, lane] : llvm::enumerate(timeline.lanes)) {
    unsigned thread = i;
    nameProcess("thread", lane.name, process, thread, thread);
    for (const TimelineBox &next : lane.boxes) {
      box(next, process, thread);
      if (next.kind == BoxKind::Exposed)
        arrow(next, process);
    }
  }
  for (auto [seconds, bytes] : timeline.memory)
    event("C", "memory", process, 0, [&, seconds = seconds, bytes = bytes] {
      time("ts", seconds);
      stream.attributeObject("args", [&] { stream.attribute("bytes", bytes); });
    });
}

void regather::writeTrace(llvm::raw_ostream &os,
                          llvm::ArrayRef<Timeline> timelines,
                          const TimedGraph &graph,
                          llvm::ArrayRef<TimelineOp> ops) {
  llvm::json::OStream stream(os);
  stream.object([&] {
    stream.attribute("displayTimeUnit", "ms");
    stream.attributeArray("traceEvents", [&] {
      TraceWriter writer(stream, graph, ops);
      for (auto [i, timeline] : llvm::enumerate(timelines))
        writer.write(timeline, i);
    });
  });
  os << '\n';
}
