//===- ElementBody.h - Regions that compute one element ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_INTERPRETER_ELEMENTBODY_H
#define REGATHER_LIB_INTERPRETER_ELEMENTBODY_H

#include "Compiler.h"

namespace regather::interp {

/// The body of a linalg op, tensor.generate or tensor.pad: scalars in, scalars
/// out, once an element.
///
/// Bodies made of scalar operations, constants, linalg.index and tensor.extract
/// become a ScalarCode; any other body (say, with control flow) is run step
/// by step in the frame of the function, which means the same and is slower.
class ElementBody {
public:
  /// `numLoops` counts the loops whose indices linalg.index reads.
  ElementBody(mlir::Block &block, unsigned numLoops, Compiler &compiler);

  /// One evaluation of the op that has the body.
  class Instance {
  public:
    Instance(const ElementBody &body, RankRun &rank, Frame &frame);

    /// To be set before each call.
    uint64_t *getIndices() { return slots.data(); }
    uint64_t *getArguments() { return slots.data() + body.numLoops; }

    mlir::LogicalResult run();

    uint64_t getResult(unsigned i) const { return slots[body.results[i]]; }

  private:
    mlir::LogicalResult runSteps();

    const ElementBody &body;
    RankRun &rank;
    Frame &frame;
    llvm::SmallVector<uint64_t, 16> slots;
  };

private:
  bool compileFlat(mlir::Block &block, Compiler &compiler);
  void compileSteps(mlir::Block &block, Compiler &compiler);

  struct Capture {
    unsigned from;
    unsigned to;
    bool isTensor;
  };

  unsigned numLoops;
  unsigned numArguments;
  /// Slots: loop indices, arguments, everything else.
  ScalarCode code;
  llvm::SmallVector<Capture> captures;
  llvm::SmallVector<unsigned> results;

  bool flat = false;
  CompiledBlock steps;
  unsigned firstIndexSlot = 0;
};

} // namespace regather::interp

#endif // REGATHER_LIB_INTERPRETER_ELEMENTBODY_H
