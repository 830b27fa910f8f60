//===- Communicator.h - How ranks exchange data -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A communicator moves the data of the collectives of a program. What calls it
// walks the program and knows nothing of how ranks reach each other:
//
//   prepare(program); for each step: beginStep; on each rank, start...; endStep
//
// A collective on hosts is started and waited for (HostCommunicator); one on
// devices is enqueued on a stream, whose order says when it is done
// (GPU/Communication/DeviceCommunicator.h). docs/adding-a-communicator.md says
// how to add another one; most need only move bytes (MessageTransport.h).
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_COMMUNICATOR_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_COMMUNICATOR_H

#include "regather/Runtime/Program.h"
#include "regather/Support/Result.h"

namespace regather::runtime {

/// What all communicators have in common. Codes of failures are those of
/// rg_status; once one of them is not that of a wrong argument, all that follow
/// are the same.
class Communicator {
public:
  /// Ends what goes on, as `abort` does, and frees what `prepare` made.
  virtual ~Communicator() = default;

  /// Makes groups and memory for all collectives of the program, which has been
  /// checked and outlives the communicator. Called once, by one thread; every
  /// process of a job calls it at the same point and with the same program.
  /// Whether collectives are captured into graphs of a device is `inGraphs`.
  virtual Failure prepare(const rg_program &program, bool inGraphs) = 0;

  /// Say where a step begins and where all of its collectives are done, on all
  /// ranks of the process. Called by one thread.
  virtual void beginStep() = 0;
  virtual void endStep() = 0;

  /// Looks whether communication has failed since; never blocks. The message
  /// names rank, group, number and name of a collective where that is known.
  /// May be called by any thread.
  virtual Failure poll() = 0;

  /// Makes present and future calls fail, on this process at once and on
  /// others as soon as they can tell; the first reason stays. May be called by
  /// any thread. Waits for a while at most.
  virtual void abort(const std::string &reason) = 0;
};

/// A collective that a rank has started and not yet waited for.
struct PendingCollective {};

/// Collectives between ranks that compute on hosts.
///
/// Each rank is a thread, which makes its own calls. The k-th collective that a
/// rank starts on a group meets the k-th of every other member, and all ranks
/// start those that they share in one order. A collective goes on without its
/// ranks: who waits later does not hold up others.
///
/// Sums are computed in the order of the group, ((c0 + c1) + c2) + ..., as
/// Runtime.h says, so that all communicators give the same bits.
class HostCommunicator : public Communicator {
public:
  /// Starts the collective of an instruction and returns at once. `buffers` are
  /// the addresses of its slices, an input and an output for each member;
  /// inputs stay unchanged and outputs untouched until `wait` has returned. The
  /// list itself is copied.
  virtual Result<PendingCollective *> start(int32_t rank, int64_t instruction,
                                            void *const *buffers) = 0;

  /// Blocks until outputs are written and nobody reads this rank's inputs any
  /// more, and frees `pending`, whatever happens. Fails with RG_ERROR_TIMEOUT
  /// if that takes too long, as when a rank has died and nothing else tells;
  /// after a failure, too, nobody touches the buffers, but outputs are
  /// undefined. `times` becomes when the data was moved, if nothing fails.
  virtual Failure wait(PendingCollective *pending,
                       rg_collective_times &times) = 0;

  /// Says that `rank` starts nothing more in this step, so that ranks that wait
  /// for it to do so may fail at once. It may still wait.
  virtual void finishRank(int32_t rank) = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_COMMUNICATOR_H
