//===- BufferLifetimes.h - Lifetimes in a program of streams ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_MEMORYPLANNER_BUFFERLIFETIMES_H
#define REGATHER_ANALYSIS_MEMORYPLANNER_BUFFERLIFETIMES_H

#include "regather/Support/Result.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace regather {

/// One operation of a linear program. Operations are issued in the order of the
/// program; those of one stream run in that order, unless the stream lets them
/// overlap, those of different streams in any order that events do not exclude.
struct StreamOp {
  uint32_t stream = 0;
  std::vector<uint32_t> reads;
  std::vector<uint32_t> writes;
  /// Events that have to have happened before it runs.
  std::vector<uint32_t> waits;
  /// The event that happens when it, and all before it on its stream, is done.
  std::optional<uint32_t> records;
};

/// Streams, buffers and events are numbered from zero. The step of an operation
/// is its index.
struct StreamProgram {
  uint32_t numStreams = 1;
  /// Streams whose operations start in the order of the program but may
  /// overlap: only an event tells that they are done, to their own stream too.
  std::vector<uint32_t> overlapping;
  uint32_t numBuffers = 0;
  uint32_t numEvents = 0;
  std::vector<StreamOp> ops;
  /// Buffers that hold something before the first operation.
  std::vector<uint32_t> liveIn;
  /// Buffers that have to hold their contents after the last operation.
  std::vector<uint32_t> liveOut;
};

/// The steps `[begin, end)`; empty for a buffer that nothing uses.
struct BufferLifetime {
  uint64_t begin = 0;
  uint64_t end = 0;
  /// The last operation that touches it writes another buffer for the first
  /// time, and no other access may still be under way then: so that one may
  /// take its place, if the operation can work in place.
  bool endsInOneOp = false;
};

/// Finds when the memory of each buffer is taken: from the issue of its first
/// writer until the last access is known to be complete. If the lifetimes of
/// two buffers are disjoint, every access to the earlier one has completed
/// before the first write to the later one runs, whatever the timing of the
/// streams.
///
/// An access on another stream is known to be complete from the first operation
/// on that waits for it; only operations that begin a lifetime are bound by it,
/// so a lifetime is prolonged just past the last of them that does not wait.
///
/// Fails, naming both operations, if an access may run before the first write,
/// and if an event is waited for that no earlier operation records.
///
/// O(n s log n) for n accesses and s streams.
Result<std::vector<BufferLifetime>>
computeLifetimes(const StreamProgram &program);

} // namespace regather

#endif // REGATHER_ANALYSIS_MEMORYPLANNER_BUFFERLIFETIMES_H
