//===- JobTest.cpp - Executors that are one rank of a job -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Communication/SocketTransport.h"
#include "../Program/TestProgram.h"

#include <chrono>
#include <functional>
#include <map>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace regather::test;
using regather::Result;
using regather::runtime::SocketTransport;

namespace {

/// After which a message is asked for again where nothing changes.
constexpr std::chrono::milliseconds kPause(5);

/// A socket transport behind the C interface.
class Functions {
public:
  /// `hasChanges`: there is a number of changes, which only a message that is
  /// found to be done changes.
  explicit Functions(std::unique_ptr<SocketTransport> owned,
                     bool hasChanges = false)
      : transport(std::move(owned)) {
    table.context = this;
    table.changes = hasChanges ? &changes : nullptr;
    table.rank = transport->getRank();
    table.ranks = transport->getNumRanks();
    table.send = [](void *context, int32_t to, int32_t channel,
                    const void *data, int64_t bytes, uint64_t *number) {
      Functions &self = *static_cast<Functions *>(context);
      return self.take(self.transport->send(to, channel, data, bytes), *number);
    };
    table.receive = [](void *context, int32_t from, int32_t channel, void *data,
                       int64_t bytes, uint64_t *number) {
      Functions &self = *static_cast<Functions *>(context);
      return self.take(self.transport->receive(from, channel, data, bytes),
                       *number);
    };
    table.test = [](void *context, uint64_t number, int32_t *done) {
      Functions &self = *static_cast<Functions *>(context);
      ++self.asked[number];
      int32_t failure = self.take(self.transport->test(number), *done);
      self.changes += *done;
      return failure;
    };
    table.abort = [](void *context) {
      static_cast<Functions *>(context)->transport->abort();
    };
    table.error = [](void *context) -> const char * {
      return static_cast<Functions *>(context)->error.c_str();
    };
  }
  Functions(const Functions &) = delete;

  const rg_transport &getTable() const { return table; }
  /// How often the message was asked for that was asked for most.
  uint64_t countAsked() const {
    uint64_t most = 0;
    for (auto [number, times] : asked)
      most = std::max(most, times);
    return most;
  }
  uint64_t countChanges() const { return changes; }

private:
  template <typename From, typename To>
  int32_t take(const Result<From> &result, To &value) {
    if (!result) {
      error = result.getMessage();
      return 1;
    }
    value = To(*result);
    return 0;
  }

  std::unique_ptr<SocketTransport> transport;
  rg_transport table = {};
  uint64_t changes = 0;
  std::map<uint64_t, uint64_t> asked;
  std::string error;
};

/// result = the sum over all ranks of an argument, and then what all have.
TestProgram getProgram(int32_t ranks, int64_t count = 3) {
  TestProgram test;
  test.ranks = ranks;
  int32_t value = test.addArgument(count);
  int32_t all = test.addAxes({ranks}, {1});
  int32_t sum = test.addCollective(RG_ALL_REDUCE, all, count, count, "sum");
  int32_t gather =
      test.addCollective(RG_ALL_GATHER, all, count, count * ranks, "gather");
  test.add(RG_OP_COLLECTIVE, sum, {argument(value, count), arena(0, count)}, 1);
  test.add(RG_OP_COLLECTIVE, gather,
           {argument(value, count), arena(count, count * ranks)}, 1);
  test.add(RG_OP_RECORD, 0, {}, 1);
  test.add(RG_OP_WAIT, 0);
  test.addResult(count * (ranks + 1), arena(0, count * (ranks + 1)));
  return test;
}

std::vector<int64_t> getArgument(int32_t rank, int64_t step) {
  return {rank + step, 100 * rank, -step};
}

constexpr int64_t kSteps = 3;

/// What the ranks of one process compute in the last step.
std::vector<int64_t> runThreads(int32_t ranks, int32_t rank) {
  TestProgram test = getProgram(ranks);
  TestExecutor executor(test);
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<std::vector<std::vector<int64_t>>> arguments;
    for (int32_t each = 0; each < ranks; ++each)
      arguments.push_back({getArgument(each, step)});
    EXPECT_EQ(executor.run(arguments), RG_OK) << executor.getError();
  }
  return executor.getResult(rank);
}

/// One rank of a job; empty if it does as the ranks of one process do.
std::string runRank(const rg_transport &transport) {
  TestProgram test = getProgram(transport.ranks);
  rg_executor_options options = {};
  options.transport = &transport;
  options.timeout_seconds = 20;
  TestExecutor executor(test, options);
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<std::vector<std::vector<int64_t>>> arguments = {
        {getArgument(transport.rank, step)}};
    if (executor.run(arguments) != RG_OK)
      return executor.getError();
  }
  bool isEqual =
      executor.getResult(0) == runThreads(transport.ranks, transport.rank);
  return isEqual ? "" : "another result";
}

TEST(ExecutorJobTest, ThreadsDoAsOneExecutorDoes) {
  for (int32_t ranks : {1, 2, 3, 4}) {
    std::vector<std::unique_ptr<SocketTransport>> transports =
        SocketTransport::connect(ranks);
    ASSERT_EQ(transports.size(), size_t(ranks));
    std::vector<std::string> errors(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < errors.size(); ++rank)
      threads.emplace_back([&, rank] {
        Functions functions(std::move(transports[rank]));
        errors[rank] = runRank(functions.getTable());
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const std::string &error : errors)
      EXPECT_EQ(error, "");
  }
}

/// What is not said to have changed is looked at all the same, but not often,
/// however long one waits.
TEST(ExecutorJobTest, AsksAgainIfSomethingHasChanged) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::unique_ptr<SocketTransport>> transports =
      SocketTransport::connect(3);
  ASSERT_EQ(transports.size(), 3u);
  std::vector<std::string> errors(3);
  std::vector<uint64_t> asked(3), allowed(3);
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < errors.size(); ++rank)
    threads.emplace_back([&, rank] {
      Functions functions(std::move(transports[rank]), /*hasChanges=*/true);
      Clock::time_point begin = Clock::now();
      if (rank == 0)
        std::this_thread::sleep_for(20 * kPause);
      errors[rank] = runRank(functions.getTable());
      asked[rank] = functions.countAsked();
      allowed[rank] = 1 + functions.countChanges() +
                      uint64_t((Clock::now() - begin) / kPause);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    EXPECT_EQ(errors[rank], "");
    EXPECT_LE(asked[rank], allowed[rank]);
  }
}

/// Calls `body` in a process for each rank, and expects these exit codes.
void forkRanks(std::vector<std::unique_ptr<SocketTransport>> transports,
               const std::function<int(size_t, const rg_transport &)> &body,
               const std::vector<int> &expected) {
  std::vector<pid_t> children;
  for (size_t rank = 0; rank < transports.size(); ++rank) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Sockets of the others end with them alone.
      std::unique_ptr<SocketTransport> mine = std::move(transports[rank]);
      transports.clear();
      Functions functions(std::move(mine));
      _exit(body(rank, functions.getTable()));
    }
    children.push_back(child);
  }
  transports.clear();
  for (size_t rank = 0; rank < children.size(); ++rank) {
    int status = 0;
    ASSERT_EQ(waitpid(children[rank], &status, 0), children[rank]);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), expected[rank]) << "rank " << rank;
  }
}

TEST(ExecutorJobTest, ProcessesDoAsOneExecutorDoes) {
  forkRanks(SocketTransport::connect(4),
            [](size_t, const rg_transport &transport) {
              return runRank(transport).empty() ? 0 : 1;
            },
            {0, 0, 0, 0});
}

TEST(ExecutorJobTest, SaysWhichRankIsGone) {
  forkRanks(
      SocketTransport::connect(3),
      [](size_t rank, const rg_transport &transport) {
        TestProgram test = getProgram(3);
        rg_executor_options options = {};
        options.transport = &transport;
        options.timeout_seconds = 20;
        TestExecutor executor(test, options);
        std::vector<std::vector<std::vector<int64_t>>> arguments = {
            {getArgument(int32_t(rank), 0)}};
        if (executor.run(arguments) != RG_OK)
          return 1;
        if (rank == 2)
          return 7;
        auto begin = std::chrono::steady_clock::now();
        if (executor.run(arguments) != RG_ERROR_ABORTED ||
            std::chrono::steady_clock::now() - begin > std::chrono::seconds(10))
          return 2;
        std::string start =
            "rank " + std::to_string(rank) + " cannot complete 'sum'";
        std::string error = executor.getError();
        bool saysWhere = error.find(start) == 0 &&
                         error.find("of group [0, 1, 2]") != std::string::npos;
        // The other one may have ended before this one looked at rank 2.
        bool saysWho =
            error.find("rank 2 is gone") != std::string::npos ||
            error.find(rank == 0 ? "rank 1 is gone" : "rank 0 is gone") !=
                std::string::npos;
        return saysWhere && saysWho &&
                       executor.getFailure().rank == int32_t(rank)
                   ? 0
                   : 3;
      },
      {0, 0, 7});
}

/// Sends a number of bytes that depends on the rank, or not.
int gatherBytes(const rg_transport &transport, bool agrees) {
  TestProgram test = getProgram(transport.ranks);
  rg_executor_options options = {};
  options.transport = &transport;
  options.timeout_seconds = 20;
  TestExecutor executor(test, options);
  auto count = size_t(agrees || transport.rank != 1 ? 1000 : 999);
  std::vector<char> mine(count, char('a' + transport.rank));
  std::vector<std::vector<char>> parts(size_t(transport.ranks),
                                       std::vector<char>(1000));
  std::vector<void *> addresses;
  for (std::vector<char> &part : parts)
    addresses.push_back(part.data());
  bool receives = transport.rank == 2;
  auto gather = [&](int32_t to) {
    return executor.gather(
        mine, to, to < 0 || receives ? addresses : std::vector<void *>());
  };
  rg_status status = gather(2);
  // Who sends may find that the other one has gone.
  if (!agrees)
    return receives && (status != RG_ERROR_MISMATCH ||
                        executor.getError() !=
                            "mismatch: rank 2 expects 1000 bytes of rank 1, "
                            "which sends 999")
               ? 1
               : 0;
  if (status != RG_OK)
    return 2;
  for (bool toAll : {false, true}) {
    if (toAll && gather(-1) != RG_OK)
      return 3;
    for (size_t rank = 0; rank < parts.size(); ++rank)
      if ((toAll || receives) &&
          parts[rank] != std::vector<char>(1000, char('a' + rank)))
        return 4;
  }
  return executor.gather({}, -1, {}) == RG_OK ? 0 : 5;
}

TEST(ExecutorJobTest, GathersBytes) {
  for (bool agrees : {true, false})
    forkRanks(SocketTransport::connect(3),
              [&](size_t, const rg_transport &transport) {
                return gatherBytes(transport, agrees);
              },
              {0, 0, 0});
}

TEST(ExecutorJobTest, FindsThatProgramsDiffer) {
  std::vector<std::unique_ptr<SocketTransport>> transports =
      SocketTransport::connect(2);
  ASSERT_EQ(transports.size(), 2U);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Functions functions(std::move(transports[rank]));
      TestProgram test = getProgram(2, rank == 0 ? 3 : 4);
      rg_executor_options options = {};
      options.transport = &functions.getTable();
      TestExecutor executor(test, options);
      EXPECT_EQ(executor.status, RG_ERROR_MISMATCH);
      errors[rank] = executor.getError();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(errors[0], "mismatch: ranks 0 and 1 have programs with different "
                       "collectives of group [0, 1]");
  EXPECT_EQ(errors[1], "mismatch: ranks 1 and 0 have programs with different "
                       "collectives of group [0, 1]");
}

TEST(ExecutorJobTest, RefusesAnotherNumberOfRanks) {
  Functions functions(std::move(SocketTransport::connect(2)[1]));
  TestProgram test = getProgram(4);
  rg_executor_options options = {};
  options.transport = &functions.getTable();
  TestExecutor executor(test, options);
  EXPECT_EQ(executor.status, RG_ERROR_ARGUMENT);
  EXPECT_EQ(executor.getError(), "expects a job of 4 ranks, got one of 2");

  rg_transport incomplete = functions.getTable();
  incomplete.test = nullptr;
  options.transport = &incomplete;
  TestExecutor second(test, options);
  EXPECT_EQ(second.getError(), "a transport lacks a function");
  incomplete = functions.getTable();
  incomplete.rank = 2;
  TestExecutor third(test, options);
  EXPECT_EQ(third.getError(), "expects a rank of a transport below 2, got 2");
}

} // namespace
