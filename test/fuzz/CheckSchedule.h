//===- CheckSchedule.h - What a schedule promises ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_CHECKSCHEDULE_H
#define REGATHER_TEST_FUZZ_CHECKSCHEDULE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace regather::fuzz {

/// Checks the promises of tg-schedule, of which `before` has become `after`, on
/// the order that it has made: memory within the limit, no more collectives in
/// flight than allowed, none together whose groups share ranks, and no longer a
/// simulated time than that of the order that was there, if that keeps to the
/// limits. What is wrong, or an empty text.
std::string checkSchedule(mlir::ModuleOp before, mlir::ModuleOp after,
                          llvm::StringRef options);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_CHECKSCHEDULE_H
