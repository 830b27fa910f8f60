//===- CheckedTransport.h - Messages with a checksum ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_CHECKEDTRANSPORT_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_CHECKEDTRANSPORT_H

#include "MessageTransport.h"

#include <map>
#include <memory>

namespace regather::runtime {

/// Another transport, and behind each message a second one with its number and
/// a checksum of its bytes: a message that comes changed, twice, or in place of
/// another one fails. Any change within 8 aligned bytes is found, and others
/// but for chance.
class CheckedTransport : public MessageTransport {
public:
  /// All ranks of a job have one, or none. The transport outlives it.
  explicit CheckedTransport(MessageTransport &transport)
      : transport(transport) {}

  int32_t getRank() const override { return transport.getRank(); }
  int32_t getNumRanks() const override { return transport.getNumRanks(); }
  Result<uint64_t> send(int32_t to, int32_t channel, const void *data,
                        int64_t bytes) override;
  Result<uint64_t> receive(int32_t from, int32_t channel, void *data,
                           int64_t bytes) override;
  Result<bool> test(uint64_t number) override;
  void abort() override;

private:
  struct Seal {
    uint64_t sequence, checksum;
  };
  struct Message {
    int32_t peer;
    /// Of what is received; null for what is sent.
    const void *received;
    int64_t bytes;
    uint64_t sequence;
    /// Those of the transport, and whether they are done.
    uint64_t dataNumber = 0, sealNumber = 0;
    bool isDataDone = false, isSealDone = false;
    std::unique_ptr<Seal> seal = nullptr;
  };

  MessageTransport &transport;
  std::map<uint64_t, Message> messages;
  uint64_t numMessages = 0;
  /// For each other rank and channel, how many messages were begun.
  std::map<std::pair<int32_t, int32_t>, uint64_t> numSent, numReceived;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_CHECKEDTRANSPORT_H
