//===- GemmPlan.h - GEMMs as cuBLASLt computes them -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library multiplies matrices in column-major order, each transposed or
// not, and a batch of them that lie equally far apart:
//
//   D = relu(alpha * op(A) op(B) + C + bias)
//
// where C has the type of D, and the bias, of the same type, is a column that
// is added to all columns. A result in row-major order is computed as its
// transpose: D = C^T, A = B^T and B = A^T, in the terms of Gemm.h.
//
// What can be planned depends on the description alone. The compiler asks it,
// too: for all that has no plan, it generates a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUBLASLT_GEMMPLAN_H
#define REGATHER_LIB_RUNTIME_GPU_CUBLASLT_GEMMPLAN_H

#include "regather/Runtime/Gemm.h"

#include <optional>
#include <string>
#include <vector>

namespace regather::runtime {

/// A matrix in column-major order, as it is stored. Sizes count elements.
struct PlannedMatrix {
  /// Number among the buffers of a call; -1 if there is none.
  int32_t buffer = -1;
  int32_t dtype = RG_F32;
  int64_t offset = 0;
  int64_t rows = 0, columns = 0;
  /// From one column to the next.
  int64_t leading = 0;
  int64_t batchStride = 0;
  /// Along each dimension of `GemmPlan::callSizes`.
  std::vector<int64_t> callStrides;

  explicit operator bool() const { return buffer >= 0; }
  /// Elements from the first to the last one of a batch.
  int64_t getSpan(int64_t batch) const {
    return (batch - 1) * batchStride + (columns - 1) * leading + rows;
  }
};

struct GemmPlan {
  PlannedMatrix a, b, d;
  /// Of one column, if there is one.
  PlannedMatrix bias;
  /// Has the sizes of D, if there is one.
  PlannedMatrix c;
  bool transposesA = false, transposesB = false;
  bool relu = false;
  float alpha = 1;
  int64_t batch = 1;
  /// What no batch can express: one call for each element.
  std::vector<int64_t> callSizes;

  /// 0 if there is nothing to compute.
  int64_t getNumCalls() const;

  /// The first element of a matrix in a call.
  int64_t getOffset(const PlannedMatrix &matrix, int64_t call) const;

  /// True if a matrix spans 2^31 elements or has a dimension of 2^21. cuBLASLt
  /// may propose algorithms for such that fail when they run.
  bool isLarge() const;

  /// All that decides which algorithm fits, but for alignments.
  std::string describe() const;
};

/// A plan, or a static text that says why there is none: a reason to compute it
/// by a generated kernel, not an error.
struct GemmPlanning {
  std::optional<GemmPlan> plan;
  const char *reason = "";
};

GemmPlanning planGemm(const rg_gemm_desc &desc);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUBLASLT_GEMMPLAN_H
