//===- ReadModule.h - Steps in files ----------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_READMODULE_H
#define REGATHER_DRIVER_READMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace regather {

/// The context of a module that readModule reads: all dialects are registered.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Reads textual MLIR, bytecode, or a captured graph if the name ends in
/// `.fx.json`; `-` is standard input. `sources` gets the file, for diagnostics
/// that show a line of it. Null, with errors emitted, if the file cannot be
/// read, parsed or verified.
mlir::OwningOpRef<mlir::ModuleOp> readModule(llvm::StringRef path,
                                             llvm::SourceMgr &sources,
                                             mlir::MLIRContext &context);

/// The same for what lies in memory and is named as the buffer is.
mlir::OwningOpRef<mlir::ModuleOp>
readModule(std::unique_ptr<llvm::MemoryBuffer> buffer, bool isCapture,
           llvm::SourceMgr &sources, mlir::MLIRContext &context);

} // namespace regather

#endif // REGATHER_DRIVER_READMODULE_H
