//===- Half.h - 16-bit floating point ---------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between bf16 or f16 and the wider types, on bits alone: the same
// result on every machine, rounding mode and compiler, and no library calls.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_HALF_H
#define REGATHER_SUPPORT_HALF_H

#include <cstdint>
#include <cstring>

namespace regather::runtime {

/// The value whose bits are those of `from`.
template <typename To, typename From> inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/// Where the fields of a binary floating-point format lie in `Bits`.
template <typename BitsType, int mantissa, int bias> struct FloatLayout {
  using Bits = BitsType;
  static constexpr int mantissaBits = mantissa;
  static constexpr int exponentBias = bias;
  static constexpr Bits signMask = Bits(1) << (8 * sizeof(Bits) - 1);
  static constexpr Bits mantissaMask = (Bits(1) << mantissa) - 1;
  static constexpr Bits infinity = Bits(signMask - 1) & Bits(~mantissaMask);
  static constexpr Bits quietBit = Bits(1) << (mantissa - 1);
};

using BF16Layout = FloatLayout<uint16_t, 7, 127>;
using F16Layout = FloatLayout<uint16_t, 10, 15>;
using F32Layout = FloatLayout<uint32_t, 23, 127>;
using F64Layout = FloatLayout<uint64_t, 52, 1023>;

/// Rounds `bits` of the format `From` to the narrower format `To`, to nearest
/// and ties to even, in one step. NaN stays NaN, becomes quiet, and keeps its
/// sign and the upper bits of its payload.
template <typename To, typename From>
inline typename To::Bits roundBits(typename From::Bits bits) {
  using Wide = typename From::Bits;
  using Narrow = typename To::Bits;
  constexpr int dropped = From::mantissaBits - To::mantissaBits;
  constexpr int maxExponent = To::infinity >> To::mantissaBits;
  Narrow sign = (bits & From::signMask) ? To::signMask : 0;
  Wide magnitude = bits & ~From::signMask;
  if (magnitude > From::infinity)
    return sign | To::infinity | To::quietBit |
           Narrow((magnitude & From::mantissaMask) >> dropped);

  // Subnormal inputs have the exponent of the smallest normal number, but no
  // implicit bit.
  int biased = int(magnitude >> From::mantissaBits);
  Wide significand = magnitude & From::mantissaMask;
  if (biased)
    significand |= Wide(1) << From::mantissaBits;
  int exponent = (biased ? biased : 1) - From::exponentBias + To::exponentBias;
  if (exponent >= maxExponent)
    return sign | To::infinity;

  // Results below the smallest normal number lose further bits; those below
  // half the smallest subnormal lose all.
  int shift = exponent > 0 ? dropped : dropped + 1 - exponent;
  if (shift > From::mantissaBits + 1)
    return sign;
  Wide kept = significand >> shift;
  Wide rest = significand & ((Wide(1) << shift) - 1);
  Wide tie = Wide(1) << (shift - 1);
  kept += rest > tie || (rest == tie && (kept & 1));
  // The implicit bit of `kept` counts as one exponent step, and so does a carry
  // out of the mantissa: into the next binade, or into infinity.
  if (exponent > 0)
    kept += Wide(exponent - 1) << To::mantissaBits;
  return sign | Narrow(kept);
}

/// Converts to bf16 from f32. Short, so that loops over it vectorize.
inline uint16_t toBF16(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  uint32_t quiet = (bits >> 16) | BF16Layout::quietBit;
  return uint16_t((bits & 0x7FFFFFFF) > F32Layout::infinity ? quiet : rounded);
}

/// Converts to bf16 from f64 with a single rounding.
inline uint16_t toBF16(double value) {
  return roundBits<BF16Layout, F64Layout>(bitCast<uint64_t>(value));
}

inline uint16_t toF16(float value) {
  return roundBits<F16Layout, F32Layout>(bitCast<uint32_t>(value));
}

/// Converts to f16 from f64 with a single rounding.
inline uint16_t toF16(double value) {
  return roundBits<F16Layout, F64Layout>(bitCast<uint64_t>(value));
}

/// Exact: bf16 is the upper half of f32.
inline float fromBF16(uint16_t bits) {
  return bitCast<float>(uint32_t(bits) << 16);
}

/// Exact: every f16 is an f32. Signaling NaN stays signaling.
inline float fromF16(uint16_t bits) {
  constexpr int added = F32Layout::mantissaBits - F16Layout::mantissaBits;
  constexpr uint32_t rebias =
      uint32_t(F32Layout::exponentBias - F16Layout::exponentBias)
      << F32Layout::mantissaBits;
  uint32_t sign = uint32_t(bits & F16Layout::signMask) << 16;
  uint32_t magnitude = uint32_t(bits & 0x7FFF) << added;
  uint32_t mantissa = magnitude & F32Layout::mantissaMask;
  uint32_t exponent = magnitude >> F32Layout::mantissaBits;
  if (exponent == 31)
    return bitCast<float>(sign | F32Layout::infinity | mantissa);
  if (exponent)
    return bitCast<float>(sign | (magnitude + rebias));
  // Zero and subnormals: give the mantissa an implicit bit of value 2^-14 and
  // subtract it again. The difference is exact and a normal f32.
  constexpr uint32_t one = rebias + (1u << F32Layout::mantissaBits);
  float result = bitCast<float>(one | mantissa) - bitCast<float>(one);
  return bitCast<float>(sign | bitCast<uint32_t>(result));
}

} // namespace regather::runtime

#endif // REGATHER_SUPPORT_HALF_H
