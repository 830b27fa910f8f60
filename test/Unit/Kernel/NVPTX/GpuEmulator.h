//===- GpuEmulator.h - Functions of the gpu dialect on the CPU --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_KERNEL_NVPTX_GPUEMULATOR_H
#define REGATHER_TEST_UNIT_KERNEL_NVPTX_GPUEMULATOR_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Kernel/NVPTX/LaunchPlan.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/MLIRContext.h"

namespace regather::nvptx {

/// The order in which the threads of a block run between barriers. What a
/// kernel computes depends on it only if it lacks a barrier.
enum class ThreadOrder { Ascending, Descending };

/// Runs the functions of a kernel on the CPU, block after block. The threads
/// of a block are fibres that change places at barriers and shuffles.
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
  /// access is wrong (`MemoryMonitor`).
  llvm::Error run(llvm::ArrayRef<void *> buffers, ThreadOrder order);

  const LaunchPlan &getPlan() const { return plan; }
  /// Of matrices that tensor cores load, in all runs.
  int64_t getBankConflicts() const { return bankConflicts; }

private:
  mlir::MLIRContext context;
  LaunchPlan plan;
  /// Bytes of each buffer, and whether it may only be read.
  std::vector<std::pair<size_t, bool>> buffers;
  /// Bytes of the shared memory of a block of each launch, by argument after
  /// the buffers.
  std::vector<std::vector<size_t>> sharedBytes;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  int64_t bankConflicts = 0;
};

} // namespace regather::nvptx

#endif // REGATHER_TEST_UNIT_KERNEL_NVPTX_GPUEMULATOR_H
