//===- Passes.h - Passes on exec --------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_TRANSFORMS_PASSES_H
#define REGATHER_DIALECT_EXEC_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace regather::exec {

/// Which operations exec-form-graphs puts into graphs.
enum class GraphMode { None, Unit, Modules, Full };

#define GEN_PASS_DECL
#include "regather/Dialect/Exec/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "regather/Dialect/Exec/Transforms/Passes.h.inc"

} // namespace regather::exec

#endif // REGATHER_DIALECT_EXEC_TRANSFORMS_PASSES_H
