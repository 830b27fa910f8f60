//===- Memory.h - Memory of a schedule to come ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_MEMORY_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_MEMORY_H

#include "ScheduleGraph.h"

namespace regather::overlap {

/// Numbers by place. Adding to a range and finding the maximum of all take
/// O(log n).
class RangeMaximum {
public:
  explicit RangeMaximum(llvm::ArrayRef<int64_t> numbers);
  /// Adds to the places `[begin, end)`.
  void add(uint32_t begin, uint32_t end, int64_t amount);
  int64_t getMaximum() const { return maximum[1]; }

private:
  /// False if it has the maximum that it had.
  bool rebuild(uint32_t node);

  uint32_t size;
  /// The maximum of each subtree, without what was added to its parents.
  std::vector<int64_t> maximum;
  std::vector<int64_t> added;
};

/// The memory that each remaining operation would take if the rest were issued
/// in the order of a base. An operation may be issued before its turn only if
/// that keeps all of these within the limit, so there is always a way to go on.
class MemoryProjection {
public:
  /// The base has to keep to the limit.
  MemoryProjection(const Graph &graph, llvm::ArrayRef<uint32_t> base,
                   int64_t limit);

  /// Issues `op`, or does nothing and returns false if that would take more
  /// than the limit now or later. All its predecessors have been issued.
  bool issue(uint32_t op);

  /// The first operation of the base that is left; the number of operations if
  /// none is.
  uint32_t getHead() const {
    return head == base.size() ? graph.size() : base[head];
  }
  uint32_t getPlace(uint32_t op) const { return places[op]; }
  bool isIssued(uint32_t op) const { return issued[op]; }

private:
  /// A use of a buffer, in the list of those that are left, by place.
  struct Use {
    uint32_t op = 0;
    uint32_t previous = Graph::kNone;
    uint32_t next = Graph::kNone;
  };

  /// Adds what issuing `op` changes, or takes it back if `sign` is -1.
  void applyChange(uint32_t op, int64_t sign);
  void unlinkUses(uint32_t op);

  const Graph &graph;
  llvm::ArrayRef<uint32_t> base;
  int64_t limit;
  std::vector<uint32_t> places;
  std::vector<bool> issued;
  RangeMaximum projected;
  /// Bytes that are live now.
  int64_t live = 0;
  uint32_t head = 0;
  std::vector<Use> uses;
  /// By buffer, its last use that is left.
  std::vector<uint32_t> lastUse;
  /// By operation, its uses, in the order of the buffers that it uses.
  IndexLists usesOf;
};

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_MEMORY_H
