//===- Philox.cpp - Philox4x32-10 -----------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Philox.h"

using namespace regather::interp;

/// One round: two products whose halves change places.
static PhiloxBlock mix(const PhiloxBlock &x, const PhiloxKey &key) {
  uint64_t even = uint64_t(0xD2511F53) * x[0];
  uint64_t odd = uint64_t(0xCD9E8D57) * x[2];
  return {static_cast<uint32_t>(odd >> 32) ^ x[1] ^ key[0],
          static_cast<uint32_t>(odd),
          static_cast<uint32_t>(even >> 32) ^ x[3] ^ key[1],
          static_cast<uint32_t>(even)};
}

PhiloxBlock regather::interp::philox(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    counter = mix(counter, key);
    // The golden ratio and the square root of three, less one.
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}
