//===- HalfTest.cpp - Tests of 16-bit floating point ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Support/Half.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

using namespace regather::runtime;

namespace {

struct BF16Traits {
  using Layout = BF16Layout;
  static float widen(uint16_t bits) { return fromBF16(bits); }
  template <typename T> static uint16_t narrow(T value) {
    return toBF16(value);
  }
};

struct F16Traits {
  using Layout = F16Layout;
  static float widen(uint16_t bits) { return fromF16(bits); }
  template <typename T> static uint16_t narrow(T value) { return toF16(value); }
};

template <typename Traits> class HalfTest : public testing::Test {
protected:
  static constexpr uint16_t infinity = Traits::Layout::infinity;
  static bool isNaN(uint16_t bits) { return (bits & 0x7FFF) > infinity; }
};

using Formats = testing::Types<BF16Traits, F16Traits>;
TYPED_TEST_SUITE(HalfTest, Formats);

// The value of each pattern, computed from the definition of the format.
TYPED_TEST(HalfTest, WidensAllValues) {
  using Layout = typename TypeParam::Layout;
  for (uint32_t i = 0; i <= 0xFFFF; ++i) {
    uint16_t bits = uint16_t(i);
    float value = TypeParam::widen(bits);
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    if (this->isNaN(bits)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      continue;
    }
    int exponent = (bits & 0x7FFF) >> Layout::mantissaBits;
    int mantissa = bits & Layout::mantissaMask;
    double expected =
        (bits & 0x7FFF) == Layout::infinity ? HUGE_VAL
        : exponent
            ? std::ldexp(mantissa + (1 << Layout::mantissaBits),
                         exponent - Layout::exponentBias - Layout::mantissaBits)
            : std::ldexp(mantissa,
                         1 - Layout::exponentBias - Layout::mantissaBits);
    ASSERT_EQ(double(std::fabs(value)), expected) << bits;
  }
}

TYPED_TEST(HalfTest, RoundTripsAllValues) {
  for (uint32_t i = 0; i <= 0xFFFF; ++i) {
    uint16_t bits = uint16_t(i);
    float value = TypeParam::widen(bits);
    // NaN becomes quiet and keeps everything else.
    uint16_t expected =
        this->isNaN(bits) ? bits | TypeParam::Layout::quietBit : bits;
    ASSERT_EQ(TypeParam::narrow(value), expected) << bits;
    ASSERT_EQ(TypeParam::narrow(double(value)), expected) << bits;
  }
}

// Midpoints of neighbours are exact in f32, so this covers every tie, and on
// both sides of it the nearest f32 and f64. The f64 just off a tie is what two
// roundings get wrong.
TYPED_TEST(HalfTest, RoundsAllTiesToEven) {
  for (uint32_t i = 0; i < this->infinity; ++i) {
    uint16_t low = uint16_t(i), high = uint16_t(i + 1);
    double below = TypeParam::widen(low);
    // One step past the largest number lies where infinity would be if the
    // exponents went on.
    double above = high == this->infinity
                       ? 2 * below - double(TypeParam::widen(uint16_t(i - 1)))
                       : double(TypeParam::widen(high));
    double tie = (below + above) / 2;
    float tieF32 = float(tie);
    if (double(tieF32) == tie) {
      ASSERT_EQ(TypeParam::narrow(tieF32), (low & 1) ? high : low) << i;
      ASSERT_EQ(TypeParam::narrow(std::nextafter(tieF32, 0.0f)), low) << i;
      ASSERT_EQ(TypeParam::narrow(std::nextafter(tieF32, HUGE_VALF)), high)
          << i;
      ASSERT_EQ(TypeParam::narrow(-tieF32), 0x8000 | ((low & 1) ? high : low))
          << i;
    }
    ASSERT_EQ(TypeParam::narrow(tie), (low & 1) ? high : low) << i;
    ASSERT_EQ(TypeParam::narrow(std::nextafter(tie, 0.0)), low) << i;
    ASSERT_EQ(TypeParam::narrow(std::nextafter(tie, HUGE_VAL)), high) << i;
    ASSERT_EQ(TypeParam::narrow(-std::nextafter(tie, HUGE_VAL)), 0x8000 | high)
        << i;
  }
}

TYPED_TEST(HalfTest, RoundsExtremes) {
  const uint16_t infinity = this->infinity;
  EXPECT_EQ(TypeParam::narrow(HUGE_VALF), infinity);
  EXPECT_EQ(TypeParam::narrow(-HUGE_VAL), 0x8000 | infinity);
  EXPECT_EQ(TypeParam::narrow(std::numeric_limits<double>::max()), infinity);
  EXPECT_EQ(TypeParam::narrow(std::numeric_limits<float>::max()), infinity);
  EXPECT_EQ(TypeParam::narrow(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(TypeParam::narrow(-std::numeric_limits<double>::denorm_min()),
            0x8000);
  EXPECT_EQ(TypeParam::narrow(-0.0f), 0x8000);
  EXPECT_TRUE(this->isNaN(TypeParam::narrow(std::nanf(""))));
  EXPECT_TRUE(this->isNaN(TypeParam::narrow(std::nan(""))));
  // A payload that narrowing cuts off must not leave infinity behind.
  EXPECT_TRUE(
      this->isNaN(TypeParam::narrow(bitCast<float>(uint32_t(0x7F800001)))));
  EXPECT_TRUE(this->isNaN(
      TypeParam::narrow(bitCast<double>(uint64_t(0x7FF0000000000001)))));
}

// f32 to f64 is exact, so both ways to round an f32 agree.
TYPED_TEST(HalfTest, AgreesFromBothWidths) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    float value = bitCast<float>(uint32_t(random()));
    uint16_t bits = TypeParam::narrow(value);
    ASSERT_EQ(bits, TypeParam::narrow(double(value))) << value;
    ASSERT_EQ(bits, (roundBits<typename TypeParam::Layout, F32Layout>(
                        bitCast<uint32_t>(value))))
        << value;
  }
}

} // namespace
