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

#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/GlobPattern.h"

namespace regather::tg {

using EmitErrorFn = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// How one parameter is updated. Fields of the other optimizer are not read.
struct UpdateRule {
  OptimizerKind kind = OptimizerKind::AdamW;
  double learningRateScale = 1;
  double weightDecay = 0;
  // AdamW.
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  // SGD.
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;

  /// True if dampening has an effect: without momentum nothing is dampened.
  bool isDampened() const { return momentum != 0 && dampening != 0; }
  /// True if the update depends on the number of the step.
  bool needsStep() const {
    return kind == OptimizerKind::AdamW || isDampened();
  }
  /// What is kept from step to step, as torch.optim names it.
  llvm::SmallVector<llvm::StringRef, 2> getStateNames() const;
};

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
