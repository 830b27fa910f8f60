//===- Sha256.cpp - Digests of bytes --------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Support/Sha256.h"

#include <algorithm>
#include <cstring>

using namespace regather;

/// The first 32 bits behind the point of the cube roots of the first 64 primes.
static constexpr uint32_t kConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, unsigned count) {
  return word >> count | word << (32 - count);
}

static uint32_t readWord(const uint8_t *bytes) {
  return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 |
         uint32_t(bytes[2]) << 8 | uint32_t(bytes[3]);
}

void Sha256::addBlock(const uint8_t *block) {
  uint32_t words[64];
  for (unsigned i = 0; i != 16; ++i)
    words[i] = readWord(block + size_t(4) * i);
  for (unsigned i = 16; i != 64; ++i) {
    uint32_t first = words[i - 15], last = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] +
               (rotate(first, 7) ^ rotate(first, 18) ^ first >> 3) +
               (rotate(last, 17) ^ rotate(last, 19) ^ last >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (unsigned i = 0; i != 64; ++i) {
    uint32_t one = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                   ((e & f) ^ (~e & g)) + kConstants[i] + words[i];
    uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                   ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + one;
    d = c, c = b, b = a, a = one + two;
  }
  const uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (unsigned i = 0; i != 8; ++i)
    state[i] += added[i];
}

void Sha256::add(std::string_view bytes) {
  const auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  size_t size = bytes.size(), filled = numBytes % kBlockBytes;
  numBytes += size;
  if (filled != 0) {
    size_t taken = std::min(size, kBlockBytes - filled);
    std::memcpy(rest.data() + filled, data, taken);
    data += taken, size -= taken;
    if (filled + taken != kBlockBytes)
      return;
    addBlock(rest.data());
  }
  for (; size >= kBlockBytes; data += kBlockBytes, size -= kBlockBytes)
    addBlock(data);
  if (size != 0)
    std::memcpy(rest.data(), data, size);
}

Sha256::Digest Sha256::finish() {
  // A bit, zeros up to the end of a block, and the number of bits.
  uint64_t numBits = numBytes * 8;
  size_t filled = numBytes % kBlockBytes;
  uint8_t end[2 * kBlockBytes] = {0x80};
  size_t length = (filled < kBlockBytes - 8 ? 1 : 2) * kBlockBytes - filled;
  for (unsigned i = 0; i != 8; ++i)
    end[length - 1 - i] = uint8_t(numBits >> 8 * i);
  add({reinterpret_cast<const char *>(end), length});
  Digest digest;
  for (unsigned i = 0; i != digest.size(); ++i)
    digest[i] = uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}
