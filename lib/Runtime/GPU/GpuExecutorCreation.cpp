//===- GpuExecutorCreation.cpp - All that a step needs, made once ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuExecutor.h"

#include "GPU/Communication/SharedDeviceCommunicator.h"
#include "GPU/Nccl/NcclCommunicator.h"
#include "GpuProgramCheck.h"

#include <algorithm>
#include <cstdlib>

using namespace regather::runtime;

rg_status GpuExecutor::chooseNumbers(const rg_gpu_executor_options &options) {
  constexpr double kFirstTimeout = 300, kTimeout = 100;
  if (options.ranks < 0 || !(options.first_timeout_seconds >= 0) ||
      !(options.timeout_seconds >= 0))
    return fail(RG_ERROR_ARGUMENT,
                "the number of ranks and timeouts must not be negative");
  auto choose = [](double seconds, double otherwise) {
    return seconds > 0 ? seconds : otherwise;
  };
  firstTimeout = choose(options.first_timeout_seconds, kFirstTimeout);
  timeout = choose(options.timeout_seconds, kTimeout);
  watchesArena = options.watch_arena != 0;
  return chooseRanks(options);
}

rg_status GpuExecutor::chooseRanks(const rg_gpu_executor_options &options) {
  isJob = options.one_rank_of_job != 0;
  if (isJob) {
    std::string message;
    if (!environment.read(message))
      return fail(RG_ERROR_ARGUMENT, message);
    numRanks = 1;
    firstRank = environment.rank;
    if (program.ranks && program.ranks != environment.ranks)
      return fail(RG_ERROR_ARGUMENT, "the program was compiled for " +
                                         std::to_string(program.ranks) +
                                         " ranks, but the job has " +
                                         std::to_string(environment.ranks));
    return RG_OK;
  }
  numRanks = options.ranks ? options.ranks : std::max(program.ranks, 1);
  if (program.ranks && numRanks != program.ranks)
    return fail(RG_ERROR_ARGUMENT, "the program was compiled for " +
                                       std::to_string(program.ranks) +
                                       " ranks, not for " +
                                       std::to_string(numRanks));
  return RG_OK;
}

/// What an option or else the environment gives; empty for none.
static std::string getChoice(const char *option, const char *variable) {
  const char *path = option ? option : std::getenv(variable);
  return path ? path : "";
}

rg_status GpuExecutor::open(const rg_gpu_executor_options &options) {
  std::string message;
  if (!device.open(getChoice(options.cuda_library, "REGATHER_CUDA_LIBRARY"),
                   isJob ? environment.localRank : options.device, message,
                   /*isAssigned=*/isJob) ||
      !kernels.load(device, programs, message))
    return fail(RG_ERROR_DEVICE, message);
  if (rg_status status = openLibrary(options))
    return status;
  if (rg_status status = openCommunication(options))
    return status;
  wait = std::make_unique<DeviceWait>(device, *communication);
  return chooseAlgorithms();
}

rg_status GpuExecutor::openLibrary(const rg_gpu_executor_options &options) {
  DeviceLibraryOptions libraryOptions;
  libraryOptions.path =
      getChoice(options.cublaslt_library, "REGATHER_CUBLASLT_LIBRARY");
  libraryOptions.cudnnPath =
      getChoice(options.cudnn_library, "REGATHER_CUDNN_LIBRARY");
  libraryOptions.deviceName = device.getName();
  libraryOptions.architecture = device.getArchitecture();
  libraryOptions.algorithmFile =
      getChoice(options.algorithm_file, "REGATHER_ALGORITHM_FILE");
  libraryOptions.attention = getChoice(options.attention, "REGATHER_ATTENTION");
  if (libraryOptions.algorithmFile.empty() && options.default_algorithm_file) {
    libraryOptions.algorithmFile = options.default_algorithm_file;
    libraryOptions.needsAlgorithmFile = false;
  }
  std::string choice = getChoice(nullptr, "REGATHER_ALGORITHMS");
  if (!choice.empty() && choice != "first" && choice != "timed")
    return fail(RG_ERROR_ARGUMENT, "REGATHER_ALGORITHMS is '" + choice +
                                       "', expected first or timed");
  libraryOptions.timesAlgorithms =
      options.algorithms == RG_GPU_ALGORITHMS_TIMED ||
      (options.algorithms == RG_GPU_ALGORITHMS_DEFAULT && choice == "timed");
  library = createDeviceLibrary(libraryOptions);
  std::string message;
  if (!library->prepare(kernels.getProgram(), device.getDriver(), message))
    return fail(RG_ERROR_DEVICE, message);
  return RG_OK;
}

rg_status GpuExecutor::chooseAlgorithms() {
  std::string message;
  bool isChosen =
      isJob && environment.ranks > 1
          ? chooseAlgorithmsTogether(*library, store, environment.rank, message)
          : library->chooseAlgorithms(nullptr, message);
  if (!isChosen)
    return fail(RG_ERROR_DEVICE, message);
  note = library->getNote();
  routines = library->describe();
  return RG_OK;
}

rg_status
GpuExecutor::openCommunication(const rg_gpu_executor_options &options) {
  constexpr double kSetupTimeout = 300;
  const DriverApi &driver = device.getDriver();
  if (!isJob) {
    communication =
        std::make_unique<SharedDeviceCommunicator>(driver, numRanks);
    return RG_OK;
  }
  NcclOptions ncclOptions;
  ncclOptions.rank = environment.rank;
  ncclOptions.ranks = environment.ranks;
  ncclOptions.library =
      getChoice(options.nccl_library, "REGATHER_NCCL_LIBRARY");
  ncclOptions.isReproducible = options.reproducible != 0;
  if (options.setup_timeout_seconds > 0)
    ncclOptions.setupSeconds = options.setup_timeout_seconds;
  else
    ncclOptions.setupSeconds = kSetupTimeout;
  ncclOptions.watchdog.firstStepSeconds = firstTimeout;
  ncclOptions.watchdog.stepSeconds = timeout;
  ncclOptions.logFile =
      getChoice(options.collective_log, "REGATHER_COLLECTIVE_LOG");
  if (!ncclOptions.logFile.empty())
    ncclOptions.logFile += std::to_string(environment.rank) + ".json";
  auto nccl = std::make_unique<NcclCommunicator>(driver, store, ncclOptions);
  std::string message;
  // Before the ranks wait for each other, so that none waits for one that has
  // not what it needs.
  if (!nccl->open(message) ||
      !store.connect(environment, ncclOptions.setupSeconds, message))
    return fail(RG_ERROR_DEVICE, message);
  rankGather.emplace(store, environment.rank, environment.ranks);
  communication = std::move(nccl);
  return RG_OK;
}

int64_t GpuExecutor::getBytes() const {
  return need.arena + need.scratch +
         (communication ? communication->getStagingBytes() : 0);
}

/// Bytes of device memory that are left to libraries and the driver, which take
/// them later: what the environment says, or `estimate`. False if it says no
/// number.
static bool readLibraryBytes(int64_t estimate, int64_t &bytes) {
  bytes = estimate;
  std::string text = getChoice(nullptr, "REGATHER_LIBRARY_MEMORY");
  if (text.empty())
    return true;
  char *end = nullptr;
  bytes = std::strtoll(text.c_str(), &end, 10);
  return !*end && bytes >= 0;
}

rg_status GpuExecutor::checkMemory() {
  // Modules that libraries load when they are first called, and graphs.
  constexpr int64_t kModuleBytes = int64_t(256) << 20;
  need = getMemoryNeed(kernels.getProgram(), library->getWorkspaceBytes());
  size_t free = 0, total = 0;
  std::string message;
  if (!device.check(device.getDriver().cuMemGetInfo_v2(&free, &total),
                    "cuMemGetInfo", message))
    return fail(RG_ERROR_DEVICE, message);
  int64_t libraryBytes = 0;
  if (!readLibraryBytes(kModuleBytes + communication->estimateLibraryBytes(
                                           kernels.getProgram()),
                        libraryBytes))
    return fail(RG_ERROR_ARGUMENT,
                "REGATHER_LIBRARY_MEMORY is '" +
                    getChoice(nullptr, "REGATHER_LIBRARY_MEMORY") +
                    "', expected a number of bytes");
  // Communication says itself if there is no staging memory for it.
  int64_t bytes = need.getTotal(numRanks);
  if (bytes + libraryBytes <= int64_t(free))
    return RG_OK;
  return fail(
      RG_ERROR_MEMORY,
      "the step needs " + std::to_string(bytes) + " bytes on " +
          device.describe() + ": for each of " + std::to_string(numRanks) +
          " ranks " + std::to_string(need.arena) + " for its arena, " +
          std::to_string(need.arguments) + " for its arguments and " +
          std::to_string(need.scratch) + " for its kernels, and for all " +
          std::to_string(need.constants) + " for constants; but " +
          std::to_string(free) + " of " + std::to_string(total) +
          " bytes are free, of which " + std::to_string(libraryBytes) +
          " are left to libraries (REGATHER_LIBRARY_MEMORY)");
}

rg_status GpuExecutor::createRanks() {
  std::string message;
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    ranks.push_back(std::make_unique<DeviceRank>(device, program, constants,
                                                 firstRank + rank));
    if (!ranks.back()->create(need, *communication, message))
      return fail(RG_ERROR_MEMORY, message);
  }
  if (!constants.upload(device, program, ranks[0]->getStream(0), message))
    return fail(RG_ERROR_MEMORY, message);
  if (!communication->prepare(kernels.getProgram(), message))
    return fail(RG_ERROR_DEVICE, message);
  StepResources resources = {device,   kernels.getProgram(), kernels,
                             *library, *communication,       *wait};
  for (const std::unique_ptr<DeviceRank> &rank : ranks)
    walkers.push_back(std::make_unique<StepWalker>(resources, *rank));
  graphs = std::make_unique<GraphCapture>(device, programs);
  if (!graphs->create(ranks, message))
    return fail(RG_ERROR_DEVICE, message);
  return clearArenas();
}

rg_status GpuExecutor::clearArenas() {
  std::string message;
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    DeviceRank &state = *ranks[size_t(rank)];
    auto count = size_t(need.arena / int64_t(sizeof(kPattern)));
    if (count &&
        !device.check(device.getDriver().cuMemsetD32Async(
                          state.getArena(), watchesArena ? kPattern : 0, count,
                          state.getStream(0)),
                      "cuMemsetD32Async", message))
      return fail(RG_ERROR_DEVICE, message);
    if (rg_status status = synchronize(rank))
      return status;
  }
  return RG_OK;
}

rg_status GpuExecutor::create(const rg_gpu_executor_options &options) {
  std::string problem = checkGpuProgram(programs);
  if (!problem.empty())
    return fail(RG_ERROR_ARGUMENT, problem);
  rg_status status = chooseNumbers(options);
  if (status == RG_OK)
    status = open(options);
  if (status == RG_OK)
    status = checkMemory();
  return status == RG_OK ? createRanks() : status;
}
