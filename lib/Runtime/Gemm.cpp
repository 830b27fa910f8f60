//===- Gemm.cpp - Matrix products of the runtime --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixProduct.h"

using namespace regather::runtime;

static MatrixProduct *unwrap(rg_gemm *gemm) {
  return reinterpret_cast<MatrixProduct *>(gemm);
}
static const MatrixProduct *unwrap(const rg_gemm *gemm) {
  return reinterpret_cast<const MatrixProduct *>(gemm);
}

static bool isValid(const rg_gemm_desc &desc) {
  if (desc.input_dtype != RG_F32 && desc.input_dtype != RG_BF16)
    return false;
  if (desc.m < 0 || desc.n < 0 || desc.k < 0 || desc.batch_rank < 0 ||
      desc.batch_rank > RG_GEMM_MAX_BATCH)
    return false;
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    if (desc.batch_sizes[i] < 0)
      return false;
  return true;
}

/// True if there is nothing to multiply: the loops do what is left to do.
static bool isEmpty(const rg_gemm_desc &desc) {
  bool empty = desc.m == 0 || desc.n == 0 || desc.k == 0;
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    empty |= desc.batch_sizes[i] == 0;
  return empty;
}

rg_status rg_gemm_create(const rg_gemm_desc *desc, rg_gemm **gemm) {
  if (!desc || !gemm || !isValid(*desc))
    return RG_ERROR_ARGUMENT;
  std::unique_ptr<MatrixProduct> product;
  if (!isEmpty(*desc))
    product = createOneDNNProduct(*desc);
  if (!product)
    product = createPlainProduct(*desc);
  *gemm = reinterpret_cast<rg_gemm *>(product.release());
  return RG_OK;
}

rg_status rg_gemm_run(const rg_gemm *gemm, const void *a, const void *b,
                      void *c) {
  if (!gemm)
    return RG_ERROR_ARGUMENT;
  return unwrap(gemm)->run(a, b, c) ? RG_OK : RG_ERROR_ABORTED;
}

const char *rg_gemm_library(const rg_gemm *gemm) {
  return gemm ? unwrap(gemm)->getName() : "none";
}

void rg_gemm_destroy(rg_gemm *gemm) { delete unwrap(gemm); }
