//===- SegmentedGemm.h - GEMMs of segments that are summed up ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elastic steps cut the sum of a product into segments: GEMMs of equal slices
// of the same two operands, whose results are added as a balanced tree. This
// reads them one operation after the other, and gives the GEMM of the whole
// operands when the last addition has been read.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_LIBRARY_SEGMENTEDGEMM_H
#define REGATHER_LIB_DIALECT_TG_LIBRARY_SEGMENTEDGEMM_H

#include "LibraryReadings.h"

namespace regather::tg::library {

/// A GEMM with the views that it multiplies.
struct GemmSegment {
  GemmReading reading;
  StridedView lhs, rhs;
  /// What its sums are rounded to before they are added; null for nothing.
  mlir::Type rounded;
};

/// Reads a tree in time O(n log n) in the number of segments.
class SegmentedGemm {
public:
  explicit SegmentedGemm(int64_t numSegments) : numSegments(numSegments) {}

  /// Reads a GEMM of one segment. Functions return why a library does not
  /// compute what has been read; an empty text if it may.
  llvm::StringRef addSegment(mlir::Operation *op, GemmSegment segment);
  /// True if `op` reads what segments have given.
  bool isReadBy(mlir::Operation *op) const;
  /// Reads a rounding, a conversion or an addition of what segments have given.
  llvm::StringRef addSum(mlir::Operation *op);

  /// The sum over all segments; null if it has not been read.
  mlir::Value getWhole() const { return whole; }
  /// Makes the GEMM of which all are segments. Called behind the last addition.
  llvm::StringRef join(GemmSegment &joined) const;

private:
  /// By value: numbers of the segments that it sums up, in the order of the
  /// tree.
  using Numbers = llvm::SmallVector<unsigned, 1>;

  llvm::StringRef convert(GemmSegment &segment,
                          const EpilogueReading &conversions) const;
  llvm::StringRef merge(mlir::Operation *op, mlir::Value first,
                        mlir::Value second);
  void setSum(mlir::Value value, Numbers numbers);

  int64_t numSegments;
  std::vector<GemmSegment> segments;
  llvm::DenseMap<mlir::Value, Numbers> sums;
  mlir::Value whole;
};

} // namespace regather::tg::library

#endif // REGATHER_LIB_DIALECT_TG_LIBRARY_SEGMENTEDGEMM_H
