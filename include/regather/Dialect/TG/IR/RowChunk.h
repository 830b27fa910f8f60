//===- RowChunk.h - Which of several blocks of rows -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_ROWCHUNK_H
#define REGATHER_DIALECT_TG_IR_ROWCHUNK_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace regather::tg {

/// On operations that are carried out on one of several equal blocks of rows:
/// `[number, count]`.
inline constexpr llvm::StringLiteral kRowChunkAttrName = "tg.row_chunk";

struct RowChunk {
  int64_t number, count;

  bool operator==(const RowChunk &other) const {
    return number == other.number && count == other.count;
  }
  bool operator!=(const RowChunk &other) const { return !(*this == other); }
};

/// The block of rows that `op` is carried out on, if it is not all of them.
inline std::optional<RowChunk> getRowChunk(mlir::Operation *op) {
  auto chunk = op->getAttrOfType<mlir::DenseI64ArrayAttr>(kRowChunkAttrName);
  if (!chunk || chunk.size() != 2)
    return std::nullopt;
  return RowChunk{chunk[0], chunk[1]};
}

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_IR_ROWCHUNK_H
