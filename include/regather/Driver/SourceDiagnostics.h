//===- SourceDiagnostics.h - Errors with their source -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_SOURCEDIAGNOSTICS_H
#define REGATHER_DRIVER_SOURCEDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

namespace regather {

/// Prints diagnostics with the line that they are about, unless nobody could
/// read it: the signature of a captured step is one line of many kilobytes.
class SourceDiagnostics : public mlir::SourceMgrDiagnosticHandler {
public:
  SourceDiagnostics(llvm::SourceMgr &sources, mlir::MLIRContext *context,
                    llvm::raw_ostream &os = llvm::errs());

private:
  void print(mlir::Diagnostic &diagnostic);
  void printWithoutPlace(mlir::Diagnostic &diagnostic);
  void printWithoutSource(mlir::Diagnostic &diagnostic);
  bool isLineShort(mlir::Location location);
};

} // namespace regather

#endif // REGATHER_DRIVER_SOURCEDIAGNOSTICS_H
