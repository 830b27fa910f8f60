//===- CheckMarks.h - What passes do about marks ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_CHECKMARKS_H
#define REGATHER_TEST_FUZZ_CHECKMARKS_H

#include "RandomPipeline.h"

#include "mlir/IR/BuiltinOps.h"

namespace regather::fuzz {

/// Checks that a pass leaves policies that are there as they are, that what
/// must be saved is not computed again, and that parameters that are never to
/// be released are gathered no more often in backward than they were; and that
/// tg-reshard-after-forward marks the parameters of a named module as it is
/// told. What is wrong, or an empty text.
std::string checkMarks(mlir::ModuleOp before, mlir::ModuleOp after,
                       const PassCall &call);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_CHECKMARKS_H
