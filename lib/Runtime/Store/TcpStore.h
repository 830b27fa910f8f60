//===- TcpStore.h - A store that rank 0 serves ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_STORE_TCPSTORE_H
#define REGATHER_LIB_RUNTIME_STORE_TCPSTORE_H

#include "LaunchEnvironment.h"
#include "RankStore.h"
#include "StoreServer.h"

#include <memory>
#include <mutex>

namespace regather::runtime {

/// A rank's connection to the store, which a thread of rank 0 serves. Meant for
/// the network of a cluster: whoever reaches the port and knows the token of
/// the job is believed, and nothing is encrypted. A rank that is alone has
/// nobody to tell something to, and no connection.
class TcpStore : public RankStore {
public:
  /// Waits until all ranks are here, at most `seconds`, which is also how long
  /// later requests wait. False, with a message that names who is missing.
  bool connect(const LaunchEnvironment &environment, double seconds,
               std::string &message);

  bool set(const std::string &key, const std::string &value,
           std::string &message) override;
  bool get(const std::string &key, int32_t owner, std::string &value,
           std::string &message) override;
  bool barrier(const std::string &name, std::string &message) override;
  bool callRoll(const std::string &name, const std::vector<int32_t> &group,
                double seconds, std::string &message) override;

  void sayAlive() override;
  std::string describeSilent(double seconds) override;

  /// Sets a key, for which it waits until it has no value.
  bool put(const std::string &key, const std::string &value,
           std::string &message);
  /// Waits for a key as `get` does, and removes its value.
  bool take(const std::string &key, std::string &value, std::string &message);

  /// Asked by all ranks after each step, which none finishes before all have
  /// begun it: whether to stop after it. When a rank wants to, all stop after
  /// the next step; false, with a message, if one does not. Ranks go on if rank
  /// 0 has ended.
  bool agreeToStop(int64_t step, bool wants, bool &stops, std::string &message);

private:
  bool open(const LaunchEnvironment &environment, std::string &message);
  /// Sends a request, for which the server waits at most so long.
  bool request(const StoreMessage &request, std::string &value,
               std::string &message) {
    return this->request(request, seconds, value, message);
  }
  bool request(const StoreMessage &request, double waitSeconds,
               std::string &value, std::string &message);

  double seconds = 0;
  /// Held by the thread whose request is to be answered.
  std::mutex mutex;
  std::unique_ptr<StoreServer> server;
  Socket socket;
  std::string received;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_STORE_TCPSTORE_H
