//===- NcclCommunicator.cpp - Collectives by NCCL -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclCommunicator.h"

#include "Program/RankGroups.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

using namespace regather::runtime;

NcclCommunication::NcclCommunication(const DriverApi &driver, RankStore &store,
                                     NcclOptions options)
    : driver(driver), store(store), options(std::move(options)), runner(driver),
      log(this->options.rank, size_t(this->options.logEntries)) {}

NcclCommunication::~NcclCommunication() {
  watchdog.reset();
  // All of them end before one is destroyed: a kernel of one may wait for what
  // another one does.
  std::string message;
  if (!poll(message))
    abort();
  communicators.clear();
  for (const Arena &arena : arenas)
    if (nccl->hasWindows())
      nccl->ncclMemFree(reinterpret_cast<void *>(arena.address));
    else
      driver.cuMemFree_v2(arena.address);
  for (CuAddress address : staging)
    if (address)
      driver.cuMemFree_v2(address);
  if (numbers)
    driver.cuMemFree_v2(numbers);
  if (progress)
    driver.cuMemFreeHost(progress);
}

bool NcclCommunication::check(CuResult result, const char *what,
                              std::string &message) const {
  if (result == kCuSuccess)
    return true;
  message = std::string(what) + ": " + driver.describe(result);
  return false;
}

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

bool NcclCommunication::open(std::string &message) {
  // Kernels of two communicators may need each other's processors to go on.
  // All ranks start them in one order, and the library keeps to it if told so.
  static std::once_flag isSet;
  std::call_once(isSet, [] {
    setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
  });
  return nccl->load(options.library, message);
}

bool NcclCommunication::allocate(int64_t bytes, CuAddress &address,
                                 std::string &message) {
  address = 0;
  if (bytes == 0)
    return true;
  if (nccl->hasWindows()) {
    void *memory = nullptr;
    NcclResult result = nccl->ncclMemAlloc(&memory, size_t(bytes));
    if (result != kNcclSuccess) {
      message = "cannot allocate " + std::to_string(bytes) +
                " bytes for the arena: " + nccl->describe(result, nullptr);
      return false;
    }
    address = CuAddress(reinterpret_cast<uintptr_t>(memory));
  } else if (!check(driver.cuMemAlloc_v2(&address, size_t(bytes)),
                    "cannot allocate the arena", message)) {
    return false;
  }
  arenas.push_back({address, bytes});
  return true;
}

static NcclCommunicator::Use getUse(const rg_transfer &transfer) {
  int32_t kind = transfer.collective.kind;
  return kind == RG_REDUCE_SCATTER || kind == RG_ALL_REDUCE
             ? NcclCommunicator::Use::Reduce
             : NcclCommunicator::Use::Move;
}

/// Creates the communicators that transfers need, in the order of the axes and,
/// for equal groups, of their use.
/// Which axes have transfers of a use.
static std::vector<bool> findAxes(const rg_program &program,
                                  NcclCommunicator::Use use) {
  std::vector<bool> found(size_t(program.axes_count));
  for (int64_t i = 0; i < program.transfer_count; ++i)
    if (getUse(program.transfers[i]) == use)
      found[size_t(program.transfers[i].axes)] = true;
  return found;
}

int64_t NcclCommunication::estimateLibraryBytes(
    const rg_gpu_program &gpuProgram) const {
  // Buffers for some tens of channels to each peer.
  constexpr int64_t kBytesOfCommunicator = int64_t(256) << 20;
  using Use = NcclCommunicator::Use;
  const rg_program &tables = *gpuProgram.program;
  int64_t bytes = 0;
  for (Use use : {Use::Move, Use::Reduce}) {
    std::vector<bool> isUsed = findAxes(tables, use);
    for (size_t axes = 0; axes < isUsed.size(); ++axes)
      if (isUsed[axes] && getGroup(tables.axes[axes], options.rank).size() > 1)
        bytes += kBytesOfCommunicator;
  }
  return bytes;
}

/// True if a graph of the program holds a transfer.
static bool capturesTransfers(const rg_gpu_program &gpu) {
  for (int64_t i = 0; i < gpu.graph_count; ++i)
    for (int64_t k = gpu.graphs[i].first; k < gpu.graphs[i].end; ++k)
      if (gpu.program->instructions[k].opcode == RG_OP_TRANSFER)
        return true;
  return false;
}

bool NcclCommunication::createCommunicators(bool inGraphs,
                                            std::string &message) {
  using Use = NcclCommunicator::Use;
  // Gathers by copy engines in a graph wait for events that a step before the
  // capture may have recorded, and count on flags that such a step has left.
  auto getPolicy = [&](Use use) {
    return use == Use::Move && !inGraphs ? kNcclPolicyZero : kNcclUndefined;
  };
  auto numAxes = size_t(program->axes_count);
  for (Use use : {Use::Move, Use::Reduce}) {
    std::vector<NcclCommunicator *> ofAxes(numAxes);
    std::vector<bool> isUsed = findAxes(*program, use);
    for (size_t axes = 0; axes < numAxes; ++axes) {
      if (!isUsed[axes])
        continue;
      std::vector<int32_t> group = getGroup(program->axes[axes], options.rank);
      std::string name = "nccl/" + std::to_string(axes) + "/" +
                         std::to_string(group.front()) +
                         (use == Use::Move ? "/move" : "/reduce");
      communicators.push_back(std::make_shared<NcclCommunicator>(
          nccl, std::move(group), use, getPolicy(use)));
      ofAxes[axes] = communicators.back().get();
      // All begin at the same time, so that who is late can be told from who
      // waits for it. Groups of other ranks have other names.
      if (!store.barrier(
              "the communicators of axes " + std::to_string(axes) +
                  (use == Use::Move ? " for gathers" : " for reductions"),
              message) ||
          !ofAxes[axes]->create(name, options.rank, store, options.setupSeconds,
                                message))
        return false;
      for (size_t i = 0; nccl->hasWindows() && i < arenas.size(); ++i)
        if (!ofAxes[axes]->registerMemory(arenas[i].address, arenas[i].bytes,
                                          name + "/" + std::to_string(i), store,
                                          options.setupSeconds, message))
          return false;
    }
    for (int64_t i = 0; i < program->transfer_count; ++i)
      if (getUse(program->transfers[i]) == use)
        transfers[size_t(i)].communicator =
            ofAxes[size_t(program->transfers[i].axes)];
  }
  return true;
}

bool NcclCommunication::planTransfers(std::string &message) {
  for (int64_t i = 0; i < program->transfer_count; ++i) {
    const rg_transfer &transfer = program->transfers[i];
    const rg_axes &axes = program->axes[transfer.axes];
    PlanOptions planOptions;
    planOptions.ranks = int64_t(getGroup(axes, options.rank).size());
    planOptions.position = getPosition(axes, options.rank);
    planOptions.useLibrary = true;
    planOptions.useLibraryOrder = !options.isReproducible;
    planOptions.reductionBytes = options.reductionBytes;
    Collective collective;
    message = readTransfer(transfer, planOptions.ranks, collective);
    if (!message.empty()) {
      message = "transfer " + std::to_string(i) + ": " + message;
      return false;
    }
    Transfer &planned = transfers.emplace_back();
    planned.plan = planTransfer(collective, planOptions);
    planned.bytes = int64_t(getReceivedBytes(collective, planOptions.ranks));
    if (!runner.prepare(planned.plan, message))
      return false;
  }
  return true;
}

bool NcclCommunication::makeStaging(std::string &message) {
  std::vector<int64_t> needed(size_t(program->stream_count));
  for (int64_t i = 0; i < program->instruction_count; ++i) {
    const rg_instruction &instruction = program->instructions[i];
    if (instruction.opcode != RG_OP_TRANSFER)
      continue;
    int64_t &bytes = needed[size_t(instruction.stream)];
    bytes =
        std::max(bytes, transfers[size_t(instruction.index)].plan.stagingBytes);
  }
  for (int64_t bytes : needed) {
    CuAddress &address = staging.emplace_back();
    stagingBytes += bytes;
    if (bytes && !check(driver.cuMemAlloc_v2(&address, size_t(bytes)),
                        ("cannot allocate " + std::to_string(bytes) +
                         " bytes of staging memory for transfers")
                            .c_str(),
                        message))
      return false;
  }
  return true;
}

/// Prepares what the device writes around each transfer.
bool NcclCommunication::makeMarks(std::string &message) {
  std::vector<uint32_t> values = {0};
  for (int64_t i = 0; i < program->instruction_count; ++i) {
    bool isTransfer = program->instructions[i].opcode == RG_OP_TRANSFER;
    marks.push_back(isTransfer ? uint32_t(values.size()) : 0);
    if (isTransfer)
      values.push_back(uint32_t(values.size()));
  }
  size_t bytes = values.size() * sizeof(uint32_t);
  size_t progressBytes = size_t(program->stream_count) * sizeof(StreamProgress);
  void *memory = nullptr;
  CuStream stream = nullptr;
  if (!check(driver.cuMemAlloc_v2(&numbers, bytes),
             "cannot allocate memory for progress", message) ||
      !check(driver.cuMemHostAlloc(&memory, progressBytes, 0),
             "cannot allocate memory for progress", message) ||
      !check(driver.cuStreamCreate(&stream, kCuStreamNonBlocking),
             "cannot create a stream", message))
    return false;
  progress = static_cast<StreamProgress *>(memory);
  for (int32_t i = 0; i < program->stream_count; ++i)
    progress[i].begun = progress[i].done = 0;
  log.setProgress(progress);
  bool isGood =
      check(driver.cuMemcpyHtoDAsync_v2(numbers, values.data(), bytes, stream),
            "cannot copy to the device", message) &&
      check(driver.cuStreamSynchronize(stream), "cannot copy to the device",
            message);
  driver.cuStreamDestroy_v2(stream);
  return isGood;
}

bool NcclCommunication::prepare(const rg_gpu_program &gpuProgram,
                                std::string &message) {
  program = gpuProgram.program;
  if (program->ranks && program->ranks != options.ranks) {
    message = "the program was compiled for " + std::to_string(program->ranks) +
              " ranks, but there are " + std::to_string(options.ranks);
    return false;
  }
  if (!planTransfers(message) || !makeStaging(message) || !makeMarks(message))
    return false;
  // No rank begins to wait for others before all can be waited for.
  if (!createCommunicators(capturesTransfers(gpuProgram), message) ||
      !store.barrier("prepared", message)) {
    // To end them in order would wait for the ranks that are missing.
    abort();
    return false;
  }
  watchdog = std::make_unique<Watchdog>(
      options.watchdog,
      [this](std::string &reason) {
        // Of a step that takes long the ranks hear from each other, so that one
        // that has stopped is known when time is over.
        if (isStepLong())
          store.sayAlive();
        return pollFailure(reason);
      },
      [this](const std::string &reason) {
        std::string none;
        std::string silent =
            pollFailure(none) ? store.describeSilent(getLongSeconds()) : "";
        fail(reason + (silent.empty() ? "" : "; ") + silent);
      });
  return true;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void NcclCommunication::beginStep() {
  // The device has nothing to do, so nobody else writes these.
  for (int32_t i = 0; i < program->stream_count; ++i)
    progress[i].begun = progress[i].done = 0;
  log.beginStep();
  stepBegin = Clock::now();
  watchdog->beginStep();
}

bool NcclCommunication::isStepLong() const {
  std::chrono::duration<double> elapsed = Clock::now() - stepBegin.load();
  return elapsed.count() > getLongSeconds();
}

void NcclCommunication::endStep() {
  watchdog->endStep();
  log.endStep();
}

/// The device writes a number to memory of the host.
bool NcclCommunication::mark(const volatile uint32_t &place, uint32_t value,
                             CuStream stream, std::string &message) {
  return check(driver.cuMemcpyDtoHAsync_v2(const_cast<uint32_t *>(&place),
                                           numbers + value * sizeof(uint32_t),
                                           sizeof(uint32_t), stream),
               "cannot write progress", message);
}

void NcclCommunication::replay(int64_t number) {
  const rg_instruction &instruction = program->instructions[number];
  const Transfer &transfer = transfers[size_t(instruction.index)];
  NcclCommunicator &communicator = *transfer.communicator;
  CollectiveEntry entry;
  entry.sequence = communicator.countCollective();
  entry.stream = instruction.stream;
  entry.mark = marks[size_t(number)];
  entry.bytes = transfer.bytes;
  entry.group = &communicator.getGroup();
  entry.collective = &program->transfers[instruction.index].collective;
  entry.instruction = &instruction;
  log.add(entry);
}

bool NcclCommunication::start(int32_t rank, int64_t number,
                              const CuAddress *buffers, CuStream stream,
                              std::string &message) {
  // A graph writes the same marks whenever it is launched.
  replay(number);
  const rg_instruction &instruction = program->instructions[number];
  Transfer &transfer = transfers[size_t(instruction.index)];
  NcclCommunicator &communicator = *transfer.communicator;
  uint32_t value = marks[size_t(number)];
  TransferLabel label = {rank, number, instruction.description};
  PlanMemory memory = {buffers, staging[size_t(instruction.stream)]};
  auto ranks = int64_t(communicator.getGroup().size());
  StreamProgress &at = progress[instruction.stream];
  bool isGood = mark(at.begun, value, stream, message);
  for (const PlanPhase &phase : transfer.plan.phases) {
    isGood = isGood &&
             runner.run(phase, ranks, memory, stream, label, message) &&
             (!phase.hasExchange() ||
              communicator.exchange(phase, memory, stream, message));
  }
  isGood = isGood && mark(at.done, value, stream, message);
  if (isGood)
    return true;
  fail(message);
  poll(message);
  return false;
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

bool NcclCommunication::pollCommunicators(std::string &message) {
  for (const auto &communicator : communicators)
    if (!communicator->poll(message))
      return false;
  return true;
}

/// What has failed before counts, too: another thread may have found it, and
/// communicators that were ended report nothing.
bool NcclCommunication::pollFailure(std::string &message) {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (!failure.empty()) {
      message = failure;
      return false;
    }
  }
  return pollCommunicators(message);
}

bool NcclCommunication::poll(std::string &message) {
  std::string reason;
  if (!pollCommunicators(reason))
    fail(reason);
  std::lock_guard<std::mutex> lock(failureMutex);
  if (failure.empty())
    return true;
  message = failure;
  return false;
}

/// Keeps the first failure, says where the rank is, and ends all that waits.
void NcclCommunication::fail(const std::string &reason) {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (!failure.empty())
      return;
    failure = reason + "; " + log.describe();
    if (!options.logFile.empty()) {
      bool isWritten = log.write(options.logFile, reason);
      failure += isWritten ? "; the last collectives are in '"
                           : "; the last collectives cannot be written to '";
      failure += options.logFile + "'";
    }
  }
  startAbort();
}

/// Does not wait: graphs may hold collectives, and whoever destroys them may be
/// the thread that calls.
void NcclCommunication::startAbort() {
  // At once, as ending one may wait for another.
  for (const std::shared_ptr<NcclCommunicator> &communicator : communicators) {
    if (!communicator->close())
      continue;
    {
      std::lock_guard<std::mutex> lock(ending->mutex);
      ++ending->numLeft;
    }
    std::thread([communicator, ending = ending] {
      communicator->abort();
      std::lock_guard<std::mutex> lock(ending->mutex);
      --ending->numLeft;
      ending->wake.notify_all();
    }).detach();
  }
}

void NcclCommunication::abort() {
  startAbort();
  std::chrono::duration<double> limit(options.abortSeconds);
  std::unique_lock<std::mutex> lock(ending->mutex);
  ending->wake.wait_for(lock, limit, [this] { return ending->numLeft == 0; });
}
