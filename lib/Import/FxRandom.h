//===- FxRandom.h - Random numbers of a captured graph ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_IMPORT_FXRANDOM_H
#define REGATHER_LIB_IMPORT_FXRANDOM_H

#include "FxArguments.h"
#include "FxCollectives.h"

namespace regather::fx {

/// Gives each call that draws random numbers the bits that it draws from. In
/// the file such a call names no generator; in the step a `tg.random` makes its
/// bits from a seed and the number of the step, which become arguments.
class FxRandom {
public:
  /// Names of the arguments.
  static constexpr llvm::StringLiteral kSeedName = "rng.seed";
  static constexpr llvm::StringLiteral kOffsetName = "rng.offset";

  explicit FxRandom(FxFile &file) : file(file) {}

  /// True if any of `nodes` draws random numbers.
  static bool isNeeded(llvm::ArrayRef<JsonValue> nodes);
  static bool isRandom(const Call &call);

  /// Draws from `seed` and `offset`, and advances the offset for the next step.
  void begin(mlir::Value seed, mlir::Value offset, mlir::OpBuilder &builder);
  /// The offset of the next step; null if the step draws nothing.
  mlir::Value getNextOffset() const { return nextOffset; }

  /// Makes the bits of a random call and adds them to its arguments. Reports
  /// operators without a definition of what they draw.
  llvm::LogicalResult addBits(const Call &call, CallArguments &arguments,
                              mlir::OpBuilder &builder);

private:
  FxFile &file;
  mlir::Value seed, offset, nextOffset;
  /// Calls are numbered in file order.
  int64_t numStreams = 0;
};

} // namespace regather::fx

#endif // REGATHER_LIB_IMPORT_FXRANDOM_H
