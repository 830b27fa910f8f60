//===- ModulePattern.h - Name modules in options ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_MODULES_MODULEPATTERN_H
#define REGATHER_DIALECT_TG_MODULES_MODULEPATTERN_H

#include "regather/Analysis/Modules/ModulePattern.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg {

/// Matches module patterns with paths (see matchModulePatterns). Emits an error
/// at `func` for what is wrong about them.
mlir::FailureOr<std::vector<PatternMatch>>
matchPatterns(mlir::FunctionOpInterface func, llvm::StringRef option,
              llvm::ArrayRef<std::string> patterns,
              llvm::ArrayRef<llvm::StringRef> paths,
              llvm::StringRef what = "parameter");

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_MODULES_MODULEPATTERN_H
