//===- Attention.h - One attention by cuDNN ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUDNN_ATTENTION_H
#define REGATHER_LIB_RUNTIME_GPU_CUDNN_ATTENTION_H

#include "AttentionGraph.h"
#include "Plan.h"

#include <map>

namespace regather::runtime {

/// The descriptors of one description.
class CudnnAttention {
public:
  CudnnAttention(const CudnnApi &api, const DnnTarget &target)
      : api(api), target(target), packs(api) {}

  /// Describes what a plan says, and chooses the engine: the one that `plan`
  /// names, else `pinned`, if that names one and the library has it, else what
  /// the library proposes. Fails if no engine takes it.
  Failure prepare(const rg_attention_desc &desc, const CudnnAttentionPlan &plan,
                  const DnnEngineChoice &pinned);

  const DnnEngineChoice &getChoice() const { return computation->getChoice(); }
  int64_t getWorkspaceBytes() const {
    return graph->scratchBytes + computation->getWorkspaceBytes();
  }

  /// Enqueues it. What the library is told of the addresses is made when they
  /// are first given, and kept.
  Failure run(const CuAddress *buffers, CuAddress workspace, CuStream stream);

private:
  /// Null if the library does not take them.
  DnnDescriptor getPack(const CuAddress *buffers, CuAddress workspace);

  const CudnnApi &api;
  const DnnTarget target;
  std::unique_ptr<CudnnAttentionGraph> graph;
  std::unique_ptr<CudnnPlan> computation;
  DnnDescriptors packs;
  /// By the addresses of all tensors, and that of the workspace.
  std::map<std::vector<CuAddress>, DnnDescriptor> knownPacks;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUDNN_ATTENTION_H
