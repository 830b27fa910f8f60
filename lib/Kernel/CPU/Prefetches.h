//===- Prefetches.h - Load what is read next --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that computes much for each element fills the window in which the
// processor looks ahead, so that waiting for memory and computing take turns.
// Prefetching what is read some iterations later overlaps the two; a GELU on
// data beyond the caches is twice as fast.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_CPU_PREFETCHES_H
#define REGATHER_LIB_KERNEL_CPU_PREFETCHES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Function.h"

namespace regather::cpu {

/// Arguments of at least so many bytes are prefetched.
inline constexpr int64_t kMinPrefetchedBytes = 1 << 20;

/// Marks the numbered arguments of `function`. To be done before it is
/// optimised and copied.
void markPrefetched(llvm::Function &function, llvm::ArrayRef<unsigned> numbers);

/// Adds a prefetch before each vector load from marked arguments that a loop
/// moves on through memory. Prefetches behind the end of an argument have no
/// effect. To be done after all optimisation.
void prefetchLoads(llvm::Module &module);

} // namespace regather::cpu

#endif // REGATHER_LIB_KERNEL_CPU_PREFETCHES_H
