//===- Elastic.h - Sums that do not depend on the ranks ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_ELASTIC_H
#define REGATHER_DIALECT_TG_IR_ELASTIC_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace regather::tg {

/// On a step whose sums over the batch are balanced trees over equal segments
/// of the global batch: the number of segments, as i64.
inline constexpr llvm::StringLiteral kElasticAttrName = "tg.elastic";

/// The number of segments of the batch of `step`; 0 if its sums are in the
/// order of the ranks.
inline int64_t getElasticSegments(mlir::Operation *step) {
  auto segments = step->getAttrOfType<mlir::IntegerAttr>(kElasticAttrName);
  return segments ? segments.getInt() : 0;
}

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_IR_ELASTIC_H
