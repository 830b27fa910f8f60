//===- Plan.h - How cuDNN computes a graph ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUDNN_PLAN_H
#define REGATHER_LIB_RUNTIME_GPU_CUDNN_PLAN_H

#include "Engine.h"
#include "Graph.h"

#include <memory>

namespace regather::runtime {

/// A graph that is ready to run.
class CudnnPlan {
public:
  CudnnPlan(const CudnnApi &api, const DnnTarget &target)
      : api(api), target(target), descriptors(api) {}

  /// Takes the choice or, if it names no engine, the first one that the library
  /// proposes and that gives the same bits in every run. Fails if there is
  /// none. The graph has to stay.
  Failure prepare(const CudnnGraph &graph, const DnnEngineChoice &wanted);

  DnnDescriptor getPlan() const { return plan; }
  const DnnEngineChoice &getChoice() const { return choice; }
  int64_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  DnnDescriptor createEngine(const CudnnGraph &graph, int64_t number);
  DnnDescriptor createConfig(const CudnnGraph &graph,
                             const DnnEngineChoice &wanted);
  Result<std::vector<DnnDescriptor>> propose(const CudnnGraph &graph);
  bool readConfig(DnnDescriptor config, bool &isDeterministic);
  /// Fails if the library cannot make a plan.
  Failure finish(DnnDescriptor config);

  const CudnnApi &api;
  DnnTarget target;
  DnnDescriptors descriptors;
  std::unique_ptr<DnnDescriptors> planDescriptors;
  DnnDescriptor plan = nullptr;
  DnnEngineChoice choice;
  int64_t workspaceBytes = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUDNN_PLAN_H
