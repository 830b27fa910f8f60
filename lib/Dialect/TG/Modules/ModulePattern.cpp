//===- ModulePattern.cpp - Name modules in options ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Modules/ModulePattern.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace regather;

FailureOr<std::vector<PatternMatch>>
regather::tg::matchPatterns(FunctionOpInterface func, StringRef option,
                            ArrayRef<std::string> patterns,
                            ArrayRef<StringRef> paths, StringRef what) {
  PatternMatches found = matchModulePatterns(option, patterns, paths, what);
  if (!found.failure)
    return std::move(found.matches);
  InFlightDiagnostic diag = emitError(func.getLoc())
                            << found.failure.getMessage();
  if (!found.hint.empty())
    diag.attachNote() << found.hint;
  return diag;
}
