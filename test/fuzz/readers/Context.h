//===- Context.h - A context of MLIR for many inputs ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_READERS_CONTEXT_H
#define REGATHER_TEST_FUZZ_READERS_CONTEXT_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace regather::fuzz {

/// A context that a process uses over and over. It is made anew after some
/// inputs, because it keeps all types and attributes that it has ever seen.
mlir::MLIRContext &getContext();

/// Keeps the first error while it lives.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext &context);

  /// Why what was read in the meantime is wrong; empty if it is not. Reports a
  /// find if the reader succeeded with an error or failed without one.
  std::string explain(bool succeeded) const;

private:
  bool hasError = false;
  std::string message;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_READERS_CONTEXT_H
