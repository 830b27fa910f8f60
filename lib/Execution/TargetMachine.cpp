//===- TargetMachine.cpp - What a processor can do ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/TargetMachine.h"

#include "StepText.h"

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
#define REGATHER_FEATURES(X)                                                   \
  X("sse3")                                                                    \
  X("ssse3")                                                                   \
  X("sse4.1") X("sse4.2") X("popcnt") X("avx") X("avx2") X("fma") X("bmi")     \
      X("bmi2") X("avx512f") X("avx512cd") X("avx512bw") X("avx512dq")         \
          X("avx512vl") X("avx512ifma") X("avx512vbmi") X("avx512vbmi2")       \
              X("avx512vnni") X("avx512bitalg") X("avx512vpopcntdq") X("gfni") \
                  X("vpclmulqdq")
#define REGATHER_ADD_FEATURE(name)                                             \
  if (__builtin_cpu_supports(name))                                            \
    features.push_back(name);
  __builtin_cpu_init();
  REGATHER_FEATURES(REGATHER_ADD_FEATURE)
#undef REGATHER_ADD_FEATURE
#undef REGATHER_FEATURES
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
