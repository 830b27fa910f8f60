//===- Sha256.h - Digests of bytes ------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_SHA256_H
#define REGATHER_SUPPORT_SHA256_H

#include <array>
#include <cstdint>
#include <string_view>

namespace regather {

/// SHA-256 of bytes that are given piece by piece. LLVM has it as well, but
/// what runs bundles is built without LLVM. Source: FIPS 180-4, Secure Hash
/// Standard.
class Sha256 {
public:
  using Digest = std::array<uint8_t, 32>;

  void add(std::string_view bytes);
  /// The digest of all bytes; nothing can be added any more.
  Digest finish();

private:
  static constexpr size_t kBlockBytes = 64;

  void addBlock(const uint8_t *block);

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                   0xa54ff53a, 0x510e527f, 0x9b05688c,
                                   0x1f83d9ab, 0x5be0cd19};
  /// The first bytes of a block that is not complete.
  std::array<uint8_t, kBlockBytes> rest = {};
  uint64_t numBytes = 0;
};

} // namespace regather

#endif // REGATHER_SUPPORT_SHA256_H
