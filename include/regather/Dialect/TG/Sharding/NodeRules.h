//===- NodeRules.h - Targets with a sharding rule ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_SHARDING_NODERULES_H
#define REGATHER_DIALECT_TG_SHARDING_NODERULES_H

#include "regather/Dialect/TG/Targets/NodeTargets.h"

namespace regather::tg::sharding {

/// True if a sharding rule is there for the target. The table of operators says
/// for which there has to be one.
bool hasNodeRule(NodeTarget target);

} // namespace regather::tg::sharding

#endif // REGATHER_DIALECT_TG_SHARDING_NODERULES_H
