//===- ModulePaths.cpp - Modules by path ----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModulePaths.h"

#include "Status.h"

#include "regather/Analysis/Modules/ModuleUnits.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;

bool capi::areTexts(uint32_t count, const char *const *texts) {
  return count == 0 ||
         (texts && llvm::all_of(llvm::ArrayRef(texts, count),
                                [](const char *text) { return text; }));
}

Failure capi::getFailure(const PatternMatches &found) {
  return found.hint.empty()
             ? found.failure
             : makeFailure(found.failure.getMessage() + "; " + found.hint);
}

RegatherStatus *
regatherMatchModules(const char *option, const char *what, uint32_t numPatterns,
                     const char *const *patterns, uint32_t numPaths,
                     const char *const *paths, uint32_t *matches) {
  if (!option || !what || !capi::areTexts(numPatterns, patterns) ||
      !capi::areTexts(numPaths, paths) || (numPaths > 0 && !matches))
    return capi::takeStatus(makeFailure("an argument is null"));
  PatternMatches found = matchModulePatterns(
      option, std::vector<std::string>(patterns, patterns + numPatterns),
      std::vector<llvm::StringRef>(paths, paths + numPaths), what);
  if (found.failure)
    return capi::takeStatus(capi::getFailure(found));
  for (uint32_t i = 0; i != numPaths; ++i)
    matches[i] = found.matches[i].pattern.value_or(REGATHER_C_NONE);
  return nullptr;
}

RegatherStatus *regatherFindUnits(uint32_t numPaths, const char *const *paths,
                                  const uint32_t *firstUses, uint32_t *units) {
  if (!capi::areTexts(numPaths, paths) ||
      (numPaths > 0 && (!firstUses || !units)))
    return capi::takeStatus(makeFailure("an argument is null"));
  std::vector<ModuleUse> uses;
  for (uint32_t i = 0; i != numPaths; ++i) {
    uses.push_back({paths[i], std::nullopt});
    if (firstUses[i] != REGATHER_C_NONE)
      uses.back().firstUse = firstUses[i];
  }
  for (auto [number, unit] : llvm::enumerate(findModuleUnits(uses)))
    for (unsigned member : unit.members)
      units[member] = number;
  return nullptr;
}
