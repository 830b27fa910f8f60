//===- Philox.h - Philox4x32-10 ---------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_INTERPRETER_PHILOX_H
#define REGATHER_LIB_INTERPRETER_PHILOX_H

#include <array>
#include <cstdint>

namespace regather::interp {

using PhiloxBlock = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// The random block that a counter stands for. Source: Salmon, Moraes, Dror and
/// Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011.
PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key);

} // namespace regather::interp

#endif // REGATHER_LIB_INTERPRETER_PHILOX_H
