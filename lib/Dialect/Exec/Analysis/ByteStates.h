//===- ByteStates.h - What every byte of a program holds --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_EXEC_ANALYSIS_BYTESTATES_H
#define REGATHER_LIB_DIALECT_EXEC_ANALYSIS_BYTESTATES_H

#include "regather/Dialect/Exec/IR/Exec.h"

#include <map>

namespace regather::exec {

/// One operation that touched a byte.
struct Access {
  mlir::Operation *op = nullptr;
  /// The stream, or what stands for it in a graph.
  uint64_t lane = 0;
  /// Operations are counted in the order in which the checks visit them.
  uint64_t step = 0;
};

/// What is known of the bytes of a segment, which are alike.
struct ByteState {
  /// The slice, argument or constant whose contents they are; null if they hold
  /// nothing that may be read.
  mlir::Value owner;
  /// Who wrote last; no operation for what an argument holds from the start.
  Access writer;
  /// Who read since: the last on each lane.
  llvm::SmallVector<Access, 1> readers;
};

/// Bytes `[begin, end)` of one space: of the arena, or of a buffer of its own.
struct ByteRange {
  uint32_t space = 0;
  int64_t begin = 0, end = 0;
};

/// The states of all bytes, as segments. Changes can be taken back.
class ByteStates {
public:
  using Segment = std::pair<ByteRange, ByteState>;

  /// A new space.
  uint32_t addSpace(int64_t size, mlir::Value owner);

  /// The segments that make up `range`, cut off at its ends.
  llvm::SmallVector<Segment> get(ByteRange range) const;
  /// Replaces `range`, which the segments make up.
  void set(ByteRange range, llvm::ArrayRef<Segment> segments);
  /// The same with one segment.
  void set(ByteRange range, ByteState state) {
    set(range, {Segment(range, std::move(state))});
  }

  /// Takes notes from now on, to go back to this point.
  size_t mark() {
    ++numMarks;
    return journal.size();
  }
  /// The ranges that have changed since the mark, without overlaps.
  llvm::SmallVector<ByteRange> getChanges(size_t mark) const;
  void rollBack(size_t mark);

private:
  struct Change {
    ByteRange range;
    llvm::SmallVector<Segment> before;
  };

  /// By space: the end and the state of the segment that begins there.
  std::vector<std::map<int64_t, std::pair<int64_t, ByteState>>> spaces;
  std::vector<Change> journal;
  unsigned numMarks = 0;
};

/// The union of ranges, sorted.
llvm::SmallVector<ByteRange> mergeRanges(llvm::SmallVector<ByteRange> ranges);

} // namespace regather::exec

#endif // REGATHER_LIB_DIALECT_EXEC_ANALYSIS_BYTESTATES_H
