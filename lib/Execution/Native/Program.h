//===- Program.h - A step as instructions over slots ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_NATIVE_PROGRAM_H
#define REGATHER_LIB_EXECUTION_NATIVE_PROGRAM_H

#include "KernelSet.h"
#include "MatrixProducts.h"

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Execution/AnalyzeStep.h"

#include <string>
#include <vector>

namespace regather::native {

/// A slot holds one value of the step while it is live; a future has one too.
using Slot = unsigned;

struct SlotType {
  ElementType elementType = ElementType::F32;
  std::vector<int64_t> shape;
};

struct Instruction;

struct InstructionBlock {
  llvm::SmallVector<Slot> arguments;
  std::vector<Instruction> instructions;
  /// What the terminator yields.
  llvm::SmallVector<Slot> yields;
};

struct Instruction {
  enum class Kind {
    /// Runs `kernel` on the inputs.
    Launch,
    /// Runs matrix product `product` on the inputs.
    Product,
    /// Starts `collective`; the output is the slot of the future.
    Start,
    /// Waits for the future in the first input.
    Wait,
    /// Writes this rank's index over `group`.
    AxisIndex,
    /// Runs blocks[0] or blocks[1] by the first input.
    If,
    /// Inputs: lower bound, upper bound, step, initial values.
    For
  };
  Kind kind = Kind::Launch;
  unsigned kernel = 0;
  unsigned product = 0;
  unsigned collective = 0;
  unsigned group = 0;
  llvm::SmallVector<Slot> inputs;
  llvm::SmallVector<Slot> outputs;
  /// Slots that nothing reads after this instruction.
  llvm::SmallVector<Slot> dead;
  std::vector<InstructionBlock> blocks;
  /// For diagnostics only.
  mlir::Operation *op = nullptr;
};

/// One collective of the program, equal on all ranks.
struct Collective {
  tg::CollectiveOpInterface op;
  unsigned group = 0;
  /// Equal for operations that may stand for each other on two ranks.
  uint64_t tag = 0;
  /// Name and location, for the messages of the runtime.
  std::string description;
  /// The types of what it returns.
  std::vector<SlotType> results;
};

struct Group {
  tg::MeshOp mesh;
  tg::AxesAttr axes;
};

struct Program {
  std::vector<SlotType> slots;
  std::vector<Collective> collectives;
  std::vector<Group> groups;
  MatrixProductSet products;
  InstructionBlock body;
};

/// Translates the body of `func`, adding its compute to `kernels`. Reports all
/// operations that cannot be translated together.
mlir::FailureOr<Program> buildProgram(mlir::func::FuncOp func,
                                      KernelSet &kernels);

} // namespace regather::native

#endif // REGATHER_LIB_EXECUTION_NATIVE_PROGRAM_H
