//===- LaunchAttributes.h - How functions of a GPU are launched -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_LAUNCHATTRIBUTES_H
#define REGATHER_DIALECT_TG_IR_LAUNCHATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace regather::tg {

/// On a `gpu.func` that a kernel became: bytes of shared memory that the launch
/// asks for (i64).
inline constexpr llvm::StringLiteral kDynamicSharedBytesAttrName =
    "tg.dynamic_shared_bytes";

/// On a `gpu.func` that a kernel became: bytes of the device memory that its
/// last argument points to (i64).
inline constexpr llvm::StringLiteral kScratchBytesAttrName = "tg.scratch_bytes";

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_IR_LAUNCHATTRIBUTES_H
