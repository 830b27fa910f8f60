//===- GpuExecutor.h - Run a step on GPUs -----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_GPUEXECUTOR_H
#define REGATHER_LIB_RUNTIME_GPU_GPUEXECUTOR_H

#include "regather/Runtime/GpuExecutor.h"

#include "GPU/Driver/GraphCapture.h"
#include "Program/ExecutorBase.h"
#include "StepWalker.h"
#include "Store/CallerStore.h"
#include "Store/RankGather.h"
#include "Store/TcpStore.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace regather::runtime {

/// What rg_gpu_executor stands for. Members are destroyed in reverse: the
/// device last.
class GpuExecutor : public ExecutorBase {
public:
  explicit GpuExecutor(const rg_gpu_program &programs)
      : ExecutorBase(RG_ERROR_DEVICE), programs(programs),
        program(*programs.program) {}
  ~GpuExecutor();

  rg_status create(const rg_gpu_executor_options &options);
  rg_status run(const rg_gpu_copies &copies = {});
  rg_status upload(int32_t rank, int64_t argument, const void *data);
  rg_status take(int32_t rank, int64_t argument, CuAddress address);
  rg_status downloadResult(int32_t rank, int64_t result, void *data);
  rg_status downloadArgument(int32_t rank, int64_t argument, void *data);
  rg_status gather(const char *data, int64_t bytes, char *const *parts);
  rg_status agreeToStop(int64_t step, bool wants, int32_t *stops);
  int64_t findTouchedBytes();

  CuAddress getArgumentAddress(int32_t rank, int64_t argument) const;
  GpuDevice &getDevice() { return device; }
  const char *getNote() const { return note.c_str(); }
  int32_t getNumRanks() const { return int32_t(ranks.size()); }
  int32_t getFirstRank() const { return firstRank; }
  const char *getRoutines() const { return routines.c_str(); }
  double getSeconds(int32_t rank) const {
    return ranks[size_t(rank)]->getSeconds();
  }
  /// Null unless spans are recorded.
  const std::vector<rg_span> *getSpans(int32_t rank) const {
    return hasRank(rank) && recordsSpans ? &spans[size_t(rank)]->get()
                                         : nullptr;
  }
  int64_t getBytes() const;

private:
  /// What arenas are filled with to find what is written, as in Arena.h.
  static constexpr uint32_t kPattern = 0xa5a5a5a5;

  Failure prepare(const rg_gpu_executor_options &options);
  Failure chooseNumbers(const rg_gpu_executor_options &options);
  Failure chooseRanks(const rg_gpu_executor_options &options);
  Failure connect(double seconds);
  RankStore &getStore() {
    return callerStore ? static_cast<RankStore &>(*callerStore) : store;
  }
  Failure open(const rg_gpu_executor_options &options);
  Failure openLibrary(const rg_gpu_executor_options &options);
  Failure openCommunicator(const rg_gpu_executor_options &options);
  Failure chooseAlgorithms();
  Failure checkMemory();
  Failure createRanks();
  Failure clearArenas();
  Failure synchronize(int32_t rank);
  Failure download(int32_t rank, CuAddress address, int64_t bytes, void *data);
  /// The same of what lies on the host.
  Failure downloadFromHost(int32_t rank, CuAddress address, int64_t bytes,
                           void *data);
  bool hasRank(int32_t rank) const { return rank >= 0 && rank < numRanks; }

  Failure checkCopies(const rg_gpu_copies &copies) const;
  Failure makeUpdateMemory(const rg_gpu_copies &copies);
  Failure copyArguments(const rg_gpu_copies &copies);
  Failure copyUpdates(const rg_gpu_copies &copies);
  Failure copyResults(const rg_gpu_copies &copies);
  Failure copyOnDevice(CuAddress target, CuAddress source, int64_t bytes);
  bool hasArgument(int64_t argument) const {
    return argument >= 0 && argument < program.argument_count;
  }
  bool hasResult(int64_t result) const {
    return result >= 0 && result < program.result_count;
  }

  Failure beginStep();
  Failure walkStep();
  /// Lets all ranks go on until they meet, and says where.
  Result<WalkState> advance();
  Failure beginGraph();
  Failure endGraph();
  Failure awaitRanks();
  Failure readSpans();
  Failure endStep(const rg_gpu_copies &copies);
  /// Where the step stands if it fails now.
  void stand(int32_t rank, int64_t instruction) {
    failure.rank = firstRank + rank;
    failure.instruction = instruction;
  }

  /// The program that was loaded is `kernels.getProgram()`.
  const rg_gpu_program &programs;
  const rg_program &program;
  /// Ranks of this process.
  int32_t numRanks = 0, firstRank = 0;
  bool isJob = false;
  LaunchEnvironment environment;
  double firstTimeout = 0, timeout = 0;
  bool watchesArena = false, recordsSpans = false;
  bool isFirstStep = true;
  /// The step runs what graphs hold call by call, so that everything that is
  /// made when it is first needed is there when graphs are captured.
  bool isWarmingUp = false;
  GpuDevice device;
  LoadedKernels kernels;
  std::unique_ptr<DeviceLibrary> library;
  /// What computes its routines.
  std::string routines;
  /// Of a job that a launcher has started, or else of one of the caller.
  TcpStore store;
  std::unique_ptr<CallerStore> callerStore;
  std::optional<RankGather> rankGather;
  std::unique_ptr<DeviceCommunicator> communicator;
  std::unique_ptr<DeviceWait> wait;
  ArgumentAddresses givenArguments;
  MemoryNeed need;
  /// For updates that lie in the place of another argument, on their way.
  DeviceMemory updateMemory;
  DeviceConstants constants;
  std::vector<std::unique_ptr<DeviceRank>> ranks;
  /// One for each rank if they are recorded.
  std::vector<std::unique_ptr<StepSpans>> spans;
  std::vector<std::unique_ptr<StepWalker>> walkers;
  std::unique_ptr<GraphCapture> graphs;
  std::string note;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_GPUEXECUTOR_H
