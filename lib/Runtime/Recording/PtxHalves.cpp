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

#include "../Numeric/Half.h"

#include <algorithm>
#include <cmath>
#include <string>
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

  std::unordered_map<std::string, PtxCompute> operations;
};

template <typename T> void HalfTable::addType(const std::string &type) {
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
