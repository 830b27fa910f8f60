//===- Status.h - Errors as values of the C interface -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CAPI_STATUS_H
#define REGATHER_LIB_CAPI_STATUS_H

#include "regather-c/Status.h"

#include "regather/Support/Result.h"

#include <string>

struct RegatherStatus {
  std::string message;
};

namespace regather::capi {

/// Null for success. The caller destroys it.
/// Null if it is no failure.
inline RegatherStatus *takeStatus(const Failure &failure) {
  return failure ? new RegatherStatus{failure.getMessage()} : nullptr;
}

} // namespace regather::capi

#endif // REGATHER_LIB_CAPI_STATUS_H
