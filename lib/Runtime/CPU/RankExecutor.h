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
#include "Communication/Communicator.h"
#include "CopyEngine.h"
#include "LibraryCalls.h"
#include "Program/ProgramWalker.h"
#include "TaskPool.h"

#include "regather/Runtime/Executor.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace regather::runtime {

/// Scratch memory that each thread needs for the kernels and GEMMs of a
/// program.
int64_t getScratchBytes(const rg_program &program, const LibraryCalls &library);

/// Runs a program on one rank: the backend of its walk. Computation runs on the
/// thread that calls and on helpers; communication is started and waited for.
class RankExecutor {
public:
  RankExecutor(const rg_program &program, const LibraryCalls &library,
               HostCommunicator &communicator, int32_t rank);
  ~RankExecutor();

  /// Takes all memory; false if the system does not grant it.
  bool allocate(int64_t threads);
  /// Starts helpers, and a thread for the copies of each stream but stream 0,
  /// over `hostLink`; false if the system does not grant them.
  bool startHelpers(int64_t threads, bool canSpin, InjectedLink hostLink = {});

  using Clock = std::chrono::steady_clock;

  /// Lets steps keep when their instructions run.
  void recordSpans();

  /// Runs one step, which began at `begin`. The rank is finished afterwards,
  /// and has waited for all collectives.
  rg_failure run(void *const *newArguments, void *const *newResults,
                 Clock::time_point begin);

  /// What the last step has kept, by end.
  const std::vector<rg_span> &getSpans() const { return spans; }

  /// Why the last step failed.
  const std::string &getError() const { return error; }

  /// Seconds that the last step spent blocked in waits.
  double getWaitSeconds() const { return waitTime.count(); }

  void *resolve(const rg_slice &slice) const;
  Arena &getArena() { return arena; }
  Arena &getHostArena() { return hostArena; }

private:
  friend class ProgramWalker<RankExecutor>;

  /// A collective, or a copy if that is null, that nobody waited for yet.
  struct Pending {
    PendingCollective *collective;
    const rg_instruction *instruction;
  };
  /// The collectives or copies that the rank started on one stream. They are
  /// waited for in order, so that counts say which are done.
  struct Stream {
    /// Null for streams without copies, and for stream 0.
    std::unique_ptr<CopyEngine> copies;
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
  /// What the walk asks for.
  Failure compute(const rg_instruction &instruction);
  Failure startCollective(const rg_instruction &instruction);
  Failure record(const rg_instruction &instruction);
  Failure wait(const rg_instruction &instruction);
  Failure sync();
  Failure copy(const rg_instruction &instruction);
  Failure fill(const rg_instruction &instruction);
  Failure writeInteger(const rg_slice &slice, int64_t value, int32_t stream);
  Result<int64_t> readInteger(const rg_slice &slice) const;

  Failure launch(const rg_instruction &instruction);
  Failure callLibrary(const rg_instruction &instruction);
  Failure stop(const char *message);
  Failure waitUntil(Stream &stream, int64_t numStarted);
  Failure finishFirst(Stream &stream, const Pending &pending);
  void addSpan(const rg_instruction &instruction, double begin, double end);
  void noteFailure(const Failure &reason, int64_t instruction);
  /// Fills `buffers`; returns how many bytes they have.
  int64_t resolveAll(const rg_instruction &instruction);

  const rg_slice *getSlices(const rg_instruction &instruction) const {
    return program.slices + instruction.first_slice;
  }

  const rg_program &program;
  const LibraryCalls &library;
  HostCommunicator &communicator;
  int32_t rank;
  Arena arena;
  Arena hostArena;
  Arena scratch;
  int64_t scratchBytes = 0; ///< of each thread
  TaskPool pool;
  std::vector<Stream> streams;
  std::vector<Event> events;
  std::vector<void *> buffers;
  std::vector<void *> arguments;
  /// Memory of the caller, but for null where the step has none.
  std::vector<void *> results;
  ProgramWalker<RankExecutor> walker;
  rg_failure failure = {};
  std::string error;
  std::chrono::duration<double> waitTime{0};
  bool recordsSpans = false;
  std::vector<rg_span> spans;
  /// Of the step, in seconds of the clock.
  double stepBegin = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_RANKEXECUTOR_H
