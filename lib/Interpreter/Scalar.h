//===- Scalar.h - Scalars and programs over them ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Scalar code (the body of a linalg op, one arith op) is compiled once to a
// flat list of instructions over numbered 64-bit slots, so that evaluating an
// element costs no hash lookups.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_INTERPRETER_SCALAR_H
#define REGATHER_LIB_INTERPRETER_SCALAR_H

#include "NarrowFloat.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <cstring>
#include <string>

namespace regather::interp {

enum class ScalarKind : uint8_t { F32, F64, BF16, F16, Int };

/// The type of a scalar. `index` is an integer of 64 bits.
///
/// A value is held in 64 bits: a float as its bit pattern, an integer zero
/// extended; bits above `width` are always zero.
struct ScalarType {
  ScalarKind kind = ScalarKind::Int;
  uint8_t width = 64;

  bool isFloat() const { return kind != ScalarKind::Int; }

  /// Bytes of an element in memory, a power of two.
  int64_t getBytes() const {
    return width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8;
  }

  uint64_t getMask() const {
    return width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  }

  /// What memory that nobody wrote holds: a NaN with a telling payload, or
  /// bytes of 0xA5.
  uint64_t getPoison() const;

  bool operator==(const ScalarType &other) const {
    return kind == other.kind && width == other.width;
  }
};

/// Failure for types that cannot be evaluated.
mlir::FailureOr<ScalarType> getScalarType(mlir::Type type);

/// The bits of a float or integer attribute.
uint64_t getScalarBits(mlir::Attribute value);

inline int64_t signExtend(uint64_t bits, unsigned width) {
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

inline float asFloat(uint64_t bits) {
  auto word = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

inline uint64_t fromFloat(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  return word;
}

inline double asDouble(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint64_t fromDouble(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// The value of a float of any type; exact.
double loadAsDouble(ScalarType type, uint64_t bits);

/// Rounds once, to nearest even.
uint64_t roundFromDouble(ScalarType type, double value);

/// Why an instruction has no result.
enum class ScalarError : uint8_t {
  None,
  DivisionByZero,
  DivisionOverflow,
  NegativePower,
  OutOfBounds
};

struct ScalarInstr;
using ScalarFunction = ScalarError (*)(const ScalarInstr &, uint64_t *slots);

struct ScalarInstr {
  ScalarFunction function = nullptr;
  unsigned result = 0;
  unsigned operands[3] = {0, 0, 0};
  /// Type of the operands, and of the result where it differs.
  ScalarType type;
  ScalarType resultType;
  /// A predicate, a bound, or another number that the function knows.
  int64_t number = 0;
  /// The operation that the instruction comes from.
  mlir::Operation *op = nullptr;
};

/// Straight-line code. Slots that hold constants are set in `initialSlots`;
/// the others are zero there.
struct ScalarCode {
  llvm::SmallVector<ScalarInstr> instructions;
  llvm::SmallVector<uint64_t> initialSlots;

  unsigned addSlot(uint64_t value = 0) {
    initialSlots.push_back(value);
    return initialSlots.size() - 1;
  }

  /// Null, or the instruction that failed because of `error`.
  const ScalarInstr *run(uint64_t *slots, ScalarError &error) const {
    for (const ScalarInstr &instr : instructions)
      if (error = instr.function(instr, slots); error != ScalarError::None)
        return &instr;
    return nullptr;
  }
};

/// Appends the instructions of one operation, which has at most three operands,
/// to code. `operands` and `results` are slots.
class ScalarAppender {
public:
  /// Chooses the function for the type of the operands.
  using Selector = ScalarFunction (*)(ScalarType);

  ScalarAppender(mlir::Operation *op, llvm::ArrayRef<unsigned> operands,
                 llvm::ArrayRef<unsigned> results, ScalarCode &code);

  ScalarType getType() const { return instr.type; }
  /// Sets the number of the instructions that follow.
  void setNumber(int64_t number) { instr.number = number; }
  void append(ScalarFunction function, unsigned result = 0);
  /// Appends what is not null; false if both are.
  bool append(Selector selector, ScalarFunction function);

private:
  ScalarInstr instr;
  llvm::ArrayRef<unsigned> results;
  ScalarCode &code;
};

/// Appends the code of one arith or math operation on scalars, or on one
/// element of each tensor operand. False if the operation is not known.
bool appendScalarOp(mlir::Operation *op, llvm::ArrayRef<unsigned> operands,
                    llvm::ArrayRef<unsigned> results, ScalarCode &code);

/// The two halves of `appendScalarOp`.
bool appendArithOp(mlir::Operation *op, llvm::ArrayRef<unsigned> operands,
                   llvm::ArrayRef<unsigned> results, ScalarCode &code);
bool appendMathOp(mlir::Operation *op, llvm::ArrayRef<unsigned> operands,
                  llvm::ArrayRef<unsigned> results, ScalarCode &code);

/// What to tell the user about a failed instruction.
std::string describeError(ScalarError error, const ScalarInstr &instr,
                          const uint64_t *slots);

} // namespace regather::interp

#endif // REGATHER_LIB_INTERPRETER_SCALAR_H
