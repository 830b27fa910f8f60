//===- CompileCpuKernels.h - Machine code of kernels ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel becomes on a CPU: a function
//
//   int32_t kernel(void *const *buffers, int64_t begin, int64_t end,
//                  void *scratch);
//
// `buffers` has one pointer for each argument and then one for each result, to
// dense row-major tensors that are aligned to their elements. Results overlap
// nothing, but for pairs that `tg::getInPlacePairs` allows. The call computes
// the blocks [begin, end) out of [0, rows); calls on disjoint ranges may run at
// once, and how the range is cut changes no bit. `scratch` has scratchBytes
// bytes, is aligned to 64 of them and private to the call. Returns 0, or 1 if
// an index is out of bounds; results are then undefined.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_CPU_COMPILECPUKERNELS_H
#define REGATHER_KERNEL_CPU_COMPILECPUKERNELS_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Kernel/Compilation/ParallelCompilation.h"

#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace regather::cpu {

using KernelFunction = int32_t (*)(void *const *buffers, int64_t begin,
                                   int64_t end, void *scratch);

/// The code of one kernel.
struct KernelCode {
  /// The function; named by what the kernel computes and what it was compiled
  /// for, so that equal kernels have one name in all programs.
  std::string symbol;
  /// Number of blocks that the kernel can be cut into.
  int64_t rows = 1;
  /// Ranges are cut at multiples of it.
  int64_t grain = 1;
  int64_t scratchBytes = 0;
  /// An object file that defines `symbol` and needs at most libm.
  std::unique_ptr<llvm::MemoryBuffer> object;
};

struct KernelCompileOptions : kernel::CompileOptions {
  /// About how many bytes a block touches. Has no effect on results.
  int64_t blockBytes = 64 * 1024;
  /// Without it, kernels are ready in less than half the time, and slow. Has no
  /// effect on results.
  bool optimizes = true;
};

using kernel::KernelStatistics;

/// The code of each kernel for the CPU of this machine: taken from the cache,
/// or compiled and stored there, on several threads. What comes out does not
/// depend on their number, nor on what the cache holds. Emits an error at each
/// kernel that cannot be compiled.
mlir::FailureOr<std::vector<KernelCode>>
compileKernels(llvm::ArrayRef<tg::KernelOp> kernels,
               const KernelCompileOptions &options,
               KernelStatistics &statistics);

} // namespace regather::cpu

#endif // REGATHER_KERNEL_CPU_COMPILECPUKERNELS_H
