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

#include "llvm/Support/Error.h"

#include <string>

struct RegatherStatus {
  std::string message;
};

namespace regather::capi {

/// Null for success. The caller destroys it.
inline RegatherStatus *takeStatus(llvm::Error error) {
  if (!error)
    return nullptr;
  return new RegatherStatus{llvm::toString(std::move(error))};
}

} // namespace regather::capi

#endif // REGATHER_LIB_CAPI_STATUS_H
