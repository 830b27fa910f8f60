//===- PeerExchange.cpp - Messages outside of collectives -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeerExchange.h"

#include "regather/Runtime/Runtime.h"

#include <set>
#include <string>
#include <thread>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// How long what a rank has sent may still be on its way when it has ended.
static constexpr std::chrono::milliseconds kGrace(200);
static constexpr std::chrono::microseconds kSleep(100);

Result<bool>
regather::runtime::testMessages(MessageTransport &transport,
                                std::vector<OpenMessage> &messages) {
  size_t numLeft = 0;
  for (const OpenMessage &message : messages) {
    Result<bool> done = transport.test(message.number);
    if (!done)
      return done;
    if (!*done)
      messages[numLeft++] = message;
  }
  messages.resize(numLeft);
  return numLeft == 0;
}

std::string
regather::runtime::describePeers(const std::vector<OpenMessage> &messages) {
  std::set<int32_t> peers;
  for (const OpenMessage &message : messages)
    peers.insert(message.peer);
  return formatRanks(peers);
}

Failure EndedPeers::look(Clock::time_point now,
                         const std::vector<OpenMessage> &messages) {
  for (int32_t rank : processes.findEnded())
    ended.emplace(rank, now);
  if (ended.empty())
    return Failure();
  for (const OpenMessage &message : messages)
    if (auto found = ended.find(message.peer);
        found != ended.end() && now - found->second >= kGrace)
      return Failure("rank " + std::to_string(message.peer) +
                         " is gone: its process has ended",
                     RG_ERROR_ABORTED);
  return Failure();
}

Failure PeerExchange::send(int32_t to, const void *data, int64_t bytes) {
  if (bytes == 0)
    return Failure();
  Result<uint64_t> number = transport.send(to, 0, data, bytes);
  if (!number)
    return number.getFailure();
  messages.push_back({to, *number});
  return Failure();
}

Failure PeerExchange::receive(int32_t from, void *data, int64_t bytes) {
  if (bytes == 0)
    return Failure();
  Result<uint64_t> number = transport.receive(from, 0, data, bytes);
  if (!number)
    return number.getFailure();
  messages.push_back({from, *number});
  return Failure();
}

Failure PeerExchange::complete() {
  EndedPeers endedPeers(processes);
  EndedPeers::Clock::time_point begin = EndedPeers::Clock::now();
  for (;;) {
    Result<bool> done = testMessages(transport, messages);
    if (!done)
      return done.getFailure();
    if (*done)
      return Failure();
    EndedPeers::Clock::time_point now = EndedPeers::Clock::now();
    if (now - begin > timeout)
      return Failure("timeout: nothing was heard of " +
                         describePeers(messages) + processes.describeStopped(),
                     RG_ERROR_TIMEOUT);
    if (Failure problem = endedPeers.look(now, messages))
      return problem;
    std::this_thread::sleep_for(kSleep);
  }
}
