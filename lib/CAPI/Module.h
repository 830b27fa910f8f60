//===- Module.h - Modules of the C interface --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CAPI_MODULE_H
#define REGATHER_LIB_CAPI_MODULE_H

#include "regather-c/Module.h"

#include "Diagnostics.h"
#include "Guard.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/SourceMgr.h"

struct RegatherModule {
  /// For messages and pages.
  std::string name;
  std::unique_ptr<mlir::MLIRContext> context;
  llvm::SourceMgr sources;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  regather::capi::GuardedUse use;
};

struct RegatherOutput {
  std::string text, json, html, trace;
  regather::capi::Diagnostics diagnostics;
};

namespace regather::capi {

/// Calls `use` with the diagnostics of the module heard. They go to
/// `heard`, or into the status if `use` fails.
RegatherStatus *useContext(RegatherModule &module, Diagnostics &heard,
                           llvm::function_ref<mlir::LogicalResult()> use);

/// Calls `fill` with a copy of the module and an output for the caller.
RegatherStatus *makeOutput(
    RegatherModule *module, RegatherOutput **output,
    llvm::function_ref<mlir::LogicalResult(mlir::ModuleOp, RegatherOutput &)>
        fill);

} // namespace regather::capi

#endif // REGATHER_LIB_CAPI_MODULE_H
