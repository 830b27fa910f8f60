//===- PeerExchange.h - Messages outside of collectives ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_PEEREXCHANGE_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_PEEREXCHANGE_H

#include "MessageTransport.h"
#include "PeerProcesses.h"

#include <chrono>
#include <functional>
#include <vector>

namespace regather::runtime {

/// A message that was begun, and with whom.
struct OpenMessage {
  int32_t peer;
  uint64_t number;
};

/// Forgets the messages that are done; true if none is left.
Result<bool> testMessages(MessageTransport &transport,
                          std::vector<OpenMessage> &messages);

/// "rank 1", or "ranks 1, 3": those of messages that are not done.
std::string describePeers(const std::vector<OpenMessage> &messages);

/// What a rank and its peers tell each other before the first collective and
/// between steps, while none is under way. All ranks exchange in one order.
class PeerExchange {
public:
  PeerExchange(MessageTransport &transport, const PeerProcesses &processes,
               std::chrono::nanoseconds timeout)
      : transport(transport), processes(processes), timeout(timeout) {}

  /// Begins to send or to receive; nothing if there are no bytes.
  Failure send(int32_t to, const void *data, int64_t bytes);
  Failure receive(int32_t from, void *data, int64_t bytes);

  /// Waits for all messages. Fails if that takes too long, or if the process of
  /// a rank has ended that one is with, and says which.
  Failure complete();

private:
  MessageTransport &transport;
  const PeerProcesses &processes;
  std::chrono::nanoseconds timeout;
  std::vector<OpenMessage> messages;
};

/// Notices ranks that messages are open with and whose processes have ended.
/// What they had sent before may still be on its way, so it takes a while.
class EndedPeers {
public:
  using Clock = std::chrono::steady_clock;

  explicit EndedPeers(const PeerProcesses &processes) : processes(processes) {}

  /// Looks, at most once in a while, for one that a message is open with; a
  /// failure that names it if it was found to have ended some time ago.
  Failure look(Clock::time_point now, const std::vector<OpenMessage> &messages);

private:
  const PeerProcesses &processes;
  /// When each rank was found to have ended.
  std::map<int32_t, Clock::time_point> ended;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_PEEREXCHANGE_H
