//===- Guard.cpp - What must not end the process --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The one file that is compiled with exceptions. Frames of LLVM have none, but
// they can be unwound.
//
//===----------------------------------------------------------------------===//

#include "Guard.h"

#include "Status.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <exception>
#include <locale.h>

using namespace regather;

namespace {
struct FatalError : std::exception {
  explicit FatalError(const char *reason) : reason(reason) {}
  const char *what() const noexcept override { return reason.c_str(); }
  std::string reason;
};
} // namespace

/// Calls of this thread that catch.
static thread_local int depth = 0;

static void throwFatal(void *, const char *reason, bool) {
  if (depth > 0)
    throw FatalError(reason);
  // LLVM leaves that to handlers, and ends the process behind this one.
  llvm::errs() << "LLVM ERROR: " << reason << '\n';
}

namespace {
/// The handler is that of this copy of LLVM alone.
struct Handlers {
  Handlers() {
    llvm::install_fatal_error_handler(throwFatal);
    llvm::install_bad_alloc_error_handler(throwFatal);
  }
};

/// A call of this thread. Meanwhile, the thread reads and writes numbers with
/// decimal points, whatever locale the process has: those of options, of files
/// and of JSON have no other.
class Entered {
public:
  Entered() : old(uselocale(getClassicLocale())) { ++depth; }
  ~Entered() {
    --depth;
    uselocale(old);
  }

private:
  static locale_t getClassicLocale() {
    static locale_t classic = newlocale(LC_ALL_MASK, "C", nullptr);
    return classic;
  }

  locale_t old;
};
} // namespace

/// Sets `isEnded` if the call was ended in its middle.
static RegatherStatus *
catchAll(bool &isEnded, llvm::function_ref<RegatherStatus *()> function) {
  static Handlers handlers;
  Entered entered;
  try {
    return function();
  } catch (const std::exception &error) {
    isEnded = true;
    return capi::takeStatus(
        Failure(std::string("internal error: ") + error.what()));
  }
}

RegatherStatus *capi::guard(llvm::function_ref<RegatherStatus *()> function) {
  bool isEnded = false;
  return catchAll(isEnded, function);
}

RegatherStatus *capi::guard(GuardedUse &use,
                            llvm::function_ref<RegatherStatus *()> function) {
  // In this file, because frames without exceptions release nothing when they
  // are unwound.
  std::lock_guard<std::mutex> lock(use.mutex);
  if (use.isBroken)
    return takeStatus(Failure(
        "an internal error has made the module unusable; read it again"));
  return catchAll(use.isBroken, function);
}
