//===- NarrowFloatTest.cpp - Rounding to bf16 and f16 ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowFloat.h"

#include "llvm/ADT/APFloat.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace regather::interp;

/// The reference: LLVM's software floats.
static uint16_t reference(const llvm::fltSemantics &semantics, double value) {
  llvm::APFloat rounded(value);
  bool lost = false;
  rounded.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return static_cast<uint16_t>(rounded.bitcastToAPInt().getZExtValue());
}

TEST(NarrowFloat, EveryValueSurvivesARoundTrip) {
  for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
    for (NarrowFormat format : {kBF16, kF16}) {
      double value = widen(format, bits);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(widen(format, narrow(format, value))));
      else
        EXPECT_EQ(narrow(format, value), bits);
    }
  }
}

TEST(NarrowFloat, RoundsAsLLVMDoesNextToEveryMidpoint) {
  for (unsigned bits = 0; bits < 0x7F80; ++bits) {
    double low = widen(kBF16, bits), high = widen(kBF16, bits + 1);
    if (std::isinf(high))
      high = std::ldexp(1.0, 128);
    double middle = low + (high - low) / 2;
    for (double value : {std::nextafter(middle, 0.0), middle,
                         std::nextafter(middle, 1e300), -middle})
      ASSERT_EQ(narrow(kBF16, value), reference(llvm::APFloat::BFloat(), value))
          << value;
  }
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {
    double low = widen(kF16, bits);
    double high = bits == 0x7BFF ? 65536.0 : widen(kF16, bits + 1);
    double middle = low + (high - low) / 2;
    for (double value : {std::nextafter(middle, 0.0), middle,
                         std::nextafter(middle, 1e300), -middle})
      ASSERT_EQ(narrow(kF16, value),
                reference(llvm::APFloat::IEEEhalf(), value))
          << value;
  }
}

TEST(NarrowFloat, RoundsRandomDoublesAsLLVMDoes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    int exponent = static_cast<int>(random() % 320) - 170;
    double value = std::ldexp(1 + random() * 0x1p-64, exponent);
    ASSERT_EQ(narrow(kBF16, value), reference(llvm::APFloat::BFloat(), value));
    ASSERT_EQ(narrow(kF16, value), reference(llvm::APFloat::IEEEhalf(), value));
  }
}

/// 1 + 2^-8 lies between two bf16 numbers; any product that is added decides.
TEST(NarrowFloat, FusedSumIsRoundedOnce) {
  double middle = 1 + 0x1p-8;
  EXPECT_EQ(narrow(kBF16, fusedToOdd(middle, 1, 0x1p-120)), 0x3F81);
  EXPECT_EQ(narrow(kBF16, fusedToOdd(middle, 1, -0x1p-120)), 0x3F80);
  EXPECT_EQ(narrow(kBF16, fusedToOdd(-middle, 1, 0x1p-120)), 0xBF80);
  EXPECT_EQ(narrow(kBF16, fusedToOdd(middle, 1, 0)), 0x3F80);
}

TEST(NarrowFloat, LargeIntegersAreRoundedOnce) {
  // 2^60 + 2^52 is the midpoint; the last bit decides, and no double has it.
  uint64_t middle = (uint64_t(1) << 60) + (uint64_t(1) << 52);
  EXPECT_EQ(narrow(kBF16, integerToOdd(middle, false)), narrow(kBF16, 0x1p60));
  EXPECT_EQ(narrow(kBF16, integerToOdd(middle + 1, true)),
            narrow(kBF16, -(0x1p60 + 0x1p53)));
}
