//===- Scalar.cpp - Scalars and programs over them ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scalar.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace regather::interp;

uint64_t ScalarType::getPoison() const {
  switch (kind) {
  case ScalarKind::F32:
    return 0x7FE5A5A5;
  case ScalarKind::F64:
    return 0x7FFCA5A5A5A5A5A5;
  case ScalarKind::BF16:
    return 0x7FE5;
  case ScalarKind::F16:
    return 0x7EA5;
  case ScalarKind::Int:
    return 0xA5A5A5A5A5A5A5A5 & getMask();
  }
  llvm_unreachable("unknown kind");
}

FailureOr<ScalarType> regather::interp::getScalarType(Type type) {
  if (type.isF32())
    return ScalarType{ScalarKind::F32, 32};
  if (type.isF64())
    return ScalarType{ScalarKind::F64, 64};
  if (type.isBF16())
    return ScalarType{ScalarKind::BF16, 16};
  if (type.isF16())
    return ScalarType{ScalarKind::F16, 16};
  if (type.isIndex())
    return ScalarType{ScalarKind::Int, 64};
  if (auto integer = dyn_cast<IntegerType>(type);
      integer && integer.getWidth() >= 1 && integer.getWidth() <= 64)
    return ScalarType{ScalarKind::Int,
                      static_cast<uint8_t>(integer.getWidth())};
  return failure();
}

/// APInts of narrow types are zero extended, as slots are.
uint64_t regather::interp::getScalarBits(Attribute value) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return real.getValue().bitcastToAPInt().getZExtValue();
  return cast<IntegerAttr>(value).getValue().getZExtValue();
}

double regather::interp::loadAsDouble(ScalarType type, uint64_t bits) {
  switch (type.kind) {
  case ScalarKind::F32:
    return asFloat(bits);
  case ScalarKind::F64:
    return asDouble(bits);
  case ScalarKind::BF16:
    return widen(kBF16, static_cast<uint16_t>(bits));
  case ScalarKind::F16:
    return widen(kF16, static_cast<uint16_t>(bits));
  case ScalarKind::Int:
    break;
  }
  llvm_unreachable("not a float type");
}

uint64_t regather::interp::roundFromDouble(ScalarType type, double value) {
  switch (type.kind) {
  case ScalarKind::F32:
    return fromFloat(static_cast<float>(value));
  case ScalarKind::F64:
    return fromDouble(value);
  case ScalarKind::BF16:
    return narrow(kBF16, value);
  case ScalarKind::F16:
    return narrow(kF16, value);
  case ScalarKind::Int:
    break;
  }
  llvm_unreachable("not a float type");
}

ScalarAppender::ScalarAppender(Operation *op, ArrayRef<unsigned> operands,
                               ArrayRef<unsigned> results, ScalarCode &code)
    : results(results), code(code) {
  instr.op = op;
  instr.type = *getScalarType(getElementTypeOrSelf(op->getOperand(0)));
  llvm::copy(operands, instr.operands);
}

void ScalarAppender::append(ScalarFunction function, unsigned result) {
  instr.function = function;
  instr.result = results[result];
  instr.resultType =
      *getScalarType(getElementTypeOrSelf(instr.op->getResult(result)));
  code.instructions.push_back(instr);
}

bool ScalarAppender::append(Selector selector, ScalarFunction function) {
  if (selector)
    function = selector(instr.type);
  if (!function)
    return false;
  append(function);
  return true;
}

bool regather::interp::appendScalarOp(Operation *op,
                                      ArrayRef<unsigned> operands,
                                      ArrayRef<unsigned> results,
                                      ScalarCode &code) {
  return appendArithOp(op, operands, results, code) ||
         appendMathOp(op, operands, results, code);
}

std::string regather::interp::describeError(ScalarError error,
                                            const ScalarInstr &instr,
                                            const uint64_t *slots) {
  std::string text;
  llvm::raw_string_ostream os(text);
  switch (error) {
  case ScalarError::None:
    break;
  case ScalarError::DivisionByZero:
    os << "division by zero";
    break;
  case ScalarError::DivisionOverflow:
    os << "signed division of "
       << signExtend(slots[instr.operands[0]], instr.type.width)
       << " by -1 overflows";
    break;
  case ScalarError::NegativePower:
    os << "zero to a negative power";
    break;
  case ScalarError::OutOfBounds:
    os << "index " << static_cast<int64_t>(slots[instr.operands[1]])
       << " is out of bounds for a dimension of size " << instr.number;
    break;
  }
  return text;
}
