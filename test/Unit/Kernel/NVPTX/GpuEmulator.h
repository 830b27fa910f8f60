//===- GpuEmulator.h - Kernels for GPUs, run from their PTX -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_KERNEL_NVPTX_GPUEMULATOR_H
#define REGATHER_TEST_UNIT_KERNEL_NVPTX_GPUEMULATOR_H

#include "StandIn/Ptx/PtxInterpreter.h"

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Kernel/NVPTX/LaunchPlan.h"

#include "llvm/Support/Error.h"

namespace regather::nvptx {

using runtime::ThreadOrder;

/// Compiles a kernel to PTX, and runs that on the CPU, block after block, in
/// memory whose every access is looked at.
class GpuEmulator {
public:
  static llvm::Expected<std::unique_ptr<GpuEmulator>>
  create(tg::KernelOp kernel);
  /// Of a text with the `gpu.module` that a kernel has become.
  static llvm::Expected<std::unique_ptr<GpuEmulator>>
  create(llvm::StringRef text);

  /// Carries out all launches. A result may have the address of an argument. An
  /// error if the threads of a block, or the lanes of a warp, do not all come
  /// to the same barrier or shuffle, if an index is out of bounds, or if an
  /// access is wrong (`runtime::MemoryMonitor`).
  llvm::Error run(llvm::ArrayRef<void *> buffers, ThreadOrder order);

  const LaunchPlan &getPlan() const { return plan; }
  /// Of matrices that tensor cores load, in all runs.
  int64_t getBankConflicts() const { return bankConflicts; }

private:
  LaunchPlan plan;
  /// Bytes of each buffer, and whether it may only be read.
  std::vector<std::pair<size_t, bool>> buffers;
  std::shared_ptr<const runtime::PtxModule> code;
  int64_t bankConflicts = 0;
};

} // namespace regather::nvptx

#endif // REGATHER_TEST_UNIT_KERNEL_NVPTX_GPUEMULATOR_H
