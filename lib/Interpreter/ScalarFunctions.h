//===- ScalarFunctions.h - Templates of scalar instructions -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Instances of these templates are the instructions of a ScalarCode. A
// functor says what is computed; the template loads, rounds and stores.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_INTERPRETER_SCALARFUNCTIONS_H
#define REGATHER_LIB_INTERPRETER_SCALARFUNCTIONS_H

#include "Scalar.h"

#include "llvm/Support/ErrorHandling.h"

namespace regather::interp {

/// How a float type is loaded and stored. `Compute` is wide enough that
/// rounding one +, -, *, / or sqrt twice (to Compute, then to the type) gives
/// the same bits as rounding once.
struct F32Traits {
  using Compute = float;
  static float load(uint64_t bits) { return asFloat(bits); }
  static uint64_t store(float value) { return fromFloat(value); }
  static uint64_t round(double value) {
    return fromFloat(static_cast<float>(value));
  }
};

struct F64Traits {
  using Compute = double;
  static double load(uint64_t bits) { return asDouble(bits); }
  static uint64_t store(double value) { return fromDouble(value); }
  static uint64_t round(double value) { return fromDouble(value); }
};

template <const NarrowFormat &Format> struct NarrowTraits {
  using Compute = double;
  static double load(uint64_t bits) {
    return widen(Format, static_cast<uint16_t>(bits));
  }
  static uint64_t store(double value) { return narrow(Format, value); }
  static uint64_t round(double value) { return narrow(Format, value); }
};

using BF16Traits = NarrowTraits<kBF16>;
using F16Traits = NarrowTraits<kF16>;

/// Computes in the `Compute` type.
template <typename Traits, typename Op>
ScalarError unaryFloat(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] =
      Traits::store(Op()(Traits::load(slots[instr.operands[0]])));
  return ScalarError::None;
}

template <typename Traits, typename Op>
ScalarError binaryFloat(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] =
      Traits::store(Op()(Traits::load(slots[instr.operands[0]]),
                         Traits::load(slots[instr.operands[1]])));
  return ScalarError::None;
}

/// Computes in double and rounds once: elementary functions.
template <typename Traits, typename Op>
ScalarError unaryInDouble(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] = Traits::round(
      Op()(static_cast<double>(Traits::load(slots[instr.operands[0]]))));
  return ScalarError::None;
}

template <typename Traits, typename Op>
ScalarError binaryInDouble(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] = Traits::round(
      Op()(static_cast<double>(Traits::load(slots[instr.operands[0]])),
           static_cast<double>(Traits::load(slots[instr.operands[1]]))));
  return ScalarError::None;
}

/// Picks the instance for a float type.
#define REGATHER_SELECT_FLOAT(NAME)                                            \
  template <typename Op> ScalarFunction NAME##For(ScalarType type) {           \
    switch (type.kind) {                                                       \
    case ScalarKind::F32:                                                      \
      return NAME<F32Traits, Op>;                                              \
    case ScalarKind::F64:                                                      \
      return NAME<F64Traits, Op>;                                              \
    case ScalarKind::BF16:                                                     \
      return NAME<BF16Traits, Op>;                                             \
    case ScalarKind::F16:                                                      \
      return NAME<F16Traits, Op>;                                              \
    case ScalarKind::Int:                                                      \
      break;                                                                   \
    }                                                                          \
    llvm_unreachable("not a float type");                                      \
  }
REGATHER_SELECT_FLOAT(unaryFloat)
REGATHER_SELECT_FLOAT(binaryFloat)
REGATHER_SELECT_FLOAT(unaryInDouble)
REGATHER_SELECT_FLOAT(binaryInDouble)
#undef REGATHER_SELECT_FLOAT

/// A functor on the zero-extended bits of integers; it gets the width and the
/// result is masked.
template <typename Op>
ScalarError unaryInt(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] = Op()(slots[instr.operands[0]], instr.type.width) &
                        instr.resultType.getMask();
  return ScalarError::None;
}

template <typename Op>
ScalarError binaryInt(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] = Op()(slots[instr.operands[0]], slots[instr.operands[1]],
                             instr.type.width) &
                        instr.resultType.getMask();
  return ScalarError::None;
}

} // namespace regather::interp

#endif // REGATHER_LIB_INTERPRETER_SCALARFUNCTIONS_H
