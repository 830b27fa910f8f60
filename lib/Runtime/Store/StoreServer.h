//===- StoreServer.h - Rank 0's side of the store ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers each request of a rank by ["ok", value] or ["error", message]:
//
//   ["hello", rank, ranks, restart, token]
//                                    when all ranks are here
//   ["set", key, value]              at once
//   ["get", key, owner]              when the key is set, by rank `owner`
//   ["barrier", name]                when all ranks have asked
//   ["roll", name, seconds, rank...] when all of these ranks have asked, for
//                                    which it waits so long
//   ["alive"]                        never
//   ["leave"]                        never; the rank ends as it should
//   ["silent", seconds]              at once, by the ranks that have sent
//                                    nothing for so long
//   ["stop", step, wants]            at once, by the step after which to stop,
//                                    if a rank wants to, or by nothing
//
// An answer that is not possible in time is an error that says why. Without
// being asked, it tells all ranks ["died", text] when one ends that has not
// left, and ["bye"] when it ends after rank 0 has left.
//
// Who does not know the token of the job is a stranger. Strangers are refused,
// and none can connect any more when all ranks are here. Before that they can
// hold only so many connections for so long, and of each a message no longer
// than the first one of a rank. What ranks can make the server hold is bounded,
// too, by some messages for each.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_STORE_STORESERVER_H
#define REGATHER_LIB_RUNTIME_STORE_STORESERVER_H

#include "LaunchEnvironment.h"
#include "StoreMessage.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <thread>

namespace regather::runtime {

class StoreServer {
public:
  /// `seconds` is how long requests wait.
  StoreServer(const LaunchEnvironment &environment, double seconds)
      : environment(environment), ranks(environment.ranks), seconds(seconds) {}
  ~StoreServer();
  StoreServer(const StoreServer &) = delete;

  /// Begins to listen and to answer, on a thread of its own. Port 0 takes a
  /// free one. It listens on the interface of the environment's address alone.
  /// Fails if that is none of this machine.
  Failure start();
  int32_t getPort() const { return port; }

private:
  using Clock = std::chrono::steady_clock;

  struct Client {
    Socket socket;
    std::string received;
    /// Negative for a stranger, whose connection ends with the deadline.
    int32_t rank = -1;
    Clock::time_point deadline;
    bool hasLeft = false;
  };
  /// A request that is not answered yet.
  struct Waiting {
    Client *client;
    StoreMessage request;
    Clock::time_point deadline;
  };

  void run();
  /// How long the thread sleeps if nothing arrives, in milliseconds; negative
  /// for ever.
  int getPause() const;
  void accept();
  /// Ends what is open to strangers for too long, or at all if all ranks are
  /// here.
  void dismissStrangers();
  /// False if the client is gone.
  bool read(Client &client);
  void tellAll(const StoreMessage &notice);
  /// Tells all that a rank ends before the job does, and why if it is known.
  void tellDead(int32_t rank, const std::string &reason);
  bool handle(Client &client, const StoreMessage &request);
  std::string admit(Client &client, const StoreMessage &hello);
  bool isComplete() const { return present.size() == size_t(ranks); }
  /// True if a request can be carried out now.
  bool isReady(const Waiting &waiting) const;
  /// Carries out a request that is ready, and returns the answer.
  StoreMessage carryOut(Waiting &waiting);
  double getPatience(const StoreMessage &request) const;
  std::string describeSilent(double silentSeconds) const;
  void answerWaiting();
  size_t getMaxBytes() const;
  void setValue(const std::string &key, std::string value);
  std::string takeValue(const std::string &key);
  void remove(Client &client);
  std::string describeMissing(const Waiting &waiting) const;

  const LaunchEnvironment environment;
  const int32_t ranks;
  const double seconds;
  int32_t port = 0;
  Socket listener;
  /// Written to at the end, to wake the thread.
  Socket wakeReader, wakeWriter;
  /// When the next connection may be accepted, after there was no room for one.
  Clock::time_point nextAccept;
  std::list<Client> clients;
  std::deque<Waiting> waiting;
  std::map<std::string, std::string> values;
  size_t valueBytes = 0;
  /// Why the last stranger was refused, for who waits for a rank in vain.
  std::string lastRefusal;
  /// Ranks that are here, and that have asked for each barrier and each roll.
  std::set<int32_t> present;
  std::map<std::string, std::set<int32_t>> barriers;
  /// When each rank has sent its last message.
  std::map<int32_t, Clock::time_point> lastHeard;
  /// After which step all ranks stop, if one wants to.
  std::optional<int64_t> lastStep;
  bool hasZeroLeft = false;
  /// Why nothing can succeed any more; empty if it can.
  std::string failure;
  std::thread thread;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_STORE_STORESERVER_H
