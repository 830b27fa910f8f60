//===- StoreMessage.h - Messages of the store of ranks ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_STORE_STOREMESSAGE_H
#define REGATHER_LIB_RUNTIME_STORE_STOREMESSAGE_H

#include <string>
#include <vector>

namespace regather::runtime {

/// A request or a reply: texts, of which the first says what it is. On the wire
/// each has its length before it, and so has the whole, in 32 bits, low byte
/// first.
using StoreMessage = std::vector<std::string>;

inline constexpr size_t kMaxStoreMessage = size_t(1) << 20;

std::string encodeStoreMessage(const StoreMessage &message);

enum class StoreDecoding { Complete, Incomplete, Malformed };

/// Takes the first message off what was received. One of more than `maxBytes`
/// is malformed, so that no more needs to be kept of it.
StoreDecoding decodeStoreMessage(std::string &received, StoreMessage &message,
                                 size_t maxBytes = kMaxStoreMessage);

/// A file descriptor of a socket, which is closed at the end of the scope.
class Socket {
public:
  explicit Socket(int file = -1) : file(file) {}
  Socket(Socket &&other) noexcept : file(other.release()) {}
  Socket &operator=(Socket &&other) noexcept;
  ~Socket();

  int get() const { return file; }
  explicit operator bool() const { return file >= 0; }
  int release();

  /// Sends all bytes; false if the other side is gone.
  bool send(const std::string &bytes) const;
  /// Appends what has arrived, and waits for it if there is nothing; false if
  /// the other side is gone.
  bool receive(std::string &bytes) const;

private:
  int file;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_STORE_STOREMESSAGE_H
