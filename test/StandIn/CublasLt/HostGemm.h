//===- HostGemm.h - A GEMM of cuBLASLt on the host --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_CUBLASLT_HOSTGEMM_H
#define REGATHER_TEST_STANDIN_CUBLASLT_HOSTGEMM_H

#include "GPU/CublasLt/CublasLtApi.h"
#include "GPU/Driver/DriverApi.h"

namespace regather::runtime {

/// With the defaults of the library.
struct LtLayoutTag {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t batchStride = 0;
};

struct LtMatmulDescTag {
  int computeType = 0, scaleType = 0;
  int32_t transposeA = kLtPlain, transposeB = kLtPlain;
  uint32_t epilogue = kLtEpilogueDefault;
  CuAddress bias = 0;
  int64_t biasBatchStride = 0;
  /// -1 for that of D.
  int32_t biasType = -1;
};

/// One call, with copies of what it was described by.
struct HostGemm {
  LtMatmulDescTag desc;
  LtLayoutTag layoutA, layoutB, layoutC, layoutD;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void *d = nullptr;
  float alpha = 1, beta = 0;

  bool hasBias() const { return desc.epilogue & kLtEpilogueBias; }
  /// True if C and D have one layout.
  bool isInPlace() const;
  /// Why the library does not accept the description; null if it does.
  const char *findProblem() const;
  /// Of all that is described, but for addresses.
  uint64_t hash() const;

  DeviceRange getRange(const void *matrix, const LtLayoutTag *layout) const;
  DeviceRange getBiasRange() const;

  void run() const;
};

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_CUBLASLT_HOSTGEMM_H
