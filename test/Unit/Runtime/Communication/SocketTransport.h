//===- SocketTransport.h - Messages over Unix sockets -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transport that was written by docs/adding-a-communicator.md: the ranks may
// be threads of one process or processes of one machine.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_RUNTIME_COMMUNICATION_SOCKETTRANSPORT_H
#define REGATHER_TEST_UNIT_RUNTIME_COMMUNICATION_SOCKETTRANSPORT_H

#include "Communication/Messages/MessageTransport.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace regather::runtime {

/// Moves bytes over one stream socket for each pair of ranks. A message is a
/// frame: its channel, its size, and its bytes.
class SocketTransport : public MessageTransport {
public:
  /// `sockets` has one for each rank, which it owns, and -1 for itself.
  SocketTransport(int32_t rank, std::vector<int> sockets);
  ~SocketTransport() override;

  /// One for each rank, connected with each other; empty if the system refuses.
  static std::vector<std::unique_ptr<SocketTransport>> connect(int32_t ranks);

  int32_t getRank() const override { return rank; }
  int32_t getNumRanks() const override { return int32_t(peers.size()); }
  Result<uint64_t> send(int32_t to, int32_t channel, const void *data,
                        int64_t bytes) override;
  Result<uint64_t> receive(int32_t from, int32_t channel, void *data,
                           int64_t bytes) override;
  Result<bool> test(uint64_t number) override;
  void abort() override;

private:
  struct Header {
    int64_t channel, bytes;
  };
  struct Sent {
    uint64_t number;
    Header header;
    const char *data;
    size_t numWritten = 0; ///< of the header and the data
  };
  struct Received {
    uint64_t number;
    char *data;
    int64_t bytes;
  };
  struct Peer {
    int socket = -1;
    std::deque<Sent> sends;
    /// By channel: buffers that wait for messages, and the other way round.
    std::map<int64_t, std::deque<Received>> receives;
    std::map<int64_t, std::deque<std::vector<char>>> arrived;
    /// The message that comes in.
    Header header = {};
    std::vector<char> body;
    size_t numRead = 0; ///< of the header and the data
  };

  Failure write(int32_t to);
  Failure read(int32_t from);
  Failure deliver(int32_t from);
  Failure describeLoss(int32_t peer) const;

  int32_t rank;
  std::vector<Peer> peers;
  uint64_t numMessages = 0;
  /// The peers of messages that are not done.
  std::map<uint64_t, int32_t> open;
};

} // namespace regather::runtime

#endif // REGATHER_TEST_UNIT_RUNTIME_COMMUNICATION_SOCKETTRANSPORT_H
