//===- NarrowFloat.cpp - Rounding to bf16 and f16 -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowFloat.h"

#include <cmath>
#include <cstring>

using namespace regather::interp;

static uint64_t toBits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static double fromBits(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

static constexpr int kDoubleFraction = 52;
static constexpr uint64_t kDoubleExponent = 0x7FF;

double regather::interp::widen(NarrowFormat format, uint16_t bits) {
  uint64_t maxExponent = (1u << format.exponentBits) - 1;
  uint64_t sign = static_cast<uint64_t>(bits >> 15) << 63;
  uint64_t exponent = (bits >> format.fractionBits) & maxExponent;
  uint64_t fraction = bits & ((1u << format.fractionBits) - 1);
  int shift = kDoubleFraction - format.fractionBits;
  if (exponent == maxExponent)
    return fromBits(sign | kDoubleExponent << kDoubleFraction |
                    fraction << shift);
  int bias = (1 << (format.exponentBits - 1)) - 1;
  if (exponent != 0)
    return fromBits(sign | (exponent - bias + 1023) << kDoubleFraction |
                    fraction << shift);
  // Subnormal or zero: an integer times the smallest subnormal.
  double magnitude =
      std::ldexp(static_cast<double>(fraction), 1 - bias - format.fractionBits);
  return sign ? -magnitude : magnitude;
}

uint16_t regather::interp::narrow(NarrowFormat format, double value) {
  uint64_t bits = toBits(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 48) & 0x8000;
  uint64_t fraction = bits & ((uint64_t(1) << kDoubleFraction) - 1);
  int exponent = static_cast<int>((bits >> kDoubleFraction) & kDoubleExponent);
  uint16_t infinity = static_cast<uint16_t>(((1u << format.exponentBits) - 1)
                                            << format.fractionBits);
  int drop = kDoubleFraction - format.fractionBits;
  if (exponent == static_cast<int>(kDoubleExponent)) {
    if (fraction == 0)
      return sign | infinity;
    uint16_t quiet = static_cast<uint16_t>(1u << (format.fractionBits - 1));
    return sign | infinity | quiet | static_cast<uint16_t>(fraction >> drop);
  }
  // Subnormal doubles lie below half of the smallest subnormal of both formats.
  if (exponent == 0)
    return sign;

  int bias = (1 << (format.exponentBits - 1)) - 1;
  int target = exponent - 1023 + bias;
  uint64_t significand = fraction | uint64_t(1) << kDoubleFraction;
  // Below the normal range more bits are dropped, and no exponent is stored.
  if (target < 1) {
    drop += 1 - target;
    target = 0;
    if (drop > kDoubleFraction + 1)
      return sign;
  } else {
    significand &= ~(uint64_t(1) << kDoubleFraction);
  }
  uint64_t kept = significand >> drop;
  uint64_t rest = significand & ((uint64_t(1) << drop) - 1);
  uint64_t half = uint64_t(1) << (drop - 1);
  // A carry out of the fraction increments the exponent, as it should.
  uint64_t result =
      (static_cast<uint64_t>(target > 0 ? target : 0) << format.fractionBits) +
      kept;
  if (rest > half || (rest == half && (kept & 1)))
    ++result;
  if (target > 0 && result >= infinity)
    return sign | infinity;
  return sign | static_cast<uint16_t>(result);
}

double regather::interp::fusedToOdd(double a, double b, double c) {
  double product = a * b;
  double sum = product + c;
  if (!std::isfinite(sum) || !std::isfinite(product) || !std::isfinite(c))
    return sum;
  // The error of a sum is a double (Knuth's TwoSum).
  double virtualC = sum - product;
  double error = (product - (sum - virtualC)) + (c - virtualC);
  uint64_t bits = toBits(sum);
  if (error == 0 || (bits & 1))
    return sum;
  // Step to the odd neighbour on the side of the exact sum.
  bool away = (error > 0) == (sum > 0);
  return fromBits(away ? bits + 1 : bits - 1);
}

double regather::interp::integerToOdd(uint64_t magnitude, bool negative) {
  if (magnitude >> 53) {
    uint64_t sticky = (magnitude & 0x7FF) != 0;
    magnitude = ((magnitude >> 11) | sticky) << 11;
  }
  double value = static_cast<double>(magnitude);
  return negative ? -value : value;
}
