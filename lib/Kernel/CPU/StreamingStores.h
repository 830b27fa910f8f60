//===- StreamingStores.h - Stores that bypass the cache ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result that is larger than the caches has left them before anything reads
// it. Stores that bypass the caches need not read its lines first, which saves
// a third of the traffic of an addition. Processors have such stores for
// aligned vectors only.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_CPU_STREAMINGSTORES_H
#define REGATHER_LIB_KERNEL_CPU_STREAMINGSTORES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace regather::cpu {

/// Results of at least so many bytes bypass the caches.
inline constexpr int64_t kMinStreamedBytes = 32 << 20;

/// Alignment, in bytes, of such results.
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
