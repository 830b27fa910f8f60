//===- TcpStoreTest.cpp - A store that rank 0 serves ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are processes.
//
//===----------------------------------------------------------------------===//

#include "../FailureMessage.h"
#include "Store/RankGather.h"
#include "Store/StoreMessage.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cerrno>
#include <ctime>
#include <functional>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

namespace {

/// A port that nobody listens on.
int32_t getFreePort() {
  Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr *>(&address), length),
            0);
  getsockname(socket.get(), reinterpret_cast<sockaddr *>(&address), &length);
  return ntohs(address.sin_port);
}

LaunchEnvironment getEnvironment(int32_t rank, int32_t ranks, int32_t port) {
  LaunchEnvironment environment;
  environment.rank = rank;
  environment.ranks = ranks;
  environment.port = port;
  return environment;
}

using Body = std::function<std::string(int32_t rank)>;

/// Runs `body` in a process for each of the ranks and returns what they return.
std::vector<std::string> runProcesses(const std::vector<int32_t> &ranks,
                                      const Body &body) {
  std::vector<int> pipes;
  std::vector<pid_t> processes;
  for (int32_t rank : ranks) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    pid_t process = fork();
    if (process == 0) {
      std::string text = body(rank);
      ssize_t written = write(ends[1], text.data(), text.size());
      _exit(written == ssize_t(text.size()) ? 0 : 1);
    }
    close(ends[1]);
    pipes.push_back(ends[0]);
    processes.push_back(process);
  }
  std::vector<std::string> results;
  for (size_t i = 0; i < ranks.size(); ++i) {
    std::string text;
    char buffer[1024];
    for (ssize_t count = 0;
         (count = ::read(pipes[i], buffer, sizeof(buffer))) > 0;)
      text.append(buffer, size_t(count));
    close(pipes[i]);
    int status = 0;
    waitpid(processes[i], &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    results.push_back(text);
  }
  return results;
}

/// The body of a rank that is to fail to connect.
Body connect(int32_t ranks, int32_t port, double seconds) {
  return [=](int32_t rank) {
    TcpStore store;
    Failure failure = store.connect(getEnvironment(rank, ranks, port), seconds);
    return failure ? failure.getMessage() : "connected";
  };
}

/// Gathers tensors of some sizes on rank 0 and says what went wrong there, or
/// how many bytes came.
Body gather(int32_t ranks, int32_t port, double seconds,
            const std::vector<int64_t> &sizes) {
  return [=](int32_t rank) {
    TcpStore store;
    if (Failure failure =
            store.connect(getEnvironment(rank, ranks, port), seconds))
      return failure.getMessage();
    RankGather gather(store, rank, ranks);
    int64_t numGood = 0;
    // Rank 3 ends before the last one, if there are four.
    size_t count = sizes.size() - (rank == 3 ? 1 : 0);
    for (size_t i = 0; i < count; ++i) {
      auto size = size_t(sizes[i]);
      std::string value(size, char('a' + rank));
      std::vector<std::string> parts(size_t(ranks), std::string(size, ' '));
      std::vector<char *> places;
      for (std::string &part : parts)
        places.push_back(part.data());
      if (Failure failure = gather.gather(value.data(), sizes[i],
                                          rank == 0 ? places.data() : nullptr))
        return failure.getMessage();
      for (int32_t other = 0; rank == 0 && other < ranks; ++other)
        numGood += parts[size_t(other)] == std::string(size, char('a' + other));
    }
    return std::to_string(numGood);
  };
}

TEST(RankGatherTest, CollectsWhatNeedsManyPieces) {
  // More than two pieces, none, and one.
  EXPECT_EQ(
      runProcesses({2, 0, 1}, gather(3, getFreePort(), 60, {2500000, 0, 7})),
      (std::vector<std::string>{"0", "9", "0"}));
}

TEST(RankGatherTest, NamesARankThatHasEnded) {
  // The others may hear first that rank 0 has given up.
  EXPECT_EQ(
      runProcesses({0, 1, 2, 3}, gather(4, getFreePort(), 60, {5, 2500000}))[0],
      "rank 3 has ended");
}

TEST(RankGatherTest, NamesARankThatDoesNotCome) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    if (rank == 0)
      return gather(2, port, 1, {5})(rank);
    TcpStore store;
    Failure failure = store.connect(getEnvironment(rank, 2, port), 1);
    sleep(3);
    return getMessage(failure);
  };
  EXPECT_EQ(runProcesses({0, 1}, body)[0],
            "the results of rank 1 did not arrive within 1 seconds");
}

TEST(TcpStoreTest, ExchangesValues) {
  const int32_t ranks = 4, port = getFreePort();
  Body body = [=](int32_t rank) {
    TcpStore store;
    Failure failure = store.connect(getEnvironment(rank, ranks, port), 60);
    // As long as an id of NCCL, with bytes that are no text.
    if (!failure)
      failure = store.set(std::to_string(rank), std::string(128, char(rank)));
    std::string text;
    for (int32_t other = 0; !failure && other < ranks; ++other) {
      Result<std::string> value = store.get(std::to_string(other), other);
      failure = value.getFailure();
      if (value && *value == std::string(128, char(other)))
        text += std::to_string(other);
    }
    if (!failure)
      failure = store.barrier("end");
    return failure ? failure.getMessage() : text;
  };
  EXPECT_EQ(runProcesses({3, 1, 0, 2}, body),
            std::vector<std::string>(4, "0123"));
}

TEST(TcpStoreTest, NamesRanksThatDoNotArrive) {
  const int32_t port = getFreePort();
  std::string expected = "ranks 1, 3 of 4 did not arrive within 0.5 seconds at "
                         "127.0.0.1:" +
                         std::to_string(port);
  EXPECT_EQ(runProcesses({0, 2}, connect(4, port, 0.5)),
            std::vector<std::string>(2, expected));
}

TEST(TcpStoreTest, NamesRanksThatDoNotComeToABarrier) {
  const int32_t port = getFreePort();
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  Body body = [=](int32_t rank) {
    TcpStore store;
    if (Failure failure = store.connect(getEnvironment(rank, 3, port), 0.5))
      return failure.getMessage();
    // The last rank does something else until the first one is done.
    char byte = 0;
    if (rank == 2)
      return std::to_string(::read(ends[0], &byte, 1));
    Failure failure = store.barrier("end");
    if (rank == 0 && write(ends[1], &byte, 1) != 1)
      return std::string("the last rank does not end");
    return getMessage(failure);
  };
  std::string expected = "rank 2 of 3 did not come to 'end' within 0.5 seconds";
  EXPECT_EQ(runProcesses({0, 1, 2}, body),
            std::vector<std::string>({expected, expected, "1"}));
  close(ends[0]);
  close(ends[1]);
}

// Ranks that wait for something else hear of it, too.
TEST(TcpStoreTest, FindsOutWhoDoesNotAnswer) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    TcpStore store;
    Failure failure = store.connect(getEnvironment(rank, 5, port), 20);
    if (!failure)
      failure = store.callRoll("all", {0, 1, 2, 3, 4}, 20);
    if (failure)
      return failure.getMessage();
    if (rank == 3)
      return getMessage(store.barrier("end"));
    if (rank != 4)
      return getMessage(store.callRoll("some", {1, 2, 0, 4}, 0.5));
    sleep(2);
    return std::string();
  };
  std::string expected = "rank 4 of 5 did not answer within 0.5 seconds";
  EXPECT_EQ(
      runProcesses({0, 1, 2, 3, 4}, body),
      (std::vector<std::string>{expected, expected, expected, expected, ""}));
}

TEST(TcpStoreTest, NamesWhoHasNotSetAKey) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    TcpStore store;
    if (Failure failure = store.connect(getEnvironment(rank, 2, port), 0.5))
      return failure.getMessage();
    return getMessage(store.get("id", 1));
  };
  EXPECT_EQ(runProcesses({0, 1}, body)[0],
            "rank 1 has not set 'id' within 0.5 seconds");
}

TEST(TcpStoreTest, NoticesRanksThatEnd) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    TcpStore store;
    Failure failure = store.connect(getEnvironment(rank, 2, port), 60);
    if (!failure && rank == 0)
      failure = store.barrier("end");
    return getMessage(failure);
  };
  EXPECT_EQ(runProcesses({0, 1}, body)[0], "rank 1 has ended");
}

/// What a rank hears of two others while it does nothing, one of which ends
/// without a word.
std::string hearOfDead(int32_t rank, int32_t port, int32_t silent) {
  TcpStore store;
  if (Failure failure = store.connect(getEnvironment(rank, 3, port), 60))
    return failure.getMessage();
  if (rank == silent)
    return "";
  std::string text;
  for (int i = 0; text.empty() && i < 2000 && silent >= 0; ++i) {
    usleep(1000);
    text = store.describeDead();
  }
  if (rank == 0 || silent == 0) {
    store.leave();
    return text;
  }
  // Rank 0 ends as it should, or not at all.
  for (int i = 0; text.empty() && i < 300; ++i) {
    usleep(1000);
    text = store.describeDead();
  }
  store.leave();
  return text;
}

TEST(TcpStoreTest, TellsWhoHasEndedWithoutAWord) {
  for (int32_t silent : {0, 2, -1}) {
    const int32_t port = getFreePort();
    std::string text = silent < 0
                           ? ""
                           : "rank " + std::to_string(silent) +
                                 (silent ? " of 3 has ended before the job has"
                                         : " has ended before the job has");
    std::vector<std::string> expected(3, text);
    if (silent >= 0)
      expected[size_t(silent)] = "";
    std::vector<std::string> heard = runProcesses({0, 1, 2}, [=](int32_t rank) {
      return hearOfDead(rank, port, silent);
    });
    // The socket of rank 0 ends before its server does.
    for (std::string &each : heard)
      if (silent == 0 && each == "rank 0 of 3 has ended before the job has")
        each = text;
    EXPECT_EQ(heard, expected) << silent;
  }
}

/// A server that writes the reply to a rank's first request and a notice at
/// once.
TEST(TcpStoreTest, TakesNoticesThatCameWithTheReply) {
  const int32_t port = getFreePort();
  Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(uint16_t(port));
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr *>(&address),
                 sizeof(address)),
            0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  Socket client;
  std::thread server([&] {
    client = Socket(::accept(listener.get(), nullptr, nullptr));
    client.send(encodeStoreMessage({"ok", ""}) +
                encodeStoreMessage({"died", "rank 2 has ended"}));
  });
  TcpStore store;
  Failure failure = store.connect(getEnvironment(1, 3, port), 60);
  server.join();
  EXPECT_FALSE(failure) << failure.getMessage();
  EXPECT_EQ(store.describeDead(), "rank 2 has ended");
}

TEST(TcpStoreTest, TellsWhoHasEndedFirstAndWhy) {
  for (int32_t first : {0, 2}) {
    const int32_t port = getFreePort();
    Body body = [=](int32_t rank) {
      TcpStore store;
      if (Failure failure = store.connect(getEnvironment(rank, 3, port), 60))
        return failure.getMessage();
      if (rank == first) {
        store.tellFailure("a fault");
        return std::string();
      }
      // Rank 1 ends because of the first, and the other one looks after that.
      if (rank != 1)
        usleep(300000);
      std::string text;
      for (int i = 0; text.empty() && i < 2000; ++i) {
        usleep(1000);
        text = store.describeDead();
      }
      return text;
    };
    std::string text = "rank " + std::to_string(first) +
                       " of 3 has ended before the job has: a fault";
    std::vector<std::string> expected(3, text);
    expected[size_t(first)] = "";
    EXPECT_EQ(runProcesses({0, 1, 2}, body), expected);
  }
}

TEST(TcpStoreTest, WaitsForRankZeroNoLongerThanItMay) {
  int32_t port = getFreePort();
  EXPECT_EQ(runProcesses({1}, connect(2, port, 0.2))[0],
            "rank 0 does not answer at 127.0.0.1:" + std::to_string(port) +
                " within 0.2 seconds: Connection refused");
}

TEST(TcpStoreTest, RefusesRanksOfAnotherSize) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    return connect(rank ? 4 : 2, port, 60)(rank);
  };
  std::string expected = "rank 1 was started with 4 ranks, but rank 0 with 2";
  EXPECT_EQ(runProcesses({0, 1}, body), std::vector<std::string>(2, expected));
}

TEST(TcpStoreTest, RefusesTwoEqualRanks) {
  std::vector<std::string> messages =
      runProcesses({0, 1, 1}, connect(3, getFreePort(), 60));
  EXPECT_EQ(messages, std::vector<std::string>(3, "two processes are rank 1"));
}

TEST(TcpStoreTest, SaysThatThePortIsTaken) {
  StoreServer other(getEnvironment(0, 1, 0), 1);
  ASSERT_EQ(getMessage(other.start()), "");
  TcpStore store;
  EXPECT_EQ(getMessage(store.connect(getEnvironment(0, 2, other.getPort()), 1)),
            "rank 0 cannot listen on '127.0.0.1', port " +
                std::to_string(other.getPort()) + ": Address already in use");
}

/// A connection to a server on this machine; none if it does not listen.
Socket connectTo(int32_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(socket.get(), reinterpret_cast<sockaddr *>(&address),
                   sizeof(address)) == 0
             ? std::move(socket)
             : Socket();
}

/// True if the other side ends the connection within two seconds.
bool isEnded(const Socket &socket) {
  timeval time = {2, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
  std::string bytes;
  errno = 0;
  while (socket.receive(bytes))
    ;
  return errno == 0 || errno == ECONNRESET;
}

LaunchEnvironment withToken(LaunchEnvironment environment, const char *token) {
  environment.token = token;
  return environment;
}

// Whoever else connects does not stop the ranks.
TEST(TcpStoreTest, IgnoresStrangers) {
  StoreServer server(withToken(getEnvironment(0, 2, 0), "ours"), 60);
  ASSERT_EQ(getMessage(server.start()), "");
  const int32_t port = server.getPort();
  // Requests of nobody, one that is longer than a first message may be, and a
  // rank without the token.
  for (const StoreMessage &request :
       {StoreMessage{"set", "key", "value"}, StoreMessage{"hello", "1", "2"},
        StoreMessage{"hello", std::string(2000, '1')},
        StoreMessage{"hello", "1", "2", "0", "theirs"}}) {
    Socket socket = connectTo(port);
    ASSERT_TRUE(bool(socket));
    socket.send(encodeStoreMessage(request));
    EXPECT_TRUE(isEnded(socket)) << request[0];
  }
  Socket silent = connectTo(port);
  // Rank 0 itself would serve.
  Socket zero = connectTo(port);
  zero.send(encodeStoreMessage({"hello", "0", "2", "0", "ours"}));
  std::thread other([&] {
    StoreMessage reply;
    std::string received;
    while (decodeStoreMessage(received, reply) != StoreDecoding::Complete)
      ASSERT_TRUE(zero.receive(received));
    EXPECT_EQ(reply[0], "ok");
    // All are here: nobody can come any more, and strangers are sent away.
    EXPECT_TRUE(isEnded(silent));
    EXPECT_FALSE(bool(connectTo(port)));
    zero.send(encodeStoreMessage({"barrier", "end"}));
  });
  TcpStore store;
  EXPECT_EQ(getMessage(store.connect(
                withToken(getEnvironment(1, 2, port), "ours"), 60)),
            "");
  EXPECT_EQ(getMessage(store.barrier("end")), "");
  other.join();
}

TEST(TcpStoreTest, SaysWhomItHasRefused) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    TcpStore store;
    return getMessage(store.connect(
        withToken(getEnvironment(rank, 2, port), rank ? "theirs" : "ours"),
        0.5));
  };
  std::string refusal = "a process that says to be rank 1 belongs to another "
                        "job than rank 0";
  EXPECT_EQ(runProcesses({0, 1}, body),
            (std::vector<std::string>{
                "rank 1 of 2 did not arrive within 0.5 seconds at 127.0.0.1:" +
                    std::to_string(port) + "; " + refusal,
                refusal}));
}

// Strangers cannot fill the memory or the table of descriptors of rank 0.
TEST(TcpStoreTest, HoldsOnlySoManyConnections) {
  StoreServer server(getEnvironment(0, 2, 0), 60);
  ASSERT_EQ(getMessage(server.start()), "");
  std::vector<Socket> sockets;
  for (int i = 0; i < 80; ++i) {
    sockets.push_back(connectTo(server.getPort()));
    ASSERT_TRUE(bool(sockets.back()));
  }
  EXPECT_TRUE(isEnded(sockets.front()));
}

// A rank that has lost its way cannot do so, either.
TEST(TcpStoreTest, HoldsOnlySoManyValues) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    TcpStore store;
    Failure failure = store.connect(getEnvironment(rank, 2, port), 60);
    std::string value(kMaxStoreMessage / 2, 'x');
    for (int i = 0; !failure && rank == 1 && i < 80; ++i)
      // The same key again takes no more.
      failure = store.set(std::to_string(i / 2), value);
    static_cast<void>(store.barrier("end"));
    return getMessage(failure).substr(0, 20);
  };
  EXPECT_EQ(runProcesses({0, 1}, body),
            (std::vector<std::string>{"", "the store holds 1835"}));
}

// Out of descriptors, the server waits; when there are some again, it goes on.
TEST(TcpStoreTest, WaitsForDescriptors) {
  Body body = [](int32_t) -> std::string {
    StoreServer server(getEnvironment(0, 2, 0), 60);
    if (Failure failure = server.start())
      return failure.getMessage();
    Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(uint16_t(server.getPort()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 100;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::vector<Socket> others;
    while (others.empty() || others.back())
      others.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
    // The system accepts it in place of the server.
    bool isConnected =
        ::connect(socket.get(), reinterpret_cast<sockaddr *>(&address),
                  sizeof(address)) == 0;
    std::clock_t begin = std::clock();
    usleep(400000);
    double used = double(std::clock() - begin) / CLOCKS_PER_SEC;
    others.clear();
    socket.send(encodeStoreMessage({"hello", "7", "2", "0", ""}));
    bool isAnswered = isConnected && isEnded(socket);
    return std::string(used < 0.1 ? "idle" : "busy") +
           (isAnswered ? ", answered" : ", lost");
  };
  EXPECT_EQ(runProcesses({0}, body)[0], "idle, answered");
}

TEST(TcpStoreTest, ListensOnOneInterface) {
  // The whole of 127.0.0.0/8 are addresses of this machine.
  const std::pair<const char *, std::vector<bool>> cases[] = {
      {"localhost", {true, false, false}},
      {"127.0.0.2", {false, true, false}},
      {"*", {true, true, true}}};
  for (const auto &[address, isOpen] : cases)
    for (bool isGiven : {false, true}) {
      LaunchEnvironment environment = getEnvironment(0, 2, 0);
      (isGiven ? environment.listenAddress : environment.address) = address;
      StoreServer server(environment, 60);
      ASSERT_EQ(getMessage(server.start()), "") << address;
      for (uint32_t i = 0; i < 3; ++i) {
        Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in place = {};
        place.sin_family = AF_INET;
        place.sin_port = htons(uint16_t(server.getPort()));
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK + i);
        EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr *>(&place),
                            sizeof(place)) == 0,
                  isOpen[i])
            << address << " " << i;
      }
    }
}

TEST(TcpStoreTest, RanksMeetOnAnotherInterface) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    LaunchEnvironment environment = getEnvironment(rank, 2, port);
    environment.address = "127.0.0.3";
    TcpStore store;
    return getMessage(store.connect(environment, 60)) +
           getMessage(store.barrier("end"));
  };
  EXPECT_EQ(runProcesses({0, 1}, body), std::vector<std::string>(2));
}

TEST(TcpStoreTest, SaysThatAnAddressIsElsewhere) {
  // Reserved for documentation: no machine has it.
  LaunchEnvironment environment = getEnvironment(0, 2, 29999);
  environment.address = "192.0.2.1";
  EXPECT_EQ(getMessage(StoreServer(environment, 60).start()),
            "rank 0 cannot listen on '192.0.2.1', port 29999: it is no address "
            "of this machine; REGATHER_LISTEN_ADDRESS can name one that is, or "
            "'*' for all");
}

// A client that sends a byte at a time, as slowly as it may, and garbage from
// many others hold up no rank.
TEST(TcpStoreTest, GoesOnAmongSlowAndNoisyStrangers) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    TcpStore store;
    return getMessage(store.connect(
               withToken(getEnvironment(rank, 2, port), "ours"), 60)) +
           getMessage(store.barrier("end"));
  };
  std::atomic<bool> isOver(false);
  std::thread strangers([&] {
    std::string hello = encodeStoreMessage({"hello", "1", "2", "0", "theirs"});
    std::vector<Socket> slow;
    uint32_t random = 1;
    for (size_t round = 0; !isOver; ++round) {
      if (slow.size() < 20)
        slow.push_back(connectTo(port));
      for (const Socket &socket : slow)
        if (socket)
          socket.send(hello.substr(round % hello.size(), 1));
      std::string garbage;
      for (int i = 0; i < 3000; ++i)
        garbage += char((random = random * 1664525 + 1013904223) >> 24);
      if (Socket noisy = connectTo(port))
        noisy.send(garbage);
    }
  });
  usleep(50000);
  std::vector<std::string> results = runProcesses({0, 1}, body);
  isOver = true;
  strangers.join();
  EXPECT_EQ(results, std::vector<std::string>(2));
}

// What no rank of ours asks for ends the connection, and not rank 0.
TEST(TcpStoreTest, RefusesRequestsThatMeanNothing) {
  for (const StoreMessage &request :
       {// A rank that is none, of which a barrier of this name would leave the
        // roll behind.
        StoreMessage{"roll", "end", "10", "7"},
        StoreMessage{"roll", "end", "nan", "0"},
        StoreMessage{"roll", "end", "-1e300", "0"},
        StoreMessage{"roll", "end", "1", "-1"}, StoreMessage{"silent", "nan"},
        StoreMessage{"stop", "9223372036854775807", "1"},
        StoreMessage{"stop", "", "1"}}) {
    StoreServer server(getEnvironment(0, 2, 0), 60);
    ASSERT_EQ(getMessage(server.start()), "");
    std::vector<Socket> ranks;
    std::vector<std::string> received(2);
    for (int rank = 0; rank < 2; ++rank) {
      ranks.push_back(connectTo(server.getPort()));
      ranks[rank].send(
          encodeStoreMessage({"hello", std::to_string(rank), "2", "0", ""}));
    }
    StoreMessage reply;
    for (int rank = 0; rank < 2; ++rank)
      while (decodeStoreMessage(received[rank], reply) !=
             StoreDecoding::Complete)
        ASSERT_TRUE(ranks[rank].receive(received[rank]));
    ranks[0].send(encodeStoreMessage(request));
    EXPECT_TRUE(isEnded(ranks[0])) << request[0] << " " << request[1];
    // The other one hears of it, and is answered.
    ranks[1].send(encodeStoreMessage({"barrier", "end"}));
    std::vector<StoreMessage> replies;
    while (replies.size() < 2)
      if (decodeStoreMessage(received[1], reply) == StoreDecoding::Complete)
        replies.push_back(reply);
      else
        ASSERT_TRUE(ranks[1].receive(received[1]));
    EXPECT_EQ(replies[0][0], "died");
    EXPECT_EQ(replies[1], (StoreMessage{"error", "rank 0 has ended"}));
  }
}

// A rank that is asked to stop takes the others with it, after the same step.
TEST(TcpStoreTest, RanksStopAfterTheSameStep) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    TcpStore store;
    if (Failure failure = store.connect(getEnvironment(rank, 3, port), 60))
      return failure.getMessage();
    for (int64_t step = 0;; ++step) {
      // What the barrier stands for is the collectives of a step.
      if (Failure failure = store.barrier("step " + std::to_string(step)))
        return failure.getMessage();
      Result<bool> stops = store.agreeToStop(step, rank == 1 && step >= 5);
      if (!stops)
        return stops.getMessage();
      if (*stops)
        return std::to_string(step + 1);
    }
  };
  EXPECT_EQ(runProcesses({0, 1, 2}, body), std::vector<std::string>(3, "7"));
}

// Without collectives, rank 0 may have done all of its steps before another
// one.
TEST(TcpStoreTest, RanksGoOnWhenRankZeroHasFinished) {
  const int32_t port = getFreePort();
  Body body = [=](int32_t rank) {
    TcpStore store;
    if (Failure failure = store.connect(getEnvironment(rank, 2, port), 60))
      return failure.getMessage();
    if (rank == 0)
      return std::string("done");
    // Nobody sets the key: it is refused when rank 0 is gone.
    static_cast<void>(store.get("none", /*owner=*/0));
    Result<bool> stops = store.agreeToStop(/*step=*/0, /*wants=*/false);
    if (!stops)
      return stops.getMessage();
    return std::string(*stops ? "stopped" : "done");
  };
  EXPECT_EQ(runProcesses({0, 1}, body), std::vector<std::string>(2, "done"));
}

TEST(StoreMessageTest, KeepsTexts) {
  StoreMessage message = {"set", std::string("a\0b", 3), ""}, decoded;
  std::string bytes = encodeStoreMessage(message);
  std::string received;
  for (size_t i = 0; i + 1 < bytes.size(); ++i) {
    received += bytes[i];
    EXPECT_EQ(decodeStoreMessage(received, decoded), StoreDecoding::Incomplete);
  }
  received += bytes.back() + std::string("rest");
  EXPECT_EQ(decodeStoreMessage(received, decoded), StoreDecoding::Complete);
  EXPECT_EQ(decoded, message);
  EXPECT_EQ(received, "rest");
}

TEST(StoreMessageTest, RefusesWhatIsNone) {
  StoreMessage decoded;
  std::string tooLong = "\xff\xff\xff\x7f", empty(4, 0);
  std::string overlapping("\x05\0\0\0\x02\0\0\0a", 9);
  for (std::string *received : {&tooLong, &empty, &overlapping})
    EXPECT_EQ(decodeStoreMessage(*received, decoded), StoreDecoding::Malformed);
}

} // namespace
