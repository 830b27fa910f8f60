//===- ArithOps.cpp - Instructions of the arith dialect -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Operations whose result is undefined for some operands (a shift by the width
// or more, a conversion of a float that does not fit) give the poison pattern,
// so that a program that relies on them shows.
//
//===----------------------------------------------------------------------===//

#include "ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace regather::interp;

namespace {

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

struct AddF {
  template <typename T> T operator()(T a, T b) const { return a + b; }
};
struct SubF {
  template <typename T> T operator()(T a, T b) const { return a - b; }
};
struct MulF {
  template <typename T> T operator()(T a, T b) const { return a * b; }
};
struct DivF {
  template <typename T> T operator()(T a, T b) const { return a / b; }
};
struct RemF {
  template <typename T> T operator()(T a, T b) const { return std::fmod(a, b); }
};
/// The larger operand, where -0 is smaller than +0.
template <typename T> T larger(T a, T b) {
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <typename T> T smaller(T a, T b) {
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
struct MaximumF {
  template <typename T> T operator()(T a, T b) const {
    return std::isnan(a) ? a : std::isnan(b) ? b : larger(a, b);
  }
};
struct MinimumF {
  template <typename T> T operator()(T a, T b) const {
    return std::isnan(a) ? a : std::isnan(b) ? b : smaller(a, b);
  }
};
struct MaxNumF {
  template <typename T> T operator()(T a, T b) const {
    return std::isnan(a) ? b : std::isnan(b) ? a : larger(a, b);
  }
};
struct MinNumF {
  template <typename T> T operator()(T a, T b) const {
    return std::isnan(a) ? b : std::isnan(b) ? a : smaller(a, b);
  }
};

/// Flips the sign bit, also of a NaN.
ScalarError negate(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] =
      slots[instr.operands[0]] ^ uint64_t(1) << (instr.type.width - 1);
  return ScalarError::None;
}

ScalarError compareFloats(const ScalarInstr &instr, uint64_t *slots) {
  double a = loadAsDouble(instr.type, slots[instr.operands[0]]);
  double b = loadAsDouble(instr.type, slots[instr.operands[1]]);
  bool unordered = std::isnan(a) || std::isnan(b);
  // Predicates are numbered like LLVM's: bit 0 equal, bit 1 greater, bit 2
  // less; MLIR's numbers are translated when the instruction is made.
  bool holds = unordered ? (instr.number & 8) != 0
                         : ((instr.number & 1) && a == b) ||
                               ((instr.number & 2) && a > b) ||
                               ((instr.number & 4) && a < b);
  slots[instr.result] = holds;
  return ScalarError::None;
}

int64_t getFloatPredicate(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  constexpr int64_t eq = 1, gt = 2, lt = 4, unordered = 8;
  switch (predicate) {
  case P::AlwaysFalse:
    return 0;
  case P::OEQ:
    return eq;
  case P::OGT:
    return gt;
  case P::OGE:
    return gt | eq;
  case P::OLT:
    return lt;
  case P::OLE:
    return lt | eq;
  case P::ONE:
    return lt | gt;
  case P::ORD:
    return lt | gt | eq;
  case P::UEQ:
    return unordered | eq;
  case P::UGT:
    return unordered | gt;
  case P::UGE:
    return unordered | gt | eq;
  case P::ULT:
    return unordered | lt;
  case P::ULE:
    return unordered | lt | eq;
  case P::UNE:
    return unordered | lt | gt;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return unordered | lt | gt | eq;
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

#define INT_OP(NAME, EXPR)                                                     \
  struct NAME {                                                                \
    uint64_t operator()(uint64_t a, uint64_t b, unsigned w) const {            \
      (void)w;                                                                 \
      return EXPR;                                                             \
    }                                                                          \
  };
INT_OP(AddI, a + b)
INT_OP(SubI, a - b)
INT_OP(MulI, a *b)
INT_OP(AndI, a &b)
INT_OP(OrI, a | b)
INT_OP(XOrI, a ^ b)
INT_OP(MaxUI, a > b ? a : b)
INT_OP(MinUI, a < b ? a : b)
INT_OP(MaxSI, signExtend(a, w) > signExtend(b, w) ? a : b)
INT_OP(MinSI, signExtend(a, w) < signExtend(b, w) ? a : b)
INT_OP(ShLI, b >= w ? ScalarType().getPoison() : a << b)
INT_OP(ShRUI, b >= w ? ScalarType().getPoison() : a >> b)
INT_OP(ShRSI, b >= w ? ScalarType().getPoison()
                     : static_cast<uint64_t>(signExtend(a, w) >> b))
INT_OP(MulHighUI,
       static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> w))
INT_OP(MulHighSI,
       static_cast<uint64_t>(
           (static_cast<__int128>(signExtend(a, w)) * signExtend(b, w)) >> w))
/// Carry of an addition of w bits.
INT_OP(CarryUI,
       static_cast<uint64_t>((static_cast<unsigned __int128>(a) + b) >> w))
#undef INT_OP

enum class Rounding { Zero, Up, Down, Remainder };

template <Rounding Mode>
ScalarError divideUnsigned(const ScalarInstr &instr, uint64_t *slots) {
  uint64_t a = slots[instr.operands[0]], b = slots[instr.operands[1]];
  if (b == 0)
    return ScalarError::DivisionByZero;
  slots[instr.result] = Mode == Rounding::Remainder ? a % b
                        : Mode == Rounding::Up      ? a / b + (a % b != 0)
                                                    : a / b;
  return ScalarError::None;
}

/// C++ truncates; the quotient moves by one where another rounding is asked
/// for.
template <Rounding Mode>
ScalarError divideSigned(const ScalarInstr &instr, uint64_t *slots) {
  unsigned width = instr.type.width;
  int64_t a = signExtend(slots[instr.operands[0]], width);
  int64_t b = signExtend(slots[instr.operands[1]], width);
  if (b == 0)
    return ScalarError::DivisionByZero;
  if (b == -1 && a == signExtend(uint64_t(1) << (width - 1), width))
    return ScalarError::DivisionOverflow;
  int64_t quotient = a / b, remainder = a % b;
  bool positive = (remainder > 0) == (b > 0);
  if (Mode == Rounding::Up && remainder != 0 && positive)
    ++quotient;
  if (Mode == Rounding::Down && remainder != 0 && !positive)
    --quotient;
  slots[instr.result] =
      static_cast<uint64_t>(Mode == Rounding::Remainder ? remainder
                                                        : quotient) &
      instr.type.getMask();
  return ScalarError::None;
}

ScalarError compareInts(const ScalarInstr &instr, uint64_t *slots) {
  using P = arith::CmpIPredicate;
  uint64_t a = slots[instr.operands[0]], b = slots[instr.operands[1]];
  int64_t sa = signExtend(a, instr.type.width);
  int64_t sb = signExtend(b, instr.type.width);
  bool holds = false;
  switch (static_cast<P>(instr.number)) {
  case P::eq:
    holds = a == b;
    break;
  case P::ne:
    holds = a != b;
    break;
  case P::slt:
    holds = sa < sb;
    break;
  case P::sle:
    holds = sa <= sb;
    break;
  case P::sgt:
    holds = sa > sb;
    break;
  case P::sge:
    holds = sa >= sb;
    break;
  case P::ult:
    holds = a < b;
    break;
  case P::ule:
    holds = a <= b;
    break;
  case P::ugt:
    holds = a > b;
    break;
  case P::uge:
    holds = a >= b;
    break;
  }
  slots[instr.result] = holds;
  return ScalarError::None;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// The condition chooses which bits to copy, whatever their type.
ScalarError select(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] = slots[instr.operands[slots[instr.operands[0]] ? 1 : 2]];
  return ScalarError::None;
}

/// Bits are zero extended already; masking truncates.
ScalarError copyBits(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] = slots[instr.operands[0]] & instr.resultType.getMask();
  return ScalarError::None;
}

ScalarError extendSign(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] = static_cast<uint64_t>(signExtend(
                            slots[instr.operands[0]], instr.type.width)) &
                        instr.resultType.getMask();
  return ScalarError::None;
}

/// Every narrower float is exact as a double: extensions do not round.
ScalarError convertFloat(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] = roundFromDouble(
      instr.resultType, loadAsDouble(instr.type, slots[instr.operands[0]]));
  return ScalarError::None;
}

/// 64 bits do not fit a double: f32 is rounded by the machine, the narrow types
/// from a double that was rounded to odd.
uint64_t intToFloat(ScalarType type, uint64_t magnitude, bool negative) {
  if (type.kind == ScalarKind::F32) {
    auto value = static_cast<float>(magnitude);
    return fromFloat(negative ? -value : value);
  }
  if (type.kind == ScalarKind::F64) {
    auto value = static_cast<double>(magnitude);
    return fromDouble(negative ? -value : value);
  }
  return roundFromDouble(type, integerToOdd(magnitude, negative));
}

ScalarError signedToFloat(const ScalarInstr &instr, uint64_t *slots) {
  int64_t value = signExtend(slots[instr.operands[0]], instr.type.width);
  uint64_t magnitude = static_cast<uint64_t>(value);
  if (value < 0)
    magnitude = ~magnitude + 1;
  slots[instr.result] = intToFloat(instr.resultType, magnitude, value < 0);
  return ScalarError::None;
}

ScalarError unsignedToFloat(const ScalarInstr &instr, uint64_t *slots) {
  slots[instr.result] =
      intToFloat(instr.resultType, slots[instr.operands[0]], false);
  return ScalarError::None;
}

ScalarError floatToSigned(const ScalarInstr &instr, uint64_t *slots) {
  double value = std::trunc(loadAsDouble(instr.type, slots[instr.operands[0]]));
  double limit = std::ldexp(1.0, instr.resultType.width - 1);
  bool fits = value >= -limit && value < limit;
  slots[instr.result] =
      fits ? static_cast<uint64_t>(static_cast<int64_t>(value)) &
                 instr.resultType.getMask()
           : instr.resultType.getPoison();
  return ScalarError::None;
}

ScalarError floatToUnsigned(const ScalarInstr &instr, uint64_t *slots) {
  double value = std::trunc(loadAsDouble(instr.type, slots[instr.operands[0]]));
  bool fits = value >= 0 && value < std::ldexp(1.0, instr.resultType.width);
  slots[instr.result] =
      fits ? static_cast<uint64_t>(value) : instr.resultType.getPoison();
  return ScalarError::None;
}

} // namespace

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

using Selector = ScalarAppender::Selector;

static Selector getFloatOp(StringRef name) {
  return llvm::StringSwitch<Selector>(name)
      .Case("arith.addf", binaryFloatFor<AddF>)
      .Case("arith.subf", binaryFloatFor<SubF>)
      .Case("arith.mulf", binaryFloatFor<MulF>)
      .Case("arith.divf", binaryFloatFor<DivF>)
      .Case("arith.remf", binaryFloatFor<RemF>)
      .Case("arith.maximumf", binaryFloatFor<MaximumF>)
      .Case("arith.minimumf", binaryFloatFor<MinimumF>)
      .Case("arith.maxnumf", binaryFloatFor<MaxNumF>)
      .Case("arith.minnumf", binaryFloatFor<MinNumF>)
      .Default(nullptr);
}

static ScalarFunction getOtherOp(StringRef name) {
  return llvm::StringSwitch<ScalarFunction>(name)
      .Case("arith.negf", negate)
      .Case("arith.addi", binaryInt<AddI>)
      .Case("arith.subi", binaryInt<SubI>)
      .Case("arith.muli", binaryInt<MulI>)
      .Case("arith.andi", binaryInt<AndI>)
      .Case("arith.ori", binaryInt<OrI>)
      .Case("arith.xori", binaryInt<XOrI>)
      .Case("arith.maxui", binaryInt<MaxUI>)
      .Case("arith.minui", binaryInt<MinUI>)
      .Case("arith.maxsi", binaryInt<MaxSI>)
      .Case("arith.minsi", binaryInt<MinSI>)
      .Case("arith.shli", binaryInt<ShLI>)
      .Case("arith.shrui", binaryInt<ShRUI>)
      .Case("arith.shrsi", binaryInt<ShRSI>)
      .Case("arith.divui", divideUnsigned<Rounding::Zero>)
      .Case("arith.ceildivui", divideUnsigned<Rounding::Up>)
      .Case("arith.remui", divideUnsigned<Rounding::Remainder>)
      .Case("arith.divsi", divideSigned<Rounding::Zero>)
      .Case("arith.ceildivsi", divideSigned<Rounding::Up>)
      .Case("arith.floordivsi", divideSigned<Rounding::Down>)
      .Case("arith.remsi", divideSigned<Rounding::Remainder>)
      .Cases({"arith.bitcast", "arith.extui", "arith.trunci",
              "arith.index_castui"},
             copyBits)
      .Cases({"arith.extsi", "arith.index_cast"}, extendSign)
      .Cases({"arith.extf", "arith.truncf"}, convertFloat)
      .Case("arith.sitofp", signedToFloat)
      .Case("arith.uitofp", unsignedToFloat)
      .Case("arith.fptosi", floatToSigned)
      .Case("arith.fptoui", floatToUnsigned)
      .Case("arith.select", select)
      .Case("arith.cmpi", compareInts)
      .Case("arith.cmpf", compareFloats)
      .Default(nullptr);
}

/// Low and high half of an operation with two results.
static std::pair<ScalarFunction, ScalarFunction> getPairOp(StringRef name) {
  if (name == "arith.addui_extended")
    return {binaryInt<AddI>, binaryInt<CarryUI>};
  if (name == "arith.mulsi_extended")
    return {binaryInt<MulI>, binaryInt<MulHighSI>};
  if (name == "arith.mului_extended")
    return {binaryInt<MulI>, binaryInt<MulHighUI>};
  return {nullptr, nullptr};
}

bool regather::interp::appendArithOp(Operation *op, ArrayRef<unsigned> operands,
                                     ArrayRef<unsigned> results,
                                     ScalarCode &code) {
  StringRef name = op->getName().getStringRef();
  if (!name.starts_with("arith.") || op->getNumOperands() == 0 ||
      op->getNumOperands() > 3)
    return false;
  // For select the type is that of the condition; only the bits of the others
  // matter.
  ScalarAppender appender(op, operands, results, code);
  if (auto pair = getPairOp(name); pair.first) {
    appender.append(pair.first, 0);
    appender.append(pair.second, 1);
    return true;
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    appender.setNumber(static_cast<int64_t>(compare.getPredicate()));
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    appender.setNumber(getFloatPredicate(compare.getPredicate()));
  // Other rounding modes than to nearest even are not evaluated.
  if (auto truncate = dyn_cast<arith::TruncFOp>(op))
    if (truncate.getRoundingmode().value_or(
            arith::RoundingMode::to_nearest_even) !=
        arith::RoundingMode::to_nearest_even)
      return false;
  return appender.append(getFloatOp(name), getOtherOp(name));
}
