//===- PlainProduct.cpp - A matrix product by loops -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixProduct.h"

#include "Numeric/Half.h"

using namespace regather::runtime;

namespace {
class PlainProduct final : public MatrixProduct {
public:
  explicit PlainProduct(const rg_gemm_desc &desc) : desc(desc) {}

  bool run(const void *a, const void *b, void *c) const override {
    if (desc.input_dtype == RG_F32)
      runBatch(static_cast<const float *>(a), static_cast<const float *>(b),
               static_cast<float *>(c), 0);
    else
      runBatch(static_cast<const uint16_t *>(a),
               static_cast<const uint16_t *>(b), static_cast<float *>(c), 0);
    return true;
  }

  const char *getName() const override { return "loops"; }

private:
  static float widen(float value) { return value; }
  static float widen(uint16_t value) { return fromBF16(value); }

  /// Recursion over the dimensions of the batch, at most RG_GEMM_MAX_BATCH.
  template <typename T>
  void runBatch(const T *a, const T *b, float *c, int64_t dim) const {
    if (dim == desc.batch_rank)
      return runMatrix(a, b, c);
    for (int64_t i = 0; i < desc.batch_sizes[dim]; ++i)
      runBatch(a + i * desc.a_batch_strides[dim],
               b + i * desc.b_batch_strides[dim],
               c + i * desc.c_batch_strides[dim], dim + 1);
  }

  template <typename T> void runMatrix(const T *a, const T *b, float *c) const {
    for (int64_t i = 0; i < desc.m; ++i) {
      const T *row = a + i * desc.a_strides[0];
      float *out = c + i * desc.c_strides[0];
      if (!desc.accumulate)
        for (int64_t j = 0; j < desc.n; ++j)
          out[j * desc.c_strides[1]] = 0;
      // With n innermost, neighbours in memory follow each other.
      for (int64_t l = 0; l < desc.k; ++l) {
        float factor = widen(row[l * desc.a_strides[1]]);
        const T *other = b + l * desc.b_strides[0];
        for (int64_t j = 0; j < desc.n; ++j)
          out[j * desc.c_strides[1]] +=
              factor * widen(other[j * desc.b_strides[1]]);
      }
    }
  }

  rg_gemm_desc desc;
};
} // namespace

std::unique_ptr<MatrixProduct>
regather::runtime::createPlainProduct(const rg_gemm_desc &desc) {
  return std::make_unique<PlainProduct>(desc);
}
