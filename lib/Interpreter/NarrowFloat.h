//===- NarrowFloat.h - Rounding to bf16 and f16 -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Written out in integer arithmetic, so that the oracle shares no rounding code
// with a compiler's runtime. Every finite bf16 and f16 is exact as a double.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_INTERPRETER_NARROWFLOAT_H
#define REGATHER_LIB_INTERPRETER_NARROWFLOAT_H

#include <cstdint>

namespace regather::interp {

/// A binary floating-point format of 16 bits.
struct NarrowFormat {
  int exponentBits;
  int fractionBits;
};

inline constexpr NarrowFormat kBF16 = {8, 7};
inline constexpr NarrowFormat kF16 = {5, 10};

/// The value of `bits`; quiet and signaling NaNs keep sign and payload.
double widen(NarrowFormat format, uint16_t bits);

/// Rounds to nearest even, once. NaNs become quiet and keep the upper bits of
/// their payload.
uint16_t narrow(NarrowFormat format, double value);

/// a * b + c rounded to odd as a double: rounding the result to a format of at
/// most 51 bits of precision gives what one rounding would give. The product
/// must be exact as a double.
double fusedToOdd(double a, double b, double c);

/// `value` rounded to odd as a double.
double integerToOdd(uint64_t magnitude, bool negative);

} // namespace regather::interp

#endif // REGATHER_LIB_INTERPRETER_NARROWFLOAT_H
