//===- RankThreads.h - Ranks, their threads and collectives -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Each rank is a thread, but only the one that holds the baton runs. It passes
// the baton on at every start of a collective, at every wait and at its end;
// a seeded generator then draws what happens next:
//
//   actions = {resume r | r can run} + {complete c | all members started c}
//   none    -> every rank has finished, or the ranks that have not are stuck
//   one     -> it happens; completing a collective draws again
//
// A run is therefore a function of the program, its inputs and the seed, and
// many seeds are many interleavings. State needs no lock: the baton is one.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_INTERPRETER_RANKTHREADS_H
#define REGATHER_LIB_INTERPRETER_RANKTHREADS_H

#include "CompiledFunction.h"

#include "regather/Dialect/TG/IR/TG.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

namespace regather::interp {

/// Ranks that communicate, by position. Groups are equal if these lists are.
struct Group {
  unsigned id = 0;
  llvm::SmallVector<int64_t> members;
};

/// One collective of a group: from its first start until it completes.
struct PendingCollective {
  const Group *group = nullptr;
  /// How many collectives the group started before this one.
  int64_t number = 0;
  /// What each member started; null before it did.
  llvm::SmallVector<mlir::Operation *> starters;
  llvm::SmallVector<std::vector<TensorRef>> inputs;
  /// Full of poison until the collective completes.
  llvm::SmallVector<std::vector<TensorRef>> results;
  unsigned numStarted = 0;
  bool complete = false;

  bool isReady() const { return numStarted == starters.size(); }
  /// The first member that started.
  unsigned getFirstStarter() const;
};

/// An error to be emitted when all threads have ended.
struct Report {
  mlir::Location loc;
  std::string message;
  std::vector<std::pair<mlir::Location, std::string>> notes;
};

/// `tg.all_gather` as the group's n-th collective, for messages.
std::string describeGroup(tg::CollectiveOpInterface op, const Group &group);
std::string describeCollective(const PendingCollective &collective);
/// "rank 1" or "ranks 1, 2".
std::string describeRanks(llvm::ArrayRef<int64_t> ranks);

/// What differs between two collectives that should be the same: a note, or
/// nothing if they match.
std::optional<std::string>
findDifference(mlir::Operation *op, mlir::Operation *other, int64_t otherRank);

class RankThreads {
public:
  RankThreads(int64_t numRanks, uint64_t seed);

  /// Runs `body` on every rank and returns when all threads have ended. No
  /// reports mean success.
  std::vector<Report>
  execute(llvm::function_ref<mlir::LogicalResult(int64_t)> body);

  /// Starts a collective. Fails if it does not match what others started, or
  /// if the run has been given up.
  mlir::FailureOr<Future> start(int64_t rank, tg::CollectiveOpInterface op,
                                const Group &group, unsigned position,
                                std::vector<TensorRef> inputs);

  /// Blocks until the data has arrived.
  mlir::LogicalResult wait(int64_t rank, const Future &future,
                           mlir::Operation *op);

  /// Notes a run-time error of a rank. Other ranks go on, to learn whether they
  /// make the same error.
  void noteError(int64_t rank, mlir::Operation *op, std::string message);

private:
  enum class State { Runnable, Blocked, Finished, Failed };

  struct Rank {
    State state = State::Runnable;
    std::condition_variable resumed;
    /// What a blocked rank waits for, and where.
    PendingCollective *awaited = nullptr;
    mlir::Operation *wait = nullptr;
    /// Collectives started so far, by group.
    llvm::DenseMap<unsigned, int64_t> started;
  };

  struct RankError {
    int64_t rank;
    mlir::Operation *op;
    std::string message;
  };

  // Scheduling.
  uint64_t draw(uint64_t bound);
  void passBaton(int64_t self);
  void handOver(int64_t self, int64_t next);
  void stop();
  void completeCollective(size_t index);
  void runRank(int64_t rank,
               llvm::function_ref<mlir::LogicalResult(int64_t)> f);

  // Checks; true if a report was made.
  bool reportMismatch(int64_t rank, mlir::Operation *op,
                      const PendingCollective &collective);
  bool reportOrder(int64_t rank, unsigned position,
                   const std::shared_ptr<PendingCollective> &collective);
  void reportStuck();
  void reportWaiters(PendingCollective &collective,
                     llvm::ArrayRef<int64_t> waiting);
  void reportNeverStarted(const PendingCollective &collective);
  void addWhereabouts(llvm::ArrayRef<int64_t> ranks, Report &report);
  void reportRankErrors();

  std::vector<std::unique_ptr<Rank>> ranks;
  uint64_t randomState;

  std::mutex mutex;
  /// Who holds the baton; the number of ranks before the start.
  int64_t current;
  bool stopped = false;

  /// Collectives that have not completed, in the order of their first start.
  std::vector<std::shared_ptr<PendingCollective>> pending;
  /// For ranks a < b, collectives that one of them has started and the other
  /// has not reached yet, and which of the two it was.
  struct PairOrder {
    bool isFirstAhead = false;
    std::deque<std::shared_ptr<PendingCollective>> ahead;
  };
  std::map<std::pair<int64_t, int64_t>, PairOrder> pairOrders;

  std::vector<Report> reports;
  std::vector<RankError> rankErrors;
};

} // namespace regather::interp

#endif // REGATHER_LIB_INTERPRETER_RANKTHREADS_H
