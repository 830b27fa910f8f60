//===- Guard.h - What must not end the process ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CAPI_GUARD_H
#define REGATHER_LIB_CAPI_GUARD_H

#include "regather-c/Status.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <mutex>

namespace regather::capi {

/// Of an object that several calls use.
struct GuardedUse {
  /// Held by the call that uses the object.
  std::mutex mutex;
  /// A call was ended in its middle. What it held on the object, such as
  /// handlers of diagnostics, was not taken back.
  bool isBroken = false;
};

/// Calls `function`. What ends a tool, such as a fatal error of LLVM or memory
/// that is used up, becomes a status; what was being worked on may leak. Fatal
/// errors on threads that LLVM started still end the process.
RegatherStatus *guard(llvm::function_ref<RegatherStatus *()> function);

/// The same for one call of an object at a time. After one that was ended in
/// its middle, all that follow fail.
RegatherStatus *guard(GuardedUse &use,
                      llvm::function_ref<RegatherStatus *()> function);

} // namespace regather::capi

#endif // REGATHER_LIB_CAPI_GUARD_H
