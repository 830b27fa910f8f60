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
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <numeric>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace regather::runtime;
using regather::Failure;

/// Longer lists of ranks are cut.
static constexpr size_t kMaxListed = 16;

//===----------------------------------------------------------------------===//
// Listening
//===----------------------------------------------------------------------===//

/// The addresses that a name stands for, those of the older protocol first: a
/// name of this machine may have one of each, and one is enough to be found.
static std::vector<sockaddr_storage>
resolve(const std::string &name, int32_t port, std::string &reason) {
  bool isAny = name == LaunchEnvironment::kAnyInterface;
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = isAny ? AI_PASSIVE : 0;
  addrinfo *list = nullptr;
  std::vector<sockaddr_storage> addresses;
  if (int code = getaddrinfo(isAny ? nullptr : name.c_str(),
                             std::to_string(port).c_str(), &hints, &list)) {
    reason = gai_strerror(code);
    return addresses;
  }
  for (int family : {AF_INET, AF_INET6})
    for (addrinfo *item = list; item; item = item->ai_next)
      if (item->ai_family == family)
        std::memcpy(&addresses.emplace_back(), item->ai_addr, item->ai_addrlen);
  freeaddrinfo(list);
  return addresses;
}

/// Listens on the first of the addresses that is one of this machine.
static Socket listenOn(const std::vector<sockaddr_storage> &addresses,
                       std::string &reason) {
  for (const sockaddr_storage &address : addresses) {
    bool isSix = address.ss_family == AF_INET6;
    Socket socket(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int yes = 1;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (socket &&
        bind(socket.get(), reinterpret_cast<const sockaddr *>(&address),
             isSix ? sizeof(sockaddr_in6) : sizeof(sockaddr_in)) == 0 &&
        listen(socket.get(), SOMAXCONN) == 0) {
      // Whom the thread finds waiting may be gone when it accepts.
      fcntl(socket.get(), F_SETFL, O_NONBLOCK);
      return socket;
    }
    reason = std::strerror(errno);
    if (errno == EADDRNOTAVAIL)
      reason = "it is no address of this machine; REGATHER_LISTEN_ADDRESS can "
               "name one that is, or '*' for all";
  }
  return Socket();
}

Failure StoreServer::start() {
  const std::string &name = environment.getListenAddress();
  std::string reason;
  listener = listenOn(resolve(name, environment.port, reason), reason);
  if (!listener)
    return "rank 0 cannot listen on '" + name + "', port " +
           std::to_string(environment.port) + ": " + reason;
  int pipe[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipe) != 0)
    return std::string("rank 0 cannot serve the others: ") +
           std::strerror(errno);
  wakeReader = Socket(pipe[0]);
  wakeWriter = Socket(pipe[1]);
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &length);
  // The port is at the same place for both families.
  port = ntohs(reinterpret_cast<sockaddr_in *>(&address)->sin_port);
  thread = std::thread([this] { run(); });
  return Failure();
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

/// Takes equally long wherever texts of one size differ, so that nobody finds a
/// token out by trying.
static bool isEqual(const std::string &one, const std::string &other) {
  size_t difference = one.size() ^ other.size();
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i)
    difference |= size_t(one[i] ^ other[i]);
  return difference == 0;
}

/// What is wrong with the first message of a client that knows the token; empty
/// if nothing is.
std::string StoreServer::admit(Client &client, const StoreMessage &hello) {
  if (hello[2] != std::to_string(ranks))
    return "rank " + hello[1] + " was started with " + hello[2] +
           " ranks, but rank 0 with " + std::to_string(ranks);
  if (hello[3] != std::to_string(environment.restart))
    return "rank " + hello[1] + " belongs to start " + hello[3] +
           " of the job, but rank 0 to start " +
           std::to_string(environment.restart);
  auto rank = int32_t(std::strtol(hello[1].c_str(), nullptr, 10));
  if (hello[1] != std::to_string(rank) || rank < 0 || rank >= ranks)
    return "there is no rank " + hello[1] + " of " + std::to_string(ranks);
  if (!present.insert(rank).second)
    return "two processes are rank " + hello[1];
  client.rank = rank;
  return "";
}

/// A number that a text is as a whole; nothing if it is none, or does not fit.
static std::optional<int64_t> parseInteger(const std::string &text) {
  int64_t number = 0;
  const char *end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end)
    return std::nullopt;
  return number;
}

/// False for what is negative or not a number.
static bool isSeconds(const std::string &text) {
  return std::strtod(text.c_str(), nullptr) >= 0;
}

/// The ranks that a roll is about; nothing if one of them is none.
static std::optional<std::vector<int32_t>> getRoll(const StoreMessage &request,
                                                   int32_t ranks) {
  std::vector<int32_t> roll;
  for (size_t i = 3; i < request.size(); ++i) {
    std::optional<int64_t> rank = parseInteger(request[i]);
    if (!rank || *rank < 0 || *rank >= ranks)
      return std::nullopt;
    roll.push_back(int32_t(*rank));
  }
  return roll;
}

/// How long a request waits, in seconds.
double StoreServer::getPatience(const StoreMessage &request) const {
  return request[0] == "roll"
             ? std::min(std::strtod(request[2].c_str(), nullptr), seconds)
             : seconds;
}

bool StoreServer::handle(Client &client, const StoreMessage &request) {
  const std::string &what = request[0];
  bool isHello = what == "hello" && request.size() == 5 && client.rank < 0;
  bool isSet = what == "set" && request.size() == 3;
  bool isPut = what == "put" && request.size() == 3;
  bool isGet = what == "get" && request.size() == 3;
  bool isTake = what == "take" && request.size() == 2;
  bool isRoll = what == "roll" && request.size() > 3 && isSeconds(request[2]) &&
                getRoll(request, ranks);
  bool isBarrier = what == "barrier" && request.size() == 2;
  bool isSilent =
      what == "silent" && request.size() == 2 && isSeconds(request[1]);
  std::optional<int64_t> step = what == "stop" && request.size() == 3
                                    ? parseInteger(request[1])
                                    : std::nullopt;
  // There is one after it.
  bool isStop = step && *step >= 0 && *step < INT64_MAX;
  bool isFailed = what == "failed" && request.size() == 2;
  bool isOfRank = isSet || isPut || isGet || isTake || isBarrier || isRoll ||
                  isStop || isSilent || isFailed || what == "alive" ||
                  what == "leave";
  if (!isHello && (client.rank < 0 || !isOfRank))
    return false;
  if (client.rank >= 0)
    lastHeard[client.rank] = Clock::now();
  if (client.rank >= 0 && what == "leave")
    client.hasLeft = true;
  // At once: rank 0 takes the server with it.
  if (isFailed && !std::exchange(client.hasLeft, true))
    tellDead(client.rank, request[1]);
  hasZeroLeft = hasZeroLeft || (client.rank == 0 && what == "leave");
  if (client.rank >= 0 && (what == "alive" || what == "leave" || isFailed))
    return true;
  // A rank waits for each answer.
  for (const Waiting &item : waiting)
    if (item.client == &client)
      return false;
  if (isHello) {
    bool isOfJob = isEqual(request[4], environment.token);
    std::string problem = isOfJob
                              ? admit(client, request)
                              : "a process that says to be rank " + request[1] +
                                    " belongs to another job than rank 0";
    if (!problem.empty()) {
      // The ranks of the job will not be complete; others do not matter to it.
      (isOfJob ? failure : lastRefusal) = problem;
      client.socket.send(encodeStoreMessage({"error", problem}));
      return false;
    }
  }
  if (isSet || isPut) {
    size_t added = request[1].size() + request[2].size();
    if (valueBytes + added > getMaxBytes()) {
      client.socket.send(encodeStoreMessage(
          {"error", "the store holds " + std::to_string(valueBytes) +
                        " bytes already"}));
      return true;
    }
  }
  if (isSet) {
    setValue(request[1], request[2]);
    return client.socket.send(encodeStoreMessage({"ok", ""}));
  }
  if (isSilent) {
    std::string silent =
        describeSilent(std::strtod(request[1].c_str(), nullptr));
    return client.socket.send(encodeStoreMessage({"ok", silent}));
  }
  if (isStop) {
    // The others may be in the next step already, but not after it.
    if (request[2] == "1" && !lastStep)
      lastStep = *step + 1;
    std::string last = lastStep ? std::to_string(*lastStep) : "";
    return client.socket.send(encodeStoreMessage({"ok", last}));
  }
  if (isBarrier || isRoll)
    barriers[request[1]].insert(client.rank);
  auto wait = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(getPatience(request)));
  waiting.push_back({&client, request, Clock::now() + wait});
  return true;
}

/// A message for each rank that is being sent on, and some more.
size_t StoreServer::getMaxBytes() const {
  return (size_t(ranks) + 16) * kMaxStoreMessage;
}

void StoreServer::setValue(const std::string &key, std::string value) {
  valueBytes += key.size() + value.size();
  auto [place, isNew] = values.try_emplace(key);
  if (!isNew)
    valueBytes -= key.size() + place->second.size();
  place->second = std::move(value);
}

std::string StoreServer::takeValue(const std::string &key) {
  std::string value = std::move(values.extract(key).mapped());
  valueBytes -= key.size() + value.size();
  return value;
}

/// Those of some ranks that are not there.
static std::string listMissing(const std::set<int32_t> &present,
                               const std::vector<int32_t> &ranks) {
  std::string text;
  size_t number = 0;
  for (int32_t rank : ranks) {
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

static std::string listMissing(const std::set<int32_t> &present,
                               int32_t ranks) {
  std::vector<int32_t> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return listMissing(present, all);
}

std::string StoreServer::describeSilent(double silentSeconds) const {
  std::set<int32_t> others;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    auto heard = lastHeard.find(rank);
    if (heard != lastHeard.end() &&
        std::chrono::duration<double>(Clock::now() - heard->second).count() <=
            silentSeconds)
      others.insert(rank);
  }
  if (others.size() == size_t(ranks))
    return "";
  char time[32];
  std::snprintf(time, sizeof(time), "%g seconds", silentSeconds);
  return "nothing was heard of " + listMissing(others, ranks) + " of " +
         std::to_string(ranks) + " for " + time;
}

/// Why a request could not be answered in time.
std::string StoreServer::describeMissing(const Waiting &item) const {
  const std::string &what = item.request[0];
  char time[32];
  std::snprintf(time, sizeof(time), "%g seconds", getPatience(item.request));
  if (what == "hello")
    return listMissing(present, ranks) + " of " + std::to_string(ranks) +
           " did not arrive within " + time + " at " +
           environment.getListenAddress() + ":" + std::to_string(port) +
           (lastRefusal.empty() ? "" : "; " + lastRefusal);
  if (what == "barrier")
    return listMissing(barriers.at(item.request[1]), ranks) + " of " +
           std::to_string(ranks) + " did not come to '" + item.request[1] +
           "' within " + time;
  if (what == "put")
    return item.request[1] + " were not taken within " + time;
  if (what == "take")
    return item.request[1] + " did not arrive within " + time;
  if (what == "roll")
    return listMissing(barriers.at(item.request[1]),
                       *getRoll(item.request, ranks)) +
           " of " + std::to_string(ranks) + " did not answer within " + time;
  return "rank " + item.request[2] + " has not set '" + item.request[1] +
         "' within " + time;
}

bool StoreServer::isReady(const Waiting &item) const {
  const std::string &what = item.request[0];
  if (what == "hello")
    return isComplete();
  if (what == "barrier")
    return barriers.at(item.request[1]).size() == size_t(ranks);
  if (what == "roll") {
    // All of them are ranks: a barrier that is done leaves no roll behind.
    std::vector<int32_t> roll = *getRoll(item.request, ranks);
    const std::set<int32_t> &asked = barriers.at(item.request[1]);
    return std::all_of(roll.begin(), roll.end(),
                       [&](int32_t rank) { return asked.count(rank) != 0; });
  }
  bool hasValue = values.count(item.request[1]) != 0;
  return what == "put" ? !hasValue : hasValue;
}

StoreMessage StoreServer::carryOut(Waiting &item) {
  const std::string &what = item.request[0], &key = item.request[1];
  StoreMessage reply = {"ok", ""};
  if (what == "put")
    setValue(key, std::move(item.request[2]));
  else if (what == "get")
    reply[1] = values.at(key);
  else if (what == "take")
    reply[1] = takeValue(key);
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
  // Where all have been, nobody waits any more.
  for (auto it = barriers.begin(); it != barriers.end();)
    it =
        it->second.size() == size_t(ranks) ? barriers.erase(it) : std::next(it);
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

/// What a client may send before it is known: its first message.
static constexpr size_t kMaxHello = 1024;
/// How many connections strangers may hold, and for how long. Ranks are no
/// strangers for longer than their first message takes.
static constexpr size_t kMaxStrangers = 64;
static constexpr std::chrono::seconds kStrangerPatience(10);

void StoreServer::accept() {
  Socket socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) {
    // Without a descriptor for it, a connection stays the next one.
    nextAccept = Clock::now() + std::chrono::milliseconds(100);
    return;
  }
  // All ranks may come at once, and before them as many strangers as may.
  if (clients.size() >= size_t(ranks) + kMaxStrangers) {
    auto oldest =
        std::find_if(clients.begin(), clients.end(),
                     [](const Client &client) { return client.rank < 0; });
    if (oldest != clients.end())
      clients.erase(oldest);
  }
  clients.push_back(
      {std::move(socket), "", -1, Clock::now() + kStrangerPatience});
}

void StoreServer::dismissStrangers() {
  if (isComplete())
    listener = Socket();
  clients.remove_if([&](const Client &client) {
    return client.rank < 0 && (isComplete() || Clock::now() >= client.deadline);
  });
}

bool StoreServer::read(Client &client) {
  if (!client.socket.receive(client.received))
    return false;
  StoreMessage request;
  while (true) {
    size_t maxBytes = client.rank < 0 ? kMaxHello : kMaxStoreMessage;
    switch (decodeStoreMessage(client.received, request, maxBytes)) {
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

void StoreServer::tellAll(const StoreMessage &notice) {
  for (const Client &client : clients)
    if (client.rank >= 0)
      client.socket.send(encodeStoreMessage(notice));
}

void StoreServer::tellDead(int32_t rank, const std::string &reason) {
  tellAll({"died", "rank " + std::to_string(rank) + " of " +
                       std::to_string(ranks) + " has ended before the job has" +
                       (reason.empty() ? "" : ": ") + reason});
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
  if (client.rank >= 0 && !client.hasLeft) {
    int32_t rank = std::exchange(client.rank, -1);
    tellDead(rank, "");
  }
  clients.remove_if([&](const Client &other) { return &other == &client; });
}

int StoreServer::getPause() const {
  std::optional<Clock::time_point> next;
  auto add = [&](Clock::time_point time) {
    next = std::min(next.value_or(time), time);
  };
  for (const Waiting &item : waiting)
    add(item.deadline);
  for (const Client &client : clients)
    if (client.rank < 0)
      add(client.deadline);
  if (listener && nextAccept > Clock::now())
    add(nextAccept);
  if (!next)
    return -1;
  auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(
                   *next - Clock::now())
                   .count();
  return int(std::clamp<int64_t>(pause, 0, 60000)) + 1;
}

void StoreServer::run() {
  while (true) {
    // A descriptor below 0 is passed over.
    bool accepts = listener && Clock::now() >= nextAccept;
    std::vector<pollfd> files = {{wakeReader.get(), POLLIN, 0},
                                 {accepts ? listener.get() : -1, POLLIN, 0}};
    std::vector<Client *> readers;
    for (Client &client : clients) {
      files.push_back({client.socket.get(), POLLIN, 0});
      readers.push_back(&client);
    }
    if (poll(files.data(), files.size(), getPause()) < 0) {
      // More descriptors than the process may have now: it may have some again.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      continue;
    }
    for (size_t i = 0; i < readers.size(); ++i)
      if (files[i + 2].revents && !read(*readers[i]))
        remove(*readers[i]);
    if (files[0].revents) {
      if (hasZeroLeft)
        tellAll({"bye"});
      // Whoever still waits hears why it waits in vain.
      if (failure.empty())
        failure = "rank 0 has ended";
      return answerWaiting();
    }
    if (files[1].revents)
      accept();
    answerWaiting();
    dismissStrangers();
  }
}
