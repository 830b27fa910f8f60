//===- IsolatedCase.h - Run a case where it may crash -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_ISOLATEDCASE_H
#define REGATHER_TEST_FUZZ_ISOLATEDCASE_H

#include "CheckStep.h"

#include <functional>

namespace regather::fuzz {

/// Calls `check` in a process of its own. A crash is an outcome of kind
/// `crash`, with the last that the process said; more than `seconds` of a
/// processor, or ten times as many by the clock, are one of kind `hang`.
CheckOutcome runIsolated(unsigned seconds,
                         const std::function<CheckOutcome()> &check);

/// One line of JSON.
std::string printOutcome(const CheckOutcome &outcome, uint64_t number,
                         llvm::StringRef origin);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_ISOLATEDCASE_H
