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
  /// later requests wait. A failure names who is missing.
  Failure connect(const LaunchEnvironment &environment, double seconds);

  Failure set(const std::string &key, const std::string &value) override;
  Result<std::string> get(const std::string &key, int32_t owner) override;
  Failure barrier(const std::string &name) override;
  Failure callRoll(const std::string &name, const std::vector<int32_t> &group,
                   double seconds) override;

  void sayAlive() override;
  void leave() override;
  void tellFailure(const std::string &reason) override;
  std::string describeDead() override;
  std::string describeSilent(double seconds) override;

  /// Sets a key, for which it waits until it has no value.
  Failure put(const std::string &key, const std::string &value);
  /// Waits for a key as `get` does, and removes its value.
  Result<std::string> take(const std::string &key);

  /// Asked by all ranks after each step, which none finishes before all have
  /// begun it: whether to stop after it. When a rank wants to, all stop after
  /// the next step, and it fails if one does not. Ranks go on if rank 0 has
  /// ended.
  Result<bool> agreeToStop(int64_t step, bool wants);

private:
  Failure open(const LaunchEnvironment &environment);
  /// Sends a request, for which the server waits at most so long, and returns
  /// the answer.
  Result<std::string> request(const StoreMessage &request, double waitSeconds);
  /// Keeps what the server says without being asked; false for a reply.
  bool takeNotice(const StoreMessage &message);
  Result<std::string> request(const StoreMessage &request) {
    return this->request(request, seconds);
  }

  double seconds = 0;
  /// Held by the thread whose request is to be answered.
  std::mutex mutex;
  std::unique_ptr<StoreServer> server;
  Socket socket;
  std::string received;
  /// What the server has said of the first rank that has died, and whether it
  /// has ended as it should.
  std::string dead;
  bool isClosed = false;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_STORE_TCPSTORE_H
