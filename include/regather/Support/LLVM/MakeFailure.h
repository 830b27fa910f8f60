//===- MakeFailure.h - Failures from what LLVM has --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that has no IR to point at returns a Result or a Failure. One that
// has emits a diagnostic and returns failure: `emitError(loc) << why` with the
// message of the former. What LLVM's libraries return is converted here.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_LLVM_MAKEFAILURE_H
#define REGATHER_SUPPORT_LLVM_MAKEFAILURE_H

#include "regather/Support/Result.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace regather {

/// A failure whose message is that of `llvm::formatv`.
template <typename... Args>
Failure makeFailure(const char *format, Args &&...args) {
  return Failure(llvm::formatv(format, std::forward<Args>(args)...).str());
}

inline Failure makeFailure(const llvm::Twine &message) {
  return Failure(message.str());
}

/// Takes the error over; it is no failure if there is none.
inline Failure makeFailure(llvm::Error error) {
  if (!error)
    return Failure();
  return Failure(llvm::toString(std::move(error)));
}

} // namespace regather

#endif // REGATHER_SUPPORT_LLVM_MAKEFAILURE_H
