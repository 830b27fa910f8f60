//===- StepWalker.h - Enqueues the step of a rank ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_STEPWALKER_H
#define REGATHER_LIB_RUNTIME_GPU_STEPWALKER_H

#include "DeviceLibrary.h"
#include "DeviceRank.h"
#include "GPU/Driver/DeviceWait.h"
#include "GPU/Driver/LoadedKernels.h"
#include "GPU/Driver/NvtxRange.h"

namespace regather::runtime {

/// What the ranks of a process share.
struct StepResources {
  const GpuDevice &device;
  const rg_gpu_program &program;
  LoadedKernels &kernels;
  DeviceLibrary &library;
  DeviceCommunicator &communication;
  DeviceWait &wait;
};

/// Where a walk has come to.
enum class WalkState {
  /// A collective was started. All ranks have to come to it before one goes on.
  Collective,
  /// A graph begins: the walk enters or skips it. Or it has ended.
  GraphBegin,
  GraphEnd,
  End,
  Failed
};

/// Enqueues the instructions of one rank, one after the other.
class StepWalker {
public:
  StepWalker(const StepResources &resources, DeviceRank &rank);

  /// Begins a step.
  bool begin(std::string &message);
  /// Enqueues everything up to and with the next collective, up to the begin or
  /// the end of a graph, or to the end.
  WalkState advance(std::string &message);
  /// Goes on with the instructions of the graph that begins, or behind them.
  void enterGraph() { inGraph = true; }
  void skipGraph();
  /// The graph that begins or has ended.
  int64_t getGraph() const { return graph; }
  /// Ends a step, after the walk has come to the end.
  bool finish(std::string &message);

  /// The instruction that the walk has come to, for messages; -1 if none.
  int64_t getInstruction() const { return current; }
  /// What made the walk fail.
  rg_status getStatus() const { return status; }

private:
  struct Loop {
    int64_t value, upper, step;
  };

  /// These return false, with a message, when the rank has to stop.
  bool issue(const rg_instruction &instruction, int64_t &next,
             std::string &message);
  bool compute(const rg_instruction &instruction, std::string &message);
  /// The generated kernel that computes an instruction; null if a library does,
  /// or if it computes nothing.
  const rg_gpu_kernel *findKernel(const rg_instruction &instruction) const;
  bool launch(const rg_instruction &instruction, const rg_gpu_kernel &kernel,
              std::string &message);
  bool copy(const rg_instruction &instruction, std::string &message);
  bool fill(const rg_instruction &instruction, std::string &message);
  bool fillByDoubling(const rg_instruction &instruction, std::string &message);
  bool writeAxisIndex(const rg_instruction &instruction, std::string &message);
  bool record(const rg_instruction &instruction, std::string &message);
  bool wait(const rg_instruction &instruction, std::string &message);
  bool control(const rg_instruction &instruction, int64_t &next,
               std::string &message);
  bool readInteger(const rg_slice &slice, int64_t &value, std::string &message);
  bool writeInteger(const rg_slice &slice, int64_t value, CuStream stream,
                    std::string &message);

  /// True if the walk stands at the begin or the end of a graph.
  bool isAtGraph(WalkState &state);
  void resolve(const rg_instruction &instruction);
  /// What a profiler is told that an instruction touches.
  WorkMemory getMemory(const rg_instruction &instruction) const;
  bool check(CuResult result, const char *call, std::string &message) const {
    return resources.device.check(result, call, message);
  }
  const rg_slice *getSlices(const rg_instruction &instruction) const {
    return program.slices + instruction.first_slice;
  }

  const StepResources resources;
  const rg_program &program;
  const DriverApi &driver;
  DeviceRank &rank;
  int64_t next = 0;
  int64_t current = -1;
  /// The last graph that the walk has come to, and the next one.
  int64_t graph = -1, nextGraph = 0;
  bool inGraph = false;
  rg_status status = RG_OK;
  std::vector<Loop> loops;
  /// Events that were recorded in this step.
  std::vector<bool> isRecorded;
  /// Addresses of the slices of one instruction.
  std::vector<CuAddress> buffers;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_STEPWALKER_H
