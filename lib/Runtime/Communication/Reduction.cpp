//===- Reduction.cpp - Reductions in rank order ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduction.h"

#include "Numeric/Elements.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace regather::runtime;

namespace {

/// Elements that are reduced at a time; their accumulators stay in the cache.
constexpr int64_t kBlock = 1024;

/// A byte that holds 0 or 1; its own type because it is not added as a number.
struct Bool {
  uint8_t value;
};

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Addition that wraps around instead of overflowing.
template <typename T> T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return T(Unsigned(Unsigned(a) + Unsigned(b)));
  } else {
    return a + b;
  }
}
Bool add(Bool a, Bool b) { return {uint8_t(a.value ^ b.value)}; }

/// Maximum as IEEE 754 `maximum`. Without branches, so that it vectorizes.
template <typename T> T max(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a > b ? a : b;
  } else {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    // Equal numbers have equal bits, but for zeros: +0 unless both are -0.
    T equal = bitCast<T>(Bits(bitCast<Bits>(a) & bitCast<Bits>(b)));
    T ordered = a > b ? a : a == b ? equal : b;
    // A NaN in `b` is chosen above, because it compares with nothing.
    return a != a ? a : ordered;
  }
}
Bool max(Bool a, Bool b) { return {uint8_t(a.value | b.value)}; }

template <typename T> T divide(T value, int64_t ranks) {
  if constexpr (std::is_floating_point_v<T>)
    return value / T(ranks);
  else
    return value; // avg of integers is refused when the collective starts
}

/// Which NaN an operation returns, and with which sign, differs between
/// processors and between vector and scalar code; one NaN is always the same.
template <typename T> T canonicalize(T value) {
  if constexpr (std::is_same_v<T, float>)
    return value != value ? bitCast<float>(uint32_t(0x7FC00000)) : value;
  else if constexpr (std::is_same_v<T, double>)
    return value != value ? bitCast<double>(uint64_t(0x7FF8) << 48) : value;
  else
    return value;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

template <typename Element, typename Acc>
void reduceBlocks(rg_reduction reduction,
                  const std::vector<const char *> &sources,
                  const std::vector<char *> &targets, int64_t count) {
  using Storage = typename Element::Storage;
  Acc acc[kBlock];
  Storage result[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    int64_t size = std::min(kBlock, count - begin);
    auto at = [&](size_t rank) {
      return reinterpret_cast<const Storage *>(sources[rank]) + begin;
    };
    const Storage *first = at(0);
    for (int64_t i = 0; i < size; ++i)
      acc[i] = Element::template load<Acc>(first[i]);
    for (size_t rank = 1; rank < sources.size(); ++rank) {
      const Storage *next = at(rank);
      if (reduction == RG_MAX)
        for (int64_t i = 0; i < size; ++i)
          acc[i] = max(acc[i], Element::template load<Acc>(next[i]));
      else
        for (int64_t i = 0; i < size; ++i)
          acc[i] = add(acc[i], Element::template load<Acc>(next[i]));
    }
    if (reduction == RG_AVG)
      for (int64_t i = 0; i < size; ++i)
        acc[i] = divide(acc[i], int64_t(sources.size()));
    for (int64_t i = 0; i < size; ++i)
      result[i] = Element::template store<Acc>(canonicalize(acc[i]));
    // All sources of the block have been read: targets may overwrite them.
    for (char *target : targets)
      std::memcpy(target + begin * sizeof(Storage), result,
                  size * sizeof(Storage));
  }
}

template <typename Element>
void reduceFloats(const ReductionType &type,
                  const std::vector<const char *> &sources,
                  const std::vector<char *> &targets, int64_t count) {
  if (type.accumulate == RG_F64)
    reduceBlocks<Element, double>(type.reduction, sources, targets, count);
  else
    reduceBlocks<Element, float>(type.reduction, sources, targets, count);
}

template <typename T>
void reduceIntegers(const ReductionType &type,
                    const std::vector<const char *> &sources,
                    const std::vector<char *> &targets, int64_t count) {
  reduceBlocks<PlainElement<T>, T>(type.reduction, sources, targets, count);
}

} // namespace

void regather::runtime::reduceRun(const ReductionType &type,
                                  const std::vector<const char *> &sources,
                                  const std::vector<char *> &targets,
                                  int64_t count) {
  switch (type.dtype) {
  case RG_F32:
    return reduceFloats<PlainElement<float>>(type, sources, targets, count);
  case RG_F64:
    return reduceBlocks<PlainElement<double>, double>(type.reduction, sources,
                                                      targets, count);
  case RG_BF16:
    return reduceFloats<BF16Element>(type, sources, targets, count);
  case RG_F16:
    return reduceFloats<F16Element>(type, sources, targets, count);
  case RG_I1:
    return reduceBlocks<PlainElement<Bool>, Bool>(type.reduction, sources,
                                                  targets, count);
  case RG_I8:
    return reduceIntegers<int8_t>(type, sources, targets, count);
  case RG_I16:
    return reduceIntegers<int16_t>(type, sources, targets, count);
  case RG_I32:
    return reduceIntegers<int32_t>(type, sources, targets, count);
  case RG_I64:
    return reduceIntegers<int64_t>(type, sources, targets, count);
  case RG_DTYPE_AUTO:
    return;
  }
}
