//===- Compiler.h - From operations to steps --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_INTERPRETER_COMPILER_H
#define REGATHER_LIB_INTERPRETER_COMPILER_H

#include "CompiledFunction.h"
#include "RankThreads.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace regather::interp {

/// Compiles functions, and collects everything that cannot be evaluated so that
/// the user hears of all of it at once.
class Compiler {
public:
  explicit Compiler(int64_t numRanks) : numRanks(numRanks) {}

  /// The program of a function; compiled at the first request. Recursive calls
  /// get the program that is being compiled.
  const CompiledFunction *getFunction(mlir::FunctionOpInterface function);

  /// Emits an error for each thing that cannot be evaluated.
  mlir::LogicalResult emitErrors();

  int64_t getNumRanks() const { return numRanks; }

  //===--------------------------------------------------------------------===//
  // For those who build steps
  //===--------------------------------------------------------------------===//

  unsigned getSlot(mlir::Value value);
  /// Adds `count` slots that belong to no value; returns the first.
  unsigned addSlots(unsigned count);
  Use getUse(mlir::OpOperand &operand);
  llvm::SmallVector<Use> getUses(llvm::MutableArrayRef<mlir::OpOperand> range);
  llvm::SmallVector<unsigned> getSlots(mlir::ValueRange values);

  CompiledBlock compileBlock(mlir::Block &block);

  /// The group with these members. Lives as long as the compiler.
  const Group *getGroup(llvm::ArrayRef<int64_t> members);

  /// True if every value that `op` uses or defines can be evaluated; otherwise
  /// the reason has been noted.
  bool checkTypes(mlir::Operation *op);

  /// Notes an error about one operation.
  void noteError(mlir::Operation *op, const llvm::Twine &message);
  /// Notes that operations of this name are not supported.
  void noteUnsupported(mlir::Operation *op);

  /// First of the slots that hold the loop indices of a linalg op whose body
  /// is run by steps.
  llvm::DenseMap<mlir::Operation *, unsigned> loopIndexSlots;

private:
  void checkType(mlir::Operation *op, mlir::Value value, mlir::Type type);
  void compileFunction(CompiledFunction &program);

  struct Error {
    mlir::Operation *op = nullptr;
    std::string message;
  };
  struct Unsupported {
    mlir::Operation *first = nullptr;
    int64_t count = 0;
  };

  int64_t numRanks;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<CompiledFunction>>
      functions;
  std::vector<std::unique_ptr<Group>> groups;
  /// Slots of the function that is being compiled.
  llvm::DenseMap<mlir::Value, unsigned> slots;
  unsigned numSlots = 0;
  llvm::MapVector<mlir::Value, Error> valueErrors;
  std::vector<Error> errors;
  llvm::MapVector<mlir::StringAttr, Unsupported> unsupported;
};

/// Builders of steps, one a concept. Null if the operation is not theirs or is
/// not supported.
StepFunction buildScalarStep(mlir::Operation *op, Compiler &compiler);
StepFunction buildTensorStep(mlir::Operation *op, Compiler &compiler);
StepFunction buildSliceStep(mlir::Operation *op, Compiler &compiler);
StepFunction buildLinalgStep(mlir::Operation *op, Compiler &compiler);
StepFunction buildControlFlowStep(mlir::Operation *op, Compiler &compiler);
StepFunction buildCollectiveStep(mlir::Operation *op, Compiler &compiler);
StepFunction buildFlatStep(mlir::Operation *op, Compiler &compiler);
StepFunction buildRandomStep(mlir::Operation *op, Compiler &compiler);

} // namespace regather::interp

#endif // REGATHER_LIB_INTERPRETER_COMPILER_H
