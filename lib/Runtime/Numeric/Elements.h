//===- Elements.h - Elements of tensors as numbers --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How elements of a type are stored, read and rounded.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_RUNTIME_NUMERIC_ELEMENTS_H
#define REGATHER_RUNTIME_NUMERIC_ELEMENTS_H

#include "regather/Support/Half.h"

#include "regather/Runtime/Runtime.h"

namespace regather::runtime {

/// Elements that are stored in the type they are computed in, or in a wider or
/// narrower one that the language converts to.
template <typename T> struct PlainElement {
  using Storage = T;
  template <typename Acc> static Acc load(T value) { return Acc(value); }
  template <typename Acc> static T store(Acc value) { return T(value); }
};

struct BF16Element {
  using Storage = uint16_t;
  template <typename Acc> static Acc load(uint16_t value) {
    return Acc(fromBF16(value));
  }
  template <typename Acc> static uint16_t store(Acc value) {
    return toBF16(value);
  }
};

struct F16Element {
  using Storage = uint16_t;
  template <typename Acc> static Acc load(uint16_t value) {
    return Acc(fromF16(value));
  }
  template <typename Acc> static uint16_t store(Acc value) {
    return toF16(value);
  }
};

/// True for the types that GEMMs and attention compute in f32.
inline bool isRoutineFloat(int32_t dtype) {
  return dtype == RG_F32 || dtype == RG_BF16 || dtype == RG_F16;
}

/// Calls `use` with an element of one of these types.
template <typename Use> void useRoutineFloat(int32_t dtype, Use use) {
  if (dtype == RG_BF16)
    use(BF16Element());
  else if (dtype == RG_F16)
    use(F16Element());
  else
    use(PlainElement<float>());
}

} // namespace regather::runtime

#endif // REGATHER_RUNTIME_NUMERIC_ELEMENTS_H
