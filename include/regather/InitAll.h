//===- InitAll.h - Register all of Regather ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_INITALL_H
#define REGATHER_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace regather {

/// Registers the dialects of Regather, the upstream dialects that its modules
/// are written in, and the external models that it attaches to them.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the passes of Regather for textual pipelines and command lines.
void registerAllPasses();

} // namespace regather

#endif // REGATHER_INITALL_H
