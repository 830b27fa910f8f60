//===- OptionCheck.h - Options as texts, and back ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_READERS_OPTIONCHECK_H
#define REGATHER_TEST_FUZZ_READERS_OPTIONCHECK_H

#include "regather/Pipelines/StepOptions.h"

namespace regather::fuzz {

/// Prints what was decided and reads that, which has to be the same again.
void checkOptions(const StepOptions &options);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_READERS_OPTIONCHECK_H
