//===- Executor.cpp - Run a compiled step ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communication/Messages/CallerTransport.h"
#include "Communication/Messages/CheckedTransport.h"
#include "Communication/Messages/MessageCommunicator.h"
#include "Communication/Threads/ThreadsCommunicator.h"
#include "Program/ExecutorBase.h"
#include "Program/ProgramCheck.h"
#include "Program/RankGroups.h"
#include "RankExecutor.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

namespace {
/// What rg_executor stands for.
class Executor : public ExecutorBase {
public:
  explicit Executor(const rg_program &program)
      : ExecutorBase(RG_ERROR_ABORTED), program(program) {}

  rg_status create(const rg_executor_options &options);
  rg_status run(void *const *const *arguments, void *const *const *results);
  rg_status gather(const void *data, int64_t bytes, int32_t to,
                   void *const *parts);
  const void *getResult(int32_t rank, int64_t result) const;
  int64_t getBytes() const;
  int64_t getTouchedBytes() const;
  int64_t getTouchedHostBytes() const;

  int32_t getNumRanks() const { return int32_t(ranks.size()); }
  int32_t getNumThreads() const { return threads; }
  double getWaitSeconds(int32_t rank) const {
    return ranks[size_t(rank)]->getWaitSeconds();
  }
  const std::vector<rg_span> &getSpans(int32_t rank) const {
    return ranks[size_t(rank)]->getSpans();
  }

private:
  Failure prepare(const rg_executor_options &options);
  Failure chooseNumbers(const rg_executor_options &options);
  Failure checkMemory();
  Failure createCommunicator(const rg_executor_options &options);
  Failure createRanks(const rg_executor_options &options);

  const rg_program &program;
  /// Of the program, of which those of this process begin with `firstRank`.
  int32_t numRanks = 0;
  int32_t firstRank = 0;
  int32_t numLocalRanks = 0;
  int32_t threads = 0;
  bool watchesArena = false;
  /// The caller gives memory for results.
  bool needsResults = false;
  /// Helpers may look for work without sleeping: each has a processor.
  bool canSpin = false;
  LibraryCalls library;
  /// Of this process.
  std::vector<std::unique_ptr<RankExecutor>> ranks;
  /// In a job.
  std::optional<CallerTransport> transport;
  std::optional<CheckedTransport> checked;
  /// Ends before the memory of the ranks and the transport do.
  std::unique_ptr<HostCommunicator> communicator;
  /// The same in a job; else null.
  MessageCommunicator *messages = nullptr;
  std::vector<rg_failure> failures;
  /// A thread for each rank.
  TaskPool pool;
};
} // namespace

Failure Executor::chooseNumbers(const rg_executor_options &options) {
  if (options.ranks < 0 || options.threads < 0 ||
      !(options.timeout_seconds >= 0) || !(options.latency_seconds >= 0) ||
      !(options.bandwidth >= 0) || !(options.host_bandwidth >= 0))
    return Failure("numbers of ranks and threads, the timeout, latency and "
                   "bandwidths must not be negative",
                   RG_ERROR_ARGUMENT);
  if (options.transport) {
    Result<CallerTransport> created =
        CallerTransport::create(*options.transport);
    if (!created)
      return created.getFailure();
    transport = *created;
  }
  bool jobDecides = transport && !options.ranks && !program.ranks;
  Result<int32_t> chosen = chooseNumRanks(
      program, jobDecides ? transport->getNumRanks() : options.ranks);
  if (!chosen)
    return chosen.getFailure();
  numRanks = *chosen;
  if (transport && numRanks != transport->getNumRanks())
    return Failure("expects a job of " + std::to_string(numRanks) +
                       " ranks, got one of " +
                       std::to_string(transport->getNumRanks()),
                   RG_ERROR_ARGUMENT);
  firstRank = transport ? transport->getRank() : 0;
  numLocalRanks = transport ? 1 : numRanks;
  int64_t hardware = std::max(std::thread::hardware_concurrency(), 1u);
  threads = options.threads
                ? options.threads
                : int32_t(std::max<int64_t>(hardware / numRanks, 1));
  canSpin = int64_t(threads) * numRanks <= hardware;
  watchesArena = options.watch_arena != 0;
  return Failure();
}

int64_t Executor::getBytes() const {
  return program.arena_bytes + program.host_arena_bytes +
         getScratchBytes(program, library) * threads;
}

Failure Executor::checkMemory() {
  int64_t memory = getMachineMemory();
  if (getBytes() <= memory / numLocalRanks)
    return Failure();
  return Failure(
      "the step needs " + std::to_string(program.arena_bytes) +
          " bytes for its arena, " + std::to_string(program.host_arena_bytes) +
          " for that of the host and " +
          std::to_string(getBytes() - program.arena_bytes -
                         program.host_arena_bytes) +
          " for its kernels on each of " + std::to_string(numLocalRanks) +
          " ranks, but this machine has " + std::to_string(memory),
      RG_ERROR_MEMORY);
}

Failure Executor::createCommunicator(const rg_executor_options &options) {
  constexpr double kTimeout = 100;
  double timeout =
      options.timeout_seconds > 0 ? options.timeout_seconds : kTimeout;
  if (transport) {
    MessageTransport *used = &*transport;
    if (options.check_messages)
      used = &checked.emplace(*transport);
    auto created = std::make_unique<MessageCommunicator>(*used, timeout);
    messages = created.get();
    communicator = std::move(created);
  } else {
    auto threadsOfRanks = std::make_unique<ThreadsCommunicator>(
        numRanks, timeout,
        InjectedLink(options.latency_seconds, options.bandwidth));
    if (!threadsOfRanks->startWorkers())
      return Failure("cannot start " + std::to_string(numRanks) +
                         " ranks: " + rg_status_name(RG_ERROR_ABORTED),
                     RG_ERROR_ABORTED);
    communicator = std::move(threadsOfRanks);
  }
  return communicator->prepare(program, /*inGraphs=*/false);
}

Failure Executor::createRanks(const rg_executor_options &options) {
  for (int32_t i = 0; i < numLocalRanks; ++i) {
    int32_t rank = firstRank + i;
    auto created =
        std::make_unique<RankExecutor>(program, library, *communicator, rank);
    if (!created->allocate(threads))
      return Failure("cannot get " + std::to_string(getBytes()) +
                         " bytes for the arena of rank " +
                         std::to_string(rank) + " of " +
                         std::to_string(numRanks),
                     RG_ERROR_MEMORY);
    if (options.record_spans)
      created->recordSpans();
    if (watchesArena) {
      created->getArena().fillWithPattern();
      created->getHostArena().fillWithPattern();
    }
    if (!created->startHelpers(
            threads, canSpin,
            InjectedLink(/*latencySeconds=*/0, options.host_bandwidth)))
      return Failure("cannot start " + std::to_string(threads) +
                         " threads for each rank",
                     RG_ERROR_ABORTED);
    ranks.push_back(std::move(created));
  }
  // Ranks follow each other at once, but wait for long while others prepare
  // the next step.
  if (!pool.start(numLocalRanks - 1, /*canSpin=*/false))
    return Failure("cannot start a thread for each of " +
                       std::to_string(numLocalRanks) + " ranks",
                   RG_ERROR_ABORTED);
  failures.resize(size_t(numLocalRanks));
  return Failure();
}

/// True if the caller has to give memory for a result.
static bool writesToCaller(const rg_program &program) {
  return std::any_of(program.results, program.results + program.result_count,
                     [](const rg_value &result) {
                       return result.slice.space == RG_SPACE_RESULT;
                     });
}

Failure Executor::prepare(const rg_executor_options &options) {
  std::string problem = checkProgram(program);
  if (!problem.empty())
    return Failure(problem, RG_ERROR_ARGUMENT);
  needsResults = writesToCaller(program);
  Failure reason = chooseNumbers(options);
  if (!reason)
    reason = library.create(program);
  if (!reason)
    reason = checkMemory();
  if (!reason)
    reason = createCommunicator(options);
  return reason ? reason : createRanks(options);
}

rg_status Executor::create(const rg_executor_options &options) {
  return keep(prepare(options));
}

rg_status Executor::run(void *const *const *arguments,
                        void *const *const *results) {
  if (!results && needsResults)
    return RG_ERROR_ARGUMENT;
  if (hasFailed())
    return RG_ERROR_ABORTED;
  communicator->beginStep();
  RankExecutor::Clock::time_point begin = RankExecutor::Clock::now();
  pool.run(numLocalRanks, [&](int64_t rank, int64_t) {
    failures[size_t(rank)] = ranks[size_t(rank)]->run(
        arguments[rank], results ? results[rank] : nullptr, begin);
  });
  // One failure stops all ranks. What says most is where a rank stopped that
  // was not stopped by another.
  for (const rg_failure &candidate : failures)
    if (candidate.status != RG_OK &&
        (failure.status == RG_OK || (failure.status == RG_ERROR_ABORTED &&
                                     candidate.status != RG_ERROR_ABORTED)))
      failure = candidate;
  if (failure.status == RG_OK)
    return RG_OK;
  // What communication says first is the cause of what a rank says.
  Failure cause = communicator->poll();
  return keep(Failure(cause
                          ? cause.getMessage()
                          : ranks[size_t(failure.rank - firstRank)]->getError(),
                      failure.status));
}

rg_status Executor::gather(const void *data, int64_t bytes, int32_t to,
                           void *const *parts) {
  if (hasFailed())
    return RG_ERROR_ABORTED;
  if (messages)
    return keep(messages->gather(data, bytes, to, parts));
  if (bytes > 0)
    std::memcpy(parts[0], data, size_t(bytes));
  return RG_OK;
}

const void *Executor::getResult(int32_t rank, int64_t result) const {
  return ranks[size_t(rank)]->resolve(program.results[result].slice);
}

int64_t Executor::getTouchedBytes() const {
  if (!watchesArena)
    return -1;
  int64_t touched = 0;
  for (const std::unique_ptr<RankExecutor> &rank : ranks)
    touched = std::max(touched, rank->getArena().findTouchedEnd());
  return getTouchedArena(program, touched);
}

int64_t Executor::getTouchedHostBytes() const {
  if (!watchesArena)
    return -1;
  int64_t touched = 0;
  for (const std::unique_ptr<RankExecutor> &rank : ranks)
    touched = std::max(touched, rank->getHostArena().findTouchedEnd());
  return std::min(roundUp(touched, program.arena_alignment),
                  program.host_arena_bytes);
}

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

static Executor *unwrap(rg_executor *executor) {
  return unwrapAs<Executor>(executor);
}
static const Executor *unwrap(const rg_executor *executor) {
  return unwrapAs<Executor>(executor);
}

rg_status rg_executor_create(const rg_program *program,
                             const rg_executor_options *options,
                             rg_executor **executor) {
  return createExecutor<Executor>(program, options, executor);
}

void rg_executor_destroy(rg_executor *executor) { delete unwrap(executor); }

const char *rg_executor_error(const rg_executor *executor) {
  return executor ? unwrap(executor)->getError() : "";
}

rg_failure rg_executor_failure(const rg_executor *executor) {
  return unwrap(executor)->getFailure();
}

int32_t rg_executor_ranks(const rg_executor *executor) {
  return executor ? unwrap(executor)->getNumRanks() : 0;
}

int32_t rg_executor_threads(const rg_executor *executor) {
  return executor ? unwrap(executor)->getNumThreads() : 0;
}

rg_status rg_executor_run(rg_executor *executor, void *const *const *arguments,
                          void *const *const *results) {
  return executor && arguments ? unwrap(executor)->run(arguments, results)
                               : RG_ERROR_ARGUMENT;
}

rg_status rg_executor_gather(rg_executor *executor, const void *data,
                             int64_t bytes, int32_t to, void *const *parts) {
  return executor && bytes >= 0 && (data || bytes == 0)
             ? unwrap(executor)->gather(data, bytes, to, parts)
             : RG_ERROR_ARGUMENT;
}

const void *rg_executor_result(const rg_executor *executor, int32_t rank,
                               int64_t result) {
  return unwrap(executor)->getResult(rank, result);
}

double rg_executor_wait_seconds(const rg_executor *executor, int32_t rank) {
  return unwrap(executor)->getWaitSeconds(rank);
}

const rg_span *rg_executor_spans(const rg_executor *executor, int32_t rank,
                                 int64_t *count) {
  const std::vector<rg_span> &spans = unwrap(executor)->getSpans(rank);
  *count = int64_t(spans.size());
  return spans.empty() ? nullptr : spans.data();
}

int64_t rg_executor_bytes(const rg_executor *executor) {
  return executor ? unwrap(executor)->getBytes() : 0;
}

int64_t rg_executor_touched_bytes(const rg_executor *executor) {
  return executor ? unwrap(executor)->getTouchedBytes() : -1;
}

int64_t rg_executor_touched_host_bytes(const rg_executor *executor) {
  return executor ? unwrap(executor)->getTouchedHostBytes() : -1;
}
