//===- OptimizeModule.h - LLVM's passes over a kernel -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's pipeline of its level 2 with another way to unroll loops. LLVM unrolls
// what remains of loops over rows eight times, which gains nothing where memory
// is what a kernel waits for and made up a third of the time to compile it.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_CPU_OPTIMIZEMODULE_H
#define REGATHER_LIB_KERNEL_CPU_OPTIMIZEMODULE_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace regather::cpu {

/// What these passes are called in the key of compiled code: to be changed
/// whenever they make other code of the same kernel.
inline constexpr llvm::StringLiteral kOptimization =
    "O2, loops of known length unrolled";

/// Kernels with an argument or a result of as many bytes run for so long that
/// unrolling a loop in part is worth the time that it takes to compile.
inline constexpr int64_t kMinUnrolledBytes = 1 << 16;

/// Optimises a kernel for `machine`; no result changes a bit. Loops whose
/// length is known are unrolled after they have become vectors: short ones as a
/// whole, so that sums over rows stay in registers, and others in part if
/// `isLarge`.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                    bool isLarge);

} // namespace regather::cpu

#endif // REGATHER_LIB_KERNEL_CPU_OPTIMIZEMODULE_H
