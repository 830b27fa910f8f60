//===- StoreMessage.cpp - Messages of the store of ranks ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoreMessage.h"

#include <cerrno>
#include <cstdint>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace regather::runtime;

static constexpr size_t kLengthBytes = 4;

static void appendText(std::string &bytes, const std::string &text) {
  for (size_t i = 0; i < kLengthBytes; ++i)
    bytes += char(uint8_t(text.size() >> 8 * i));
  bytes += text;
}

static size_t readLength(const std::string &bytes, size_t at) {
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length |= size_t(uint8_t(bytes[at + i])) << 8 * i;
  return length;
}

std::string regather::runtime::encodeStoreMessage(const StoreMessage &message) {
  std::string content, bytes;
  for (const std::string &text : message)
    appendText(content, text);
  appendText(bytes, content);
  return bytes;
}

StoreDecoding regather::runtime::decodeStoreMessage(std::string &received,
                                                    StoreMessage &message,
                                                    size_t maxBytes) {
  if (received.size() < kLengthBytes)
    return StoreDecoding::Incomplete;
  size_t length = readLength(received, 0);
  if (length > maxBytes)
    return StoreDecoding::Malformed;
  if (received.size() - kLengthBytes < length)
    return StoreDecoding::Incomplete;
  std::string content = received.substr(kLengthBytes, length);
  received.erase(0, kLengthBytes + length);
  message.clear();
  for (size_t at = 0; at < content.size();) {
    if (content.size() - at < kLengthBytes)
      return StoreDecoding::Malformed;
    size_t size = readLength(content, at);
    at += kLengthBytes;
    if (content.size() - at < size)
      return StoreDecoding::Malformed;
    message.push_back(content.substr(at, size));
    at += size;
  }
  return message.empty() ? StoreDecoding::Malformed : StoreDecoding::Complete;
}

Socket::~Socket() {
  if (file >= 0)
    close(file);
}

Socket &Socket::operator=(Socket &&other) noexcept {
  std::swap(file, other.file);
  return *this;
}

int Socket::release() { return std::exchange(file, -1); }

bool Socket::send(const std::string &bytes) const {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count =
        ::send(file, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    done += size_t(count);
  }
  return true;
}

bool Socket::receive(std::string &bytes) const {
  char buffer[4096];
  ssize_t count = 0;
  do
    count = recv(file, buffer, sizeof(buffer), 0);
  while (count < 0 && errno == EINTR);
  if (count <= 0)
    return false;
  bytes.append(buffer, size_t(count));
  return true;
}
