//===- Targets.cpp - Operators that nodes call ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Targets.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

using namespace regather::tg;

uint32_t regatherIsExpensiveTarget(const char *target) {
  if (!target)
    return 0;
  std::optional<NodeOperator> op = findNodeOperator(target);
  return op && getInfo(*op).isExpensive ? 1 : 0;
}
