//===- TargetMachine.cpp - What a processor can do ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Bundle/TargetMachine.h"

#include "../Tensors/StepText.h"

#include <algorithm>

using namespace regather;

std::string regather::getHostMachine() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

std::vector<std::string> regather::getHostFeatures() {
  std::vector<std::string> features;
#if defined(__x86_64__)
  // The compiler takes nothing but literals.
#define REGATHER_ADD_FEATURE(name)                                             \
  if (__builtin_cpu_supports(name))                                            \
  features.emplace_back(name)
  __builtin_cpu_init();
  REGATHER_ADD_FEATURE("sse3");
  REGATHER_ADD_FEATURE("ssse3");
  REGATHER_ADD_FEATURE("sse4.1");
  REGATHER_ADD_FEATURE("sse4.2");
  REGATHER_ADD_FEATURE("popcnt");
  REGATHER_ADD_FEATURE("avx");
  REGATHER_ADD_FEATURE("avx2");
  REGATHER_ADD_FEATURE("fma");
  REGATHER_ADD_FEATURE("bmi");
  REGATHER_ADD_FEATURE("bmi2");
  REGATHER_ADD_FEATURE("avx512f");
  REGATHER_ADD_FEATURE("avx512cd");
  REGATHER_ADD_FEATURE("avx512bw");
  REGATHER_ADD_FEATURE("avx512dq");
  REGATHER_ADD_FEATURE("avx512vl");
  REGATHER_ADD_FEATURE("avx512ifma");
  REGATHER_ADD_FEATURE("avx512vbmi");
  REGATHER_ADD_FEATURE("avx512vbmi2");
  REGATHER_ADD_FEATURE("avx512vnni");
  REGATHER_ADD_FEATURE("avx512bitalg");
  REGATHER_ADD_FEATURE("avx512vpopcntdq");
  REGATHER_ADD_FEATURE("gfni");
  REGATHER_ADD_FEATURE("vpclmulqdq");
#undef REGATHER_ADD_FEATURE
#endif
  return features;
}

Failure regather::checkHost(const std::string &machine,
                            const std::vector<std::string> &features) {
  if (machine != getHostMachine())
    return Failure("it holds code for " + machine + ", but this machine is " +
                   getHostMachine());
  std::vector<std::string> has = getHostFeatures(), missing;
  for (const std::string &feature : features)
    if (std::find(has.begin(), has.end(), feature) == has.end())
      missing.push_back(feature);
  if (missing.empty())
    return Failure();
  return Failure("its code needs instructions that this processor lacks: " +
                 join(missing));
}
