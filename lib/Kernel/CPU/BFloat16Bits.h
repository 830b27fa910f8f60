//===- BFloat16Bits.h - bf16 as 16 bits -------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_CPU_BFLOAT16BITS_H
#define REGATHER_LIB_KERNEL_CPU_BFLOAT16BITS_H

#include "mlir/IR/BuiltinOps.h"

namespace regather::cpu {

/// Gives every bf16 of a module in the LLVM dialect the type i16. Its
/// arithmetic and conversions have been expanded before; what is left moves
/// bits. LLVM may move a bf16 through f32, and needs for the way back an
/// instruction that flushes subnormals (AVX512-BF16), or a helper that not
/// every libgcc has (`__truncsfbf2`): which one depends on the CPU.
void storeBFloat16AsBits(mlir::ModuleOp module);

} // namespace regather::cpu

#endif // REGATHER_LIB_KERNEL_CPU_BFLOAT16BITS_H
