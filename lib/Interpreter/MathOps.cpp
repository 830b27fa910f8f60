//===- MathOps.cpp - Instructions of the math dialect ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Elementary functions are computed in double by the C library and rounded once
// to the type: for f32 and narrower the result is then nearly always the
// correctly rounded one, whatever code a compiler would call.
//
// math.clampf is missing on purpose: its description and its expansion compute
// max(min(x, low), high), which is not what its name says.
//
//===----------------------------------------------------------------------===//

#include "ScalarFunctions.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir;
using namespace regather::interp;

namespace {

//===----------------------------------------------------------------------===//
// Elementary functions, computed in double
//===----------------------------------------------------------------------===//

#define UNARY(NAME, EXPR)                                                      \
  struct NAME {                                                                \
    double operator()(double x) const { return EXPR; }                         \
  };
UNARY(Acos, std::acos(x))
UNARY(Acosh, std::acosh(x))
UNARY(Asin, std::asin(x))
UNARY(Asinh, std::asinh(x))
UNARY(Atan, std::atan(x))
UNARY(Atanh, std::atanh(x))
UNARY(Cbrt, std::cbrt(x))
UNARY(Ceil, std::ceil(x))
UNARY(Cos, std::cos(x))
UNARY(Cosh, std::cosh(x))
UNARY(Erf, std::erf(x))
UNARY(Erfc, std::erfc(x))
UNARY(Exp, std::exp(x))
UNARY(Exp2, std::exp2(x))
UNARY(ExpM1, std::expm1(x))
UNARY(Floor, std::floor(x))
UNARY(Log, std::log(x))
UNARY(Log10, std::log10(x))
UNARY(Log1p, std::log1p(x))
UNARY(Log2, std::log2(x))
UNARY(Round, std::round(x))
UNARY(RoundEven, std::nearbyint(x))
UNARY(Rsqrt, 1 / std::sqrt(x))
UNARY(Sin, std::sin(x))
UNARY(Sinh, std::sinh(x))
UNARY(Tan, std::tan(x))
UNARY(Tanh, std::tanh(x))
UNARY(Trunc, std::trunc(x))
#undef UNARY

/// In the type itself, where the machine rounds correctly.
struct Sqrt {
  template <typename T> T operator()(T x) const { return std::sqrt(x); }
};

struct PowF {
  double operator()(double x, double y) const { return std::pow(x, y); }
};
struct Atan2 {
  double operator()(double x, double y) const { return std::atan2(x, y); }
};

ScalarError fusedMultiplyAdd(const ScalarInstr &instr, uint64_t *slots) {
  uint64_t a = slots[instr.operands[0]];
  uint64_t b = slots[instr.operands[1]];
  uint64_t c = slots[instr.operands[2]];
  uint64_t &result = slots[instr.result];
  ScalarType type = instr.type;
  if (type.kind == ScalarKind::F32)
    result = fromFloat(std::fmaf(asFloat(a), asFloat(b), asFloat(c)));
  else if (type.kind == ScalarKind::F64)
    result = fromDouble(std::fma(asDouble(a), asDouble(b), asDouble(c)));
  else
    result = roundFromDouble(type, fusedToOdd(loadAsDouble(type, a),
                                              loadAsDouble(type, b),
                                              loadAsDouble(type, c)));
  return ScalarError::None;
}

/// Exact where the power is; elsewhere as good as pow, unlike the products of
/// repeated squaring.
ScalarError floatToIntPower(const ScalarInstr &instr, uint64_t *slots) {
  // The type of the exponent is kept in `number`.
  int64_t exponent = signExtend(slots[instr.operands[1]], instr.number);
  double base = loadAsDouble(instr.type, slots[instr.operands[0]]);
  slots[instr.result] = roundFromDouble(
      instr.type, std::pow(base, static_cast<double>(exponent)));
  return ScalarError::None;
}

//===----------------------------------------------------------------------===//
// Bits of floats
//===----------------------------------------------------------------------===//

uint64_t getSignBit(ScalarType type) { return uint64_t(1) << (type.width - 1); }

ScalarError absoluteFloat(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] = slots[instr.operands[0]] & ~getSignBit(instr.type);
  return ScalarError::None;
}

ScalarError copySign(const ScalarInstr &instr, uint64_t *slots) {
  uint64_t sign = getSignBit(instr.type);
  slots[instr.result] =
      (slots[instr.operands[0]] & ~sign) | (slots[instr.operands[1]] & sign);
  return ScalarError::None;
}

ScalarError isNaN(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] =
      std::isnan(loadAsDouble(instr.type, slots[instr.operands[0]]));
  return ScalarError::None;
}

ScalarError isInf(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] =
      std::isinf(loadAsDouble(instr.type, slots[instr.operands[0]]));
  return ScalarError::None;
}

ScalarError isFinite(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] =
      std::isfinite(loadAsDouble(instr.type, slots[instr.operands[0]]));
  return ScalarError::None;
}

/// Normal in its own type: an f16 subnormal is a normal double.
ScalarError isNormal(const ScalarInstr &instr, uint64_t *slots) {
  int minExponent = instr.type.kind == ScalarKind::F64   ? -1022
                    : instr.type.kind == ScalarKind::F16 ? -14
                                                         : -126;
  double value = loadAsDouble(instr.type, slots[instr.operands[0]]);
  slots[instr.result] =
      std::isfinite(value) && std::fabs(value) >= std::ldexp(1.0, minExponent);
  return ScalarError::None;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

struct AbsI {
  uint64_t operator()(uint64_t a, unsigned width) const {
    return signExtend(a, width) < 0 ? ~a + 1 : a;
  }
};
struct LeadingZeros {
  uint64_t operator()(uint64_t a, unsigned width) const {
    return llvm::countl_zero(a) - (64 - width);
  }
};
struct TrailingZeros {
  uint64_t operator()(uint64_t a, unsigned width) const {
    return a == 0 ? width : llvm::countr_zero(a);
  }
};
struct PopulationCount {
  uint64_t operator()(uint64_t a, unsigned) const { return llvm::popcount(a); }
};

ScalarError intPower(const ScalarInstr &instr, uint64_t *slots) {
  unsigned width = instr.type.width;
  int64_t base = signExtend(slots[instr.operands[0]], width);
  int64_t exponent = signExtend(slots[instr.operands[1]], width);
  uint64_t result = 1;
  if (exponent < 0) {
    if (base == 0)
      return ScalarError::NegativePower;
    // 1 / base ** n truncates to zero unless base is 1 or -1.
    result = base == 1 ? 1 : base == -1 ? (exponent & 1 ? ~uint64_t(0) : 1) : 0;
  } else {
    auto factor = static_cast<uint64_t>(base);
    for (auto rest = static_cast<uint64_t>(exponent); rest; rest >>= 1) {
      if (rest & 1)
        result *= factor;
      factor *= factor;
    }
  }
  slots[instr.result] = result & instr.type.getMask();
  return ScalarError::None;
}

} // namespace

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

using Selector = ScalarAppender::Selector;

static Selector getFloatFunction(StringRef name) {
  return llvm::StringSwitch<Selector>(name)
      .Case("math.acos", unaryInDoubleFor<Acos>)
      .Case("math.acosh", unaryInDoubleFor<Acosh>)
      .Case("math.asin", unaryInDoubleFor<Asin>)
      .Case("math.asinh", unaryInDoubleFor<Asinh>)
      .Case("math.atan", unaryInDoubleFor<Atan>)
      .Case("math.atanh", unaryInDoubleFor<Atanh>)
      .Case("math.cbrt", unaryInDoubleFor<Cbrt>)
      .Case("math.ceil", unaryInDoubleFor<Ceil>)
      .Case("math.cos", unaryInDoubleFor<Cos>)
      .Case("math.cosh", unaryInDoubleFor<Cosh>)
      .Case("math.erf", unaryInDoubleFor<Erf>)
      .Case("math.erfc", unaryInDoubleFor<Erfc>)
      .Case("math.exp", unaryInDoubleFor<Exp>)
      .Case("math.exp2", unaryInDoubleFor<Exp2>)
      .Case("math.expm1", unaryInDoubleFor<ExpM1>)
      .Case("math.floor", unaryInDoubleFor<Floor>)
      .Case("math.log", unaryInDoubleFor<Log>)
      .Case("math.log10", unaryInDoubleFor<Log10>)
      .Case("math.log1p", unaryInDoubleFor<Log1p>)
      .Case("math.log2", unaryInDoubleFor<Log2>)
      .Case("math.round", unaryInDoubleFor<Round>)
      .Case("math.roundeven", unaryInDoubleFor<RoundEven>)
      .Case("math.rsqrt", unaryInDoubleFor<Rsqrt>)
      .Case("math.sin", unaryInDoubleFor<Sin>)
      .Case("math.sinh", unaryInDoubleFor<Sinh>)
      .Case("math.sqrt", unaryFloatFor<Sqrt>)
      .Case("math.tan", unaryInDoubleFor<Tan>)
      .Case("math.tanh", unaryInDoubleFor<Tanh>)
      .Case("math.trunc", unaryInDoubleFor<Trunc>)
      .Case("math.powf", binaryInDoubleFor<PowF>)
      .Case("math.atan2", binaryInDoubleFor<Atan2>)
      .Default(nullptr);
}

static ScalarFunction getOtherFunction(StringRef name) {
  return llvm::StringSwitch<ScalarFunction>(name)
      .Case("math.fma", fusedMultiplyAdd)
      .Case("math.fpowi", floatToIntPower)
      .Case("math.ipowi", intPower)
      .Case("math.absf", absoluteFloat)
      .Case("math.copysign", copySign)
      .Case("math.isnan", isNaN)
      .Case("math.isinf", isInf)
      .Case("math.isfinite", isFinite)
      .Case("math.isnormal", isNormal)
      .Case("math.absi", unaryInt<AbsI>)
      .Case("math.ctlz", unaryInt<LeadingZeros>)
      .Case("math.cttz", unaryInt<TrailingZeros>)
      .Case("math.ctpop", unaryInt<PopulationCount>)
      .Default(nullptr);
}

bool regather::interp::appendMathOp(Operation *op, ArrayRef<unsigned> operands,
                                    ArrayRef<unsigned> results,
                                    ScalarCode &code) {
  StringRef name = op->getName().getStringRef();
  if (!name.starts_with("math.") || op->getNumOperands() == 0)
    return false;
  ScalarAppender appender(op, operands, results, code);
  if (name == "math.sincos") {
    appender.append(unaryInDoubleFor<Sin>(appender.getType()), 0);
    appender.append(unaryInDoubleFor<Cos>(appender.getType()), 1);
    return true;
  }
  if (name == "math.fpowi")
    appender.setNumber(
        getScalarType(getElementTypeOrSelf(op->getOperand(1)))->width);
  return appender.append(getFloatFunction(name), getOtherFunction(name));
}
