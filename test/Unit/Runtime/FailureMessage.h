//===- FailureMessage.h - What has failed, in words -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_RUNTIME_FAILUREMESSAGE_H
#define REGATHER_TEST_UNIT_RUNTIME_FAILUREMESSAGE_H

#include "regather/Support/Result.h"

namespace regather::runtime {

/// What has failed, in words; empty if nothing has.
inline std::string getMessage(const Failure &failure) {
  return failure ? failure.getMessage() : "";
}
template <typename T> std::string getMessage(const Result<T> &result) {
  return getMessage(result.getFailure());
}

} // namespace regather::runtime

#endif // REGATHER_TEST_UNIT_RUNTIME_FAILUREMESSAGE_H
