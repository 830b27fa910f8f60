//===- StepGraph.h - Forward and backward of a step -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes that decide about forward and backward know of a step: its
// operations by number, and on which side of the boundary each lies.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_STEPS_STEPGRAPH_H
#define REGATHER_DIALECT_TG_STEPS_STEPGRAPH_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace regather::tg {

/// The functions of `module` that passes on steps look at: those of one block,
/// but for kernels.
llvm::SmallVector<mlir::FunctionOpInterface> getSteps(mlir::ModuleOp module);

/// Calls `visit` for each operand of `op` and each value from outside that its
/// regions use.
void forEachInput(mlir::Operation *op,
                  llvm::function_ref<void(mlir::Value)> visit);

/// True if `op` gives the same results, bit for bit, when it runs a second
/// time: it has no effects, draws no random numbers of its own, and all its
/// results are tensors, futures or scalars. Collectives and waits are
/// repeatable.
bool isRepeatable(mlir::Operation *op);

/// The bytes on the device of a tensor of static shape; 0 for other values, and
/// for what lies on the host.
int64_t getValueBytes(mlir::Value value);

/// The operations of a block in program order. What a transformation adds later
/// has no number.
class StepGraph {
public:
  explicit StepGraph(mlir::Block &block);

  mlir::Block &getBlock() const { return block; }
  /// Without the terminator.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  /// The place of `op`, or of the operation of the block that it is nested in;
  /// the terminator has none.
  unsigned getNumber(mlir::Operation *op) const;

  /// True if `op`, by number, comes after the boundary: it is marked as
  /// backward or optimizer, or reads such a value and is not marked at all. A
  /// wait is on the side of its collective.
  bool isBackward(unsigned op) const { return backward[op]; }
  bool isBackward(mlir::Operation *op) const { return backward[getNumber(op)]; }
  /// True if an operation of forward defines `value`; arguments are no such
  /// values.
  bool isForwardValue(mlir::Value value) const;
  /// True if there is anything after the boundary.
  bool hasBackward() const { return llvm::is_contained(backward, true); }

private:
  mlir::Block &block;
  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  std::vector<bool> backward;
};

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_STEPS_STEPGRAPH_H
