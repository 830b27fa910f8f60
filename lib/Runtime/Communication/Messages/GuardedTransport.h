//===- GuardedTransport.h - Ends calls that do not return -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_GUARDEDTRANSPORT_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_GUARDEDTRANSPORT_H

#include "MessageTransport.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace regather::runtime {

/// Another transport, whose calls come back within some time. None of them
/// waits for another rank, but libraries may have faults: Open MPI 4.1 never
/// returns from looking at a connection that was closed under it. Nothing ends
/// such a call, and so the process ends.
class GuardedTransport : public MessageTransport {
public:
  static constexpr int kExitCode = 70;

  /// `describe` says, on another thread, what the rank was doing; it must not
  /// wait for a call of the transport. Before it ends, the process writes one
  /// line to stderr.
  GuardedTransport(MessageTransport &transport, std::chrono::nanoseconds limit,
                   std::function<std::string()> describe);
  ~GuardedTransport() override;
  GuardedTransport(const GuardedTransport &) = delete;

  int32_t getRank() const override { return transport.getRank(); }
  int32_t getNumRanks() const override { return transport.getNumRanks(); }
  Result<uint64_t> send(int32_t to, int32_t channel, const void *data,
                        int64_t bytes) override;
  Result<uint64_t> receive(int32_t from, int32_t channel, void *data,
                           int64_t bytes) override;
  Result<bool> test(uint64_t number) override;
  void abort() override;

private:
  void watch();
  [[noreturn]] void endProcess();

  MessageTransport &transport;
  const std::chrono::nanoseconds limit;
  const std::function<std::string()> describe;
  /// Calls that have begun or ended: odd during one. There is one at a time.
  std::atomic<uint64_t> numEvents{0};
  std::mutex mutex;
  std::condition_variable wake;
  bool isOver = false;
  std::thread thread;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_GUARDEDTRANSPORT_H
