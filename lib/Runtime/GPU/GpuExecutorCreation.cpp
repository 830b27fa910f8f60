//===- GpuExecutorCreation.cpp - All that a step needs, made once ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuExecutor.h"

#include "Communication/Messages/CollectiveFingerprints.h"
#include "GPU/Communication/SharedDeviceCommunicator.h"
#include "GPU/Nccl/NcclCommunicator.h"
#include "GpuProgramCheck.h"
#include "LibraryChoice.h"
#include "Program/RankGroups.h"

#include <algorithm>
#include <cstdlib>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

Failure GpuExecutor::chooseNumbers(const rg_gpu_executor_options &options) {
  constexpr double kFirstTimeout = 300, kTimeout = 100;
  if (options.ranks < 0 || !(options.first_timeout_seconds >= 0) ||
      !(options.timeout_seconds >= 0))
    return Failure("the number of ranks and timeouts must not be negative",
                   RG_ERROR_ARGUMENT);
  auto choose = [](double seconds, double otherwise) {
    return seconds > 0 ? seconds : otherwise;
  };
  firstTimeout = choose(options.first_timeout_seconds, kFirstTimeout);
  timeout = choose(options.timeout_seconds, kTimeout);
  watchesArena = options.watch_arena != 0;
  recordsSpans = options.record_spans != 0;
  if (recordsSpans && programs.graph_count != 0)
    return Failure("what is in CUDA graphs cannot be measured, and the program "
                   "has " +
                       std::to_string(programs.graph_count) +
                       " of them: compile it with --cuda-graph=none",
                   RG_ERROR_ARGUMENT);
  if (Failure reason = chooseRanks(options))
    return reason;
  if (!options.argument_addresses)
    return Failure();
  if (numRanks != 1)
    return Failure("addresses of arguments are for one rank",
                   RG_ERROR_ARGUMENT);
  givenArguments.assign(options.argument_addresses,
                        options.argument_addresses + program.argument_count);
  return Failure();
}

Failure GpuExecutor::chooseRanks(const rg_gpu_executor_options &options) {
  isJob = options.one_rank_of_job != 0 || options.store;
  if (!isJob) {
    Result<int32_t> chosen = chooseNumRanks(program, options.ranks);
    if (!chosen)
      return chosen.getFailure();
    numRanks = *chosen;
    return Failure();
  }
  if (options.store) {
    environment.rank = options.store->rank;
    environment.ranks = options.store->ranks;
    environment.localRank = options.device;
  } else {
    Result<LaunchEnvironment> read = LaunchEnvironment::read();
    if (!read)
      return Failure(read.getMessage(), RG_ERROR_ARGUMENT);
    environment = *read;
  }
  numRanks = 1;
  firstRank = environment.rank;
  if (program.ranks && program.ranks != environment.ranks)
    return Failure(
        "the program was compiled for " + std::to_string(program.ranks) +
            " ranks, but the job has " + std::to_string(environment.ranks),
        RG_ERROR_ARGUMENT);
  return checkAxes(program, environment.ranks);
}

Failure GpuExecutor::open(const rg_gpu_executor_options &options) {
  Failure reason = device.open(getChoice(options.cuda_library, kCudaVariable),
                               isJob ? environment.localRank : options.device,
                               /*isAssigned=*/isJob && !options.store);
  if (!reason)
    reason = kernels.load(device, programs);
  if (!reason)
    reason = openLibrary(options);
  if (!reason)
    reason = openCommunicator(options);
  if (reason)
    return reason;
  wait = std::make_unique<DeviceWait>(device, *communicator);
  return chooseAlgorithms();
}

Failure GpuExecutor::openLibrary(const rg_gpu_executor_options &options) {
  DeviceLibraryOptions libraryOptions;
  libraryOptions.path = getChoice(options.cublaslt_library, kCublasLtVariable);
  libraryOptions.cudnnPath = getChoice(options.cudnn_library, kCudnnVariable);
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
    return Failure("REGATHER_ALGORITHMS is '" + choice +
                       "', expected first or timed",
                   RG_ERROR_ARGUMENT);
  libraryOptions.timesAlgorithms =
      options.algorithms == RG_GPU_ALGORITHMS_TIMED ||
      (options.algorithms == RG_GPU_ALGORITHMS_DEFAULT && choice == "timed");
  library = createDeviceLibrary(libraryOptions);
  return library->prepare(kernels.getProgram(), device.getDriver());
}

Failure GpuExecutor::chooseAlgorithms() {
  Failure reason =
      isJob && environment.ranks > 1
          ? chooseAlgorithmsTogether(*library, getStore(), environment.rank)
          : library->chooseAlgorithms(nullptr);
  note = library->getNote();
  routines = library->describe();
  return reason;
}

Failure GpuExecutor::openCommunicator(const rg_gpu_executor_options &options) {
  constexpr double kSetupTimeout = 300;
  const DriverApi &driver = device.getDriver();
  if (!isJob) {
    communicator = std::make_unique<SharedDeviceCommunicator>(driver, numRanks);
    return Failure();
  }
  NcclOptions ncclOptions;
  ncclOptions.rank = environment.rank;
  ncclOptions.ranks = environment.ranks;
  ncclOptions.library = getChoice(options.nccl_library, kNcclVariable);
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
  if (options.store) {
    callerStore =
        std::make_unique<CallerStore>(*options.store, ncclOptions.setupSeconds);
    ncclOptions.watchdog.graceSeconds = -1;
  }
  auto nccl =
      std::make_unique<NcclCommunicator>(driver, getStore(), ncclOptions);
  // Before the ranks wait for each other, so that none waits for one that has
  // not what it needs.
  Failure reason = nccl->open();
  if (!reason)
    reason = connect(ncclOptions.setupSeconds);
  if (reason)
    return reason;
  communicator = std::move(nccl);
  return Failure();
}

/// Brings the ranks together; those of a caller find out whether they have the
/// same collectives, as one binary and bundle are not all that they have of a
/// step.
Failure GpuExecutor::connect(double seconds) {
  if (!callerStore) {
    Failure reason = store.connect(environment, seconds);
    if (!reason)
      rankGather.emplace(store, environment.rank, environment.ranks);
    return reason;
  }
  CollectiveFingerprints fingerprints = getCollectiveFingerprints(program);
  return callerStore->agree("the collectives of their steps",
                            std::to_string(fingerprints.axes) + ' ' +
                                std::to_string(fingerprints.order));
}

int64_t GpuExecutor::getBytes() const {
  return need.arena + need.scratch +
         (communicator ? communicator->getStagingBytes() : 0);
}

/// Bytes of device memory that are left to libraries and the driver, which take
/// them later: what the environment says, or `estimate`.
static Result<int64_t> readLibraryBytes(int64_t estimate) {
  std::string text = getChoice(nullptr, "REGATHER_LIBRARY_MEMORY");
  if (text.empty())
    return estimate;
  char *end = nullptr;
  int64_t bytes = std::strtoll(text.c_str(), &end, 10);
  if (!*end && bytes >= 0)
    return bytes;
  return Failure("REGATHER_LIBRARY_MEMORY is '" + text +
                     "', expected a number of bytes",
                 RG_ERROR_ARGUMENT);
}

Failure GpuExecutor::checkMemory() {
  // Modules that libraries load when they are first called, and graphs.
  constexpr int64_t kModuleBytes = int64_t(256) << 20;
  need = getMemoryNeed(kernels.getProgram(), library->getWorkspaceBytes(),
                       givenArguments);
  size_t free = 0, total = 0;
  if (Failure reason = device.check(
          device.getDriver().cuMemGetInfo_v2(&free, &total), "cuMemGetInfo"))
    return reason;
  Result<int64_t> libraryBytes = readLibraryBytes(
      kModuleBytes + communicator->estimateLibraryBytes(program));
  if (!libraryBytes)
    return libraryBytes.getFailure();
  // Communication says itself if there is no staging memory for it.
  int64_t bytes = need.getTotal(numRanks);
  if (bytes + *libraryBytes <= int64_t(free))
    return Failure();
  return Failure(
      "the step needs " + std::to_string(bytes) + " bytes on " +
          device.describe() + ": for each of " + std::to_string(numRanks) +
          " ranks " + std::to_string(need.arena) + " for its arena, " +
          std::to_string(need.arguments) + " for its arguments and " +
          std::to_string(need.scratch) + " for its kernels, and for all " +
          std::to_string(need.constants) + " for constants; but " +
          std::to_string(free) + " of " + std::to_string(total) +
          " bytes are free, of which " + std::to_string(*libraryBytes) +
          " are left to libraries (REGATHER_LIBRARY_MEMORY)",
      RG_ERROR_MEMORY);
}

/// True if a graph of the program holds a collective.
static bool capturesCollectives(const rg_gpu_program &gpu) {
  for (int64_t i = 0; i < gpu.graph_count; ++i)
    for (int64_t k = gpu.graphs[i].first; k < gpu.graphs[i].end; ++k)
      if (gpu.program->instructions[k].opcode == RG_OP_COLLECTIVE)
        return true;
  return false;
}

Failure GpuExecutor::createRanks() {
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    ranks.push_back(std::make_unique<DeviceRank>(device, program, constants,
                                                 firstRank + rank));
    if (Failure reason =
            ranks.back()->create(need, givenArguments, *communicator))
      return reason;
  }
  if (Failure reason =
          constants.upload(device, program, ranks[0]->getStream(0)))
    return reason;
  if (Failure reason =
          communicator->prepare(program, capturesCollectives(programs)))
    return reason;
  StepResources resources = {device,   kernels.getProgram(), kernels,
                             *library, *communicator,        *wait};
  for (const std::unique_ptr<DeviceRank> &rank : ranks) {
    StepSpans *own = nullptr;
    if (recordsSpans)
      own = spans.emplace_back(std::make_unique<StepSpans>(device)).get();
    walkers.push_back(std::make_unique<StepWalker>(resources, *rank, own));
  }
  graphs = std::make_unique<GraphCapture>(device, programs);
  Failure reason = graphs->create(ranks);
  return reason ? reason : clearArenas();
}

Failure GpuExecutor::clearArenas() {
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    DeviceRank &state = *ranks[size_t(rank)];
    auto count = size_t(need.arena / int64_t(sizeof(kPattern)));
    Failure reason;
    if (count)
      reason = device.check(device.getDriver().cuMemsetD32Async(
                                state.getArena(), watchesArena ? kPattern : 0,
                                count, state.getStream(0)),
                            "cuMemsetD32Async");
    if (!reason)
      reason = synchronize(rank);
    if (reason)
      return reason;
  }
  return Failure();
}

Failure GpuExecutor::prepare(const rg_gpu_executor_options &options) {
  std::string problem = checkGpuProgram(programs);
  if (!problem.empty())
    return Failure(problem, RG_ERROR_ARGUMENT);
  Failure reason = chooseNumbers(options);
  if (!reason)
    reason = open(options);
  if (!reason)
    reason = checkMemory();
  return reason ? reason : createRanks();
}

rg_status GpuExecutor::create(const rg_gpu_executor_options &options) {
  Failure reason = prepare(options);
  device.leave();
  return keep(reason);
}
