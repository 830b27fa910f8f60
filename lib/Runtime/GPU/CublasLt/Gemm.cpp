//===- Gemm.cpp - One GEMM by cuBLASLt ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"

#include <algorithm>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

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

CublasLtGemm::CublasLtGemm(const CublasLtApi &api, LtHandle handle,
                           GemmPlan newPlan,
                           const std::vector<int64_t> &alignments)
    : api(api), handle(handle), plan(std::move(newPlan)),
      alignments(alignments) {}

CublasLtGemm::~CublasLtGemm() {
  for (LtLayout layout : {a, b, c, d})
    if (layout)
      api.cublasLtMatrixLayoutDestroy(layout);
  if (desc)
    api.cublasLtMatmulDescDestroy(desc);
}

bool CublasLtGemm::check(LtStatus newStatus) {
  if (status == kLtSuccess)
    status = newStatus;
  return status == kLtSuccess;
}

bool CublasLtGemm::setDesc(int attribute, const void *value, size_t bytes) {
  return check(
      api.cublasLtMatmulDescSetAttribute(desc, attribute, value, bytes));
}

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

LtLayout CublasLtGemm::describeMatrix(const PlannedMatrix &matrix) {
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

bool CublasLtGemm::describeGemm() {
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

uint32_t CublasLtGemm::getAlignment(const PlannedMatrix &matrix) const {
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

bool CublasLtGemm::preferAlignment(LtPreference preference, int attribute,
                                   const PlannedMatrix &matrix) {
  uint32_t alignment = getAlignment(matrix);
  return check(api.cublasLtMatmulPreferenceSetAttribute(
      preference, attribute, &alignment, sizeof(alignment)));
}

bool CublasLtGemm::accepts(const LtAlgorithm &algorithm, LtProposal &proposal) {
  LtHeuristicResult result = {};
  proposal.algorithm = algorithm;
  if (api.cublasLtMatmulAlgoCheck(handle, desc, a, b, c, d, &algorithm,
                                  &result) != kLtSuccess)
    return false;
  proposal.workspaceBytes = result.workspaceBytes;
  return result.workspaceBytes <= kMaxGemmWorkspace;
}

Result<std::vector<LtProposal>> CublasLtGemm::propose(int count) {
  std::vector<LtHeuristicResult> results(static_cast<size_t>(count));
  int found = 0;
  // An algorithm that was tried before may have failed.
  status = kLtSuccess;
  LtPreference preference = nullptr;
  if (check(api.cublasLtMatmulPreferenceCreate(&preference))) {
    check(api.cublasLtMatmulPreferenceSetAttribute(
        preference, kLtPreferWorkspaceBytes, &kMaxGemmWorkspace,
        sizeof(kMaxGemmWorkspace)));
    // Sums whose parts meet in any order would differ from run to run.
    check(api.cublasLtMatmulPreferenceSetAttribute(
        preference, kLtPreferReductionSchemes, &kLtReductionNone,
        sizeof(kLtReductionNone)));
    preferAlignment(preference, kLtPreferAlignmentA, plan.a);
    preferAlignment(preference, kLtPreferAlignmentB, plan.b);
    preferAlignment(preference, kLtPreferAlignmentC, plan.c ? plan.c : plan.d);
    preferAlignment(preference, kLtPreferAlignmentD, plan.d);
    if (status == kLtSuccess)
      check(api.cublasLtMatmulAlgoGetHeuristic(
          handle, desc, a, b, c, d, preference, count, results.data(), &found));
    api.cublasLtMatmulPreferenceDestroy(preference);
  }
  std::vector<LtProposal> proposals;
  for (int i = 0; status == kLtSuccess && i < found; ++i) {
    const LtHeuristicResult &result = results[static_cast<size_t>(i)];
    if (result.status == kLtSuccess)
      proposals.push_back({result.algorithm, result.workspaceBytes});
  }
  if (!proposals.empty())
    return proposals;
  check(kLtNotSupported);
  return Failure("cuBLASLt has no algorithm for " + key + ": " +
                 api.cublasLtGetStatusName(status));
}

Failure CublasLtGemm::describe() {
  key = plan.describe() + " aligned=";
  for (const PlannedMatrix *matrix :
       {&plan.a, &plan.b, &plan.c, &plan.d, &plan.bias})
    key += (*matrix ? std::to_string(getAlignment(*matrix)) : "-") + ",";
  key.pop_back();
  if (describeGemm())
    return Failure();
  return "cuBLASLt does not describe " + key + ": " +
         api.cublasLtGetStatusName(status);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

bool CublasLtGemm::enqueue(const CallPlaces &places, const LtProposal &proposal,
                           CuAddress workspace, CuStream stream) {
  float beta = plan.c ? 1 : 0;
  auto pointer = [](CuAddress address) {
    return reinterpret_cast<void *>(address);
  };
  if (plan.bias)
    setDesc(kLtDescBiasPointer, places.bias);
  return check(api.cublasLtMatmul(
      handle, desc, &plan.alpha, pointer(places.a), a, pointer(places.b), b,
      &beta, pointer(places.c), c, pointer(places.d), d, &proposal.algorithm,
      pointer(workspace), proposal.workspaceBytes, stream));
}

CuAddress CublasLtGemm::getAddress(const PlannedMatrix &matrix, int64_t call,
                                   const CuAddress *buffers) const {
  return matrix ? buffers[matrix.buffer] +
                      static_cast<CuAddress>(plan.getOffset(matrix, call) *
                                             getElementBytes(matrix))
                : 0;
}

Failure CublasLtGemm::run(const CuAddress *buffers, CuAddress workspace,
                          CuStream stream) {
  status = kLtSuccess;
  for (int64_t call = 0, e = plan.getNumCalls(); call < e; ++call) {
    auto at = [&](const PlannedMatrix &matrix) {
      return getAddress(matrix, call, buffers);
    };
    if (!enqueue({at(plan.a), at(plan.b), at(plan.c ? plan.c : plan.d),
                  at(plan.d), at(plan.bias)},
                 chosen, workspace, stream))
      return Failure(std::string("cuBLASLt has failed: ") +
                         api.cublasLtGetStatusName(status),
                     RG_ERROR_DEVICE);
  }
  return Failure();
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

CublasLtGemm::CallPlaces CublasLtGemm::placeForTiming(CuAddress memory,
                                                      CuAddress &end) const {
  end = memory + kMaxGemmWorkspace;
  auto place = [&](const PlannedMatrix &matrix) -> CuAddress {
    if (!matrix)
      return 0;
    // Aligned to that and not to more.
    CuAddress address = end + getAlignment(matrix) % kMaxAlignment;
    end = address + static_cast<CuAddress>(matrix.getSpan(plan.batch) *
                                           getElementBytes(matrix));
    end = (end + kMaxAlignment - 1) / kMaxAlignment * kMaxAlignment;
    return address;
  };
  bool isInPlace = !plan.c || (plan.c.buffer == plan.d.buffer &&
                               plan.c.offset == plan.d.offset);
  CallPlaces places = {};
  places.a = place(plan.a);
  places.b = place(plan.b);
  places.d = place(plan.d);
  places.c = isInPlace ? places.d : place(plan.c);
  places.bias = place(plan.bias);
  return places;
}

int64_t CublasLtGemm::getTimingBytes() const {
  CuAddress end = 0;
  placeForTiming(0, end);
  return static_cast<int64_t>(end);
}

bool CublasLtGemm::runForTiming(const LtProposal &proposal, CuAddress memory,
                                CuStream stream) {
  CuAddress end = 0;
  status = kLtSuccess;
  return enqueue(placeForTiming(memory, end), proposal, memory, stream);
}
