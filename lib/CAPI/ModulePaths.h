//===- ModulePaths.h - Modules by path --------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CAPI_MODULEPATHS_H
#define REGATHER_LIB_CAPI_MODULEPATHS_H

#include "regather-c/ModulePaths.h"

#include "regather/Analysis/Modules/ModulePattern.h"

namespace regather::capi {

/// True if all texts are there.
bool areTexts(uint32_t count, const char *const *texts);

/// What is wrong about patterns, with the hint if there is one.
Failure getFailure(const PatternMatches &found);

} // namespace regather::capi

#endif // REGATHER_LIB_CAPI_MODULEPATHS_H
