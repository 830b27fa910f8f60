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
#include "Program/ProgramWalker.h"
#include "StepSpans.h"

namespace regather::runtime {

/// What the ranks of a process share.
struct StepResources {
  const GpuDevice &device;
  const rg_gpu_program &program;
  LoadedKernels &kernels;
  DeviceLibrary &library;
  DeviceCommunicator &communicator;
  DeviceWait &wait;
};

/// Where a walk has come to.
enum class WalkState {
  /// A collective was started. All ranks have to come to it before one goes on.
  Collective,
  /// A graph begins: the walk enters or skips it. Or it has ended.
  GraphBegin,
  GraphEnd,
  End
};

/// Enqueues the instructions of one rank, one after the other: the backend of
/// its walk. One thread walks all ranks of a process, each up to the next
/// collective in turn.
class StepWalker {
public:
  /// `spans` is null unless instructions are to be measured.
  StepWalker(const StepResources &resources, DeviceRank &rank,
             StepSpans *spans);

  /// Begins a step.
  Failure begin();
  /// Enqueues everything up to and with the next collective, up to the begin or
  /// the end of a graph, or to the end.
  Result<WalkState> advance();
  /// Goes on with the instructions of the graph that begins, or behind them.
  void enterGraph() { inGraph = true; }
  void skipGraph();
  /// The graph that begins or has ended.
  int64_t getGraph() const { return graph; }
  /// Ends a step, after the walk has come to the end.
  Failure finish();

  /// The instruction that the walk has come to, for messages; -1 if none.
  int64_t getInstruction() const { return walker.getCurrent(); }

private:
  friend class ProgramWalker<StepWalker>;

  /// What the walk asks for. Slices of the instruction are resolved.
  Failure compute(const rg_instruction &instruction);
  Failure startCollective(const rg_instruction &instruction);
  Failure record(const rg_instruction &instruction);
  Failure wait(const rg_instruction &instruction);
  Failure sync();
  Failure copy(const rg_instruction &instruction);
  Failure fill(const rg_instruction &instruction);
  Failure writeInteger(const rg_slice &slice, int64_t value, int32_t stream);
  /// Waits for the device.
  Result<int64_t> readInteger(const rg_slice &slice);

  /// The generated kernel that computes an instruction; null if a library does,
  /// or if it computes nothing.
  const rg_gpu_kernel *findKernel(const rg_instruction &instruction) const;
  Failure copyBytes(CuAddress target, CuAddress source, int64_t bytes,
                    int32_t stream);
  /// Writes the low `width` bytes of a value, 1, 2 or 4, `count` times.
  Failure setMemory(CuAddress target, int64_t width, uint32_t value,
                    int64_t count, int32_t stream);

  /// True if the walk stands at the begin or the end of a graph.
  bool isAtGraph(WalkState &state);
  void resolve(const rg_instruction &instruction);
  Failure beginSpan(int64_t number);
  Failure endSpan() { return spans ? spans->end() : Failure(); }
  /// What a profiler is told that an instruction touches.
  WorkMemory getMemory(const rg_instruction &instruction) const;
  Failure check(CuResult result, const char *call) const {
    return resources.device.check(result, call);
  }
  const rg_slice *getSlices(const rg_instruction &instruction) const {
    return program.slices + instruction.first_slice;
  }

  const StepResources resources;
  const rg_program &program;
  const DriverApi &driver;
  DeviceRank &rank;
  StepSpans *spans;
  ProgramWalker<StepWalker> walker;
  /// The last graph that the walk has come to, and the next one.
  int64_t graph = -1, nextGraph = 0;
  bool inGraph = false;
  /// Events that were recorded in this step.
  std::vector<bool> isRecorded;
  /// Addresses of the slices of one instruction.
  std::vector<CuAddress> buffers;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_STEPWALKER_H
