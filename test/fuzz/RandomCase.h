//===- RandomCase.h - A step and how to check it, from a seed ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_RANDOMCASE_H
#define REGATHER_TEST_FUZZ_RANDOMCASE_H

#include "CheckPlan.h"

#include "mlir/IR/MLIRContext.h"

namespace regather::fuzz {

/// A captured step that cases may mutate.
struct Capture {
  std::string name, text;
};

struct RandomCase {
  /// `generated`, or the name of the capture.
  std::string origin;
  std::string text;
  CheckPlan plan;
};

/// The captures in a folder, by name: files that end in `.mlir`.
std::vector<Capture> readCaptures(llvm::StringRef folder);

/// The case of a number, which depends on the captures, too.
RandomCase makeRandomCase(uint64_t number, llvm::ArrayRef<Capture> captures,
                          mlir::MLIRContext &context);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_RANDOMCASE_H
