//===- GuardTest.cpp - What must not end the process ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Guard.h"
#include "Status.h"

#include "llvm/Support/ErrorHandling.h"

#include <gtest/gtest.h>

using namespace regather;

static std::string takeMessage(RegatherStatus *status) {
  std::string message = regatherStatusGetMessage(status);
  EXPECT_EQ(regatherStatusGetDiagnostics(status).count, status ? 1u : 0u);
  regatherStatusDestroy(status);
  return message;
}

TEST(GuardTest, PassesStatusesOn) {
  EXPECT_EQ(capi::guard([]() -> RegatherStatus * { return nullptr; }), nullptr);
  EXPECT_EQ(takeMessage(
                capi::guard([] { return capi::takeStatus(Failure("wrong")); })),
            "wrong");
}

TEST(GuardTest, FatalErrorsBecomeStatuses) {
  // Also a second time, and inside of another call.
  for (int i = 0; i != 2; ++i)
    EXPECT_EQ(takeMessage(capi::guard([]() -> RegatherStatus * {
                EXPECT_EQ(takeMessage(capi::guard([]() -> RegatherStatus * {
                            llvm::report_fatal_error("inner");
                          })),
                          "internal error: inner");
                llvm::report_fatal_error("cannot select");
              })),
              "internal error: cannot select");
}

TEST(GuardTest, WhatWasEndedInItsMiddleIsNotUsedAgain) {
  capi::GuardedUse use;
  auto succeed = []() -> RegatherStatus * { return nullptr; };
  EXPECT_EQ(capi::guard(use, succeed), nullptr);
  EXPECT_EQ(takeMessage(capi::guard(
                use, [] { return capi::takeStatus(Failure("wrong")); })),
            "wrong");
  EXPECT_EQ(capi::guard(use, succeed), nullptr);
  EXPECT_EQ(
      takeMessage(capi::guard(
          use, []() -> RegatherStatus * { llvm::report_fatal_error("lost"); })),
      "internal error: lost");
  // Neither waits for ever nor touches what is left.
  EXPECT_NE(takeMessage(capi::guard(use, succeed)).find("unusable"),
            std::string::npos);
}

TEST(GuardTest, MemoryThatIsUsedUp) {
  EXPECT_NE(takeMessage(capi::guard([]() -> RegatherStatus * {
              llvm::report_bad_alloc_error("no memory");
            })).find("internal error"),
            std::string::npos);
}

TEST(GuardDeathTest, OutsideOfCallsNobodyCatches) {
  capi::guard([]() -> RegatherStatus * { return nullptr; });
  EXPECT_DEATH(llvm::report_fatal_error("alone"), "alone");
}
