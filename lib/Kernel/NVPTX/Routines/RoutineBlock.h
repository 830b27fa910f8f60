//===- RoutineBlock.h - Build the kernel of a routine -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_ROUTINES_ROUTINEBLOCK_H
#define REGATHER_LIB_KERNEL_NVPTX_ROUTINES_ROUTINEBLOCK_H

#include "regather/Runtime/Runtime.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::nvptx {

/// What a routine is called with, by number.
class RoutineBuffers {
public:
  struct Buffer {
    int64_t bytes = 1;
    bool isWritten = false;
    /// True if a written buffer may lie in the same place.
    bool mayOverlap = false;
  };

  /// The buffer has the element `last` and those before it; none if its number
  /// is negative.
  void add(int32_t number, int32_t dtype, int64_t last, bool isWritten,
           bool mayOverlap = false);

  llvm::ArrayRef<Buffer> get() const { return buffers; }

private:
  llvm::SmallVector<Buffer> buffers;
};

/// Bytes of an element, and its type in memory.
int64_t getElementBytes(int32_t dtype);
mlir::Type getElementType(mlir::Builder &builder, int32_t dtype);

/// Builds the function of one launch, on which it stands. Numbers are f32, and
/// sizes and offsets unsigned.
class RoutineBlock : public mlir::ImplicitLocOpBuilder {
public:
  struct Launch {
    int64_t blocks, threads;
    /// Device memory that all launches of the routine share.
    int64_t scratchBytes = 0;
    /// Blocks on one multiprocessor that registers must suffice for.
    int32_t minBlocks = 1;
  };

  RoutineBlock(mlir::gpu::GPUModuleOp module, llvm::StringRef name,
               const RoutineBuffers &buffers, const Launch &launch);

  /// Ends the function. Emits an error if it needs too much shared memory.
  mlir::LogicalResult finish();

  mlir::Value index(int64_t value);
  mlir::Value number(float value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value mul(mlir::Value a, int64_t b);
  /// Quotient and remainder.
  std::pair<mlir::Value, mlir::Value> divide(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value isLess(mlir::Value a, mlir::Value b);
  /// The conjunction; null stands for true.
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  void barrier() { mlir::gpu::BarrierOp::create(*this); }

  /// A buffer as elements of a type; the last one is scratch memory.
  mlir::Value getBuffer(int32_t number, int32_t dtype);
  mlir::Value getScratch();
  /// An element as f32, and to memory as what it is there.
  mlir::Value load(mlir::Value buffer, mlir::Value place);
  void store(mlir::Value value, mlir::Value buffer, mlir::Value place);

  mlir::VectorType getVectorType(int64_t width);
  mlir::Value makeZeros(int64_t width);
  /// Shared memory that nothing else uses, aligned to 16 bytes, in its own
  /// address space.
  mlir::Value allocateShared(mlir::Type type, int64_t count);
  /// The same for f32, as memory like any other.
  mlir::Value makeShared(int64_t floats);
  mlir::Value loadShared(mlir::Value memory, mlir::Value place, int64_t width);

  /// Numbers of the block, and of the thread in it.
  mlir::Value block, thread;

private:
  mlir::gpu::GPUFuncOp func;
  mlir::Value shared;
  int64_t sharedBytes = 0;
};

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_ROUTINES_ROUTINEBLOCK_H
