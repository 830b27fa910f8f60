//===- CallerTransport.cpp - Messages by functions of the caller ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallerTransport.h"

#include "regather/Runtime/Runtime.h"

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// After which a message is asked for again in any case: what fails may fail
/// without a change.
static constexpr std::chrono::milliseconds kPause(5);

Result<CallerTransport> CallerTransport::create(const rg_transport &functions) {
  if (!functions.send || !functions.receive || !functions.test ||
      !functions.abort || !functions.error)
    return Failure("a transport lacks a function", RG_ERROR_ARGUMENT);
  if (functions.ranks < 1 || functions.rank < 0 ||
      functions.rank >= functions.ranks)
    return Failure("expects a rank of a transport below " +
                       std::to_string(functions.ranks) + ", got " +
                       std::to_string(functions.rank),
                   RG_ERROR_ARGUMENT);
  return CallerTransport(functions);
}

Failure CallerTransport::describe() const {
  const char *text = functions.error(functions.context);
  return Failure(text && *text ? text : "the transport failed",
                 RG_ERROR_ABORTED);
}

Result<uint64_t> CallerTransport::send(int32_t to, int32_t channel,
                                       const void *data, int64_t bytes) {
  uint64_t number = 0;
  if (functions.send(functions.context, to, channel, data, bytes, &number))
    return describe();
  return number;
}

Result<uint64_t> CallerTransport::receive(int32_t from, int32_t channel,
                                          void *data, int64_t bytes) {
  uint64_t number = 0;
  if (functions.receive(functions.context, from, channel, data, bytes, &number))
    return describe();
  return number;
}

Result<bool> CallerTransport::test(uint64_t number) {
  Asked now = {0, {}};
  if (functions.changes) {
    now = {__atomic_load_n(functions.changes, __ATOMIC_ACQUIRE), Clock::now()};
    auto before = asked.find(number);
    if (before != asked.end() && before->second.changes == now.changes &&
        now.time < before->second.time + kPause)
      return false;
  }
  int32_t done = 0;
  if (functions.test(functions.context, number, &done))
    return describe();
  if (done)
    asked.erase(number);
  else if (functions.changes)
    asked[number] = now;
  return done != 0;
}
