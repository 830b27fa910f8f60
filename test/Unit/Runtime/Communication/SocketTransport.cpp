//===- SocketTransport.cpp - Messages over Unix sockets -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SocketTransport.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

SocketTransport::SocketTransport(int32_t rank, std::vector<int> sockets)
    : rank(rank), peers(sockets.size()) {
  for (size_t i = 0; i < sockets.size(); ++i)
    peers[i].socket = sockets[i];
}

SocketTransport::~SocketTransport() { SocketTransport::abort(); }

std::vector<std::unique_ptr<SocketTransport>>
SocketTransport::connect(int32_t ranks) {
  std::vector<std::vector<int>> sockets(size_t(ranks),
                                        std::vector<int>(size_t(ranks), -1));
  for (size_t i = 0; i < size_t(ranks); ++i)
    for (size_t j = 0; j < i; ++j) {
      int pair[2] = {-1, -1};
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
        return {};
      sockets[i][j] = pair[0];
      sockets[j][i] = pair[1];
    }
  std::vector<std::unique_ptr<SocketTransport>> transports;
  for (int32_t rank = 0; rank < ranks; ++rank)
    transports.push_back(
        std::make_unique<SocketTransport>(rank, sockets[size_t(rank)]));
  return transports;
}

void SocketTransport::abort() {
  for (Peer &peer : peers) {
    if (peer.socket >= 0)
      close(peer.socket);
    peer.socket = -1;
  }
}

Failure SocketTransport::describeLoss(int32_t peer) const {
  return Failure("rank " + std::to_string(peer) + " is gone");
}

Result<uint64_t> SocketTransport::send(int32_t to, int32_t channel,
                                       const void *data, int64_t bytes) {
  uint64_t number = numMessages++;
  open[number] = to;
  peers[size_t(to)].sends.push_back(
      {number, {channel, bytes}, static_cast<const char *>(data)});
  if (Failure failure = write(to))
    return failure;
  return number;
}

Result<uint64_t> SocketTransport::receive(int32_t from, int32_t channel,
                                          void *data, int64_t bytes) {
  uint64_t number = numMessages++;
  open[number] = from;
  Peer &peer = peers[size_t(from)];
  peer.receives[channel].push_back({number, static_cast<char *>(data), bytes});
  if (Failure failure = deliver(from))
    return failure;
  return number;
}

Result<bool> SocketTransport::test(uint64_t number) {
  auto found = open.find(number);
  if (found == open.end())
    return true;
  int32_t peer = found->second;
  Failure failure = write(peer);
  if (!failure)
    failure = read(peer);
  // A rank may go when it has sent all.
  if (open.count(number) == 0)
    return true;
  if (failure)
    return failure;
  return false;
}

Failure SocketTransport::write(int32_t to) {
  Peer &peer = peers[size_t(to)];
  while (!peer.sends.empty()) {
    Sent &message = peer.sends.front();
    size_t total = sizeof(Header) + size_t(message.header.bytes);
    bool isHeader = message.numWritten < sizeof(Header);
    const char *data =
        isHeader ? reinterpret_cast<const char *>(&message.header) +
                       message.numWritten
                 : message.data + (message.numWritten - sizeof(Header));
    size_t length = (isHeader ? sizeof(Header) : total) - message.numWritten;
    ssize_t count = ::send(peer.socket, data, length, MSG_NOSIGNAL);
    if (count < 0)
      return errno == EAGAIN ? Failure() : describeLoss(to);
    message.numWritten += size_t(count);
    if (message.numWritten < total)
      continue;
    open.erase(message.number);
    peer.sends.pop_front();
  }
  return Failure();
}

Failure SocketTransport::read(int32_t from) {
  Peer &peer = peers[size_t(from)];
  for (;;) {
    bool isHeader = peer.numRead < sizeof(Header);
    char *data = isHeader
                     ? reinterpret_cast<char *>(&peer.header) + peer.numRead
                     : peer.body.data() + (peer.numRead - sizeof(Header));
    size_t length =
        sizeof(Header) + (isHeader ? 0 : peer.body.size()) - peer.numRead;
    ssize_t count = recv(peer.socket, data, length, 0);
    if (count < 0)
      return errno == EAGAIN ? Failure() : describeLoss(from);
    if (count == 0)
      return describeLoss(from);
    peer.numRead += size_t(count);
    if (peer.numRead == sizeof(Header))
      peer.body.resize(size_t(peer.header.bytes));
    if (peer.numRead < sizeof(Header) + peer.body.size())
      continue;
    peer.arrived[peer.header.channel].push_back(std::move(peer.body));
    peer.body.clear();
    peer.numRead = 0;
    if (Failure failure = deliver(from))
      return failure;
  }
}

/// Gives messages that have arrived to those who wait for them.
Failure SocketTransport::deliver(int32_t from) {
  Peer &peer = peers[size_t(from)];
  for (auto &[channel, waiting] : peer.receives) {
    std::deque<std::vector<char>> &messages = peer.arrived[channel];
    while (!waiting.empty() && !messages.empty()) {
      if (int64_t(messages.front().size()) != waiting.front().bytes)
        return Failure("rank " + std::to_string(from) +
                       " has sent a message of another size");
      std::copy(messages.front().begin(), messages.front().end(),
                waiting.front().data);
      open.erase(waiting.front().number);
      waiting.pop_front();
      messages.pop_front();
    }
  }
  return Failure();
}
