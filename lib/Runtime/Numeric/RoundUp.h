//===- RoundUp.h - Multiples ------------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_NUMERIC_ROUNDUP_H
#define REGATHER_LIB_RUNTIME_NUMERIC_ROUNDUP_H

#include <cstdint>

namespace regather::runtime {

/// The smallest multiple of `b` that is not less than `a`.
inline int64_t roundUp(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_NUMERIC_ROUNDUP_H
