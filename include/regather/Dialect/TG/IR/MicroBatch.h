//===- MicroBatch.h - Which of several batches ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_MICROBATCH_H
#define REGATHER_DIALECT_TG_IR_MICROBATCH_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace regather::tg {

/// On operations of a step over several micro-batches: the number of the one
/// that they work on, as i64.
inline constexpr llvm::StringLiteral kMicroBatchAttrName = "tg.micro_batch";

/// The micro-batch of `op`, if it belongs to one.
inline std::optional<int64_t> getMicroBatch(mlir::Operation *op) {
  auto number = op->getAttrOfType<mlir::IntegerAttr>(kMicroBatchAttrName);
  return number ? std::optional(number.getInt()) : std::nullopt;
}

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_IR_MICROBATCH_H
