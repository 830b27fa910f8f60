//===- RankExecutor.h - What one rank does in a step ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_RANKEXECUTOR_H
#define REGATHER_LIB_RUNTIME_CPU_RANKEXECUTOR_H

#include "Arena.h"
#include "LibraryCalls.h"
#include "TaskPool.h"

#include "regather/Runtime/Executor.h"

#include <chrono>
#include <string>
#include <vector>

namespace regather::runtime {

/// Scratch memory that each thread needs for the kernels and GEMMs of a
/// program.
int64_t getScratchBytes(const rg_program &program, const LibraryCalls &library);

/// Walks the instructions of a program on one rank. Computation runs on the
/// thread that calls and on helpers; communication is started and waited for.
class RankExecutor {
public:
  RankExecutor(const rg_program &program, const LibraryCalls &library,
               rg_world *world, int32_t rank);
  ~RankExecutor();

  /// Takes all memory; false if the system does not grant it.
  bool allocate(int64_t threads);
  /// Starts helpers; false if the system does not grant them.
  bool startHelpers(int64_t threads, bool canSpin);
  /// Finds the groups that the rank is in.
  rg_status findGroups();

  using Clock = std::chrono::steady_clock;

  /// Lets steps keep when their instructions run.
  void recordSpans();

  /// Runs one step, which began at `begin`. The rank is finished afterwards,
  /// and nothing is in flight.
  rg_failure run(void *const *newArguments, Clock::time_point begin);

  /// What the last step has kept, by end.
  const std::vector<rg_span> &getSpans() const { return spans; }

  /// Seconds that the last step spent blocked in waits.
  double getWaitSeconds() const { return waitTime.count(); }

  void *resolve(const rg_slice &slice) const;
  Arena &getArena() { return arena; }

private:
  /// A collective that nobody waited for yet.
  struct Pending {
    rg_future *future;
    const rg_instruction *instruction;
  };
  /// The collectives that the rank started on one stream. They are waited for
  /// in order, so that counts say which are done.
  struct Stream {
    std::vector<Pending> pending;
    /// How many of `pending` are done.
    size_t numDone = 0;
    /// Collectives that left `pending` before.
    int64_t numForgotten = 0;

    int64_t getNumStarted() const {
      return numForgotten + int64_t(pending.size());
    }
  };
  struct Event {
    int32_t stream;
    int64_t numStarted;
  };
  struct Loop {
    int64_t value, upper, step;
  };

  /// These return false when the rank has to stop. `next` is the number of the
  /// instruction that follows.
  bool runInstruction(const rg_instruction &instruction, int64_t &next);
  bool compute(const rg_instruction &instruction);
  bool launch(const rg_instruction &instruction);
  bool callLibrary(const rg_instruction &instruction);
  bool start(const rg_instruction &instruction);
  bool waitUntil(Stream &stream, int64_t numStarted);
  bool waitForAll();
  void control(const rg_instruction &instruction, int64_t &next);
  void addSpan(const rg_instruction &instruction, double begin, double end);
  bool check(rg_status status, const rg_instruction &instruction);
  bool fail(const char *message, const rg_instruction &instruction);

  const rg_slice *getSlices(const rg_instruction &instruction) const {
    return program.slices + instruction.first_slice;
  }

  const rg_program &program;
  const LibraryCalls &library;
  rg_world *world;
  int32_t rank;
  Arena arena;
  Arena scratch;
  int64_t scratchBytes = 0; ///< of each thread
  TaskPool pool;
  std::vector<rg_comm *> comms; ///< by axes
  std::vector<Stream> streams;
  std::vector<Event> events;
  std::vector<Loop> loops;
  std::vector<void *> buffers;
  std::vector<rg_member> members;
  std::vector<void *> arguments;
  rg_failure failure = {};
  std::chrono::duration<double> waitTime{0};
  bool recordsSpans = false;
  std::vector<rg_span> spans;
  /// Of the step, in seconds of the clock.
  double stepBegin = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_RANKEXECUTOR_H
