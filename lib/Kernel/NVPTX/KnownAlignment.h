//===- KnownAlignment.h - What is known of addresses ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_KNOWNALIGNMENT_H
#define REGATHER_LIB_KERNEL_NVPTX_KNOWNALIGNMENT_H

#include "mlir/IR/Value.h"

namespace regather::nvptx {

/// Alignment of every buffer that a kernel is called with, in bytes.
inline constexpr int64_t kBufferAlignment = 16;

/// Bytes by which the first element of a buffer is known to be aligned. Follows
/// views up to an argument of the function.
int64_t getKnownAlignment(mlir::Value buffer);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_KNOWNALIGNMENT_H
