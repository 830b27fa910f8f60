//===- TargetMachine.h - What a processor can do ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_BUNDLE_TARGETMACHINE_H
#define REGATHER_EXECUTION_BUNDLE_TARGETMACHINE_H

#include "regather/Support/Result.h"

#include <string>
#include <vector>

namespace regather {

/// The kind of machine that this program was built for, such as "x86_64".
std::string getHostMachine();

/// The extensions of the instruction set that this processor has, of those that
/// compiled code may use, under the names that LLVM gives them.
std::vector<std::string> getHostFeatures();

/// Fails, naming what is missing, unless this processor runs code for
/// `machine` with `features`.
Failure checkHost(const std::string &machine,
                  const std::vector<std::string> &features);

} // namespace regather

#endif // REGATHER_EXECUTION_BUNDLE_TARGETMACHINE_H
