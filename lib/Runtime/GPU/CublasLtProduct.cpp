//===- CublasLtProduct.cpp - One product by cuBLASLt ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CublasLtProduct.h"

#include <algorithm>

using namespace regather::runtime;

/// What is asked of a bias that has no address yet.
static constexpr uint64_t kMaxAlignment = 256;

static int getType(const PlannedMatrix &matrix) {
  return matrix.dtype == RG_BF16  ? kLtBF16
         : matrix.dtype == RG_F16 ? kLtF16
                                  : kLtF32;
}

static int64_t getElementBytes(const PlannedMatrix &matrix) {
  return static_cast<int64_t>(rg_dtype_size(matrix.dtype));
}

CublasLtProduct::CublasLtProduct(const CublasLtApi &api, LtHandle handle,
                                 ProductPlan newPlan,
                                 const std::vector<int64_t> &alignments)
    : api(api), handle(handle), plan(std::move(newPlan)),
      alignments(alignments) {}

CublasLtProduct::~CublasLtProduct() {
  for (LtLayout layout : {a, b, c, d})
    if (layout)
      api.cublasLtMatrixLayoutDestroy(layout);
  if (desc)
    api.cublasLtMatmulDescDestroy(desc);
}

bool CublasLtProduct::check(LtStatus newStatus) {
  if (status == kLtSuccess)
    status = newStatus;
  return status == kLtSuccess;
}

bool CublasLtProduct::setDesc(int attribute, const void *value, size_t bytes) {
  return check(
      api.cublasLtMatmulDescSetAttribute(desc, attribute, value, bytes));
}

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

LtLayout CublasLtProduct::describeMatrix(const PlannedMatrix &matrix) {
  LtLayout layout = nullptr;
  if (!check(api.cublasLtMatrixLayoutCreate(
          &layout, getType(matrix), static_cast<uint64_t>(matrix.rows),
          static_cast<uint64_t>(matrix.columns), matrix.leading)))
    return nullptr;
  auto count = static_cast<int32_t>(plan.batch);
  check(api.cublasLtMatrixLayoutSetAttribute(layout, kLtLayoutBatchCount,
                                             &count, sizeof(count)));
  check(api.cublasLtMatrixLayoutSetAttribute(layout, kLtLayoutBatchStride,
                                             &matrix.batchStride,
                                             sizeof(matrix.batchStride)));
  return layout;
}

bool CublasLtProduct::describeProduct() {
  if (!check(api.cublasLtMatmulDescCreate(&desc, kLtCompute32F, kLtF32)))
    return false;
  setDesc(kLtDescTransposeA, plan.transposesA ? kLtTransposed : kLtPlain);
  setDesc(kLtDescTransposeB, plan.transposesB ? kLtTransposed : kLtPlain);
  uint32_t epilogue =
      (plan.relu ? kLtEpilogueRelu : 0) | (plan.bias ? kLtEpilogueBias : 0);
  setDesc(kLtDescEpilogue, epilogue ? epilogue : kLtEpilogueDefault);
  if (plan.bias) {
    setDesc(kLtDescBiasType, int32_t(getType(plan.bias)));
    setDesc(kLtDescBiasBatchStride, plan.bias.batchStride);
    // The heuristic reads the alignment from the address.
    setDesc(kLtDescBiasPointer, uint64_t(getAlignment(plan.bias)));
  }
  a = describeMatrix(plan.a);
  b = describeMatrix(plan.b);
  d = describeMatrix(plan.d);
  c = describeMatrix(plan.c ? plan.c : plan.d);
  return status == kLtSuccess;
}

//===----------------------------------------------------------------------===//
// Algorithm
//===----------------------------------------------------------------------===//

uint32_t CublasLtProduct::getAlignment(const PlannedMatrix &matrix) const {
  auto size = static_cast<uint64_t>(getElementBytes(matrix));
  auto buffer = static_cast<size_t>(matrix.buffer);
  uint64_t steps = buffer < alignments.size()
                       ? static_cast<uint64_t>(alignments[buffer])
                       : kMaxAlignment;
  steps |= static_cast<uint64_t>(matrix.offset) * size;
  if (plan.batch > 1)
    steps |= static_cast<uint64_t>(matrix.batchStride) * size;
  for (int64_t stride : matrix.callStrides)
    steps |= static_cast<uint64_t>(stride) * size;
  steps |= kMaxAlignment;
  // The lowest bit.
  return static_cast<uint32_t>(steps & (~steps + 1));
}

bool CublasLtProduct::preferAlignment(LtPreference preference, int attribute,
                                      const PlannedMatrix &matrix) {
  uint32_t alignment = getAlignment(matrix);
  return check(api.cublasLtMatmulPreferenceSetAttribute(
      preference, attribute, &alignment, sizeof(alignment)));
}

bool CublasLtProduct::choose(const std::string &key, AlgorithmFile &file) {
  LtHeuristicResult result = {};
  if (const LtAlgorithm *known = file.find(key);
      known &&
      api.cublasLtMatmulAlgoCheck(handle, desc, a, b, c, d, known, &result) ==
          kLtSuccess &&
      result.workspaceBytes <= kMaxProductWorkspace) {
    algorithm = *known;
    workspaceBytes = result.workspaceBytes;
    return true;
  }
  LtPreference preference = nullptr;
  if (!check(api.cublasLtMatmulPreferenceCreate(&preference)))
    return false;
  check(api.cublasLtMatmulPreferenceSetAttribute(
      preference, kLtPreferWorkspaceBytes, &kMaxProductWorkspace,
      sizeof(kMaxProductWorkspace)));
  // Sums whose parts meet in any order would differ from run to run.
  check(api.cublasLtMatmulPreferenceSetAttribute(
      preference, kLtPreferReductionSchemes, &kLtReductionNone,
      sizeof(kLtReductionNone)));
  preferAlignment(preference, kLtPreferAlignmentA, plan.a);
  preferAlignment(preference, kLtPreferAlignmentB, plan.b);
  preferAlignment(preference, kLtPreferAlignmentC, plan.c ? plan.c : plan.d);
  preferAlignment(preference, kLtPreferAlignmentD, plan.d);
  int found = 0;
  if (status == kLtSuccess)
    check(api.cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, c, d,
                                             preference, 1, &result, &found));
  api.cublasLtMatmulPreferenceDestroy(preference);
  if (status == kLtSuccess)
    check(found == 0 ? kLtNotSupported : result.status);
  if (status != kLtSuccess)
    return false;
  algorithm = result.algorithm;
  workspaceBytes = result.workspaceBytes;
  file.set(key, algorithm);
  return true;
}

bool CublasLtProduct::prepare(AlgorithmFile &file, std::string &message) {
  std::string key = plan.describe() + " aligned=";
  for (const PlannedMatrix *matrix :
       {&plan.a, &plan.b, &plan.c, &plan.d, &plan.bias})
    key += (*matrix ? std::to_string(getAlignment(*matrix)) : "-") + ",";
  key.pop_back();
  if (describeProduct() && choose(key, file))
    return true;
  message = std::string("cuBLASLt has no algorithm for ") + key + ": " +
            api.cublasLtGetStatusName(status);
  return false;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

CuAddress CublasLtProduct::getAddress(const PlannedMatrix &matrix, int64_t call,
                                      const CuAddress *buffers) const {
  return buffers[matrix.buffer] +
         static_cast<CuAddress>(plan.getOffset(matrix, call) *
                                getElementBytes(matrix));
}

bool CublasLtProduct::run(const CuAddress *buffers, CuAddress workspace,
                          CuStream stream, std::string &message) {
  float beta = plan.c ? 1 : 0;
  status = kLtSuccess;
  for (int64_t call = 0, e = plan.getNumCalls(); call < e; ++call) {
    auto at = [&](const PlannedMatrix &matrix) {
      return reinterpret_cast<void *>(getAddress(matrix, call, buffers));
    };
    if (plan.bias)
      setDesc(kLtDescBiasPointer, getAddress(plan.bias, call, buffers));
    if (!check(api.cublasLtMatmul(
            handle, desc, &plan.alpha, at(plan.a), a, at(plan.b), b, &beta,
            at(plan.c ? plan.c : plan.d), c, at(plan.d), d, &algorithm,
            reinterpret_cast<void *>(workspace), workspaceBytes, stream))) {
      message = std::string("cuBLASLt has failed: ") +
                api.cublasLtGetStatusName(status);
      return false;
    }
  }
  return true;
}
