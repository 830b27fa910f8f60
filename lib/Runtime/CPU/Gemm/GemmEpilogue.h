//===- GemmEpilogue.h - What is done to the sums of a GEMM ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_GEMM_GEMMEPILOGUE_H
#define REGATHER_LIB_RUNTIME_CPU_GEMM_GEMMEPILOGUE_H

#include "regather/Runtime/Gemm.h"

#include <cstddef>

namespace regather::runtime {

/// One matrix of an operand.
struct GemmOperand {
  GemmOperand(const rg_gemm_desc &desc, const rg_gemm_operand &operand,
              void *const *buffers, int64_t batch);

  void *at(int64_t row, int64_t column) const {
    return static_cast<char *>(data) +
           (row * strides[0] + column * strides[1]) * elementBytes;
  }

  void *data;
  int32_t dtype;
  int64_t elementBytes;
  int64_t strides[2];
};

/// Turns sums into elements of C.
class GemmEpilogue {
public:
  GemmEpilogue(const rg_gemm_desc &desc, void *const *buffers, int64_t batch);

  /// Where the sums from (row, column) on are written to if they are the
  /// elements; null if there is more to do.
  float *getTarget(int64_t row, int64_t column, int64_t numColumns) const;
  int64_t getTargetStride() const { return result.strides[0]; }

  /// Asks for the lines of memory that `apply`, or who writes to the target,
  /// will touch: rows lie apart, so that no hardware sees what comes next.
  void prefetch(int64_t row, int64_t numRows, int64_t column,
                int64_t numColumns) const;

  /// Writes the elements from (row, column) on; `sums` is a scratch matrix of
  /// them, which is overwritten.
  void apply(float *sums, int64_t stride, int64_t row, int64_t numRows,
             int64_t column, int64_t numColumns) const;

private:
  float alpha;
  bool relu;
  int32_t numAddends;
  GemmOperand addends[RG_GEMM_MAX_ADDENDS];
  GemmOperand result;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_GEMM_GEMMEPILOGUE_H
