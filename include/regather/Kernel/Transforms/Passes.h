//===- Passes.h - From kernels to loops between buffers ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_PASSES_H
#define REGATHER_KERNEL_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace regather::kernel {

/// How kernel-check-bounds reports an index that is out of bounds.
enum class BoundsReport { Status, Trap };

#define GEN_PASS_DECL
#include "regather/Kernel/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "regather/Kernel/Transforms/Passes.h.inc"

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_PASSES_H
