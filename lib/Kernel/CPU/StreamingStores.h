//===- StreamingStores.h - Stores that bypass the cache ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result that is larger than the caches is out of them before anything reads
// it. To write it around them saves reading its lines first, a third of the
// traffic of an addition. The processor can do that with aligned vectors only.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_CPU_STREAMINGSTORES_H
#define REGATHER_LIB_KERNEL_CPU_STREAMINGSTORES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace regather::cpu {

/// Results of this size are written around the caches.
inline constexpr int64_t kMinStreamedBytes = 32 << 20;

/// Alignment, in bytes, of results that are.
inline constexpr uint64_t kStreamAlignment = 64;

/// True if code for `triple` can have such stores.
bool canStream(const llvm::Triple &triple);

/// Adds a copy of `kernel` that may take the numbered arguments, results, to be
/// aligned. To be optimised before `streamStores`.
llvm::Function *cloneForStreaming(llvm::Function &kernel,
                                  llvm::ArrayRef<unsigned> results);

/// Emits a call of `streaming`, and of what orders its stores before all that
/// follows.
llvm::Value *callStreaming(llvm::IRBuilder<> &builder,
                           llvm::Function &streaming,
                           llvm::ArrayRef<llvm::Value *> arguments);

/// Makes vector stores to these results bypass the caches where they are
/// aligned, if the module has such a copy. Results that are also read are left
/// alone.
void streamStores(llvm::Module &module);

} // namespace regather::cpu

#endif // REGATHER_LIB_KERNEL_CPU_STREAMINGSTORES_H
