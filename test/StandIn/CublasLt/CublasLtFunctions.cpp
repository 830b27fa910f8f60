//===- CublasLtFunctions.cpp - Stands in for cuBLASLt ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes GEMMs on the host, with sums in f64, and rejects what the library
// rejects. An algorithm remembers what it was chosen for, and runs with nothing
// else. It wants a workspace, to see that it is given one.
//
// There are as many algorithms for each description as
// REGATHER_STAND_IN_GEMM_SECONDS has numbers ("0"): so much does a GEMM
// by each of them add to the time that events see. One with a negative number
// is proposed, but fails.
//
//===----------------------------------------------------------------------===//

#include "HostGemm.h"
#include "StandIn/Driver/RecordedCall.h"

#include "regather/Runtime/Runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace regather::runtime;

/// What an algorithm needs times its number, from 1 on, unless it may not have
/// so much.
static constexpr size_t kWorkspaceBytes = 4096;

/// cublasLtGetVersion: 13.1.2, or what REGATHER_STAND_IN_CUBLASLT says.
static constexpr size_t kVersion = 130102;

namespace regather::runtime {

struct LtHandleTag {};

struct LtPreferenceTag {
  uint64_t workspaceBytes = 0;
  /// All but a mask of bits for each scheme.
  uint32_t reductionSchemes = 7;
  /// Of A, B, C and D.
  uint32_t alignments[4] = {256, 256, 256, 256};
};

} // namespace regather::runtime

/// What an algorithm holds.
namespace {
struct ChosenAlgorithm {
  uint64_t configuration;
  uint64_t workspaceBytes;
  uint64_t reductionSchemes;
  uint32_t alignments[4];
  uint64_t number;
  uint64_t unused[2];
};
} // namespace
static_assert(sizeof(ChosenAlgorithm) == sizeof(LtAlgorithm));

static std::vector<double> getGemmSeconds() {
  const char *text = std::getenv("REGATHER_STAND_IN_GEMM_SECONDS");
  std::vector<double> seconds;
  for (char *end = nullptr; text && *text; text = *end ? end + 1 : end)
    seconds.push_back(std::strtod(text, &end));
  if (seconds.empty())
    seconds.push_back(0);
  return seconds;
}

/// Sets a field if the size is that of the field.
template <typename T>
static LtStatus assign(T &field, const void *value, size_t bytes) {
  if (!value || bytes != sizeof(T))
    return kLtInvalidValue;
  std::memcpy(&field, value, bytes);
  return kLtSuccess;
}

extern "C" {

RG_EXPORT LtStatus cublasLtCreate(LtHandle *handle) {
  RecordedCall call("cublasLtCreate");
  *handle = new LtHandleTag();
  return call.finish() == kCuSuccess ? kLtSuccess : kLtInvalidValue;
}

RG_EXPORT LtStatus cublasLtDestroy(LtHandle handle) {
  delete handle;
  return kLtSuccess;
}

RG_EXPORT size_t cublasLtGetVersion() {
  const char *text = std::getenv("REGATHER_STAND_IN_CUBLASLT");
  return text ? std::strtoull(text, nullptr, 10) : kVersion;
}

RG_EXPORT const char *cublasLtGetStatusName(LtStatus status) {
  switch (status) {
  case kLtSuccess:
    return "CUBLAS_STATUS_SUCCESS";
  case kLtInvalidValue:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case kLtNotSupported:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  default:
    return "unknown status";
  }
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

RG_EXPORT LtStatus cublasLtMatrixLayoutCreate(LtLayout *layout, int type,
                                              uint64_t rows, uint64_t columns,
                                              int64_t leading) {
  *layout = new LtLayoutTag{type, rows, columns, leading};
  return kLtSuccess;
}

RG_EXPORT LtStatus cublasLtMatrixLayoutDestroy(LtLayout layout) {
  delete layout;
  return kLtSuccess;
}

RG_EXPORT LtStatus cublasLtMatrixLayoutSetAttribute(LtLayout layout,
                                                    int attribute,
                                                    const void *value,
                                                    size_t bytes) {
  switch (attribute) {
  case kLtLayoutBatchCount:
    return assign(layout->batch, value, bytes);
  case kLtLayoutBatchStride:
    return assign(layout->batchStride, value, bytes);
  default:
    return kLtInvalidValue;
  }
}

RG_EXPORT LtStatus cublasLtMatmulDescCreate(LtMatmulDesc *desc, int computeType,
                                            int scaleType) {
  *desc = new LtMatmulDescTag();
  (*desc)->computeType = computeType;
  (*desc)->scaleType = scaleType;
  return kLtSuccess;
}

RG_EXPORT LtStatus cublasLtMatmulDescDestroy(LtMatmulDesc desc) {
  delete desc;
  return kLtSuccess;
}

RG_EXPORT LtStatus cublasLtMatmulDescSetAttribute(LtMatmulDesc desc,
                                                  int attribute,
                                                  const void *value,
                                                  size_t bytes) {
  switch (attribute) {
  case kLtDescTransposeA:
    return assign(desc->transposeA, value, bytes);
  case kLtDescTransposeB:
    return assign(desc->transposeB, value, bytes);
  case kLtDescEpilogue:
    return assign(desc->epilogue, value, bytes);
  case kLtDescBiasPointer:
    return assign(desc->bias, value, bytes);
  case kLtDescBiasBatchStride:
    return assign(desc->biasBatchStride, value, bytes);
  case kLtDescBiasType:
    return assign(desc->biasType, value, bytes);
  default:
    return kLtInvalidValue;
  }
}

RG_EXPORT LtStatus cublasLtMatmulPreferenceCreate(LtPreference *preference) {
  *preference = new LtPreferenceTag();
  return kLtSuccess;
}

RG_EXPORT LtStatus cublasLtMatmulPreferenceDestroy(LtPreference preference) {
  delete preference;
  return kLtSuccess;
}

RG_EXPORT LtStatus cublasLtMatmulPreferenceSetAttribute(LtPreference preference,
                                                        int attribute,
                                                        const void *value,
                                                        size_t bytes) {
  switch (attribute) {
  case kLtPreferWorkspaceBytes:
    return assign(preference->workspaceBytes, value, bytes);
  case kLtPreferReductionSchemes:
    return assign(preference->reductionSchemes, value, bytes);
  case kLtPreferAlignmentA:
  case kLtPreferAlignmentB:
  case kLtPreferAlignmentC:
  case kLtPreferAlignmentD:
    return assign(preference->alignments[attribute - kLtPreferAlignmentA],
                  value, bytes);
  default:
    return kLtInvalidValue;
  }
}

} // extern "C"

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

extern "C" {

RG_EXPORT LtStatus cublasLtMatmulAlgoGetHeuristic(
    LtHandle handle, LtMatmulDesc desc, LtLayout a, LtLayout b, LtLayout c,
    LtLayout d, LtPreference preference, int count, LtHeuristicResult *results,
    int *found) {
  HostGemm gemm = {*desc, *a, *b, *c, *d};
  *found = 0;
  if (!handle || count < 1 || gemm.findProblem())
    return kLtInvalidValue;
  size_t proposals =
      std::min(static_cast<size_t>(count), getGemmSeconds().size());
  for (size_t i = 0; i < proposals; ++i) {
    ChosenAlgorithm chosen = {};
    chosen.configuration = gemm.hash();
    chosen.workspaceBytes = std::min<uint64_t>((i + 1) * kWorkspaceBytes,
                                               preference->workspaceBytes);
    chosen.reductionSchemes = preference->reductionSchemes;
    std::memcpy(chosen.alignments, preference->alignments,
                sizeof(chosen.alignments));
    chosen.number = i;
    results[i] = {};
    std::memcpy(&results[i].algorithm, &chosen, sizeof(chosen));
    results[i].workspaceBytes = chosen.workspaceBytes;
  }
  *found = static_cast<int>(proposals);
  RecordedCall call("cublasLtMatmulAlgoGetHeuristic");
  call.add("proposals", *found);
  return call.finish() == kCuSuccess ? kLtSuccess : kLtInvalidValue;
}

RG_EXPORT LtStatus cublasLtMatmulAlgoCheck(LtHandle handle, LtMatmulDesc desc,
                                           LtLayout a, LtLayout b, LtLayout c,
                                           LtLayout d,
                                           const LtAlgorithm *algorithm,
                                           LtHeuristicResult *result) {
  HostGemm gemm = {*desc, *a, *b, *c, *d};
  ChosenAlgorithm chosen;
  std::memcpy(&chosen, algorithm, sizeof(chosen));
  if (!handle || gemm.findProblem())
    return kLtInvalidValue;
  if (chosen.configuration != gemm.hash() ||
      chosen.number >= getGemmSeconds().size())
    return kLtNotSupported;
  *result = {};
  result->algorithm = *algorithm;
  result->workspaceBytes = chosen.workspaceBytes;
  return kLtSuccess;
}

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

RG_EXPORT LtStatus cublasLtMatmul(LtHandle handle, LtMatmulDesc desc,
                                  const void *alpha, const void *a,
                                  LtLayout layoutA, const void *b,
                                  LtLayout layoutB, const void *beta,
                                  const void *c, LtLayout layoutC, void *d,
                                  LtLayout layoutD,
                                  const LtAlgorithm *algorithm, void *workspace,
                                  size_t workspaceBytes, CuStream stream) {
  HostGemm gemm = {*desc, *layoutA, *layoutB, *layoutC, *layoutD};
  gemm.a = a;
  gemm.b = b;
  gemm.c = c;
  gemm.d = d;
  std::memcpy(&gemm.alpha, alpha, sizeof(float));
  std::memcpy(&gemm.beta, beta, sizeof(float));
  ChosenAlgorithm chosen = {};
  if (algorithm)
    std::memcpy(&chosen, algorithm, sizeof(chosen));

  RecordedCall call("cublasLtMatmul");
  call.onStream(stream);
  auto require = [&](bool isGood, const char *problem) {
    call.require(isGood, kCuInvalidValue, problem);
  };
  const char *problem = gemm.findProblem();
  require(!problem, problem ? problem : "");
  require(algorithm, "there is no algorithm");
  std::vector<double> seconds = getGemmSeconds();
  double added =
      chosen.number < seconds.size() ? seconds[size_t(chosen.number)] : -1;
  require(added >= 0, "the algorithm does not run");
  require(chosen.configuration == gemm.hash(),
          "the algorithm was chosen for another GEMM");
  const void *pointers[] = {a, b, c, d};
  for (size_t i = 0; i < std::size(pointers); ++i)
    require(chosen.alignments[i] != 0 &&
                reinterpret_cast<uintptr_t>(pointers[i]) %
                        chosen.alignments[i] ==
                    0,
            "a matrix is aligned to less than the algorithm was chosen for");
  require(workspaceBytes >= chosen.workspaceBytes,
          "the workspace is smaller than the algorithm needs");
  constexpr uintptr_t workspaceAlignment = 256;
  auto memory = reinterpret_cast<uintptr_t>(workspace);
  require(memory % workspaceAlignment == 0, "the workspace is not aligned");
  require(c != d || gemm.beta == 0 || gemm.isInPlace(),
          "C and D are one matrix with two layouts");
  if (problem)
    return call.finish() == kCuSuccess ? kLtSuccess : kLtInvalidValue;

  call.add("reduction_schemes", int64_t(chosen.reductionSchemes));
  call.add("algorithm", int64_t(chosen.number));
  call.read(gemm.getRange(a, layoutA)).read(gemm.getRange(b, layoutB));
  if (gemm.beta != 0)
    call.read(gemm.getRange(c, layoutC));
  if (gemm.hasBias())
    call.read(gemm.getBiasRange());
  call.write(gemm.getRange(d, layoutD));
  call.useScratch({memory, chosen.workspaceBytes});
  StandInDevice &device = call.getDevice();
  CuResult result = call.enqueue([gemm, workspace, chosen, added, &device] {
    // What was there before must not matter.
    std::memset(workspace, 0x5a, chosen.workspaceBytes);
    gemm.run();
    std::lock_guard<std::mutex> guard(device.mutex);
    device.addedSeconds += added;
    return kCuSuccess;
  });
  return result == kCuSuccess ? kLtSuccess : kLtInvalidValue;
}

} // extern "C"
