//===- AttentionGraph.h - Attention as a graph for cuDNN --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library knows attention by the operations that it consists of, and by
// their order. Forward:
//
//   S = scale * Q K^T           -inf above the diagonal if it is causal
//   P = exp(S - max(S)) / sum(exp(S - max(S)))
//   O = P V                     L = max(S) + log(sum(exp(S - max(S))))
//
// and backward:
//
//   D = sum(dO * O)             P = exp(S - L)
//   dV = P^T dO                 dS = scale * P * (dO V^T - D)
//   dK = dS^T Q                 dQ = dS K
//
// Where heads share K and V, the GEMMs dV and dK have all heads, and are
// summed over those that share one.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUDNN_ATTENTIONGRAPH_H
#define REGATHER_LIB_RUNTIME_GPU_CUDNN_ATTENTIONGRAPH_H

#include "AttentionPlan.h"
#include "Graph.h"

#include <memory>

namespace regather::runtime {

/// cudnnDataType_t of a type that attention may have.
inline int getCudnnType(int32_t dtype) {
  return dtype == RG_BF16 ? kDnnBF16 : dtype == RG_F16 ? kDnnF16 : kDnnF32;
}

/// A tensor of a graph that is to be given an address.
struct DnnBoundTensor {
  enum class Space { Buffer, Scratch, Scalar };
  DnnTensor tensor;
  Space space;
  /// Number among the buffers of a call.
  int32_t buffer;
  /// In bytes, of its first element.
  int64_t offset;
  /// Of a scalar.
  float value;
};

struct CudnnAttentionGraph {
  CudnnAttentionGraph(const CudnnApi &api, const DnnTarget &target)
      : graph(api, target) {}

  CudnnGraph graph;
  std::vector<DnnBoundTensor> tensors;
  /// What bound tensors in scratch memory need; aligned to 256 bytes.
  int64_t scratchBytes = 0;
};

/// Fails if the library does not take the operations.
Result<std::unique_ptr<CudnnAttentionGraph>>
buildCudnnAttention(const CudnnApi &api, const DnnTarget &target,
                    const rg_attention_desc &desc, QueryGradient gradient);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUDNN_ATTENTIONGRAPH_H
