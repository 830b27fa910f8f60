//===- CublasLt.cpp - Our declarations against cublasLt.h -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SameDeclaration.h"

#include "GPU/CublasLt/CublasLtApi.h"
#include <cublasLt.h>

using namespace regather::runtime;

SAME_VALUE(kLtSuccess, CUBLAS_STATUS_SUCCESS);
SAME_VALUE(kLtInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
SAME_VALUE(kLtNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME_VALUE(kLtF32, CUDA_R_32F);
SAME_VALUE(kLtF16, CUDA_R_16F);
SAME_VALUE(kLtBF16, CUDA_R_16BF);
SAME_VALUE(kLtCompute32F, CUBLAS_COMPUTE_32F);
SAME_VALUE(kLtPlain, CUBLAS_OP_N);
SAME_VALUE(kLtTransposed, CUBLAS_OP_T);
SAME_VALUE(kLtLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME_VALUE(kLtLayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME_VALUE(kLtDescTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME_VALUE(kLtDescTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME_VALUE(kLtDescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME_VALUE(kLtDescBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME_VALUE(kLtDescBiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
SAME_VALUE(kLtDescBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME_VALUE(kLtEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
SAME_VALUE(kLtEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
SAME_VALUE(kLtEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
SAME_VALUE(kLtPreferWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME_VALUE(kLtPreferReductionSchemes,
           CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME_VALUE(kLtPreferAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME_VALUE(kLtPreferAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME_VALUE(kLtPreferAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME_VALUE(kLtPreferAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME_VALUE(kLtReductionNone, CUBLASLT_REDUCTION_SCHEME_NONE);
SAME_VALUE(kLtEpilogueRelu | kLtEpilogueBias, CUBLASLT_EPILOGUE_RELU_BIAS);

SAME_SIZE(LtAlgorithm, cublasLtMatmulAlgo_t);
SAME_SIZE(LtHeuristicResult, cublasLtMatmulHeuristicResult_t);
SAME_FIELD(LtHeuristicResult, algorithm, cublasLtMatmulHeuristicResult_t, algo);
SAME_FIELD(LtHeuristicResult, workspaceBytes, cublasLtMatmulHeuristicResult_t,
           workspaceSize);
SAME_FIELD(LtHeuristicResult, status, cublasLtMatmulHeuristicResult_t, state);
SAME_FIELD(LtHeuristicResult, waves, cublasLtMatmulHeuristicResult_t,
           wavesCount);
SAME_FIELD(LtHeuristicResult, reserved, cublasLtMatmulHeuristicResult_t,
           reserved);

#define CHECK(result, name, parameters) SAME_FUNCTION(CublasLtApi, name);
REGATHER_CUBLASLT_FUNCTIONS(CHECK)
