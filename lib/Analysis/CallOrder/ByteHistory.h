//===- ByteHistory.h - Who touched which bytes ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_CALLORDER_BYTEHISTORY_H
#define REGATHER_LIB_ANALYSIS_CALLORDER_BYTEHISTORY_H

#include "StreamClocks.h"

#include "regather/Analysis/CallOrder.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <map>

namespace regather::callorder {

/// A call that touched bytes. Of what a graph replays, `launch` is the call
/// that launched it.
struct CallAccess {
  const RecordedCall *call = nullptr;
  const RecordedCall *launch = nullptr;
  Tick tick;
};

/// What is known of bytes that have one history.
struct ByteHistoryState {
  /// The last write; without a call, nothing has written them yet.
  CallAccess writer;
  /// The last read on each lane since that write.
  llvm::SmallVector<CallAccess, 1> readers;
};

/// The bytes of all allocations, as segments.
class ByteHistory {
public:
  /// Calls `visit` for the parts of `range`, in order; null for a part that is
  /// not allocated. The state may be changed.
  using Visitor = llvm::function_ref<void(CallRange, ByteHistoryState *)>;
  void visit(CallRange range, Visitor visit);

  void allocate(CallRange range);
  void free(CallRange range);
  /// All of the range, which is allocated, has one state from now on.
  void set(CallRange range, ByteHistoryState state);

private:
  struct Segment {
    uint64_t end;
    ByteHistoryState state;
  };
  using Segments = std::map<uint64_t, Segment>;

  /// Cuts segments at an address; returns the first one from it on.
  Segments::iterator cut(uint64_t address);

  Segments segments;
};

} // namespace regather::callorder

#endif // REGATHER_LIB_ANALYSIS_CALLORDER_BYTEHISTORY_H
