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
class Executor {
public:
  explicit Executor(const rg_program &program) : program(program) {}

  rg_status create(const rg_executor_options &options);
  rg_status run(void *const *const *arguments, void *const *const *results);
  rg_status gather(const void *data, int64_t bytes, int32_t to,
                   void *const *parts);
  const void *getResult(int32_t rank, int64_t result) const;
  int64_t getBytes() const;
  int64_t getTouchedBytes() const;

  const char *getError() const { return error.c_str(); }
  rg_failure getFailure() const { return failure; }
  int32_t getNumRanks() const { return int32_t(ranks.size()); }
  double getWaitSeconds(int32_t rank) const {
    return ranks[size_t(rank)]->getWaitSeconds();
  }
  const std::vector<rg_span> &getSpans(int32_t rank) const {
    return ranks[size_t(rank)]->getSpans();
  }

private:
  rg_status fail(rg_status status, const std::string &message);
  rg_status chooseNumbers(const rg_executor_options &options);
  rg_status checkMemory();
  rg_status createCommunicator(const rg_executor_options &options);
  rg_status createLibrary();
  rg_status createRanks(const rg_executor_options &options);

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
  rg_failure failure = {RG_OK, 0, -1};
  std::string error;
  /// A thread for each rank.
  TaskPool pool;
};
} // namespace

static Executor *unwrap(rg_executor *executor) {
  return reinterpret_cast<Executor *>(executor);
}
static const Executor *unwrap(const rg_executor *executor) {
  return reinterpret_cast<const Executor *>(executor);
}

rg_status Executor::fail(rg_status status, const std::string &message) {
  if (error.empty())
    error = message;
  return status;
}

rg_status Executor::chooseNumbers(const rg_executor_options &options) {
  if (options.ranks < 0 || options.threads < 0 ||
      !(options.timeout_seconds >= 0) || !(options.latency_seconds >= 0) ||
      !(options.bandwidth >= 0))
    return fail(RG_ERROR_ARGUMENT,
                "numbers of ranks and threads, the timeout, latency and "
                "bandwidth must not be negative");
  if (options.transport) {
    Result<CallerTransport> created =
        CallerTransport::create(*options.transport);
    if (!created)
      return fail(rg_status(created.getFailure().getCode()),
                  created.getMessage());
    transport = *created;
  }
  bool jobDecides = transport && !options.ranks && !program.ranks;
  Result<int32_t> chosen = chooseNumRanks(
      program, jobDecides ? transport->getNumRanks() : options.ranks);
  if (!chosen)
    return fail(rg_status(chosen.getFailure().getCode()), chosen.getMessage());
  numRanks = *chosen;
  if (transport && numRanks != transport->getNumRanks())
    return fail(RG_ERROR_ARGUMENT,
                "expects a job of " + std::to_string(numRanks) +
                    " ranks, got one of " +
                    std::to_string(transport->getNumRanks()));
  firstRank = transport ? transport->getRank() : 0;
  numLocalRanks = transport ? 1 : numRanks;
  int64_t hardware = std::max(std::thread::hardware_concurrency(), 1u);
  threads = options.threads
                ? options.threads
                : int32_t(std::max<int64_t>(hardware / numRanks, 1));
  canSpin = int64_t(threads) * numRanks <= hardware;
  watchesArena = options.watch_arena != 0;
  return RG_OK;
}

int64_t Executor::getBytes() const {
  return program.arena_bytes + getScratchBytes(program, library) * threads;
}

rg_status Executor::checkMemory() {
  int64_t memory = getMachineMemory();
  if (getBytes() <= memory / numLocalRanks)
    return RG_OK;
  return fail(RG_ERROR_MEMORY,
              "the step needs " + std::to_string(program.arena_bytes) +
                  " bytes for its arena and " +
                  std::to_string(getBytes() - program.arena_bytes) +
                  " for its kernels on each of " +
                  std::to_string(numLocalRanks) +
                  " ranks, but this machine has " + std::to_string(memory));
}

rg_status Executor::createCommunicator(const rg_executor_options &options) {
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
      return fail(RG_ERROR_ABORTED,
                  "cannot start " + std::to_string(numRanks) +
                      " ranks: " + rg_status_name(RG_ERROR_ABORTED));
    communicator = std::move(threadsOfRanks);
  }
  if (Failure problem = communicator->prepare(program, /*inGraphs=*/false))
    return fail(rg_status(problem.getCode()), problem.getMessage());
  return RG_OK;
}

rg_status Executor::createLibrary() {
  Failure problem = library.create(program);
  return problem ? fail(rg_status(problem.getCode()), problem.getMessage())
                 : RG_OK;
}

rg_status Executor::createRanks(const rg_executor_options &options) {
  for (int32_t i = 0; i < numLocalRanks; ++i) {
    int32_t rank = firstRank + i;
    auto created =
        std::make_unique<RankExecutor>(program, library, *communicator, rank);
    if (!created->allocate(threads))
      return fail(RG_ERROR_MEMORY, "cannot get " + std::to_string(getBytes()) +
                                       " bytes for the arena of rank " +
                                       std::to_string(rank) + " of " +
                                       std::to_string(numRanks));
    if (options.record_spans)
      created->recordSpans();
    if (watchesArena)
      created->getArena().fillWithPattern();
    if (!created->startHelpers(threads, canSpin))
      return fail(RG_ERROR_ABORTED, "cannot start " + std::to_string(threads) +
                                        " threads for each rank");
    ranks.push_back(std::move(created));
  }
  // Ranks follow each other at once, but wait for long while others prepare
  // the next step.
  if (!pool.start(numLocalRanks - 1, /*canSpin=*/false))
    return fail(RG_ERROR_ABORTED, "cannot start a thread for each of " +
                                      std::to_string(numLocalRanks) + " ranks");
  failures.resize(size_t(numLocalRanks));
  return RG_OK;
}

/// True if the caller has to give memory for a result.
static bool writesToCaller(const rg_program &program) {
  return std::any_of(program.results, program.results + program.result_count,
                     [](const rg_value &result) {
                       return result.slice.space == RG_SPACE_RESULT;
                     });
}

rg_status Executor::create(const rg_executor_options &options) {
  std::string problem = checkProgram(program);
  if (!problem.empty())
    return fail(RG_ERROR_ARGUMENT, problem);
  needsResults = writesToCaller(program);
  rg_status status = chooseNumbers(options);
  if (status == RG_OK)
    status = createLibrary();
  if (status == RG_OK)
    status = checkMemory();
  if (status == RG_OK)
    status = createCommunicator(options);
  return status == RG_OK ? createRanks(options) : status;
}

rg_status Executor::run(void *const *const *arguments,
                        void *const *const *results) {
  if (!results && needsResults)
    return RG_ERROR_ARGUMENT;
  if (!error.empty())
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
  return fail(rg_status(failure.status),
              cause ? cause.getMessage()
                    : ranks[size_t(failure.rank - firstRank)]->getError());
}

rg_status Executor::gather(const void *data, int64_t bytes, int32_t to,
                           void *const *parts) {
  if (!error.empty())
    return RG_ERROR_ABORTED;
  if (messages) {
    Failure problem = messages->gather(data, bytes, to, parts);
    return problem ? fail(rg_status(problem.getCode()), problem.getMessage())
                   : RG_OK;
  }
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
  int64_t alignment = program.arena_alignment;
  return std::min((touched + alignment - 1) / alignment * alignment,
                  program.arena_bytes);
}

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

rg_status rg_executor_create(const rg_program *program,
                             const rg_executor_options *options,
                             rg_executor **executor) {
  if (!executor)
    return RG_ERROR_ARGUMENT;
  *executor = nullptr;
  if (!program || !options)
    return RG_ERROR_ARGUMENT;
  auto *created = new Executor(*program);
  *executor = reinterpret_cast<rg_executor *>(created);
  return created->create(*options);
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
