//===- AttentionPlan.h - Attention as cuDNN computes it ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What cuDNN computes depends on the description, where its buffers lie, the
// device and the version. Limits are those that NVIDIA states for its library;
// within them, the library may still decline.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUDNN_ATTENTIONPLAN_H
#define REGATHER_LIB_RUNTIME_GPU_CUDNN_ATTENTIONPLAN_H

#include "Engine.h"

#include "regather/Runtime/Attention.h"

#include <string>
#include <vector>

namespace regather::runtime {

/// How the backward pass sums the gradient of Q without atomic additions, whose
/// order would differ from run to run.
enum class QueryGradient {
  /// The gradients of all scores are kept in the workspace, as large as they
  /// are, and multiplied by K at the end.
  FromScores,
  /// Blocks of threads add to the sums in memory one after the other.
  Ordered
};

/// What a plan depends on besides the description.
struct CudnnAttentionSite {
  /// Of each buffer in bytes, in all calls.
  std::vector<int64_t> alignments;
  /// Ten times the major number and the minor one.
  int architecture = 0;
  /// As cudnnGetVersion counts.
  size_t version = 0;
};

struct CudnnAttentionPlan {
  /// Why a generated kernel computes it, which is no error; empty if cuDNN
  /// does.
  std::string reason;
  QueryGradient gradient = QueryGradient::FromScores;
  /// If not every engine gives the same bits in every run. Else it names none.
  DnnEngineChoice engine;
};

/// The same attention, where dimensions of one element have the strides of
/// row-major order: tables say 0 for some, as they are never taken, but the
/// library looks at them.
rg_attention_desc setUnitStrides(const rg_attention_desc &desc);

/// Strides are positive, see above.
CudnnAttentionPlan planCudnnAttention(const rg_attention_desc &desc,
                                      const CudnnAttentionSite &site);

/// All that decides which engine fits, but for the device and the version.
std::string describeAttention(const rg_attention_desc &desc);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUDNN_ATTENTIONPLAN_H
