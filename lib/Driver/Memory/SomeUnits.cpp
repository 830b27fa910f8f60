//===- SomeUnits.cpp - Policies for some of the layers --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SomeUnits.h"

#include "regather/Analysis/Modules/ModuleUnits.h"
#include "regather/Dialect/TG/IR/TG.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace regather;

int64_t regather::countUnits(ModuleOp module) {
  llvm::SetVector<StringRef> paths;
  module.walk([&](Operation *op) {
    if (auto path = op->getAttrOfType<StringAttr>(tg::kModuleAttrName);
        path && !path.empty())
      paths.insert(path.getValue());
  });
  llvm::DenseSet<StringRef> units;
  std::vector<PatternMatch> matches(paths.size());
  for (StringRef unit : findUnitsOfPaths(paths.getArrayRef(), matches))
    if (!unit.empty())
      units.insert(unit);
  return units.size();
}

bool regather::hasSomeUnits(const StepOptions &options) {
  return options.policy && options.policy->units >= 0;
}

StepOptions regather::withSomeUnits(const StepOptions &options,
                                    const StepOptions &smaller,
                                    int64_t numUnits) {
  StepOptions some = options;
  some.policy = smaller.policy;
  some.policy->units = numUnits;
  some.policy->others =
      options.policy ? options.policy->policy : tg::PolicyPlan::None;
  return some;
}

int64_t regather::getUnitBytes(const StepOptions &options, int64_t savedBytes,
                               int64_t numUnits) {
  if (!hasSomeUnits(options) || options.policy->units >= numUnits)
    return 0;
  return savedBytes / (numUnits - options.policy->units);
}
