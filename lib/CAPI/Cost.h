//===- Cost.h - What operations take ----------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CAPI_COST_H
#define REGATHER_LIB_CAPI_COST_H

#include "regather-c/Cost.h"

#include "regather/Analysis/Cost/CostModel.h"

namespace regather::capi {

/// Nothing for what does not exist.
std::optional<CollectiveKind> getCollectiveKind(uint8_t kind);

} // namespace regather::capi

#endif // REGATHER_LIB_CAPI_COST_H
