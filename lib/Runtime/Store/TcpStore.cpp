//===- TcpStore.cpp - A store that rank 0 serves --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TcpStore.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;
using Clock = std::chrono::steady_clock;

/// The server answers in time even if it is to say that something is missing;
/// only a process that has stopped, or a machine that is gone, takes longer.
static double getReplyPatience(double seconds) {
  return std::clamp(seconds / 4, 1.0, 10.0);
}

static std::string formatSeconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g seconds", seconds);
  return text;
}

static double getElapsed(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Tries all addresses of a host once.
static Socket tryConnect(const std::string &address, int32_t port,
                         std::string &reason) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo *list = nullptr;
  int error =
      getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error) {
    reason = gai_strerror(error);
    return Socket();
  }
  Socket socket;
  for (addrinfo *item = list; item && !socket; item = item->ai_next) {
    Socket candidate(::socket(item->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (candidate &&
        ::connect(candidate.get(), item->ai_addr, item->ai_addrlen) == 0)
      socket = std::move(candidate);
    else
      reason = std::strerror(errno);
  }
  freeaddrinfo(list);
  return socket;
}

Failure TcpStore::open(const LaunchEnvironment &environment) {
  Clock::time_point begin = Clock::now();
  std::string reason;
  // Rank 0 may start later than others.
  constexpr std::chrono::milliseconds kLongestPause(500);
  for (std::chrono::milliseconds pause(10);;
       pause = std::min(2 * pause, kLongestPause)) {
    socket = tryConnect(environment.address, environment.port, reason);
    if (socket)
      return Failure();
    if (getElapsed(begin) > seconds)
      return "rank 0 does not answer at " + environment.address + ":" +
             std::to_string(environment.port) + " within " +
             formatSeconds(seconds) + ": " + reason;
    std::this_thread::sleep_for(pause);
  }
}

Failure TcpStore::connect(const LaunchEnvironment &given, double newSeconds) {
  seconds = newSeconds;
  if (given.ranks == 1)
    return Failure();
  LaunchEnvironment environment = given;
  if (environment.rank == 0) {
    server = std::make_unique<StoreServer>(environment, seconds);
    if (Failure failure = server->start())
      return failure;
    environment.address = environment.getListenAddress();
    if (environment.address == LaunchEnvironment::kAnyInterface)
      environment.address = "localhost";
    environment.port = server->getPort();
  }
  if (Failure failure = open(environment))
    return failure;
  return request({"hello", std::to_string(environment.rank),
                  std::to_string(environment.ranks),
                  std::to_string(environment.restart), environment.token})
      .getFailure();
}

Result<std::string> TcpStore::request(const StoreMessage &request,
                                      double waitSeconds) {
  std::lock_guard<std::mutex> lock(mutex);
  Failure lost("the connection to rank 0 is lost: has it ended?");
  if (!socket.send(encodeStoreMessage(request)))
    return lost;
  Clock::time_point begin = Clock::now();
  StoreMessage reply;
  while (true) {
    StoreDecoding state = decodeStoreMessage(received, reply);
    if (state == StoreDecoding::Complete && takeNotice(reply))
      continue;
    if (state == StoreDecoding::Complete && reply.size() == 2)
      break;
    if (state != StoreDecoding::Incomplete)
      return Failure("what answers in place of rank 0 is another program");
    pollfd file = {socket.get(), POLLIN, 0};
    double rest = waitSeconds + getReplyPatience(seconds) - getElapsed(begin);
    if (rest <= 0 || poll(&file, 1, int(rest * 1000) + 1) == 0)
      return Failure("rank 0 does not answer any more");
    if (file.revents && !socket.receive(received))
      return lost;
  }
  if (reply[0] != "ok")
    return Failure(reply[1]);
  return reply[1];
}

Failure TcpStore::set(const std::string &key, const std::string &value) {
  return request({"set", key, value}).getFailure();
}

Result<std::string> TcpStore::get(const std::string &key, int32_t owner) {
  return request({"get", key, std::to_string(owner)});
}

Failure TcpStore::put(const std::string &key, const std::string &value) {
  return request({"put", key, value}).getFailure();
}

Result<std::string> TcpStore::take(const std::string &key) {
  return request({"take", key});
}

Failure TcpStore::barrier(const std::string &name) {
  if (!socket)
    return Failure();
  return request({"barrier", name}).getFailure();
}

Failure TcpStore::callRoll(const std::string &name,
                           const std::vector<int32_t> &group,
                           double rollSeconds) {
  if (!socket)
    return Failure();
  StoreMessage call = {"roll", name, std::to_string(rollSeconds)};
  for (int32_t rank : group)
    call.push_back(std::to_string(rank));
  return request(call, rollSeconds).getFailure();
}

bool TcpStore::takeNotice(const StoreMessage &message) {
  // The first that has ended is the cause of others that do.
  if (message.size() == 2 && message[0] == "died")
    dead = dead.empty() ? message[1] : dead;
  else if (message.size() == 1 && message[0] == "bye")
    isClosed = true;
  else
    return false;
  return true;
}

void TcpStore::leave() {
  std::lock_guard<std::mutex> lock(mutex);
  if (socket)
    socket.send(encodeStoreMessage({"leave"}));
}

void TcpStore::tellFailure(const std::string &reason) {
  std::lock_guard<std::mutex> lock(mutex);
  if (socket)
    socket.send(encodeStoreMessage({"failed", reason}));
}

std::string TcpStore::describeDead() {
  // Whoever waits for a reply takes the notices before it.
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock || !socket || isClosed || !dead.empty())
    return lock ? dead : "";
  StoreMessage notice;
  auto takeNotices = [&] {
    while (decodeStoreMessage(received, notice) == StoreDecoding::Complete)
      takeNotice(notice);
  };
  // A notice may have come together with the last reply.
  takeNotices();
  pollfd file = {socket.get(), POLLIN, 0};
  while (poll(&file, 1, 0) > 0 && !isClosed) {
    bool isOpen = socket.receive(received);
    takeNotices();
    if (!isOpen && !isClosed && dead.empty())
      dead = "rank 0 has ended before the job has";
    if (!isOpen)
      break;
  }
  return dead;
}

void TcpStore::sayAlive() {
  std::lock_guard<std::mutex> lock(mutex);
  if (socket)
    socket.send(encodeStoreMessage({"alive"}));
}

std::string TcpStore::describeSilent(double silentSeconds) {
  // Whoever has ended is known to be silent.
  if (!socket || !describeDead().empty())
    return "";
  Result<std::string> text =
      request({"silent", std::to_string(silentSeconds)}, /*waitSeconds=*/0);
  return text ? *text : text.getMessage();
}

Result<bool> TcpStore::agreeToStop(int64_t step, bool wants) {
  if (!socket)
    return wants;
  Result<std::string> last =
      request({"stop", std::to_string(step), wants ? "1" : "0"});
  // Rank 0 may have finished its steps before this one, where no collective
  // keeps them together. If it has failed, collectives say so.
  if (!last && !wants)
    return false;
  if (!last)
    return last.getFailure();
  bool stops =
      !last->empty() && step >= std::strtoll(last->c_str(), nullptr, 10);
  // Results of different steps must not be saved as one.
  if (stops)
    if (Failure failure = barrier("the end after step " + std::to_string(step)))
      return failure;
  return stops;
}
