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
//   ["hello", rank, ranks, restart]  when all ranks are here
//   ["set", key, value]              at once
//   ["get", key]                     when the key is set
//   ["barrier", name]                when all ranks have asked
//   ["stop", step, wants]            at once, by the step after which to stop,
//                                    if a rank wants to, or by nothing
//
// An answer that is not possible in time is an error that says why.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_STORESERVER_H
#define REGATHER_LIB_RUNTIME_GPU_STORESERVER_H

#include "StoreMessage.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <thread>

namespace regather::runtime {

class StoreServer {
public:
  /// `seconds` is how long requests wait.
  StoreServer(int32_t ranks, int32_t restart, double seconds)
      : ranks(ranks), restart(restart), seconds(seconds) {}
  ~StoreServer();
  StoreServer(const StoreServer &) = delete;

  /// Begins to listen and to answer, on a thread of its own. Port 0 takes a
  /// free one.
  bool start(int32_t port, std::string &message);
  int32_t getPort() const { return port; }

private:
  using Clock = std::chrono::steady_clock;

  struct Client {
    Socket socket;
    std::string received;
    int32_t rank = -1;
  };
  /// A request that is not answered yet.
  struct Waiting {
    Client *client;
    StoreMessage request;
    Clock::time_point deadline;
  };

  void run();
  void accept();
  /// False if the client is gone.
  bool read(Client &client);
  bool handle(Client &client, const StoreMessage &request);
  std::string admit(Client &client, const StoreMessage &hello);
  /// True if a request can be carried out now.
  bool isReady(const Waiting &waiting) const;
  /// Carries out a request that is ready, and returns the answer.
  StoreMessage carryOut(Waiting &waiting);
  void answerWaiting();
  void remove(Client &client);
  std::string describeMissing(const Waiting &waiting) const;

  const int32_t ranks, restart;
  const double seconds;
  int32_t port = 0;
  Socket listener;
  /// Written to at the end, to wake the thread.
  Socket wakeReader, wakeWriter;
  std::deque<Client> clients;
  std::deque<Waiting> waiting;
  std::map<std::string, std::string> values;
  /// Ranks that are here, and that have asked for each barrier.
  std::set<int32_t> present;
  std::map<std::string, std::set<int32_t>> barriers;
  /// After which step all ranks stop, if one wants to.
  std::optional<int64_t> lastStep;
  /// Why nothing can succeed any more; empty if it can.
  std::string failure;
  std::thread thread;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_STORESERVER_H
