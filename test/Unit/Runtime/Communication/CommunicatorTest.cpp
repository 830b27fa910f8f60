//===- CommunicatorTest.cpp - What all communicators do alike -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One suite for every communicator of hosts. docs/adding-a-communicator.md says
// how to add a new one to it.
//
//===----------------------------------------------------------------------===//

#include "../Program/TestProgram.h"
#include "CPU/RankExecutor.h"
#include "CollectiveCase.h"
#include "Communication/Messages/CheckedTransport.h"
#include "Communication/Messages/MessageCommunicator.h"
#include "Communication/Threads/DataMovement.h"
#include "Communication/Threads/ThreadsCommunicator.h"
#include "SocketTransport.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

namespace {

/// The ranks of a job, on threads of this process.
class Job {
public:
  virtual ~Job() = default;
  virtual HostCommunicator &get(int32_t rank) = 0;
  virtual Failure prepare(const rg_program &program) = 0;
  /// The rank is gone and says nothing more.
  virtual void kill(int32_t rank) = 0;
};

class ThreadsJob : public Job {
public:
  ThreadsJob(int32_t ranks, double seconds)
      : communicator(ranks, seconds, InjectedLink()) {
    EXPECT_TRUE(communicator.startWorkers());
  }
  HostCommunicator &get(int32_t /*rank*/) override { return communicator; }
  Failure prepare(const rg_program &program) override {
    Failure failure = communicator.prepare(program, false);
    communicator.beginStep();
    return failure;
  }
  void kill(int32_t rank) override { communicator.finishRank(rank); }

private:
  ThreadsCommunicator communicator;
};

class SocketsJob : public Job {
public:
  SocketsJob(int32_t ranks, double seconds) : SocketsJob(ranks) {
    for (const std::unique_ptr<SocketTransport> &transport : transports)
      communicators.push_back(
          std::make_unique<MessageCommunicator>(*transport, seconds));
  }
  HostCommunicator &get(int32_t rank) override {
    return *communicators[size_t(rank)];
  }
  Failure prepare(const rg_program &program) override {
    std::vector<Failure> failures(communicators.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < communicators.size(); ++rank)
      threads.emplace_back([&, rank] {
        failures[rank] = communicators[rank]->prepare(program, false);
        communicators[rank]->beginStep();
      });
    for (std::thread &thread : threads)
      thread.join();
    for (Failure &failure : failures)
      if (failure)
        return failure;
    return Failure();
  }
  void kill(int32_t rank) override {
    communicators[size_t(rank)].reset();
    transports[size_t(rank)].reset();
  }

protected:
  explicit SocketsJob(int32_t ranks)
      : transports(SocketTransport::connect(ranks)) {}

  std::vector<std::unique_ptr<SocketTransport>> transports;
  std::vector<std::unique_ptr<MessageCommunicator>> communicators;
};

/// The same, with a checksum for each message.
class CheckedJob : public SocketsJob {
public:
  CheckedJob(int32_t ranks, double seconds) : SocketsJob(ranks) {
    for (const std::unique_ptr<SocketTransport> &transport : transports) {
      checked.push_back(std::make_unique<CheckedTransport>(*transport));
      communicators.push_back(
          std::make_unique<MessageCommunicator>(*checked.back(), seconds));
    }
  }
  ~CheckedJob() override { communicators.clear(); }

private:
  std::vector<std::unique_ptr<CheckedTransport>> checked;
};

struct Kind {
  const char *name;
  std::unique_ptr<Job> (*make)(int32_t ranks, double seconds);
};

template <typename J>
std::unique_ptr<Job> makeJob(int32_t ranks, double seconds) {
  return std::make_unique<J>(ranks, seconds);
}

// A communicator is tested by its line in this list.
const Kind kKinds[] = {{"Threads", makeJob<ThreadsJob>},
                       {"Sockets", makeJob<SocketsJob>},
                       {"Checked", makeJob<CheckedJob>}};

class HostCommunicatorTest : public testing::TestWithParam<Kind> {
protected:
  std::unique_ptr<Job> makeJob(int32_t ranks, double seconds = 20) const {
    return GetParam().make(ranks, seconds);
  }

  /// Calls `body` on a thread for each rank.
  static void onRanks(int32_t ranks, const std::function<void(int32_t)> &body) {
    std::vector<std::thread> threads;
    for (int32_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] { body(rank); });
    for (std::thread &thread : threads)
      thread.join();
  }
};

/// The buffers of all ranks for one collective, and a copy for the reference.
class HostBuffers {
public:
  HostBuffers(const CollectiveCase &item, int32_t ranks, uint32_t seed)
      : item(item), addresses(size_t(ranks)), expected(size_t(ranks)) {
    std::mt19937_64 random(seed);
    for (int32_t rank = 0; rank < ranks; ++rank)
      for (const MemberCase &member : item.members)
        add(rank, member, random);
  }
  HostBuffers(const HostBuffers &) = delete;

  void *const *get(int32_t rank) const {
    return addresses[size_t(rank)].data();
  }

  void check(const rg_collective_entry &entry) {
    auto ranks = int64_t(addresses.size());
    Collective collective;
    ASSERT_EQ(readCollective(entry, ranks, collective), "");
    for (int64_t part = 0; part < ranks; ++part)
      runPart(collective, expected, part);
    for (size_t rank = 0; rank < expected.size(); ++rank)
      for (size_t i = 0; i < item.members.size(); ++i)
        ASSERT_EQ(std::memcmp(addresses[rank][2 * i + 1],
                              expected[rank][i].output,
                              size_t(item.members[i].getOutputBytes())),
                  0)
            << item.describe() << ": rank " << rank << " of " << ranks
            << " has another output " << i;
  }

private:
  void add(int32_t rank, const MemberCase &member, std::mt19937_64 &random) {
    int64_t input = member.getInputBytes(), output = member.getOutputBytes();
    int64_t inputOffset = 0, outputOffset = 0, bytes = input + output;
    if (!item.isInPlace)
      outputOffset = (input + 7) / 8 * 8;
    else if (item.kind == RG_ALL_GATHER)
      inputOffset = rank * input;
    else if (item.kind == RG_REDUCE_SCATTER)
      outputOffset = rank * output;
    // A scattered output may reach past the end of an uneven input.
    bytes += 8 + (item.isInPlace ? int64_t(addresses.size()) * 64 : 0);
    std::vector<char> &memory = copies.emplace_back(size_t(bytes));
    for (char &byte : memory)
      byte = char(member.dtype == RG_I1 ? random() & 1 : random());
    std::vector<char> &copy = copies.emplace_back(memory);
    addresses[size_t(rank)].push_back(memory.data() + inputOffset);
    addresses[size_t(rank)].push_back(memory.data() + outputOffset);
    expected[size_t(rank)].push_back(
        {copy.data() + inputOffset, copy.data() + outputOffset});
  }

  const CollectiveCase &item;
  std::deque<std::vector<char>> copies;
  std::vector<std::vector<void *>> addresses;
  std::vector<std::vector<Buffers>> expected;
};

CollectiveCase getAllReduce() {
  CollectiveCase item;
  item.kind = RG_ALL_REDUCE;
  item.members = {{RG_F32, {600}, {600}}};
  return item;
}

// Every kind, dimension, padding, type and reduction, to the bit.
TEST_P(HostCommunicatorTest, ComputesWhatTheReferenceDoes) {
  for (int32_t ranks : {1, 2, 3, 4}) {
    CollectiveProgram program(ranks, getCollectiveCases(ranks));
    std::unique_ptr<Job> job = makeJob(ranks);
    Failure failure = job->prepare(program.getTables());
    ASSERT_FALSE(failure) << failure.getMessage();
    std::deque<HostBuffers> buffers;
    for (int64_t i = 0; i < program.getNumCases(); ++i)
      buffers.emplace_back(program.getCase(i), ranks, uint32_t(i));
    onRanks(ranks, [&](int32_t rank) {
      for (int64_t i = 0; i < program.getNumCases(); ++i) {
        Result<PendingCollective *> started =
            job->get(rank).start(rank, i, buffers[size_t(i)].get(rank));
        ASSERT_TRUE(started) << started.getMessage();
        rg_collective_times times = {};
        Failure problem = job->get(rank).wait(*started, times);
        ASSERT_FALSE(problem) << problem.getMessage();
        ASSERT_LE(times.begin, times.end);
      }
      job->get(rank).finishRank(rank);
    });
    for (int64_t i = 0; i < program.getNumCases(); ++i)
      ASSERT_NO_FATAL_FAILURE(
          buffers[size_t(i)].check(program.getTables().collectives[i]));
  }
}

// Ranks need not wait in the order in which they start.
TEST_P(HostCommunicatorTest, GoesOnWithoutItsRanks) {
  constexpr int32_t kRanks = 3;
  constexpr int64_t kCount = 20;
  CollectiveProgram program(
      kRanks, std::vector<CollectiveCase>(size_t(kCount), getAllReduce()));
  std::unique_ptr<Job> job = makeJob(kRanks);
  ASSERT_FALSE(job->prepare(program.getTables()));
  std::deque<HostBuffers> buffers;
  for (int64_t i = 0; i < kCount; ++i)
    buffers.emplace_back(program.getCase(i), kRanks, uint32_t(i));
  onRanks(kRanks, [&](int32_t rank) {
    std::vector<PendingCollective *> pending;
    for (int64_t i = 0; i < kCount; ++i) {
      Result<PendingCollective *> started =
          job->get(rank).start(rank, i, buffers[size_t(i)].get(rank));
      ASSERT_TRUE(started) << started.getMessage();
      pending.push_back(*started);
    }
    if (rank == 1)
      std::reverse(pending.begin(), pending.end());
    rg_collective_times times = {};
    for (PendingCollective *each : pending)
      ASSERT_FALSE(job->get(rank).wait(each, times));
  });
  for (int64_t i = 0; i < kCount; ++i)
    ASSERT_NO_FATAL_FAILURE(
        buffers[size_t(i)].check(program.getTables().collectives[i]));
}

// Rows and columns of a mesh at once: a program as the executor runs it.
TEST_P(HostCommunicatorTest, RunsGroupsAtOnce) {
  constexpr int32_t kRanks = 4;
  regather::test::TestProgram test;
  test.ranks = kRanks;
  using regather::test::arena;
  using regather::test::argument;
  int32_t value = test.addArgument(1);
  int32_t rows = test.addAxes({2}, {1}), columns = test.addAxes({2}, {2});
  int32_t sum = test.addCollective(RG_ALL_REDUCE, rows, 1, 1);
  int32_t gather = test.addCollective(RG_ALL_GATHER, columns, 1, 2);
  test.add(RG_OP_COLLECTIVE, sum, {argument(value), arena(0)}, 1);
  test.add(RG_OP_COLLECTIVE, gather, {argument(value), arena(2, 2)}, 2);
  test.add(RG_OP_RECORD, 0, {}, 1);
  test.add(RG_OP_WAIT, 0);
  test.add(RG_OP_RECORD, 1, {}, 2);
  test.add(RG_OP_WAIT, 1);
  rg_program program = test.get();
  std::unique_ptr<Job> job = makeJob(kRanks);
  ASSERT_FALSE(job->prepare(program));
  LibraryCalls library;
  std::vector<std::vector<int64_t>> results(kRanks);
  onRanks(kRanks, [&](int32_t rank) {
    RankExecutor executor(program, library, job->get(rank), rank);
    ASSERT_TRUE(executor.allocate(1) && executor.startHelpers(1, false));
    int64_t number = 10 + rank;
    void *arguments[] = {&number};
    rg_failure failure = executor.run(arguments, /*newResults=*/nullptr,
                                      RankExecutor::Clock::now());
    ASSERT_EQ(failure.status, RG_OK) << executor.getError();
    const auto *data =
        static_cast<const int64_t *>(executor.resolve(arena(0, 4)));
    results[size_t(rank)] = {data[0], data[2], data[3]};
  });
  EXPECT_EQ(results[0], (std::vector<int64_t>{21, 10, 12}));
  EXPECT_EQ(results[3], (std::vector<int64_t>{25, 11, 13}));
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// Starts the only collective on rank 0 and returns how waiting for it fails,
/// after `disturb` was called meanwhile.
Failure waitAlone(Job &job, const CollectiveProgram &program,
                  const std::function<void()> &disturb) {
  HostBuffers buffers(program.getCase(0), program.getRanks(), 0);
  Result<PendingCollective *> started = job.get(0).start(0, 0, buffers.get(0));
  if (!started)
    return started.getFailure();
  std::thread other(disturb);
  rg_collective_times times = {};
  Failure failure = job.get(0).wait(*started, times);
  other.join();
  return failure;
}

TEST_P(HostCommunicatorTest, TimesOut) {
  CollectiveProgram program(2, {getAllReduce()});
  std::unique_ptr<Job> job = makeJob(2, 0.2);
  ASSERT_FALSE(job->prepare(program.getTables()));
  Failure failure = waitAlone(*job, program, [] {});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure.getCode(), RG_ERROR_TIMEOUT);
  EXPECT_EQ(failure.getMessage().find("timeout: rank 0 waited for too long"),
            0U)
      << failure.getMessage();
  // All that follows fails alike.
  EXPECT_EQ(job->get(0).poll().getCode(), RG_ERROR_TIMEOUT);
  EXPECT_TRUE(waitAlone(*job, program, [] {}));
}

TEST_P(HostCommunicatorTest, TellsThatARankIsGone) {
  CollectiveProgram program(2, {getAllReduce()});
  std::unique_ptr<Job> job = makeJob(2);
  ASSERT_FALSE(job->prepare(program.getTables()));
  auto begin = std::chrono::steady_clock::now();
  Failure failure = waitAlone(*job, program, [&] { job->kill(1); });
  ASSERT_TRUE(failure);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_NE(failure.getMessage().find("rank 1"), std::string::npos)
      << failure.getMessage();
  EXPECT_NE(failure.getMessage().find("'transfer' (collective 0 of group "
                                      "[0, 1])"),
            std::string::npos)
      << failure.getMessage();
}

TEST_P(HostCommunicatorTest, AbortWakesWhoWaits) {
  CollectiveProgram program(2, {getAllReduce()});
  std::unique_ptr<Job> job = makeJob(2);
  ASSERT_FALSE(job->prepare(program.getTables()));
  Failure failure =
      waitAlone(*job, program, [&] { job->get(0).abort("somebody stops"); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure.getCode(), RG_ERROR_ABORTED);
  EXPECT_EQ(failure.getMessage(), "somebody stops");
  job->get(0).abort("somebody stops again");
  EXPECT_EQ(job->get(0).poll().getMessage(), "somebody stops");
}

TEST_P(HostCommunicatorTest, EndsWhileCollectivesArePending) {
  CollectiveProgram program(2, {getAllReduce()});
  HostBuffers buffers(program.getCase(0), 2, 0);
  std::unique_ptr<Job> job = makeJob(2);
  ASSERT_FALSE(job->prepare(program.getTables()));
  ASSERT_TRUE(job->get(0).start(0, 0, buffers.get(0)));
  job.reset();
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostCommunicatorTest, testing::ValuesIn(kKinds),
                         [](const testing::TestParamInfo<Kind> &info) {
                           return std::string(info.param.name);
                         });

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

// Ranks that have compiled different things find out before the first step.
TEST(MessageCommunicatorTest, ComparesPrograms) {
  CollectiveCase longer = getAllReduce();
  longer.members = {{RG_F32, {601}, {601}}};
  CollectiveProgram first(2, {getAllReduce()}), second(2, {longer});
  std::vector<std::unique_ptr<SocketTransport>> transports =
      SocketTransport::connect(2);
  MessageCommunicator zero(*transports[0], 20), one(*transports[1], 20);
  Failure failure, other;
  std::thread thread([&] { other = one.prepare(second.getTables(), false); });
  failure = zero.prepare(first.getTables(), false);
  thread.join();
  ASSERT_TRUE(failure && other);
  EXPECT_EQ(failure.getCode(), RG_ERROR_MISMATCH);
  EXPECT_EQ(failure.getMessage(), "mismatch: ranks 0 and 1 have programs with "
                                  "different collectives of group [0, 1]");
  EXPECT_EQ(other.getMessage(), "mismatch: ranks 1 and 0 have programs with "
                                "different collectives of group [0, 1]");
}

/// A transport that changes a bit of each message that it sends, as long as
/// there are some to change, or sends the one before it.
class DamagingTransport : public MessageTransport {
public:
  explicit DamagingTransport(MessageTransport &transport)
      : transport(transport) {}

  int32_t getRank() const override { return transport.getRank(); }
  int32_t getNumRanks() const override { return transport.getNumRanks(); }
  Result<uint64_t> send(int32_t to, int32_t channel, const void *data,
                        int64_t bytes) override {
    const char *begin = static_cast<const char *>(data);
    std::vector<char> &copy = copies.emplace_back(begin, begin + bytes);
    if (numSent++ == damaged)
      copy[size_t(byte)] = char(copy[size_t(byte)] ^ (1 << (byte % 8)));
    return transport.send(to, channel, copy.data(), bytes);
  }
  Result<uint64_t> receive(int32_t from, int32_t channel, void *data,
                           int64_t bytes) override {
    return transport.receive(from, channel, data, bytes);
  }
  Result<bool> test(uint64_t number) override { return transport.test(number); }
  void abort() override { transport.abort(); }

  /// Which message, of those of data and of checksums, and where.
  int64_t damaged = -1, byte = 0;

private:
  MessageTransport &transport;
  std::deque<std::vector<char>> copies;
  int64_t numSent = 0;
};

TEST(CheckedTransportTest, FindsEveryChangedByte) {
  constexpr int64_t kBytes = 77;
  for (int64_t byte = -1; byte < kBytes; ++byte) {
    std::vector<std::unique_ptr<SocketTransport>> sockets =
        SocketTransport::connect(2);
    DamagingTransport damaging(*sockets[0]);
    damaging.damaged = byte < 0 ? -1 : 2;
    damaging.byte = byte;
    CheckedTransport sender(damaging), receiver(*sockets[1]);
    std::vector<char> data(kBytes, 'x'), received(kBytes);
    for (bool isFirst : {true, false}) {
      Result<uint64_t> sent = sender.send(1, 0, data.data(), kBytes);
      Result<uint64_t> number = receiver.receive(0, 0, received.data(), kBytes);
      ASSERT_TRUE(sent && number);
      ASSERT_TRUE(*sender.test(*sent));
      Result<bool> done = receiver.test(*number);
      if (isFirst || byte < 0)
        ASSERT_TRUE(done && *done) << byte;
      else
        ASSERT_EQ(done ? "" : done.getMessage(),
                  "a message of rank 0 is damaged: its checksum is another one")
            << byte;
    }
  }
}

/// A transport that does not come back from looking at a message.
class StuckTransport : public MessageTransport {
public:
  explicit StuckTransport(MessageTransport &transport) : transport(transport) {}

  int32_t getRank() const override { return transport.getRank(); }
  int32_t getNumRanks() const override { return transport.getNumRanks(); }
  Result<uint64_t> send(int32_t to, int32_t channel, const void *data,
                        int64_t bytes) override {
    return transport.send(to, channel, data, bytes);
  }
  Result<uint64_t> receive(int32_t from, int32_t channel, void *data,
                           int64_t bytes) override {
    return transport.receive(from, channel, data, bytes);
  }
  Result<bool> test(uint64_t) override {
    while (true)
      pause();
  }
  void abort() override { transport.abort(); }

private:
  MessageTransport &transport;
};

/// Two ranks that tell each other what they have compiled.
void prepareStuck() {
  CollectiveProgram program(2, {getAllReduce()});
  std::vector<std::unique_ptr<SocketTransport>> sockets =
      SocketTransport::connect(2);
  StuckTransport stuck(*sockets[0]);
  MessageCommunicator zero(stuck, 0.01), one(*sockets[1], 60);
  std::thread thread([&] { (void)one.prepare(program.getTables(), false); });
  (void)zero.prepare(program.getTables(), false);
  thread.join();
}

TEST(GuardedTransportTest, EndsAProcessWhoseCallsDoNotReturn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      prepareStuck(), testing::ExitedWithCode(GuardedTransport::kExitCode),
      "timeout: rank 0 is in a call of the message library that has not "
      "returned for 2 seconds; it is between steps; the process ends");
}

/// How two ranks of a mesh with two axes fail that prepare different programs.
std::string compareOrders(const std::vector<int32_t> &first,
                          const std::vector<int32_t> &second) {
  auto getProgram = [](const std::vector<int32_t> &order) {
    regather::test::TestProgram test;
    test.ranks = 2;
    int32_t axes[] = {test.addAxes({2}, {1}), test.addAxes({1}, {1})};
    using regather::test::arena;
    for (int32_t each : order)
      test.add(RG_OP_COLLECTIVE,
               test.addCollective(RG_ALL_REDUCE, axes[each], 1, 1),
               {arena(0), arena(1)}, 1);
    return test;
  };
  std::vector<std::unique_ptr<SocketTransport>> transports =
      SocketTransport::connect(2);
  MessageCommunicator zero(*transports[0], 20), one(*transports[1], 20);
  regather::test::TestProgram mine = getProgram(first),
                              theirs = getProgram(second);
  rg_program tables = mine.get(), otherTables = theirs.get();
  Failure failure, other;
  std::thread thread([&] { other = one.prepare(otherTables, false); });
  failure = zero.prepare(tables, false);
  thread.join();
  EXPECT_EQ(failure ? failure.getCode() : 0, other ? other.getCode() : 0);
  return failure ? failure.getMessage() : "";
}

// A fingerprint for each communicator says where programs differ.
TEST(MessageCommunicatorTest, SaysWhichGroupDiffers) {
  std::string who = "mismatch: ranks 0 and 1 have programs with different "
                    "collectives";
  EXPECT_EQ(compareOrders({0, 1}, {0, 1}), "");
  EXPECT_EQ(compareOrders({0, 1, 1}, {0, 1}), who + " of group [0]");
  EXPECT_EQ(compareOrders({0, 0, 1}, {0, 1}), who + " of group [0, 1]");
  EXPECT_EQ(compareOrders({0, 1}, {1, 0}),
            who + ": those of different groups start in another order");
}

} // namespace
