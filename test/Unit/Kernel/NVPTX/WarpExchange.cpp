//===- WarpExchange.cpp - Instructions of a warp on the CPU ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpExchange.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstring>

using namespace regather::nvptx;

using Kind = LaneExchange::Kind;

static void shuffle(llvm::ArrayRef<LaneExchange *> lanes) {
  for (auto [number, lane] : llvm::enumerate(lanes))
    lane->received[0] =
        lanes[(number ^ size_t(lane->sent[1])) % lanes.size()]->sent[0];
}

//===----------------------------------------------------------------------===//
// Matrices from shared memory
//===----------------------------------------------------------------------===//

static constexpr int64_t kRowBytes = 16;

/// True if two of the eight rows of a matrix lie in the same of the 32 banks of
/// 4 bytes.
static bool meetInBanks(llvm::ArrayRef<LaneExchange *> rows) {
  constexpr int64_t bankBytes = 128;
  std::array<int64_t, bankBytes / kRowBytes> users = {};
  for (const LaneExchange *row : rows)
    if (++users[row->sent[0] % bankBytes / kRowBytes] > 1)
      return true;
  return false;
}

/// Lanes 8 i to 8 i + 7 have the addresses of the rows of matrix i. Lane l gets
/// elements 2 (l % 4) and the next of its row l / 4; or, transposed, of its
/// column. It reads them itself: another lane may have written them.
static bool loadMatrices(llvm::ArrayRef<LaneExchange *> lanes,
                         int64_t firstThread, bool isTransposed,
                         MemoryMonitor &monitor) {
  for (size_t matrix = 0; matrix != 4; ++matrix)
    if (meetInBanks(lanes.slice(8 * matrix, 8)))
      monitor.noteBankConflict();
  for (auto [number, lane] : llvm::enumerate(lanes))
    for (size_t matrix = 0; matrix != 4; ++matrix) {
      uint32_t bits = 0;
      for (size_t half = 0; half != 2; ++half) {
        size_t row = number / 4, column = 2 * (number % 4) + half;
        if (isTransposed)
          std::swap(row, column);
        const auto *begin =
            reinterpret_cast<const char *>(lanes[8 * matrix + row]->sent[0]);
        auto thread = firstThread + static_cast<int64_t>(number);
        auto reads = [&](const char *address, int64_t alignment) {
          return monitor.access(thread, address, 2, alignment,
                                AccessKind::Read);
        };
        bool isAligned = reinterpret_cast<uintptr_t>(begin) % kRowBytes == 0;
        if (!(isAligned ? reads(begin + 2 * column, 2)
                        : reads(begin, kRowBytes)))
          return false;
        uint16_t element;
        memcpy(&element, begin + 2 * column, 2);
        bits |= uint32_t(element) << (16 * half);
      }
      lane->received[matrix] = bits;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static float readHalf(int64_t registerBits, size_t half, bool isF16) {
  auto bits = static_cast<uint16_t>(uint32_t(registerBits) >> (16 * half));
  const llvm::fltSemantics &semantics =
      isF16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat();
  return llvm::APFloat(semantics, llvm::APInt(16, bits)).convertToFloat();
}

/// Lane l has the rows l / 4 and l / 4 + 8 of the sums, there columns 2 (l % 4)
/// and the next; of the left factor these columns and those 8 behind; and of
/// the right one column l / 4, there such rows.
static void multiply(llvm::ArrayRef<LaneExchange *> lanes, bool isF16) {
  float left[16][16], right[16][8];
  for (auto [number, lane] : llvm::enumerate(lanes)) {
    size_t across = number / 4, along = 2 * (number % 4);
    for (size_t half = 0; half != 2; ++half) {
      for (size_t i = 0; i != 4; ++i)
        left[across + i % 2 * 8][along + i / 2 * 8 + half] =
            readHalf(lane->sent[i], half, isF16);
      for (size_t i = 0; i != 2; ++i)
        right[along + i * 8 + half][across] =
            readHalf(lane->sent[4 + i], half, isF16);
    }
  }
  for (auto [number, lane] : llvm::enumerate(lanes))
    for (size_t i = 0; i != 4; ++i) {
      size_t row = number / 4 + i / 2 * 8, column = 2 * (number % 4) + i % 2;
      auto sum = llvm::bit_cast<float>(uint32_t(lane->sent[6 + i]));
      for (size_t k = 0; k != 16; ++k)
        sum = std::fma(left[row][k], right[k][column], sum);
      lane->received[i] = llvm::bit_cast<uint32_t>(sum);
    }
}

bool regather::nvptx::exchange(llvm::ArrayRef<LaneExchange *> lanes,
                               int64_t firstThread, MemoryMonitor &monitor) {
  Kind kind = lanes.front()->kind;
  if (!llvm::all_of(
          lanes, [&](const LaneExchange *lane) { return lane->kind == kind; }))
    return false;
  switch (kind) {
  case Kind::Shuffle:
    shuffle(lanes);
    return true;
  case Kind::LoadMatrices:
  case Kind::LoadTransposed:
    return loadMatrices(lanes, firstThread, kind == Kind::LoadTransposed,
                        monitor);
  case Kind::MultiplyBF16:
  case Kind::MultiplyF16:
    multiply(lanes, kind == Kind::MultiplyF16);
    return true;
  }
}
