//===- MessageTransport.h - Moves bytes between ranks -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_MESSAGETRANSPORT_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_MESSAGETRANSPORT_H

#include "regather/Support/Result.h"

#include <cstdint>

namespace regather::runtime {

/// Moves bytes between the processes of a job, in each of which one rank runs.
/// All that a communicator over MPI, process groups or sockets has to provide
/// (docs/adding-a-communicator.md); MessageCommunicator does everything else.
///
/// One thread at a time makes all calls, which is not the thread of the rank.
class MessageTransport {
public:
  /// Nothing touches the memory of messages any more.
  virtual ~MessageTransport() = default;

  virtual int32_t getRank() const = 0;
  virtual int32_t getNumRanks() const = 0;

  /// Begins to send to or to receive from another rank, and returns a number
  /// for `test`; never waits for the other rank. Messages between two ranks on
  /// one channel arrive in the order in which they were sent; those on
  /// different channels, of which there are a few, do not wait for each other.
  /// Both sides agree on `bytes`, which are not 0.
  virtual Result<uint64_t> send(int32_t to, int32_t channel, const void *data,
                                int64_t bytes) = 0;
  virtual Result<uint64_t> receive(int32_t from, int32_t channel, void *data,
                                   int64_t bytes) = 0;

  /// Whether a message is done: what is received is there, what is sent may be
  /// overwritten. Lets messages go on, and never blocks. Not called again for a
  /// number that was done. Fails if the other rank is known to be gone, with
  /// its number in the message.
  virtual Result<bool> test(uint64_t number) = 0;

  /// Ends all messages: when it returns, nothing touches their memory any more.
  /// Messages of other ranks with this one fail, if that can be told. Called
  /// once at most, and nothing else after it.
  virtual void abort() = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_MESSAGETRANSPORT_H
