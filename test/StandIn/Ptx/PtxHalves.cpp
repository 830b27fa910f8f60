//===- PtxHalves.cpp - Arithmetic of PTX on floats of 16 bits -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All is computed in f64 and rounded once. That is exact but for sums of which
// one operand is more than 2^40 times the other.
//
//===----------------------------------------------------------------------===//

#include "PtxInterpreter.h"

#include "regather/Support/Half.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_map>

using namespace regather::runtime;

namespace {

struct BF16 {
  static double read(uint64_t bits) {
    return bitCast<float>(uint32_t(bits & 0xFFFF) << 16);
  }
  static uint16_t round(double value) { return toBF16(value); }
};
struct F16 {
  static double read(uint64_t bits) { return fromF16(uint16_t(bits)); }
  static uint16_t round(double value) { return toF16(value); }
};

constexpr uint16_t kNan = 0x7FFF;
constexpr uint16_t kSign = 0x8000;

template <typename T> uint16_t write(double value) {
  return std::isnan(value) ? kNan : T::round(value);
}

struct Add {
  static double apply(double a, double b, double) { return a + b; }
};
struct Subtract {
  static double apply(double a, double b, double) { return a - b; }
};
struct Multiply {
  static double apply(double a, double b, double) { return a * b; }
};
struct MultiplyAdd {
  static double apply(double a, double b, double c) {
    return std::fma(a, b, c);
  }
};
/// Of zeros, the minimum is the negative one.
struct Minimum {
  static double apply(double a, double b, double) {
    return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
  }
};
struct Maximum {
  static double apply(double a, double b, double) {
    return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
  }
};
template <typename Operation> struct OrNan {
  static double apply(double a, double b, double c) {
    return std::isnan(a) || std::isnan(b) ? NAN : Operation::apply(a, b, c);
  }
};

template <typename T, typename Operation>
uint64_t compute(uint64_t a, uint64_t b, uint64_t c) {
  return write<T>(Operation::apply(T::read(a), T::read(b), T::read(c)));
}
uint64_t absolute(uint64_t a, uint64_t, uint64_t) {
  return a & ~kSign & 0xFFFF;
}
uint64_t negate(uint64_t a, uint64_t, uint64_t) { return (a ^ kSign) & 0xFFFF; }

/// The same for both halves of registers of 32 bits.
template <PtxCompute one>
uint64_t computePair(uint64_t a, uint64_t b, uint64_t c) {
  return one(a >> 16, b >> 16, c >> 16) << 16 |
         one(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF);
}
template <PtxCompute one>
uint64_t computeHigh(uint64_t a, uint64_t b, uint64_t c) {
  return one(a >> 16, b >> 16, c >> 16);
}

struct Equal {
  static bool apply(double a, double b) { return a == b; }
};
struct NotEqual {
  static bool apply(double a, double b) { return a < b || a > b; }
};
struct Less {
  static bool apply(double a, double b) { return a < b; }
};
struct LessEqual {
  static bool apply(double a, double b) { return a <= b; }
};
struct Greater {
  static bool apply(double a, double b) { return a > b; }
};
struct GreaterEqual {
  static bool apply(double a, double b) { return a >= b; }
};
struct Unordered {
  static bool apply(double a, double b) {
    return std::isnan(a) || std::isnan(b);
  }
};
struct Ordered {
  static bool apply(double a, double b) { return !Unordered::apply(a, b); }
};
template <typename Operation> struct OrUnordered {
  static bool apply(double a, double b) {
    return Unordered::apply(a, b) || Operation::apply(a, b);
  }
};

template <typename T, typename Operation>
uint64_t compare(uint64_t a, uint64_t b, uint64_t) {
  return Operation::apply(T::read(a), T::read(b));
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

float readF32(uint64_t bits) { return bitCast<float>(uint32_t(bits)); }

/// A NaN that an instruction makes has all bits of its mantissa.
uint64_t writeF32(float value) {
  return std::isnan(value) ? 0x7FFFFFFF : bitCast<uint32_t>(value);
}
uint64_t writeF64(double value) {
  return std::isnan(value) ? 0xFFF8000000000000 : bitCast<uint64_t>(value);
}

template <typename T> uint64_t toF32(uint64_t a, uint64_t, uint64_t) {
  return writeF32(float(T::read(a)));
}
template <typename T> uint64_t toF64(uint64_t a, uint64_t, uint64_t) {
  return writeF64(T::read(a));
}
template <typename T> uint64_t fromF32(uint64_t a, uint64_t, uint64_t) {
  return write<T>(readF32(a));
}
template <typename T> uint64_t fromF64(uint64_t a, uint64_t, uint64_t) {
  return write<T>(bitCast<double>(a));
}
/// The first operand becomes the high half.
template <typename T> uint64_t pairFromF32(uint64_t a, uint64_t b, uint64_t) {
  return uint64_t(write<T>(readF32(a))) << 16 | write<T>(readF32(b));
}
template <typename T, typename From>
uint64_t fromInteger(uint64_t a, uint64_t, uint64_t) {
  return T::round(double(From(a)));
}
/// Towards zero; NaN is zero, and what is too large the largest.
template <typename T, typename To>
uint64_t toInteger(uint64_t a, uint64_t, uint64_t) {
  using Limits = std::numeric_limits<To>;
  double value = T::read(a);
  if (std::isnan(value))
    return 0;
  To bounded = value >= double(Limits::max())   ? Limits::max()
               : value <= double(Limits::min()) ? Limits::min()
                                                : To(value);
  return std::make_unsigned_t<To>(bounded);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

class HalfTable {
public:
  HalfTable() {
    addType<BF16>("bf16");
    addType<F16>("f16");
  }
  PtxCompute find(std::string_view opcode) const {
    auto found = operations.find(std::string(opcode));
    return found == operations.end() ? nullptr : found->second;
  }

private:
  template <PtxCompute one>
  void add(const std::string &name, const std::string &type) {
    operations[name + "." + type] = one;
    operations[name + "." + type + "x2"] = computePair<one>;
  }
  /// A comparison of pairs has two results.
  template <PtxCompute one>
  void addComparison(const std::string &name, const std::string &type) {
    operations["setp." + name + "." + type] = one;
    operations["setp." + name + "." + type + "x2"] = one;
    operations["setp." + name + "." + type + "x2.high"] = computeHigh<one>;
  }
  template <typename T> void addType(const std::string &type);
  template <typename T> void addConversions(const std::string &type);
  /// Of at most 32 bits, which f64 has as they are.
  template <typename T, typename Integer>
  void addInteger(const std::string &type, const std::string &integer) {
    operations["cvt.rn." + type + "." + integer] = fromInteger<T, Integer>;
    operations["cvt.rzi." + integer + "." + type] = toInteger<T, Integer>;
  }

  std::unordered_map<std::string, PtxCompute> operations;
};

template <typename T> void HalfTable::addConversions(const std::string &type) {
  operations["cvt.f32." + type] = toF32<T>;
  operations["cvt.f64." + type] = toF64<T>;
  operations["cvt.rn." + type + ".f32"] = fromF32<T>;
  operations["cvt.rn." + type + ".f64"] = fromF64<T>;
  operations["cvt.rn." + type + "x2.f32"] = pairFromF32<T>;
  addInteger<T, int8_t>(type, "s8");
  addInteger<T, int16_t>(type, "s16");
  addInteger<T, int32_t>(type, "s32");
  addInteger<T, uint8_t>(type, "u8");
  addInteger<T, uint16_t>(type, "u16");
  addInteger<T, uint32_t>(type, "u32");
}

template <typename T> void HalfTable::addType(const std::string &type) {
  addConversions<T>(type);
  add<compute<T, Add>>("add", type);
  add<compute<T, Add>>("add.rn", type);
  add<compute<T, Subtract>>("sub", type);
  add<compute<T, Subtract>>("sub.rn", type);
  add<compute<T, Multiply>>("mul", type);
  add<compute<T, Multiply>>("mul.rn", type);
  add<compute<T, MultiplyAdd>>("fma.rn", type);
  add<compute<T, Minimum>>("min", type);
  add<compute<T, Maximum>>("max", type);
  add<compute<T, OrNan<Minimum>>>("min.NaN", type);
  add<compute<T, OrNan<Maximum>>>("max.NaN", type);
  add<absolute>("abs", type);
  add<negate>("neg", type);
  addComparison<compare<T, Equal>>("eq", type);
  addComparison<compare<T, NotEqual>>("ne", type);
  addComparison<compare<T, Less>>("lt", type);
  addComparison<compare<T, LessEqual>>("le", type);
  addComparison<compare<T, Greater>>("gt", type);
  addComparison<compare<T, GreaterEqual>>("ge", type);
  addComparison<compare<T, OrUnordered<Equal>>>("equ", type);
  addComparison<compare<T, OrUnordered<NotEqual>>>("neu", type);
  addComparison<compare<T, OrUnordered<Less>>>("ltu", type);
  addComparison<compare<T, OrUnordered<LessEqual>>>("leu", type);
  addComparison<compare<T, OrUnordered<Greater>>>("gtu", type);
  addComparison<compare<T, OrUnordered<GreaterEqual>>>("geu", type);
  addComparison<compare<T, Unordered>>("nan", type);
  addComparison<compare<T, Ordered>>("num", type);
}

} // namespace

PtxCompute regather::runtime::findPtxHalfOperation(std::string_view opcode) {
  static const HalfTable table;
  return table.find(opcode);
}
