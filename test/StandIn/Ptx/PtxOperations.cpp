//===- PtxOperations.cpp - What instructions of PTX compute ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxInterpreter.h"

#include "regather/Support/Half.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <unordered_map>

using namespace regather::runtime;

namespace {

//===----------------------------------------------------------------------===//
// Bits of values
//===----------------------------------------------------------------------===//

/// Registers hold the bits of a value in their low end.
template <typename T> T read(uint64_t bits) {
  if constexpr (std::is_same_v<T, float>)
    return bitCast<float>(uint32_t(bits));
  else if constexpr (std::is_same_v<T, double>)
    return bitCast<double>(bits);
  else
    return T(bits);
}

/// A NaN that an instruction makes has all bits of its mantissa.
template <typename T> uint64_t write(T value) {
  if constexpr (std::is_same_v<T, float>)
    return std::isnan(value) ? 0x7FFFFFFF : bitCast<uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>)
    return std::isnan(value) ? 0xFFF8000000000000 : bitCast<uint64_t>(value);
  else
    return std::make_unsigned_t<T>(value);
}

//===----------------------------------------------------------------------===//
// Operations on a type
//===----------------------------------------------------------------------===//

template <typename T> uint64_t add(uint64_t a, uint64_t b, uint64_t) {
  if constexpr (std::is_integral_v<T>)
    return write<T>(T(a + b));
  else
    return write(read<T>(a) + read<T>(b));
}
template <typename T> uint64_t sub(uint64_t a, uint64_t b, uint64_t) {
  if constexpr (std::is_integral_v<T>)
    return write<T>(T(a - b));
  else
    return write(read<T>(a) - read<T>(b));
}
template <typename T> uint64_t mul(uint64_t a, uint64_t b, uint64_t) {
  if constexpr (std::is_integral_v<T>)
    return write<T>(T(a * b));
  else
    return write(read<T>(a) * read<T>(b));
}
template <typename T> uint64_t mad(uint64_t a, uint64_t b, uint64_t c) {
  return write<T>(T(a * b + c));
}
template <typename T, typename Wide>
uint64_t mulWide(uint64_t a, uint64_t b, uint64_t) {
  return write<Wide>(Wide(read<T>(a)) * Wide(read<T>(b)));
}
template <typename T, typename Wide>
uint64_t madWide(uint64_t a, uint64_t b, uint64_t c) {
  return write<Wide>(Wide(uint64_t(Wide(read<T>(a)) * Wide(read<T>(b))) + c));
}
template <typename T> uint64_t mulHigh(uint64_t a, uint64_t b, uint64_t) {
  using Wide = std::conditional_t<
      sizeof(T) == 8,
      std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
      std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  return write<T>(T((Wide(read<T>(a)) * Wide(read<T>(b))) >> 8 * sizeof(T)));
}
/// What a division by zero gives is not defined; here all bits are set.
template <typename T> uint64_t divide(uint64_t a, uint64_t b, uint64_t) {
  if constexpr (std::is_integral_v<T>) {
    if (read<T>(b) == 0)
      return write<T>(T(-1));
    if (std::is_signed_v<T> && read<T>(b) == T(-1))
      return write<T>(T(0 - a));
    return write<T>(T(read<T>(a) / read<T>(b)));
  } else {
    return write(read<T>(a) / read<T>(b));
  }
}
template <typename T> uint64_t remainder(uint64_t a, uint64_t b, uint64_t) {
  if (read<T>(b) == 0)
    return write<T>(read<T>(a));
  if (std::is_signed_v<T> && read<T>(b) == T(-1))
    return 0;
  return write<T>(T(read<T>(a) % read<T>(b)));
}
template <typename T> uint64_t fma(uint64_t a, uint64_t b, uint64_t c) {
  return write(std::fma(read<T>(a), read<T>(b), read<T>(c)));
}
/// The other operand if one is NaN; +0 is above -0.
template <typename T> uint64_t maximum(uint64_t a, uint64_t b, uint64_t) {
  T first = read<T>(a), second = read<T>(b);
  if constexpr (std::is_integral_v<T>)
    return write<T>(std::max(first, second));
  else {
    if (std::isnan(first))
      return write(second);
    if (std::isnan(second))
      return write(first);
    if (first == second)
      return std::signbit(first) ? b : a;
    return first > second ? a : b;
  }
}
template <typename T> uint64_t minimum(uint64_t a, uint64_t b, uint64_t) {
  T first = read<T>(a), second = read<T>(b);
  if constexpr (std::is_integral_v<T>)
    return write<T>(std::min(first, second));
  else {
    if (std::isnan(first))
      return write(second);
    if (std::isnan(second))
      return write(first);
    if (first == second)
      return std::signbit(first) ? a : b;
    return first < second ? a : b;
  }
}
/// NaN if an operand is.
template <typename T> uint64_t maximumOrNan(uint64_t a, uint64_t b, uint64_t) {
  if (std::isnan(read<T>(a)) || std::isnan(read<T>(b)))
    return write(std::numeric_limits<T>::quiet_NaN());
  return maximum<T>(a, b, 0);
}
template <typename T> uint64_t minimumOrNan(uint64_t a, uint64_t b, uint64_t) {
  if (std::isnan(read<T>(a)) || std::isnan(read<T>(b)))
    return write(std::numeric_limits<T>::quiet_NaN());
  return minimum<T>(a, b, 0);
}
template <typename T> uint64_t negate(uint64_t a, uint64_t, uint64_t) {
  if constexpr (std::is_integral_v<T>)
    return write<T>(T(0 - a));
  else
    return a ^ uint64_t(1) << (8 * sizeof(T) - 1);
}
template <typename T> uint64_t absolute(uint64_t a, uint64_t, uint64_t) {
  if constexpr (std::is_integral_v<T>)
    return read<T>(a) < 0 ? negate<T>(a, 0, 0) : write<T>(read<T>(a));
  else
    return a & ~(uint64_t(1) << (8 * sizeof(T) - 1));
}
template <typename T> uint64_t squareRoot(uint64_t a, uint64_t, uint64_t) {
  return write(std::sqrt(read<T>(a)));
}
template <typename T> uint64_t reciprocal(uint64_t a, uint64_t, uint64_t) {
  return write(T(1) / read<T>(a));
}

/// The magnitude of the second with the sign of the first.
template <typename T> uint64_t copySign(uint64_t a, uint64_t b, uint64_t) {
  constexpr uint64_t kSign = uint64_t(1) << (8 * sizeof(T) - 1);
  return (b & ~kSign) | (a & kSign);
}

/// a * b + c, rounded towards zero. Reads and writes of volatile variables stay
/// between the changes of the rounding mode.
template <typename T>
uint64_t fmaTowardsZero(uint64_t a, uint64_t b, uint64_t c) {
  int mode = std::fegetround();
  std::fesetround(FE_TOWARDZERO);
  volatile T x = read<T>(a), y = read<T>(b), z = read<T>(c);
  volatile T result = std::fma(x, y, z);
  std::fesetround(mode);
  return write(T(result));
}
template <typename T>
uint64_t addTowardsZero(uint64_t a, uint64_t b, uint64_t) {
  return fmaTowardsZero<T>(a, write(T(1)), b);
}

/// Approximations are no worse here than on a GPU.
template <typename T> uint64_t powerOfTwo(uint64_t a, uint64_t, uint64_t) {
  return write(std::exp2(read<T>(a)));
}
/// Zero where the power would have no leading one.
template <typename T>
uint64_t powerOfTwoOrZero(uint64_t a, uint64_t, uint64_t) {
  T power = std::exp2(read<T>(a));
  return write(power < std::numeric_limits<T>::min() ? T(0) : power);
}
template <typename T> uint64_t logarithm(uint64_t a, uint64_t, uint64_t) {
  return write(std::log2(read<T>(a)));
}
template <typename T> uint64_t reciprocalRoot(uint64_t a, uint64_t, uint64_t) {
  return write(T(1 / std::sqrt(double(read<T>(a)))));
}
template <typename T> uint64_t sine(uint64_t a, uint64_t, uint64_t) {
  return write(std::sin(read<T>(a)));
}
template <typename T> uint64_t cosine(uint64_t a, uint64_t, uint64_t) {
  return write(std::cos(read<T>(a)));
}

template <typename T> uint64_t bitAnd(uint64_t a, uint64_t b, uint64_t) {
  return write<T>(T(a & b));
}
template <typename T> uint64_t bitOr(uint64_t a, uint64_t b, uint64_t) {
  return write<T>(T(a | b));
}
template <typename T> uint64_t bitXor(uint64_t a, uint64_t b, uint64_t) {
  return write<T>(T(a ^ b));
}
template <typename T> uint64_t bitNot(uint64_t a, uint64_t, uint64_t) {
  return write<T>(T(~a));
}
/// Distances of more bits than there are shift everything out.
template <typename T> uint64_t shiftLeft(uint64_t a, uint64_t b, uint64_t) {
  return uint32_t(b) >= 8 * sizeof(T) ? 0 : write<T>(T(a << uint32_t(b)));
}
template <typename T> uint64_t shiftRight(uint64_t a, uint64_t b, uint64_t) {
  uint32_t most = 8 * sizeof(T) - 1, distance = uint32_t(b);
  if (distance > most && !std::is_signed_v<T>)
    return 0;
  return write<T>(T(read<T>(a) >> std::min(distance, most)));
}
template <typename T> uint64_t extract(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t begin = b & 0xff, length = c & 0xff;
  uint64_t bits = begin >= 64 ? 0 : write<T>(read<T>(a)) >> begin;
  return length >= 64 ? bits : bits & ((uint64_t(1) << length) - 1);
}
/// The same, with copies of the last bit that is extracted above it.
template <typename T>
uint64_t extractSigned(uint64_t a, uint64_t b, uint64_t c) {
  constexpr uint64_t bits = 8 * sizeof(T);
  uint64_t begin = b & 0xff, length = c & 0xff;
  if (length == 0)
    return 0;
  uint64_t last = std::min(begin + length, bits) - 1;
  T value = static_cast<T>(read<T>(a) << (bits - 1 - last)) >>
            std::min(bits - 1 - last + begin, bits - 1);
  return write<T>(value);
}
/// Each byte of the result is one of eight, or eight times its sign.
uint64_t permuteBytes(uint64_t a, uint64_t b, uint64_t selection) {
  uint64_t bytes = b << 32 | (a & 0xFFFFFFFF), result = 0;
  for (int i = 0; i < 4; ++i) {
    uint64_t selector = selection >> (4 * i) & 0xF;
    uint64_t byte = bytes >> (8 * (selector & 7)) & 0xFF;
    if (selector & 8)
      byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}
/// The high half of two words that are shifted together.
uint64_t funnelLeft(uint64_t low, uint64_t high, uint64_t distance) {
  uint64_t both = high << 32 | (low & 0xFFFFFFFF);
  return (both << (distance & 31)) >> 32;
}
uint64_t funnelRight(uint64_t low, uint64_t high, uint64_t distance) {
  uint64_t both = high << 32 | (low & 0xFFFFFFFF);
  return uint32_t(both >> (distance & 31));
}
template <typename T> uint64_t move(uint64_t a, uint64_t, uint64_t) {
  return write<T>(T(a));
}
template <typename T> uint64_t select(uint64_t a, uint64_t b, uint64_t c) {
  return write<T>(T(c ? a : b));
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

template <typename T, bool orUnordered, typename Compare>
uint64_t compare(uint64_t a, uint64_t b) {
  T first = read<T>(a), second = read<T>(b);
  if constexpr (!std::is_integral_v<T>)
    if (std::isnan(first) || std::isnan(second))
      return orUnordered;
  return Compare()(first, second);
}

struct Equal {
  template <typename T> bool operator()(T a, T b) const { return a == b; }
};
struct NotEqual {
  template <typename T> bool operator()(T a, T b) const { return a != b; }
};
struct Less {
  template <typename T> bool operator()(T a, T b) const { return a < b; }
};
struct LessEqual {
  template <typename T> bool operator()(T a, T b) const { return a <= b; }
};
struct Greater {
  template <typename T> bool operator()(T a, T b) const { return a > b; }
};
struct GreaterEqual {
  template <typename T> bool operator()(T a, T b) const { return a >= b; }
};

template <typename T> uint64_t isNan(uint64_t a, uint64_t b, uint64_t) {
  return std::isnan(read<T>(a)) || std::isnan(read<T>(b));
}
template <typename T> uint64_t isNumber(uint64_t a, uint64_t b, uint64_t) {
  return !isNan<T>(a, b, 0);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <typename To, typename From>
uint64_t convert(uint64_t a, uint64_t, uint64_t) {
  return write<To>(To(read<From>(a)));
}
/// NaN is zero, and what is too large the largest.
template <typename To, typename From, From (*round)(From)>
uint64_t roundToInteger(uint64_t a, uint64_t, uint64_t) {
  From value = round(read<From>(a));
  if (std::isnan(value))
    return 0;
  if (value >= From(std::numeric_limits<To>::max()))
    return write<To>(std::numeric_limits<To>::max());
  if (value <= From(std::numeric_limits<To>::min()))
    return write<To>(std::numeric_limits<To>::min());
  return write<To>(To(value));
}
uint64_t narrowTowardsZero(uint64_t a, uint64_t, uint64_t) {
  double value = read<double>(a);
  auto narrow = float(value);
  if (std::fabs(double(narrow)) > std::fabs(value))
    narrow = std::nextafter(narrow, 0.0F);
  return write(narrow);
}
template <typename T> uint64_t roundDown(uint64_t a, uint64_t, uint64_t) {
  return write(std::floor(read<T>(a)));
}
template <typename T> uint64_t roundUp(uint64_t a, uint64_t, uint64_t) {
  return write(std::ceil(read<T>(a)));
}
template <typename T>
uint64_t roundTowardsZero(uint64_t a, uint64_t, uint64_t) {
  return write(std::trunc(read<T>(a)));
}
template <typename T> uint64_t roundToEven(uint64_t a, uint64_t, uint64_t) {
  return write(std::nearbyint(read<T>(a)));
}
//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

class OperationTable {
public:
  OperationTable();
  PtxCompute find(std::string_view opcode) const {
    auto found = operations.find(std::string(opcode));
    return found == operations.end() ? nullptr : found->second;
  }

private:
  void set(const std::string &opcode, PtxCompute compute) {
    operations[opcode] = compute;
  }
  template <typename T> void addBits(const std::string &type);
  template <typename T> void addIntegers(const std::string &type);
  template <typename T> void addFloats(const std::string &type);
  template <typename T, bool orUnordered>
  void addComparisons(const std::string &type, const std::string &suffix);
  template <typename To> void addConversionsTo(const std::string &type);

  std::unordered_map<std::string, PtxCompute> operations;
};

template <typename T, bool orUnordered>
void OperationTable::addComparisons(const std::string &type,
                                    const std::string &suffix) {
  auto addOne = [&](const char *name, PtxCompute compute) {
    set(std::string("setp.") + name + suffix + "." + type, compute);
  };
#define REGATHER_COMPARISON(name, Compare)                                     \
  addOne(name, [](uint64_t a, uint64_t b, uint64_t) {                          \
    return compare<T, orUnordered, Compare>(a, b);                             \
  });
  REGATHER_COMPARISON("eq", Equal)
  REGATHER_COMPARISON("ne", NotEqual)
  REGATHER_COMPARISON("lt", Less)
  REGATHER_COMPARISON("le", LessEqual)
  REGATHER_COMPARISON("gt", Greater)
  REGATHER_COMPARISON("ge", GreaterEqual)
#undef REGATHER_COMPARISON
}

template <typename T> void OperationTable::addBits(const std::string &type) {
  set("and." + type, bitAnd<T>);
  set("or." + type, bitOr<T>);
  set("xor." + type, bitXor<T>);
  set("not." + type, bitNot<T>);
  set("shl." + type, shiftLeft<T>);
  set("mov." + type, move<T>);
  set("selp." + type, select<T>);
}

template <typename T>
void OperationTable::addIntegers(const std::string &type) {
  set("add." + type, add<T>);
  set("sub." + type, sub<T>);
  set("mul.lo." + type, mul<T>);
  set("mul.hi." + type, mulHigh<T>);
  set("mad.lo." + type, mad<T>);
  set("div." + type, divide<T>);
  set("rem." + type, remainder<T>);
  set("min." + type, minimum<T>);
  set("max." + type, maximum<T>);
  set("shr." + type, shiftRight<T>);
  set("mov." + type, move<T>);
  set("selp." + type, select<T>);
  addComparisons<T, false>(type, "");
  if constexpr (std::is_signed_v<T>) {
    set("neg." + type, negate<T>);
    set("abs." + type, absolute<T>);
  }
}

template <typename T> void OperationTable::addFloats(const std::string &type) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  set("add.rn." + type, add<T>);
  set("sub.rn." + type, sub<T>);
  set("mul.rn." + type, mul<T>);
  set("div.rn." + type, divide<T>);
  set("fma.rn." + type, fma<T>);
  set("sqrt.rn." + type, squareRoot<T>);
  set("rcp.rn." + type, reciprocal<T>);
  // No worse than what it approximates.
  set("rcp.approx.ftz." + type, reciprocal<T>);
  for (const char *approximate : {".approx.", ".approx.ftz."}) {
    set("ex2" + (approximate + type), powerOfTwo<T>);
    set("lg2" + (approximate + type), logarithm<T>);
    set("rsqrt" + (approximate + type), reciprocalRoot<T>);
    set("sqrt" + (approximate + type), squareRoot<T>);
    set("sin" + (approximate + type), sine<T>);
    set("cos" + (approximate + type), cosine<T>);
  }
  for (const char *approximate : {".approx.", ".approx.ftz.", ".full."})
    set("div" + (approximate + type), divide<T>);
  set("ex2.approx.ftz." + type, powerOfTwoOrZero<T>);
  set("add.rz." + type, addTowardsZero<T>);
  set("fma.rz." + type, fmaTowardsZero<T>);
  set("copysign." + type, copySign<T>);
  set("min." + type, minimum<T>);
  set("max." + type, maximum<T>);
  set("min.NaN." + type, minimumOrNan<T>);
  set("max.NaN." + type, maximumOrNan<T>);
  set("neg." + type, negate<T>);
  set("abs." + type, absolute<T>);
  set("mov." + type, move<Bits>);
  set("selp." + type, select<Bits>);
  set("setp.nan." + type, isNan<T>);
  set("setp.num." + type, isNumber<T>);
  set("cvt.rmi." + type + "." + type, roundDown<T>);
  set("cvt.rpi." + type + "." + type, roundUp<T>);
  set("cvt.rzi." + type + "." + type, roundTowardsZero<T>);
  set("cvt.rni." + type + "." + type, roundToEven<T>);
  addComparisons<T, false>(type, "");
  addComparisons<T, true>(type, "u");
}

/// From integers, exact ones or rounded to nearest.
template <typename To>
void OperationTable::addConversionsTo(const std::string &type) {
  std::string name =
      std::string(std::is_integral_v<To> ? "cvt." : "cvt.rn.") + type + ".";
  set(name + "u8", convert<To, uint8_t>);
  set(name + "u16", convert<To, uint16_t>);
  set(name + "u32", convert<To, uint32_t>);
  set(name + "u64", convert<To, uint64_t>);
  set(name + "s8", convert<To, int8_t>);
  set(name + "s16", convert<To, int16_t>);
  set(name + "s32", convert<To, int32_t>);
  set(name + "s64", convert<To, int64_t>);
  if constexpr (std::is_integral_v<To>) {
    set("cvt.rzi." + type + ".f32", roundToInteger<To, float, std::trunc>);
    set("cvt.rzi." + type + ".f64", roundToInteger<To, double, std::trunc>);
    set("cvt.rni." + type + ".f32", roundToInteger<To, float, std::nearbyint>);
    set("cvt.rni." + type + ".f64", roundToInteger<To, double, std::nearbyint>);
    set("cvt.rmi." + type + ".f32", roundToInteger<To, float, std::floor>);
    set("cvt.rmi." + type + ".f64", roundToInteger<To, double, std::floor>);
    set("cvt.rpi." + type + ".f32", roundToInteger<To, float, std::ceil>);
    set("cvt.rpi." + type + ".f64", roundToInteger<To, double, std::ceil>);
  }
}

OperationTable::OperationTable() {
  addBits<uint16_t>("b16");
  addBits<uint32_t>("b32");
  addBits<uint64_t>("b64");
  // Predicates are 0 or 1.
  addBits<uint64_t>("pred");
  set("not.pred",
      [](uint64_t a, uint64_t, uint64_t) -> uint64_t { return !a; });
  addComparisons<uint16_t, false>("b16", "");
  addComparisons<uint32_t, false>("b32", "");
  addComparisons<uint64_t, false>("b64", "");
  addIntegers<uint16_t>("u16");
  addIntegers<uint32_t>("u32");
  addIntegers<uint64_t>("u64");
  addIntegers<int16_t>("s16");
  addIntegers<int32_t>("s32");
  addIntegers<int64_t>("s64");
  set("mul.wide.u16", mulWide<uint16_t, uint32_t>);
  set("mul.wide.s16", mulWide<int16_t, int32_t>);
  set("mul.wide.u32", mulWide<uint32_t, uint64_t>);
  set("mul.wide.s32", mulWide<int32_t, int64_t>);
  set("mad.wide.u32", madWide<uint32_t, uint64_t>);
  set("mad.wide.s32", madWide<int32_t, int64_t>);
  set("bfe.u32", extract<uint32_t>);
  set("bfe.u64", extract<uint64_t>);
  set("bfe.s32", extractSigned<int32_t>);
  set("bfe.s64", extractSigned<int64_t>);
  set("prmt.b32", permuteBytes);
  set("cvta.to.global.u64", move<uint64_t>);
  set("cvta.global.u64", move<uint64_t>);
  set("cvta.shared.u64", [](uint64_t a, uint64_t, uint64_t) -> uint64_t {
    return a + kSharedWindow;
  });
  set("cvta.to.shared.u64", [](uint64_t a, uint64_t, uint64_t) -> uint64_t {
    return a - kSharedWindow;
  });
  set("shf.l.wrap.b32", funnelLeft);
  set("shf.r.wrap.b32", funnelRight);
  addFloats<float>("f32");
  addFloats<double>("f64");
  addConversionsTo<uint8_t>("u8");
  addConversionsTo<uint16_t>("u16");
  addConversionsTo<uint32_t>("u32");
  addConversionsTo<uint64_t>("u64");
  addConversionsTo<int8_t>("s8");
  addConversionsTo<int16_t>("s16");
  addConversionsTo<int32_t>("s32");
  addConversionsTo<int64_t>("s64");
  addConversionsTo<float>("f32");
  addConversionsTo<double>("f64");
  set("cvt.f64.f32", convert<double, float>);
  set("cvt.rn.f32.f64", convert<float, double>);
  set("cvt.rz.f32.f64", narrowTowardsZero);
}

} // namespace

PtxCompute regather::runtime::findPtxOperation(std::string_view opcode) {
  static const OperationTable table;
  PtxCompute compute = table.find(opcode);
  return compute ? compute : findPtxHalfOperation(opcode);
}
