//===- CallOrder.h - Whether recorded calls are ordered ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tool beneath the runtime, such as what stands in for the libraries of a GPU
// in tests, records the calls of a run, one JSON object in a line:
//
//   {"call": "cuLaunchKernel", "rank": 0, "stream": 3, "instruction": 17,
//    "kernel": "k_f00d", "reads": [[address, bytes], ...],
//    "writes": [[address, bytes], ...], "scratch": [[address, bytes]]}
//
// `stream`, `event`, `capture`, `graph`, `executable` and `comm` are small
// numbers in the order of their creation, from 1 on; addresses are numbers; and
// each call has its own further fields. What is enqueued on a stream that is
// captured names the `capture`, whose end names the `graph`, from which an
// `executable` is made, which launches name. A call that failed has its
// `result` and the `problem`. The order of lines is the order in which calls
// began. What a kernel or a library routine reads and writes cannot be seen
// from its pointers alone: the runtime says it by the range of NVTX around the
// call (lib/Runtime/GPU/Driver/NvtxRange.h).
//
// What was run is one of the orders that a device might choose; here it is
// proven that all of them have the same result. Each stream is a sequence of
// its own, tied to others by events, by graphs and by what the host waits for,
// and two calls that touch the same bytes, one of them writing, have to be
// ordered by these ties.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_CALLORDER_H
#define REGATHER_ANALYSIS_CALLORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace regather {

/// Bytes of a device.
struct CallRange {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

/// A call as it was recorded. Objects have numbers from 1 on; 0 stands for
/// none.
struct RecordedCall {
  std::string name;
  /// Of the file, from 1 on.
  int64_t line = 0;
  int64_t rank = 0;
  /// Number in the program; nothing outside of a step.
  std::optional<int64_t> instruction;
  int64_t stream = 0, event = 0, graph = 0, executable = 0, comm = 0;
  /// Of an allocation.
  CallRange allocation;
  /// Elements of a collective, the numbers of their type and of what combines
  /// them, and the position of its root.
  int64_t count = 0, type = 0, reduction = 0, peer = 0;
  std::string description, kernel;
  /// Of a call that failed.
  std::string result, problem;
  std::vector<CallRange> reads, writes;
  /// Memory for intermediate values. What is there before does not matter.
  std::vector<CallRange> scratch;
};

/// Reads a record: one JSON object in a line. An error names the line.
llvm::Expected<std::vector<RecordedCall>> parseCalls(llvm::StringRef text);

/// Something wrong in a record.
struct CallFinding {
  enum class Kind {
    /// Two calls touch the same bytes in no order.
    Race,
    /// Bytes are read that nothing has written.
    NeverWritten,
    /// Bytes are touched that are not allocated, or freed while in use.
    NotAllocated,
    /// A stream waits for an event that was not recorded.
    EventNotRecorded,
    /// A call that may not be made during a capture, or across its bounds.
    IllegalCapture,
    /// Something is made, or waited for by the host, within a step.
    WithinStep,
    /// A graph is launched that does not exist.
    UnknownGraph,
    /// The library refused a call.
    Failed,
    /// Ranks start different collectives.
    RankOrder
  };

  Kind kind;
  /// Names the calls, their streams, instructions and bytes.
  std::string message;
  /// The line that shows it, and of which record.
  int64_t line = 0;
  size_t record = 0;
};

/// What was looked at.
struct CallStatistics {
  int64_t calls = 0, streams = 0, graphLaunches = 0, replayedCalls = 0;
};

/// Checks the records of the processes of a run. Each has memory, streams and
/// events of its own; collectives have to agree on all ranks. Near-linear in
/// the calls, those that graphs replay included; clocks take the number of
/// streams each. At most one finding for each pair of calls and kind, in the
/// order of the records.
std::vector<CallFinding>
checkCalls(llvm::ArrayRef<std::vector<RecordedCall>> records,
           CallStatistics *statistics = nullptr);

/// Such as `race`.
llvm::StringRef getKindName(CallFinding::Kind kind);

} // namespace regather

#endif // REGATHER_ANALYSIS_CALLORDER_H
