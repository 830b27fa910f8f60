//===- CollectiveLog.h - The last collectives of a rank ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ring of the last collectives that a rank has enqueued. How far the device
// is, is told by numbers that it writes to memory of the host before and after
// each collective, so that it can be read at any time without a call.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_NCCL_COLLECTIVELOG_H
#define REGATHER_LIB_RUNTIME_GPU_NCCL_COLLECTIVELOG_H

#include "regather/Runtime/Program.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace regather::runtime {

struct CollectiveEntry {
  int64_t step = 0;
  /// Number on its communicator, from 1 on.
  int64_t sequence = 0;
  int32_t stream = 0;
  /// What the device writes when it begins and when it is done.
  uint32_t mark = 0;
  int64_t bytes = 0;
  const std::vector<int32_t> *group = nullptr;
  const rg_collective *collective = nullptr;
  const rg_instruction *instruction = nullptr;
};

/// What the device writes for each stream.
struct StreamProgress {
  volatile uint32_t begun;
  volatile uint32_t done;
};

class CollectiveLog {
public:
  enum class State { Enqueued, Running, Done };

  CollectiveLog(int32_t rank, size_t capacity)
      : rank(rank), capacity(capacity) {}

  /// Where the device writes, one for each stream; null if it does not.
  void setProgress(const StreamProgress *newProgress) {
    std::lock_guard<std::mutex> lock(mutex);
    progress = newProgress;
  }

  /// The device has done all steps before, and what it writes begins anew.
  void beginStep();
  void endStep();
  void add(const CollectiveEntry &entry);

  /// The oldest collective that is not done, such as "rank 1 is in number 7 of
  /// group [0, 1]: tg.all_gather at step.mlir:3:5"; that none is in flight, if
  /// there is none.
  std::string describe() const;

  /// The whole log with the state of each as JSON.
  std::string getJson(const std::string &reason) const;
  /// False if the file cannot be written.
  bool write(const std::string &path, const std::string &reason) const;

private:
  /// The mutex is held.
  std::vector<State> getStates() const;
  const CollectiveEntry &getEntry(size_t i) const {
    return entries[(first + i) % entries.size()];
  }

  const int32_t rank;
  const size_t capacity;
  mutable std::mutex mutex;
  std::vector<CollectiveEntry> entries;
  /// The oldest of them.
  size_t first = 0;
  int64_t step = 0;
  bool isInStep = false;
  const StreamProgress *progress = nullptr;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_NCCL_COLLECTIVELOG_H
