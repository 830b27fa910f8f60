//===- CallChecker.h - Follow the calls of a process ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_CALLORDER_CALLCHECKER_H
#define REGATHER_LIB_ANALYSIS_CALLORDER_CALLCHECKER_H

#include "ByteHistory.h"

#include "llvm/ADT/DenseMap.h"

#include <tuple>

namespace regather::callorder {

/// A collective in the order in which a rank starts them.
struct StartedCollective {
  const RecordedCall *call;
  const RecordedCall *launch;
  /// Communicators of a rank, counted by their first collective.
  size_t communicator;
};

/// Follows the calls of one process.
class CallChecker {
public:
  explicit CallChecker(size_t record) : record(record) {}

  void run(llvm::ArrayRef<RecordedCall> calls);

  std::vector<CallFinding> findings;
  CallStatistics statistics;
  /// By rank.
  std::map<int64_t, std::vector<StartedCollective>> collectives;

private:
  /// An event belongs to the capture that it was recorded in; 0 outside of
  /// captures.
  struct Event {
    size_t capture = 0;
    Clock clock;
  };
  /// What is captured, from the begin on one stream to the end on it.
  struct Capture {
    int64_t origin = 0;
    bool isOpen = true;
    std::vector<const RecordedCall *> calls;
    /// By call: its group in NCCL; 0 for none.
    std::vector<int64_t> groups;
  };
  struct Executable {
    size_t capture = 0;
    /// Of the streams that the origin forks to.
    llvm::DenseMap<int64_t, size_t> lanes;
  };

  void runCall(const RecordedCall &call);
  bool runMemoryCall(const RecordedCall &call);
  bool runHostCall(const RecordedCall &call);
  bool runCaptureCall(const RecordedCall &call);
  void runStreamCall(const RecordedCall &call);

  void checkHabits(const RecordedCall &call);
  void free(const RecordedCall &call);
  void recordEvent(const RecordedCall &call);
  void waitForEvent(const RecordedCall &call);
  void endCapture(const RecordedCall &call);
  void checkJoined(const RecordedCall &end, const Capture &capture);
  void launch(const RecordedCall &call);

  /// Runs the work of a call on a lane.
  void touch(const RecordedCall &call, const RecordedCall *launch, size_t lane,
             int64_t group);
  void read(const CallAccess &access, CallRange range);
  void write(const CallAccess &access, CallRange range);
  void checkOrder(const CallAccess &earlier, const CallAccess &later,
                  CallRange part, const char *earlierDoes,
                  const char *laterDoes);
  void start(const RecordedCall &call, const RecordedCall *launch);

  size_t getLane(int64_t stream);
  size_t getCapture(int64_t stream) const {
    return capturedStreams.lookup(stream);
  }
  std::string describe(CallRange range) const;
  void report(CallFinding::Kind kind, const RecordedCall &call,
              const RecordedCall *other, std::string message);

  size_t record;
  StreamClocks clocks;
  ByteHistory history;
  /// By address.
  std::map<uint64_t, const RecordedCall *> allocations;
  /// By rank: the communicators that it has used, with their numbers.
  std::map<int64_t, llvm::DenseMap<int64_t, size_t>> communicators;
  llvm::DenseMap<int64_t, size_t> lanes;
  llvm::DenseMap<int64_t, Event> events;
  /// From 1 on.
  std::vector<Capture> captures{1};
  size_t numOpenCaptures = 0;
  llvm::DenseMap<int64_t, size_t> capturedStreams;
  llvm::DenseMap<int64_t, size_t> graphs;
  llvm::DenseMap<int64_t, Executable> executables;
  /// The calls of NCCL on a stream up to ncclGroupEnd run together: the group
  /// that is open on each stream, counted from 1 on.
  llvm::DenseMap<int64_t, int64_t> openGroups;
  int64_t numGroups = 0;
  /// By lane: the group and the launch that its current tick is of.
  std::vector<std::pair<int64_t, const RecordedCall *>> laneGroups;
  std::map<
      std::tuple<CallFinding::Kind, const RecordedCall *, const RecordedCall *>,
      bool>
      reported;
};

/// Such as `cuLaunchKernel "k_1" of instruction 17 on stream 2 (line 9)`.
std::string describe(const RecordedCall &call,
                     const RecordedCall *launch = nullptr);

} // namespace regather::callorder

#endif // REGATHER_LIB_ANALYSIS_CALLORDER_CALLCHECKER_H
