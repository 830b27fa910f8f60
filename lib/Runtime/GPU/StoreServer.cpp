//===- StoreServer.cpp - Rank 0's side of the store -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoreServer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using namespace regather::runtime;

/// Longer lists of ranks are cut.
static constexpr size_t kMaxListed = 16;

//===----------------------------------------------------------------------===//
// Listening
//===----------------------------------------------------------------------===//

/// Listens for both versions of the protocol, or for the older one where the
/// system has but that.
static Socket listenOn(int32_t port) {
  for (int family : {AF_INET6, AF_INET}) {
    Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket)
      continue;
    int yes = 1, no = 0;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    sockaddr_storage address = {};
    socklen_t length = 0;
    if (family == AF_INET6) {
      setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
      auto *six = reinterpret_cast<sockaddr_in6 *>(&address);
      six->sin6_family = AF_INET6;
      six->sin6_port = htons(uint16_t(port));
      length = sizeof(*six);
    } else {
      auto *four = reinterpret_cast<sockaddr_in *>(&address);
      four->sin_family = AF_INET;
      four->sin_port = htons(uint16_t(port));
      length = sizeof(*four);
    }
    if (bind(socket.get(), reinterpret_cast<sockaddr *>(&address), length) ==
            0 &&
        listen(socket.get(), SOMAXCONN) == 0)
      return socket;
    if (errno == EADDRINUSE)
      break;
  }
  return Socket();
}

bool StoreServer::start(int32_t wanted, std::string &message) {
  listener = listenOn(wanted);
  int pipe[2] = {-1, -1};
  if (!listener || socketpair(AF_UNIX, SOCK_STREAM, 0, pipe) != 0) {
    message = "rank 0 cannot listen on port " + std::to_string(wanted) + ": " +
              std::strerror(errno);
    return false;
  }
  wakeReader = Socket(pipe[0]);
  wakeWriter = Socket(pipe[1]);
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &length);
  // The port is at the same place for both families.
  port = ntohs(reinterpret_cast<sockaddr_in *>(&address)->sin_port);
  thread = std::thread([this] { run(); });
  return true;
}

StoreServer::~StoreServer() {
  if (!thread.joinable())
    return;
  wakeWriter = Socket();
  thread.join();
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// What is wrong with the first message of a rank; empty if nothing is.
std::string StoreServer::admit(Client &client, const StoreMessage &hello) {
  auto rank = int32_t(std::strtol(hello[1].c_str(), nullptr, 10));
  if (hello[2] != std::to_string(ranks))
    return "rank " + hello[1] + " was started with " + hello[2] +
           " ranks, but rank 0 with " + std::to_string(ranks);
  if (hello[3] != std::to_string(restart))
    return "rank " + hello[1] + " belongs to start " + hello[3] +
           " of the job, but rank 0 to start " + std::to_string(restart);
  if (rank < 0 || rank >= ranks || !present.insert(rank).second)
    return "two processes are rank " + hello[1];
  client.rank = rank;
  return "";
}

bool StoreServer::handle(Client &client, const StoreMessage &request) {
  const std::string &what = request[0];
  bool isHello = what == "hello" && request.size() == 4 && client.rank < 0;
  bool isSet = what == "set" && request.size() == 3;
  bool isPut = what == "put" && request.size() == 3;
  bool isGet = (what == "get" || what == "take") && request.size() == 2;
  bool isBarrier = what == "barrier" && request.size() == 2;
  bool isStop = what == "stop" && request.size() == 3;
  if (!isHello && (client.rank < 0 ||
                   (!isSet && !isPut && !isGet && !isBarrier && !isStop)))
    return false;
  if (isHello) {
    std::string problem = admit(client, request);
    if (!problem.empty()) {
      // Whoever it is, the ranks that are waited for will not be complete.
      failure = problem;
      client.socket.send(encodeStoreMessage({"error", problem}));
      return false;
    }
  }
  if (isSet) {
    values[request[1]] = request[2];
    return client.socket.send(encodeStoreMessage({"ok", ""}));
  }
  if (isStop) {
    // The others may be in the next step already, but not after it.
    if (request[2] == "1" && !lastStep)
      lastStep = std::strtoll(request[1].c_str(), nullptr, 10) + 1;
    std::string last = lastStep ? std::to_string(*lastStep) : "";
    return client.socket.send(encodeStoreMessage({"ok", last}));
  }
  if (isBarrier)
    barriers[request[1]].insert(client.rank);
  auto wait = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(seconds));
  waiting.push_back({&client, request, Clock::now() + wait});
  return true;
}

static std::string listMissing(const std::set<int32_t> &present,
                               int32_t ranks) {
  std::string text;
  size_t number = 0;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    if (present.count(rank))
      continue;
    if (number++ == kMaxListed) {
      text += " and others";
      break;
    }
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  }
  return (number == 1 ? "rank " : "ranks ") + text;
}

/// Why a request could not be answered in time.
std::string StoreServer::describeMissing(const Waiting &item) const {
  char time[32];
  std::snprintf(time, sizeof(time), "%g seconds", seconds);
  const std::string &what = item.request[0];
  if (what == "hello")
    return listMissing(present, ranks) + " of " + std::to_string(ranks) +
           " did not arrive within " + time;
  if (what == "barrier")
    return listMissing(barriers.at(item.request[1]), ranks) + " of " +
           std::to_string(ranks) + " did not come to '" + item.request[1] +
           "' within " + time;
  if (what == "put")
    return item.request[1] + " were not taken within " + time;
  if (what == "take")
    return item.request[1] + " did not arrive within " + time;
  return "no rank has set '" + item.request[1] + "' within " + time;
}

bool StoreServer::isReady(const Waiting &item) const {
  const std::string &what = item.request[0];
  if (what == "hello")
    return present.size() == size_t(ranks);
  if (what == "barrier")
    return barriers.at(item.request[1]).size() == size_t(ranks);
  bool hasValue = values.count(item.request[1]) != 0;
  return what == "put" ? !hasValue : hasValue;
}

StoreMessage StoreServer::carryOut(Waiting &item) {
  const std::string &what = item.request[0], &key = item.request[1];
  StoreMessage reply = {"ok", ""};
  if (what == "put")
    values[key] = std::move(item.request[2]);
  else if (what == "get")
    reply[1] = values.at(key);
  else if (what == "take")
    reply[1] = std::move(values.extract(key).mapped());
  return reply;
}

void StoreServer::answerWaiting() {
  // What one rank waits for in vain, the others should not wait for, either.
  for (const Waiting &item : waiting)
    if (failure.empty() && Clock::now() >= item.deadline && !isReady(item))
      failure = describeMissing(item);
  // What one takes, another one may have waited to put.
  bool isDone = false;
  while (!isDone) {
    isDone = true;
    std::deque<Waiting> kept;
    for (Waiting &item : waiting) {
      bool isGood = isReady(item);
      if (!isGood && failure.empty()) {
        kept.push_back(std::move(item));
        continue;
      }
      StoreMessage reply =
          isGood ? carryOut(item) : StoreMessage{"error", failure};
      item.client->socket.send(encodeStoreMessage(reply));
      isDone = false;
    }
    waiting = std::move(kept);
  }
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void StoreServer::accept() {
  Socket socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket)
    clients.push_back({std::move(socket), "", -1});
}

bool StoreServer::read(Client &client) {
  if (!client.socket.receive(client.received))
    return false;
  StoreMessage request;
  while (true) {
    switch (decodeStoreMessage(client.received, request)) {
    case StoreDecoding::Incomplete:
      return true;
    case StoreDecoding::Malformed:
      return false;
    case StoreDecoding::Complete:
      if (!handle(client, request))
        return false;
    }
  }
}

void StoreServer::remove(Client &client) {
  waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                               [&](const Waiting &item) {
                                 return item.client == &client;
                               }),
                waiting.end());
  // Whoever waits for it, or begins to, waits for ever.
  if (client.rank >= 0 && failure.empty())
    failure = "rank " + std::to_string(client.rank) + " has ended";
  client.socket = Socket();
}

void StoreServer::run() {
  while (true) {
    std::vector<pollfd> files = {{wakeReader.get(), POLLIN, 0},
                                 {listener.get(), POLLIN, 0}};
    std::vector<Client *> readers;
    for (Client &client : clients)
      if (client.socket) {
        files.push_back({client.socket.get(), POLLIN, 0});
        readers.push_back(&client);
      }
    Clock::duration pause = std::chrono::seconds(60);
    for (const Waiting &item : waiting)
      pause = std::min(pause, item.deadline - Clock::now());
    auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(pause).count();
    poll(files.data(), files.size(),
         waiting.empty() ? -1 : int(std::max<int64_t>(milliseconds, 0) + 1));
    if (files[0].revents)
      return;
    for (size_t i = 0; i < readers.size(); ++i)
      if (files[i + 2].revents && !read(*readers[i]))
        remove(*readers[i]);
    if (files[1].revents)
      accept();
    answerWaiting();
  }
}
