//===- MutateStep.h - Changes that keep a step valid ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_MUTATESTEP_H
#define REGATHER_TEST_FUZZ_MUTATESTEP_H

#include "Draw.h"
#include "RandomPipeline.h"

#include "mlir/IR/BuiltinOps.h"

namespace regather::fuzz {

/// Changes nodes of a step at random places: they compute another function, are
/// repeated for some of their readers, exchange operands of one type, move down
/// as far as their readers allow, or get policies. Collectives keep their
/// order. It computes something else then, but is a step still.
void mutateStep(mlir::ModuleOp module, Draw &draw, unsigned changes);

/// What options of passes may name in the module.
StepNames collectNames(mlir::ModuleOp module);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_MUTATESTEP_H
