//===- RankThreads.cpp - Ranks, their threads and collectives -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include "Collectives.h"

#include "llvm/Support/thread.h"

using namespace mlir;
using namespace regather;
using namespace regather::interp;

/// Enough for the deepest calls that the interpreter allows.
static constexpr unsigned kStackBytes = 16u << 20;

unsigned PendingCollective::getFirstStarter() const {
  return llvm::find_if(starters, [](Operation *op) { return op != nullptr; }) -
         starters.begin();
}

LogicalResult RankRun::fail(Operation *op, const Twine &message) {
  world.noteError(rank, op, message.str());
  return failure();
}

RankThreads::RankThreads(int64_t numRanks, uint64_t seed)
    : randomState(seed), current(numRanks) {
  for (int64_t rank = 0; rank < numRanks; ++rank)
    ranks.push_back(std::make_unique<Rank>());
}

//===----------------------------------------------------------------------===//
// Scheduling
//===----------------------------------------------------------------------===//

/// splitmix64: the same numbers on every platform, unlike the distributions of
/// the standard library. The bias of the remainder does not matter here.
uint64_t RankThreads::draw(uint64_t bound) {
  uint64_t z = randomState += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return (z ^ (z >> 31)) % bound;
}

/// Draws actions until one of them resumes a rank. `self` is the rank that had
/// the baton; it returns when it has the baton again, or at once if it ended.
void RankThreads::passBaton(int64_t self) {
  SmallVector<int64_t> runnable;
  SmallVector<size_t> ready;
  while (true) {
    runnable.clear();
    ready.clear();
    for (auto [i, rank] : llvm::enumerate(ranks))
      if (rank->state == State::Runnable)
        runnable.push_back(i);
    for (auto [i, collective] : llvm::enumerate(pending))
      if (collective->isReady())
        ready.push_back(i);
    size_t count = runnable.size() + ready.size();
    if (count == 0) {
      reportStuck();
      return stop();
    }
    uint64_t drawn = draw(count);
    if (drawn < runnable.size())
      return handOver(self, runnable[drawn]);
    completeCollective(ready[drawn - runnable.size()]);
  }
}

void RankThreads::handOver(int64_t self, int64_t next) {
  if (next == self)
    return;
  std::unique_lock<std::mutex> lock(mutex);
  current = next;
  ranks[next]->resumed.notify_one();
  Rank &rank = *ranks[self];
  if (rank.state == State::Finished || rank.state == State::Failed)
    return;
  rank.resumed.wait(lock, [&] { return stopped || current == self; });
}

/// Ends the run: every thread that waits for the baton returns. Nobody touches
/// the state after this but the thread that collects the reports.
void RankThreads::stop() {
  std::lock_guard<std::mutex> lock(mutex);
  stopped = true;
  for (auto &rank : ranks)
    rank->resumed.notify_one();
}

void RankThreads::completeCollective(size_t index) {
  std::shared_ptr<PendingCollective> collective = pending[index];
  pending.erase(pending.begin() + index);
  moveData(*collective);
  collective->complete = true;
  collective->inputs.clear();
  for (auto &rank : ranks) {
    if (rank->awaited != collective.get())
      continue;
    rank->awaited = nullptr;
    rank->state = State::Runnable;
  }
}

void RankThreads::runRank(int64_t self,
                          llvm::function_ref<LogicalResult(int64_t)> body) {
  Rank &rank = *ranks[self];
  {
    std::unique_lock<std::mutex> lock(mutex);
    rank.resumed.wait(lock, [&] { return stopped || current == self; });
    if (stopped)
      return;
  }
  bool ok = succeeded(body(self));
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (stopped)
      return;
  }
  rank.state = ok ? State::Finished : State::Failed;
  passBaton(self);
}

std::vector<Report>
RankThreads::execute(llvm::function_ref<LogicalResult(int64_t)> body) {
  int64_t numRanks = ranks.size();
  std::vector<llvm::thread> threads;
  threads.reserve(numRanks);
  for (int64_t rank = 0; rank < numRanks; ++rank)
    threads.emplace_back(std::optional<unsigned>(kStackBytes),
                         [this, rank, body] { runRank(rank, body); });
  {
    std::lock_guard<std::mutex> lock(mutex);
    current = draw(numRanks);
    ranks[current]->resumed.notify_one();
  }
  for (llvm::thread &thread : threads)
    thread.join();
  reportRankErrors();
  return std::move(reports);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static std::shared_ptr<PendingCollective>
createCollective(tg::CollectiveOpInterface op, const Group &group,
                 int64_t number) {
  auto collective = std::make_shared<PendingCollective>();
  collective->group = &group;
  collective->number = number;
  size_t size = group.members.size();
  collective->starters.assign(size, nullptr);
  collective->inputs.resize(size);
  collective->results.resize(size);
  return collective;
}

FailureOr<Future> RankThreads::start(int64_t self, tg::CollectiveOpInterface op,
                                     const Group &group, unsigned position,
                                     std::vector<TensorRef> inputs) {
  int64_t number = ranks[self]->started[group.id]++;
  auto it = llvm::find_if(
      pending, [&](const std::shared_ptr<PendingCollective> &collective) {
        return collective->group == &group && collective->number == number;
      });
  if (it == pending.end())
    it = pending.insert(it, createCollective(op, group, number));
  std::shared_ptr<PendingCollective> collective = *it;
  if (reportMismatch(self, op, *collective)) {
    stop();
    return failure();
  }
  collective->starters[position] = op;
  collective->inputs[position] = std::move(inputs);
  for (Type type : op.getFuture().getType().getTensors())
    collective->results[position].push_back(
        Tensor::create(cast<RankedTensorType>(type)));
  ++collective->numStarted;
  if (reportOrder(self, position, collective)) {
    stop();
    return failure();
  }
  passBaton(self);
  if (stopped)
    return failure();
  return Future{collective, position};
}

LogicalResult RankThreads::wait(int64_t self, const Future &future,
                                Operation *op) {
  Rank &rank = *ranks[self];
  if (!future.collective->complete) {
    rank.state = State::Blocked;
    rank.awaited = future.collective.get();
    rank.wait = op;
  }
  passBaton(self);
  if (stopped)
    return failure();
  assert(future.collective->complete && "resumed before the data arrived");
  return success();
}

void RankThreads::noteError(int64_t rank, Operation *op, std::string message) {
  rankErrors.push_back({rank, op, std::move(message)});
}
