//===- CublasLtApi.h - Functions of cuBLASLt --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Like the driver (DriverApi.h), the library is opened at run time, and its
// types are declared here. Names and numbers are those of cublasLt.h of CUDA
// 12.4 to 13.1.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUBLASLT_CUBLASLTAPI_H
#define REGATHER_LIB_RUNTIME_GPU_CUBLASLT_CUBLASLTAPI_H

#include "GPU/Driver/DriverApi.h"

namespace regather::runtime {

using LtStatus = int;
using LtHandle = struct LtHandleTag *;
using LtMatmulDesc = struct LtMatmulDescTag *;
using LtLayout = struct LtLayoutTag *;
using LtPreference = struct LtPreferenceTag *;

inline constexpr LtStatus kLtSuccess = 0;
inline constexpr LtStatus kLtInvalidValue = 7;
inline constexpr LtStatus kLtNotSupported = 15;

/// cudaDataType_t.
inline constexpr int kLtF32 = 0;
inline constexpr int kLtF16 = 2;
inline constexpr int kLtBF16 = 14;

/// cublasComputeType_t: sums in f32, and f32 operands as they are, not as TF32.
inline constexpr int kLtCompute32F = 68;

/// cublasOperation_t.
inline constexpr int32_t kLtPlain = 0;
inline constexpr int32_t kLtTransposed = 1;

/// cublasLtMatrixLayoutAttribute_t. The default order is column-major.
inline constexpr int kLtLayoutBatchCount = 5;
inline constexpr int kLtLayoutBatchStride = 6;

/// cublasLtMatmulDescAttributes_t.
inline constexpr int kLtDescTransposeA = 3;
inline constexpr int kLtDescTransposeB = 4;
inline constexpr int kLtDescEpilogue = 7;
inline constexpr int kLtDescBiasPointer = 8;
inline constexpr int kLtDescBiasBatchStride = 10;
inline constexpr int kLtDescBiasType = 26;

/// cublasLtEpilogue_t; RELU and BIAS can be combined.
inline constexpr uint32_t kLtEpilogueDefault = 1;
inline constexpr uint32_t kLtEpilogueRelu = 2;
inline constexpr uint32_t kLtEpilogueBias = 4;

/// cublasLtMatmulPreferenceAttributes_t.
inline constexpr int kLtPreferWorkspaceBytes = 1;
inline constexpr int kLtPreferReductionSchemes = 3;
inline constexpr int kLtPreferAlignmentA = 5;
inline constexpr int kLtPreferAlignmentB = 6;
inline constexpr int kLtPreferAlignmentC = 7;
inline constexpr int kLtPreferAlignmentD = 8;

/// cublasLtReductionScheme_t: sums are not split over blocks of threads.
inline constexpr uint32_t kLtReductionNone = 0;

struct LtAlgorithm {
  uint64_t data[8];
};

struct LtHeuristicResult {
  LtAlgorithm algorithm;
  size_t workspaceBytes;
  LtStatus status;
  float waves;
  int reserved[4];
};

/// The library's functions, each a member of the name of its symbol.
struct CublasLtApi {
  // NOLINTBEGIN(readability-identifier-naming)
#define REGATHER_CUBLASLT_FUNCTIONS(X)                                         \
  X(LtStatus, cublasLtCreate, (LtHandle * handle))                             \
  X(LtStatus, cublasLtDestroy, (LtHandle handle))                              \
  X(size_t, cublasLtGetVersion, ())                                            \
  X(const char *, cublasLtGetStatusName, (LtStatus status))                    \
  X(LtStatus, cublasLtMatrixLayoutCreate,                                      \
    (LtLayout * layout, int type, uint64_t rows, uint64_t columns,             \
     int64_t leading))                                                         \
  X(LtStatus, cublasLtMatrixLayoutDestroy, (LtLayout layout))                  \
  X(LtStatus, cublasLtMatrixLayoutSetAttribute,                                \
    (LtLayout layout, int attribute, const void *value, size_t bytes))         \
  X(LtStatus, cublasLtMatmulDescCreate,                                        \
    (LtMatmulDesc * desc, int computeType, int scaleType))                     \
  X(LtStatus, cublasLtMatmulDescDestroy, (LtMatmulDesc desc))                  \
  X(LtStatus, cublasLtMatmulDescSetAttribute,                                  \
    (LtMatmulDesc desc, int attribute, const void *value, size_t bytes))       \
  X(LtStatus, cublasLtMatmulPreferenceCreate, (LtPreference * preference))     \
  X(LtStatus, cublasLtMatmulPreferenceDestroy, (LtPreference preference))      \
  X(LtStatus, cublasLtMatmulPreferenceSetAttribute,                            \
    (LtPreference preference, int attribute, const void *value, size_t bytes)) \
  X(LtStatus, cublasLtMatmulAlgoGetHeuristic,                                  \
    (LtHandle handle, LtMatmulDesc desc, LtLayout a, LtLayout b, LtLayout c,   \
     LtLayout d, LtPreference preference, int count,                           \
     LtHeuristicResult *results, int *found))                                  \
  X(LtStatus, cublasLtMatmulAlgoCheck,                                         \
    (LtHandle handle, LtMatmulDesc desc, LtLayout a, LtLayout b, LtLayout c,   \
     LtLayout d, const LtAlgorithm *algorithm, LtHeuristicResult *result))     \
  X(LtStatus, cublasLtMatmul,                                                  \
    (LtHandle handle, LtMatmulDesc desc, const void *alpha, const void *a,     \
     LtLayout layoutA, const void *b, LtLayout layoutB, const void *beta,      \
     const void *c, LtLayout layoutC, void *d, LtLayout layoutD,               \
     const LtAlgorithm *algorithm, void *workspace, size_t workspaceBytes,     \
     CuStream stream))
#define REGATHER_DECLARE(result, name, parameters)                             \
  result(*name) parameters = nullptr;
  REGATHER_CUBLASLT_FUNCTIONS(REGATHER_DECLARE)
#undef REGATHER_DECLARE
  // NOLINTEND(readability-identifier-naming)

  /// Opens the newest library that starts on the driver, or the one at `path`.
  /// A failure says of each why not.
  Result<LtHandle> start(const std::string &path, const DriverApi &driver);

  /// Whether there is one, or what is at `path` is one, without starting it.
  Failure find(const std::string &path);

  /// Such as "13.1.2".
  std::string getVersion() const;

private:
  Failure load(const std::string &file);

  SharedLibrary library;
};

/// As cublasLtGetVersion counts: 10000 times the major version, 100 times the
/// minor one. That of CUDA 12.4, as for the driver.
inline constexpr size_t kMinCublasLtVersion = 120400;

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUBLASLT_CUBLASLTAPI_H
