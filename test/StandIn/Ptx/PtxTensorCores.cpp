//===- PtxTensorCores.cpp - Products of small matrices in PTX -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxTensorCores.h"

#include "regather/Support/Half.h"

#include <cmath>
#include <cstring>

using namespace regather::runtime;

// The fragments of a lane l, by the manual of PTX: of the sums the rows l / 4
// and l / 4 + 8, there the columns 2 (l % 4) and the next one; of the left
// factor these columns and those 8 behind them; of the right factor one column,
// l / 4, there the rows 2 (l % 4) and the next one, and those 8 behind them.

static float readHalf(uint64_t bits, size_t half, bool isF16) {
  auto element = uint16_t(bits >> (16 * half));
  return isF16 ? fromF16(element) : fromBF16(element);
}

void regather::runtime::multiplyFragments(const PtxInstruction &instruction,
                                          const PtxLanes &lanes) {
  const std::vector<int> &operands = instruction.operands;
  float left[16][16], right[16][8];
  for (size_t l = 0; l < lanes.size(); ++l) {
    size_t across = l / 4, along = 2 * (l % 4);
    for (size_t half = 0; half < 2; ++half) {
      for (size_t i = 0; i < 4; ++i)
        left[across + i % 2 * 8][along + i / 2 * 8 + half] =
            readHalf(lanes[l][operands[i]], half, instruction.isF16);
      for (size_t i = 0; i < 2; ++i)
        right[along + i * 8 + half][across] =
            readHalf(lanes[l][operands[4 + i]], half, instruction.isF16);
    }
  }
  for (size_t l = 0; l < lanes.size(); ++l) {
    uint64_t results[4];
    for (size_t i = 0; i < 4; ++i) {
      size_t row = l / 4 + i / 2 * 8, column = 2 * (l % 4) + i % 2;
      auto sum = bitCast<float>(uint32_t(lanes[l][operands[6 + i]]));
      for (size_t k = 0; k < 16; ++k)
        sum = std::fma(left[row][k], right[k][column], sum);
      results[i] = bitCast<uint32_t>(sum);
    }
    for (size_t i = 0; i < 4; ++i)
      lanes[l][instruction.results[i]] = results[i];
  }
}

bool regather::runtime::meetInBanks(const std::byte *const *rows) {
  constexpr size_t kBankBytes = 128, kRowBytes = 16;
  bool isUsed[kBankBytes / kRowBytes] = {};
  for (size_t i = 0; i < 8; ++i) {
    bool &own =
        isUsed[reinterpret_cast<uintptr_t>(rows[i]) % kBankBytes / kRowBytes];
    if (own)
      return true;
    own = true;
  }
  return false;
}

/// Lane l gets elements 2 (l % 4) and the next one of row l / 4; or,
/// transposed, of that column.
const std::byte *
regather::runtime::findElement(const PtxInstruction &instruction,
                               const PtxRows &rows, size_t lane, size_t matrix,
                               size_t half) {
  size_t row = lane / 4, column = 2 * (lane % 4) + half;
  if (instruction.isTransposed)
    std::swap(row, column);
  return rows[8 * matrix + row] + 2 * column;
}

void regather::runtime::loadFragments(const PtxInstruction &instruction,
                                      const PtxRows &rows,
                                      const PtxLanes &lanes) {
  for (size_t l = 0; l < lanes.size(); ++l)
    for (size_t i = 0; i < instruction.results.size(); ++i) {
      uint32_t bits = 0;
      for (size_t half = 0; half < 2; ++half) {
        uint16_t element;
        std::memcpy(&element, findElement(instruction, rows, l, i, half), 2);
        bits |= uint32_t(element) << (16 * half);
      }
      lanes[l][instruction.results[i]] = bits;
    }
}
