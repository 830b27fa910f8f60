//===- StepTiming.cpp - How long a step takes -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Report/StepReport.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather::report;

const TimeBound *StepTiming::getBound() const {
  auto largest =
      llvm::max_element(bounds, [](const auto &lhs, const auto &rhs) {
        return lhs.seconds < rhs.seconds;
      });
  return largest == bounds.end() ? nullptr : &*largest;
}

double StepTiming::getAboveBound() const {
  const TimeBound *bound = getBound();
  return bound && bound->seconds > 0 ? seconds / bound->seconds - 1 : 0;
}
