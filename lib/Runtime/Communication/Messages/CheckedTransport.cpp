//===- CheckedTransport.cpp - Messages with a checksum --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckedTransport.h"

#include "regather/Runtime/Runtime.h"

#include <cstring>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// Multiplications by an odd number lose nothing, so a word that differs leaves
/// its lane different. Four lanes, since each multiplication waits for the one
/// before it.
static uint64_t getChecksum(const void *data, int64_t bytes) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  constexpr int64_t kLanes = 4, kWord = sizeof(uint64_t);
  const char *next = static_cast<const char *>(data);
  uint64_t lanes[kLanes] = {1, 2, 3, 4};
  for (; bytes >= kLanes * kWord; bytes -= kLanes * kWord)
    for (uint64_t &lane : lanes) {
      uint64_t word = 0;
      std::memcpy(&word, next, kWord);
      lane = (lane ^ word) * kFactor;
      lane ^= lane >> 29;
      next += kWord;
    }
  uint64_t sum = uint64_t(bytes);
  for (uint64_t lane : lanes)
    sum = (sum ^ lane) * kFactor;
  for (; bytes > 0; --bytes)
    sum = (sum ^ static_cast<unsigned char>(*next++)) * kFactor;
  return sum ^ (sum >> 32);
}

Result<uint64_t> CheckedTransport::send(int32_t to, int32_t channel,
                                        const void *data, int64_t bytes) {
  Message message = {to, nullptr, bytes, numSent[{to, channel}]++};
  message.seal =
      std::make_unique<Seal>(Seal{message.sequence, getChecksum(data, bytes)});
  Result<uint64_t> number = transport.send(to, channel, data, bytes);
  if (!number)
    return number;
  message.dataNumber = *number;
  number = transport.send(to, channel, message.seal.get(), sizeof(Seal));
  if (!number)
    return number;
  message.sealNumber = *number;
  messages.emplace(++numMessages, std::move(message));
  return numMessages;
}

Result<uint64_t> CheckedTransport::receive(int32_t from, int32_t channel,
                                           void *data, int64_t bytes) {
  Message message = {from, data, bytes, numReceived[{from, channel}]++};
  message.seal = std::make_unique<Seal>();
  Result<uint64_t> number = transport.receive(from, channel, data, bytes);
  if (!number)
    return number;
  message.dataNumber = *number;
  number = transport.receive(from, channel, message.seal.get(), sizeof(Seal));
  if (!number)
    return number;
  message.sealNumber = *number;
  messages.emplace(++numMessages, std::move(message));
  return numMessages;
}

Result<bool> CheckedTransport::test(uint64_t number) {
  auto found = messages.find(number);
  if (found == messages.end())
    return true;
  Message &message = found->second;
  for (auto [part, isDone] :
       {std::pair(message.dataNumber, &message.isDataDone),
        {message.sealNumber, &message.isSealDone}}) {
    if (*isDone)
      continue;
    Result<bool> done = transport.test(part);
    if (!done)
      return done;
    *isDone = *done;
  }
  if (!message.isDataDone || !message.isSealDone)
    return false;
  bool isGood =
      !message.received ||
      (message.seal->sequence == message.sequence &&
       message.seal->checksum == getChecksum(message.received, message.bytes));
  std::string peer = std::to_string(message.peer);
  messages.erase(found);
  if (!isGood)
    return Failure("a message of rank " + peer +
                       " is damaged: its checksum is another one",
                   RG_ERROR_ABORTED);
  return true;
}

void CheckedTransport::abort() {
  transport.abort();
  messages.clear();
}
