//===- CompiledFunction.h - Compiled functions ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A function is compiled once to steps over numbered slots; all ranks and all
// runs share the result, which nobody writes to. A step is a closure that has
// everything it needs to know about its operation at hand.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_INTERPRETER_COMPILEDFUNCTION_H
#define REGATHER_LIB_INTERPRETER_COMPILEDFUNCTION_H

#include "Tensor.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <functional>

namespace regather::interp {

struct PendingCollective;
class RankThreads;

/// The data of one rank that is in flight: a position in a collective.
struct Future {
  std::shared_ptr<PendingCollective> collective;
  unsigned position = 0;
};

/// A scalar, a tensor or a future; the type of the SSA value says which.
struct RuntimeValue {
  uint64_t bits = 0;
  TensorRef tensor;
  Future future;
};

using RuntimeValues = llvm::SmallVector<RuntimeValue, 4>;

/// The values of one call.
struct Frame {
  std::vector<RuntimeValue> values;
};

/// One rank of a run.
struct RankRun {
  int64_t rank = 0;
  RankThreads &world;
  unsigned callDepth = 0;

  /// Records a run-time error of this rank and returns failure.
  mlir::LogicalResult fail(mlir::Operation *op, const llvm::Twine &message);
};

/// A use of a slot. The last use moves the value out, so that a step may write
/// to a tensor in place when nobody else holds it.
struct Use {
  unsigned slot = 0;
  bool last = false;
};

inline RuntimeValue take(Frame &frame, Use use) {
  RuntimeValue &value = frame.values[use.slot];
  return use.last ? std::move(value) : value;
}

using StepFunction = std::function<mlir::LogicalResult(RankRun &, Frame &)>;

struct CompiledBlock {
  llvm::SmallVector<unsigned> arguments;
  std::vector<StepFunction> steps;
  /// Operands of the terminator.
  llvm::SmallVector<Use> yields;

  /// Moves `values` into the arguments, runs the steps, and moves the operands
  /// of the terminator into `values`.
  mlir::LogicalResult run(RankRun &rank, Frame &frame,
                          RuntimeValues &values) const;
};

struct CompiledFunction {
  /// A function or a kernel.
  mlir::FunctionOpInterface function;
  unsigned numSlots = 0;
  CompiledBlock body;

  /// Calls the function.
  mlir::LogicalResult run(RankRun &rank, RuntimeValues &values) const;
};

} // namespace regather::interp

#endif // REGATHER_LIB_INTERPRETER_COMPILEDFUNCTION_H
