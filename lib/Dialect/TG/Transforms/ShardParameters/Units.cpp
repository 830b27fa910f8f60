//===- Units.cpp - Parameters that travel together ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Units.h"

#include "regather/Analysis/Modules/ModuleUnits.h"
#include "regather/Dialect/TG/Modules/ModulePattern.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

static std::vector<Unit> makeUnits(std::vector<ModuleUnit> groups) {
  std::vector<Unit> units;
  for (ModuleUnit &group : groups)
    units.push_back({std::move(group.path), std::move(group.members)});
  return units;
}

FailureOr<std::vector<Unit>>
regather::tg::spmd::findUnits(const Step &step,
                              ArrayRef<std::string> patterns) {
  if (patterns.empty()) {
    std::vector<ModuleUse> uses;
    for (const Parameter &parameter : step.parameters)
      uses.push_back({parameter.module, parameter.firstUse});
    return makeUnits(findModuleUnits(uses));
  }
  if (patterns.size() == 1 && patterns.front() == "none") {
    std::vector<Unit> units;
    for (auto [number, parameter] : llvm::enumerate(step.parameters))
      units.push_back({parameter.module, {static_cast<unsigned>(number)}});
    return units;
  }
  SmallVector<StringRef> modules;
  for (const Parameter &parameter : step.parameters)
    modules.push_back(parameter.module);
  FailureOr<std::vector<PatternMatch>> matches =
      matchPatterns(step.func, "units", patterns, modules);
  if (failed(matches))
    return failure();
  std::vector<std::string> paths;
  for (const PatternMatch &match : *matches)
    paths.push_back(match.prefix.str());
  return makeUnits(groupByPath(paths));
}
