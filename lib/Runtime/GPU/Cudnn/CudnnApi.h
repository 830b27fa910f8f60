//===- CudnnApi.h - Functions of cuDNN --------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Like the driver (DriverApi.h), the library is opened at run time, and its
// types are declared here. Names and numbers are those of cudnn_graph.h of
// cuDNN 9.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUDNN_CUDNNAPI_H
#define REGATHER_LIB_RUNTIME_GPU_CUDNN_CUDNNAPI_H

#include "GPU/Driver/DriverApi.h"

namespace regather::runtime {

using DnnStatus = int;
using DnnHandle = struct DnnHandleTag *;
/// cudnnBackendDescriptor_t.
using DnnDescriptor = void *;

inline constexpr DnnStatus kDnnSuccess = 0;
inline constexpr DnnStatus kDnnBadParam = 2000;
inline constexpr DnnStatus kDnnNotSupported = 3000;
inline constexpr DnnStatus kDnnExecutionFailed = 5000;

/// cudnnDataType_t.
inline constexpr int kDnnF32 = 0;
inline constexpr int kDnnF16 = 2;
inline constexpr int kDnnInt32 = 4;
inline constexpr int kDnnBF16 = 9;
inline constexpr int kDnnBoolean = 11;

/// cudnnBackendDescriptorType_t.
inline constexpr int kDnnPointwise = 0;
inline constexpr int kDnnEngine = 2;
inline constexpr int kDnnEngineConfig = 3;
inline constexpr int kDnnHeuristic = 4;
inline constexpr int kDnnExecutionPlan = 5;
inline constexpr int kDnnKnobChoice = 7;
inline constexpr int kDnnPointwiseOperation = 13;
inline constexpr int kDnnOperationGraph = 15;
inline constexpr int kDnnVariantPack = 16;
inline constexpr int kDnnTensor = 17;
inline constexpr int kDnnMatmul = 18;
inline constexpr int kDnnMatmulOperation = 19;
inline constexpr int kDnnReduction = 21;
inline constexpr int kDnnReductionOperation = 22;
inline constexpr int kDnnReshapeOperation = 31;
inline constexpr int kDnnDeviceProperties = 38;

/// cudnnBackendAttributeType_t.
inline constexpr int kDnnTypeHandle = 0;
inline constexpr int kDnnTypeDataType = 1;
inline constexpr int kDnnTypeBoolean = 2;
inline constexpr int kDnnTypeInt64 = 3;
inline constexpr int kDnnTypeFloat = 4;
inline constexpr int kDnnTypePointer = 6;
inline constexpr int kDnnTypeHeuristicMode = 8;
inline constexpr int kDnnTypeKnobType = 9;
inline constexpr int kDnnTypeNumericalNote = 11;
inline constexpr int kDnnTypePointwiseMode = 14;
inline constexpr int kDnnTypeDescriptor = 15;
inline constexpr int kDnnTypeReductionOperator = 18;
inline constexpr int kDnnTypeChar = 24;

/// cudnnBackendAttributeName_t.
inline constexpr int kDnnPointwiseMode = 0;
inline constexpr int kDnnPointwiseMathType = 1;
inline constexpr int kDnnPointwiseAxis = 9;
inline constexpr int kDnnHeuristicMode = 200;
inline constexpr int kDnnHeuristicGraph = 201;
inline constexpr int kDnnHeuristicResults = 202;
inline constexpr int kDnnHeuristicDevice = 204;
inline constexpr int kDnnConfigEngine = 300;
inline constexpr int kDnnConfigKnobChoices = 302;
inline constexpr int kDnnPlanHandle = 400;
inline constexpr int kDnnPlanConfig = 401;
inline constexpr int kDnnPlanWorkspaceBytes = 402;
inline constexpr int kDnnPlanDevice = 407;
inline constexpr int kDnnKnobType = 600;
inline constexpr int kDnnKnobValue = 601;
inline constexpr int kDnnPointwiseDesc = 750;
inline constexpr int kDnnPointwiseX = 751;
inline constexpr int kDnnPointwiseB = 752;
inline constexpr int kDnnPointwiseY = 753;
inline constexpr int kDnnPointwiseT = 758;
inline constexpr int kDnnGraphHandle = 800;
inline constexpr int kDnnGraphOperations = 801;
inline constexpr int kDnnTensorAlignment = 900;
inline constexpr int kDnnTensorType = 901;
inline constexpr int kDnnTensorSizes = 902;
inline constexpr int kDnnTensorStrides = 903;
inline constexpr int kDnnTensorId = 906;
inline constexpr int kDnnTensorIsVirtual = 907;
inline constexpr int kDnnTensorIsByValue = 908;
inline constexpr int kDnnPackIds = 1000;
inline constexpr int kDnnPackPointers = 1001;
inline constexpr int kDnnPackWorkspace = 1003;
inline constexpr int kDnnEngineGraph = 1300;
inline constexpr int kDnnEngineIndex = 1301;
inline constexpr int kDnnEngineNumericalNotes = 1303;
inline constexpr int kDnnEngineDevice = 1307;
inline constexpr int kDnnMatmulMathType = 1500;
inline constexpr int kDnnMatmulA = 1520;
inline constexpr int kDnnMatmulB = 1521;
inline constexpr int kDnnMatmulC = 1522;
inline constexpr int kDnnMatmulDesc = 1523;
inline constexpr int kDnnReductionOperator = 1600;
inline constexpr int kDnnReductionMathType = 1601;
inline constexpr int kDnnReductionX = 1610;
inline constexpr int kDnnReductionY = 1611;
inline constexpr int kDnnReductionDesc = 1612;
inline constexpr int kDnnReshapeX = 2200;
inline constexpr int kDnnReshapeY = 2201;
inline constexpr int kDnnDeviceJson = 2702;

/// cudnnPointwiseMode_t.
inline constexpr int kDnnAdd = 0;
inline constexpr int kDnnMul = 1;
inline constexpr int kDnnDiv = 6;
inline constexpr int kDnnSub = 9;
inline constexpr int kDnnExp = 13;
inline constexpr int kDnnLog = 15;
inline constexpr int kDnnIdentity = 21;
inline constexpr int kDnnGreaterOrEqual = 303;
inline constexpr int kDnnIndexAlong = 501;
inline constexpr int kDnnSelect = 601;

/// cudnnReduceTensorOp_t.
inline constexpr int kDnnReduceAdd = 0;
inline constexpr int kDnnReduceMax = 3;

/// cudnnBackendHeurMode_t: decision trees.
inline constexpr int kDnnHeuristicModeA = 3;

/// cudnnBackendNumericalNote_t.
inline constexpr int kDnnNondeterministic = 4;

/// cudnnBackendKnobType_t.
inline constexpr int kDnnKnobStages = 14;
inline constexpr int kDnnKnobKernel = 24;
inline constexpr int kDnnKnobClusterM = 27;
inline constexpr int kDnnKnobStreamK = 38;
inline constexpr int kDnnKnobTileM = 40;
inline constexpr int kDnnKnobTileN = 41;

/// The library's functions, each a member of the name of its symbol.
struct CudnnApi {
  // NOLINTBEGIN(readability-identifier-naming)
#define REGATHER_CUDNN_FUNCTIONS(X)                                            \
  X(size_t, cudnnGetVersion, ())                                               \
  X(const char *, cudnnGetErrorString, (DnnStatus status))                     \
  X(void, cudnnGetLastErrorString, (char *message, size_t bytes))              \
  X(DnnStatus, cudnnCreate, (DnnHandle * handle))                              \
  X(DnnStatus, cudnnDestroy, (DnnHandle handle))                               \
  X(DnnStatus, cudnnSetStream, (DnnHandle handle, CuStream stream))            \
  X(DnnStatus, cudnnBackendCreateDescriptor,                                   \
    (int type, DnnDescriptor *descriptor))                                     \
  X(DnnStatus, cudnnBackendDestroyDescriptor, (DnnDescriptor descriptor))      \
  X(DnnStatus, cudnnBackendSetAttribute,                                       \
    (DnnDescriptor descriptor, int name, int type, int64_t count,              \
     const void *elements))                                                    \
  X(DnnStatus, cudnnBackendGetAttribute,                                       \
    (DnnDescriptor descriptor, int name, int type, int64_t requested,          \
     int64_t *count, void *elements))                                          \
  X(DnnStatus, cudnnBackendFinalize, (DnnDescriptor descriptor))               \
  X(DnnStatus, cudnnBackendExecute,                                            \
    (DnnHandle handle, DnnDescriptor plan, DnnDescriptor pack))
#define REGATHER_DECLARE(result, name, parameters)                             \
  result(*name) parameters = nullptr;
  REGATHER_CUDNN_FUNCTIONS(REGATHER_DECLARE)
#undef REGATHER_DECLARE
  // NOLINTEND(readability-identifier-naming)

  /// Opens the library, or the one at `path`. Fails if there is none or it is
  /// too old.
  Failure load(const std::string &path);

  /// What the library says about the last error of this thread, and the name
  /// of its status.
  std::string describeError(DnnStatus status) const;

private:
  SharedLibrary library;
};

/// As cudnnGetVersion counts: 10000 times the major version, 100 times the
/// minor one. Attention of bf16 has known defects in 9.10.0 and 9.10.1.
inline constexpr size_t kMinCudnnVersion = 91002;

/// Such as "9.10.2".
std::string formatCudnnVersion(size_t version);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUDNN_CUDNNAPI_H
