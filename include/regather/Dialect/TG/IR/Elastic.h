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

#include <optional>

namespace regather::tg {

/// On a step whose sums over the batch are balanced trees over equal segments
/// of the global batch: the number of segments, as i64.
inline constexpr llvm::StringLiteral kElasticAttrName = "tg.elastic";

/// On an elastic step that axes beside those of the batch cut, too: by the name
/// of each, as a dictionary of i64, over how many equal segments of what it
/// cuts sums are trees, or 0 if they are in the order of its ranks. All other
/// axes of the mesh are those of the batch.
inline constexpr llvm::StringLiteral kModelSegmentsAttrName =
    "tg.model_segments";

/// The number of segments of the batch of `step`; 0 if its sums are in the
/// order of the ranks.
inline int64_t getElasticSegments(mlir::Operation *step) {
  auto segments = step->getAttrOfType<mlir::IntegerAttr>(kElasticAttrName);
  return segments ? segments.getInt() : 0;
}

/// The segments of what axis `name` cuts in `step`, 0 if its sums are in the
/// order of the ranks; nothing for an axis of the batch.
inline std::optional<int64_t> getModelSegments(mlir::Operation *step,
                                               mlir::StringAttr name) {
  auto axes = step->getAttrOfType<mlir::DictionaryAttr>(kModelSegmentsAttrName);
  auto segments = axes ? axes.getAs<mlir::IntegerAttr>(name) : nullptr;
  return segments ? std::optional(segments.getInt()) : std::nullopt;
}

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_IR_ELASTIC_H
