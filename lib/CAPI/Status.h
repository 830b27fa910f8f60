//===- Status.h - Errors as values of the C interface -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CAPI_STATUS_H
#define REGATHER_LIB_CAPI_STATUS_H

#include "Diagnostics.h"

#include "regather/Support/Result.h"

#include <string>

struct RegatherStatus {
  std::string message;
  regather::capi::Diagnostics diagnostics;
};

namespace regather::capi {

/// Null if it is no failure. The caller destroys it.
RegatherStatus *takeStatus(const Failure &failure);

} // namespace regather::capi

#endif // REGATHER_LIB_CAPI_STATUS_H
