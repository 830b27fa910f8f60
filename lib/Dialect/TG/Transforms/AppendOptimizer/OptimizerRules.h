//===- OptimizerRules.h - How parameters are updated ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options of tg-append-optimizer, checked, and the rule for each parameter
// group. Defaults and meaning are those of torch.optim.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_OPTIMIZERRULES_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_OPTIMIZERRULES_H

#include "UpdateRule.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/GlobPattern.h"

namespace regather::tg {

using EmitErrorFn = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// Parameters whose name matches a pattern, and their rule.
struct ParameterGroup {
  llvm::StringRef pattern;
  llvm::GlobPattern glob;
  UpdateRule rule;
};

/// What is updated at once: a parameter, or a flat buffer of several.
struct UpdateTarget {
  llvm::StringRef name;
  /// All names of each parameter, the one that messages use first.
  llvm::SmallVector<llvm::SmallVector<llvm::StringRef, 1>, 1> parameters;
};

/// The rule for every parameter. Refers to the text that it was read from.
class OptimizerRules {
public:
  /// Checks the options. An option that the optimizer does not know, or that
  /// has no effect, is an error.
  static llvm::FailureOr<OptimizerRules>
  create(const AppendOptimizerPassOptions &options, EmitErrorFn emitError);

  /// Gives each target the rule of the first group that matches a name of its
  /// parameters, or the default. A group that is not the first to match any
  /// parameter is an error, and so is one that is for some of a target only.
  llvm::FailureOr<llvm::SmallVector<UpdateRule>>
  assign(llvm::ArrayRef<UpdateTarget> targets, EmitErrorFn emitError) const;

private:
  llvm::LogicalResult readGroups(llvm::StringRef text, EmitErrorFn emitError);

  UpdateRule defaults;
  llvm::SmallVector<ParameterGroup, 0> groups;
};

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_OPTIMIZERRULES_H
