//===- GpuExecutor.cpp - Run a step on GPUs -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Runtime/GpuExecutor.h"

#include "GpuProgramCheck.h"
#include "GraphCapture.h"
#include "NcclCommunication.h"
#include "RankGather.h"
#include "SharedDeviceCommunication.h"
#include "StepWalker.h"
#include "TcpStore.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

using namespace regather::runtime;

/// What arenas are filled with to find what is written, as in Arena.h.
static constexpr uint32_t kPattern = 0xa5a5a5a5;

namespace {
/// What rg_gpu_executor stands for. Members are destroyed in reverse: the
/// device last.
class GpuExecutor {
public:
  explicit GpuExecutor(const rg_gpu_program &programs)
      : programs(programs), program(*programs.program) {}
  ~GpuExecutor();

  rg_status create(const rg_gpu_executor_options &options);
  rg_status run();
  rg_status upload(int32_t rank, int64_t argument, const void *data);
  rg_status downloadResult(int32_t rank, int64_t result, void *data);
  rg_status downloadArgument(int32_t rank, int64_t argument, void *data);
  rg_status gather(const char *data, int64_t bytes, char *const *parts);
  int64_t findTouchedBytes();

  const char *getError() const { return error.c_str(); }
  rg_failure getFailure() const { return failure; }
  const char *getNote() const { return note.c_str(); }
  int32_t getNumRanks() const { return int32_t(ranks.size()); }
  int32_t getFirstRank() const { return firstRank; }
  const char *getDeviceName() const { return device.getName().c_str(); }
  const char *getRoutines() const { return routines.c_str(); }
  double getSeconds(int32_t rank) const {
    return ranks[size_t(rank)]->getSeconds();
  }
  int64_t getBytes() const;

private:
  rg_status fail(rg_status status, const std::string &message);
  rg_status failStep(rg_status status, int32_t rank, int64_t instruction,
                     const std::string &message);
  rg_status chooseNumbers(const rg_gpu_executor_options &options);
  rg_status chooseRanks(const rg_gpu_executor_options &options);
  rg_status open(const rg_gpu_executor_options &options);
  rg_status openLibrary(const rg_gpu_executor_options &options);
  rg_status openCommunication(const rg_gpu_executor_options &options);
  rg_status chooseAlgorithms();
  rg_status checkMemory();
  rg_status createRanks();
  rg_status clearArenas();
  rg_status synchronize(int32_t rank);
  rg_status download(int32_t rank, CuAddress address, int64_t bytes,
                     void *data);
  bool hasRank(int32_t rank) const { return rank >= 0 && rank < numRanks; }

  rg_status beginStep();
  rg_status walkStep();
  /// Lets all ranks go on until they meet; `state` is where.
  rg_status advance(WalkState &state);
  rg_status beginGraph();
  rg_status endGraph();
  rg_status endStep();

  /// The program that was loaded is `kernels.getProgram()`.
  const rg_gpu_program &programs;
  const rg_program &program;
  /// Ranks of this process.
  int32_t numRanks = 0, firstRank = 0;
  bool isJob = false;
  LaunchEnvironment environment;
  double firstTimeout = 0, timeout = 0;
  bool watchesArena = false;
  bool isFirstStep = true;
  /// The step runs what graphs hold call by call, so that everything that is
  /// made when it is first needed is there when graphs are captured.
  bool isWarmingUp = false;
  GpuDevice device;
  LoadedKernels kernels;
  std::unique_ptr<DeviceLibrary> library;
  /// What computes its routines.
  std::string routines;
  TcpStore store;
  std::optional<RankGather> rankGather;
  std::unique_ptr<DeviceCommunication> communication;
  std::unique_ptr<DeviceWait> wait;
  MemoryNeed need;
  DeviceConstants constants;
  std::vector<std::unique_ptr<DeviceRank>> ranks;
  std::vector<std::unique_ptr<StepWalker>> walkers;
  std::unique_ptr<GraphCapture> graphs;
  rg_failure failure = {RG_OK, 0, -1};
  std::string error, note;
};
} // namespace

static GpuExecutor *unwrap(rg_gpu_executor *executor) {
  return reinterpret_cast<GpuExecutor *>(executor);
}
static const GpuExecutor *unwrap(const rg_gpu_executor *executor) {
  return reinterpret_cast<const GpuExecutor *>(executor);
}

GpuExecutor::~GpuExecutor() {
  // Work that has not ended uses the memory. After a failure it might never.
  if (failure.status == RG_OK)
    for (const std::unique_ptr<DeviceRank> &rank : ranks)
      if (rank->getNumStreams())
        device.getDriver().cuStreamSynchronize(rank->getStream(0));
}

rg_status GpuExecutor::fail(rg_status status, const std::string &message) {
  if (error.empty())
    error = message;
  return status;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

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
        std::make_unique<SharedDeviceCommunication>(driver, numRanks);
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
  auto nccl = std::make_unique<NcclCommunication>(driver, store, ncclOptions);
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

rg_status GpuExecutor::checkMemory() {
  need = getMemoryNeed(kernels.getProgram(), library->getWorkspaceBytes());
  size_t free = 0, total = 0;
  std::string message;
  if (!device.check(device.getDriver().cuMemGetInfo_v2(&free, &total),
                    "cuMemGetInfo", message))
    return fail(RG_ERROR_DEVICE, message);
  // Communication says itself if there is no memory for it.
  int64_t bytes = need.getTotal(numRanks);
  if (bytes <= int64_t(free))
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
          " bytes are free");
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

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

rg_status GpuExecutor::synchronize(int32_t rank) {
  std::string message;
  CuStream stream = ranks[size_t(rank)]->getStream(0);
  return device.check(device.getDriver().cuStreamSynchronize(stream),
                      "cuStreamSynchronize", message)
             ? RG_OK
             : fail(RG_ERROR_DEVICE, message);
}

rg_status GpuExecutor::upload(int32_t rank, int64_t argument,
                              const void *data) {
  if (!hasRank(rank) || argument < 0 || argument >= program.argument_count)
    return fail(RG_ERROR_ARGUMENT, "there is no such argument");
  DeviceRank &state = *ranks[size_t(rank)];
  int64_t bytes = rg_value_bytes(&program.arguments[argument]);
  std::string message;
  if (bytes && !device.check(device.getDriver().cuMemcpyHtoDAsync_v2(
                                 state.getArgument(argument), data,
                                 size_t(bytes), state.getStream(0)),
                             "cuMemcpyHtoDAsync", message))
    return fail(RG_ERROR_DEVICE, message);
  return synchronize(rank);
}

rg_status GpuExecutor::download(int32_t rank, CuAddress address, int64_t bytes,
                                void *data) {
  std::string message;
  if (bytes && !device.check(device.getDriver().cuMemcpyDtoHAsync_v2(
                                 data, address, size_t(bytes),
                                 ranks[size_t(rank)]->getStream(0)),
                             "cuMemcpyDtoHAsync", message))
    return fail(RG_ERROR_DEVICE, message);
  return synchronize(rank);
}

rg_status GpuExecutor::downloadResult(int32_t rank, int64_t result,
                                      void *data) {
  if (!hasRank(rank) || result < 0 || result >= program.result_count)
    return fail(RG_ERROR_ARGUMENT, "there is no such result");
  const rg_place &place = program.results[result].place;
  return download(rank, ranks[size_t(rank)]->resolve(place), place.bytes, data);
}

rg_status GpuExecutor::downloadArgument(int32_t rank, int64_t argument,
                                        void *data) {
  if (!hasRank(rank) || argument < 0 || argument >= program.argument_count)
    return fail(RG_ERROR_ARGUMENT, "there is no such argument");
  return download(rank, ranks[size_t(rank)]->getArgument(argument),
                  rg_value_bytes(&program.arguments[argument]), data);
}

rg_status GpuExecutor::gather(const char *data, int64_t bytes,
                              char *const *parts) {
  if (!rankGather || bytes < 0)
    return fail(RG_ERROR_ARGUMENT, "the process is no rank of a job");
  std::string message;
  return rankGather->gather(data, bytes, parts, message)
             ? RG_OK
             : fail(RG_ERROR_TIMEOUT, message);
}

int64_t GpuExecutor::findTouchedBytes() {
  if (!watchesArena || !error.empty())
    return -1;
  int64_t touched = 0;
  std::vector<unsigned char> bytes(size_t(program.arena_bytes));
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    if (download(rank, ranks[size_t(rank)]->getArena(), program.arena_bytes,
                 bytes.data()))
      return -1;
    int64_t end = program.arena_bytes;
    while (end > touched && bytes[size_t(end - 1)] == (kPattern & 0xff))
      --end;
    touched = std::max(touched, end);
  }
  int64_t alignment = program.arena_alignment;
  return std::min((touched + alignment - 1) / alignment * alignment,
                  program.arena_bytes);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

rg_status GpuExecutor::failStep(rg_status status, int32_t rank,
                                int64_t instruction,
                                const std::string &message) {
  failure = {status, firstRank + rank, instruction};
  if (graphs)
    graphs->abandon();
  communication->abort();
  communication->endStep();
  return fail(status, message);
}

rg_status GpuExecutor::beginStep() {
  // In a job, the watchdog of communication notices first, which can say more.
  constexpr double kWatchdogSeconds = 30;
  wait->setTimeout((isFirstStep ? firstTimeout : timeout) +
                   (isJob ? kWatchdogSeconds : 0));
  isWarmingUp = isFirstStep;
  isFirstStep = false;
  std::string message;
  if (!device.makeCurrent(message))
    return failStep(RG_ERROR_DEVICE, 0, -1, message);
  for (int32_t rank = 0; rank < numRanks; ++rank)
    if (!walkers[size_t(rank)]->begin(message))
      return failStep(RG_ERROR_DEVICE, rank, -1, message);
  communication->beginStep();
  return RG_OK;
}

rg_status GpuExecutor::advance(WalkState &state) {
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    StepWalker &walker = *walkers[size_t(rank)];
    std::string message;
    WalkState reached = walker.advance(message);
    if (reached == WalkState::Failed)
      return failStep(walker.getStatus(), rank, walker.getInstruction(),
                      message);
    if (rank == 0)
      state = reached;
    if (reached != state)
      return failStep(RG_ERROR_MISMATCH, rank, walker.getInstruction(),
                      "one rank starts a transfer where another one ends");
  }
  return RG_OK;
}

rg_status GpuExecutor::beginGraph() {
  int64_t graph = walkers[0]->getGraph();
  std::string message;
  bool isCaptured = graphs->isCaptured(graph);
  const rg_gpu_graph &table = programs.graphs[graph];
  // First, since a launch may wait.
  for (int64_t i = table.first; isCaptured && i < table.end; ++i)
    if (program.instructions[i].opcode == RG_OP_TRANSFER)
      communication->replay(i);
  if (isCaptured ? !graphs->launch(graph, message)
                 : !isWarmingUp && !graphs->begin(message))
    return failStep(RG_ERROR_DEVICE, 0, table.first, message);
  for (const std::unique_ptr<StepWalker> &walker : walkers)
    isCaptured ? walker->skipGraph() : walker->enterGraph();
  return RG_OK;
}

rg_status GpuExecutor::endGraph() {
  if (!graphs->isCapturing())
    return RG_OK;
  int64_t graph = walkers[0]->getGraph();
  std::string message;
  // What was captured has not run.
  if (!graphs->end(graph, message) || !graphs->launch(graph, message))
    return failStep(RG_ERROR_DEVICE, 0, programs.graphs[graph].first, message);
  return RG_OK;
}

rg_status GpuExecutor::walkStep() {
  // All ranks start a transfer before one of them goes on.
  WalkState state = WalkState::Transfer;
  while (state != WalkState::End) {
    rg_status status = advance(state);
    if (status == RG_OK && state == WalkState::GraphBegin)
      status = beginGraph();
    else if (status == RG_OK && state == WalkState::GraphEnd)
      status = endGraph();
    if (status != RG_OK)
      return status;
  }
  return RG_OK;
}

rg_status GpuExecutor::endStep() {
  std::string message;
  for (int32_t rank = 0; rank < numRanks; ++rank)
    if (!walkers[size_t(rank)]->finish(message))
      return failStep(RG_ERROR_DEVICE, rank, -1, message);
  for (int32_t rank = 0; rank < numRanks; ++rank)
    if (rg_status status =
            wait->wait(ranks[size_t(rank)]->getStream(0), message))
      return failStep(status, rank, -1, message);
  communication->endStep();
  return RG_OK;
}

rg_status GpuExecutor::run() {
  if (!error.empty())
    return RG_ERROR_ABORTED;
  rg_status status = beginStep();
  if (status == RG_OK)
    status = walkStep();
  return status == RG_OK ? endStep() : status;
}

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

rg_status rg_gpu_executor_create(const rg_gpu_program *program,
                                 const rg_gpu_executor_options *options,
                                 rg_gpu_executor **executor) {
  if (!executor)
    return RG_ERROR_ARGUMENT;
  *executor = nullptr;
  if (!program || !program->program || !options)
    return RG_ERROR_ARGUMENT;
  auto *created = new GpuExecutor(*program);
  *executor = reinterpret_cast<rg_gpu_executor *>(created);
  return created->create(*options);
}

void rg_gpu_executor_destroy(rg_gpu_executor *executor) {
  delete unwrap(executor);
}

const char *rg_gpu_executor_error(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getError() : "";
}

const char *rg_gpu_executor_note(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getNote() : "";
}

rg_failure rg_gpu_executor_failure(const rg_gpu_executor *executor) {
  return unwrap(executor)->getFailure();
}

int32_t rg_gpu_executor_ranks(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getNumRanks() : 0;
}

int32_t rg_gpu_executor_first_rank(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getFirstRank() : 0;
}

const char *rg_gpu_executor_device(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getDeviceName() : "";
}

const char *rg_gpu_executor_routines(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getRoutines() : "";
}

rg_status rg_gpu_executor_upload(rg_gpu_executor *executor, int32_t rank,
                                 int64_t argument, const void *data) {
  return executor && data ? unwrap(executor)->upload(rank, argument, data)
                          : RG_ERROR_ARGUMENT;
}

rg_status rg_gpu_executor_download(rg_gpu_executor *executor, int32_t rank,
                                   int64_t result, void *data) {
  return executor && data ? unwrap(executor)->downloadResult(rank, result, data)
                          : RG_ERROR_ARGUMENT;
}

rg_status rg_gpu_executor_download_argument(rg_gpu_executor *executor,
                                            int32_t rank, int64_t argument,
                                            void *data) {
  return executor && data
             ? unwrap(executor)->downloadArgument(rank, argument, data)
             : RG_ERROR_ARGUMENT;
}

rg_status rg_gpu_executor_run(rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->run() : RG_ERROR_ARGUMENT;
}

int32_t rg_gpu_job_rank(void) {
  LaunchEnvironment environment;
  std::string message;
  return environment.read(message) ? environment.rank : -1;
}

rg_status rg_gpu_executor_gather(rg_gpu_executor *executor, const void *data,
                                 int64_t bytes, void *const *parts) {
  return executor
             ? unwrap(executor)->gather(static_cast<const char *>(data), bytes,
                                        reinterpret_cast<char *const *>(parts))
             : RG_ERROR_ARGUMENT;
}

double rg_gpu_executor_seconds(const rg_gpu_executor *executor, int32_t rank) {
  return unwrap(executor)->getSeconds(rank);
}

int64_t rg_gpu_executor_bytes(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getBytes() : 0;
}

int64_t rg_gpu_executor_touched_bytes(rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->findTouchedBytes() : -1;
}
