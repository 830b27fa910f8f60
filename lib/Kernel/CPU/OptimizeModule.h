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
// is what a kernel waits for and made up 40 % of the time to compile it.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_CPU_OPTIMIZEMODULE_H
#define REGATHER_LIB_KERNEL_CPU_OPTIMIZEMODULE_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace regather::cpu {

/// What these passes are called in the key of compiled code: to be changed
/// whenever they make other code of the same kernel.
inline constexpr llvm::StringLiteral kOptimization = "O2, short loops unrolled";

/// Optimises a kernel for `machine`; no result changes a bit. Loops are
/// unrolled only as a whole, after they have become vectors: then sums over
/// rows stay in registers.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace regather::cpu

#endif // REGATHER_LIB_KERNEL_CPU_OPTIMIZEMODULE_H
