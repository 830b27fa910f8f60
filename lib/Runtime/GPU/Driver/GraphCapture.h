//===- GraphCapture.h - CUDA graphs of a step -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DRIVER_GRAPHCAPTURE_H
#define REGATHER_LIB_RUNTIME_GPU_DRIVER_GRAPHCAPTURE_H

#include "GPU/DeviceRank.h"
#include "NvtxRange.h"

#include <memory>

namespace regather::runtime {

/// The graphs of a program: captured once, and launched in each later step.
///
/// All ranks of the process are captured together: a collective between them is
/// then part of the graph as well. The capture begins on stream 0 of the first
/// rank; stream 0 of every other rank takes part from the begin to the end, and
/// further streams between what the instructions fork and join.
class GraphCapture {
public:
  GraphCapture(const GpuDevice &device, const rg_gpu_program &program)
      : device(device), program(program) {}
  GraphCapture(const GraphCapture &) = delete;
  GraphCapture &operator=(const GraphCapture &) = delete;
  ~GraphCapture();

  /// Makes the events that order ranks. Called once.
  Failure create(const std::vector<std::unique_ptr<DeviceRank>> &ranks);

  bool isCaptured(int64_t graph) const {
    return executables[size_t(graph)] != nullptr;
  }
  bool isCapturing() const { return capturing; }

  /// What is enqueued between the two becomes the graph, and is not run.
  Failure begin();
  Failure end(int64_t graph);
  /// Enqueues the graph for all ranks.
  Failure launch(int64_t graph);
  /// Ends what is being captured and destroys all graphs, after a failure. One
  /// in flight is destroyed by the driver when it has ended. Nothing can be
  /// launched afterwards.
  void destroy();

private:
  void abandon();
  /// Lets stream 0 of the others come after that of the first rank, or that of
  /// the first rank after those of the others.
  Failure fork();
  Failure join();
  WorkLabel getLabel(int64_t graph) const;

  const GpuDevice &device;
  const rg_gpu_program &program;
  /// Stream 0 of each rank.
  std::vector<CuStream> streams;
  /// One for each rank.
  std::vector<CuEvent> events;
  /// By graph; null until it is captured.
  std::vector<CuGraphExec> executables;
  bool capturing = false;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DRIVER_GRAPHCAPTURE_H
