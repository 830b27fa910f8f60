//===- NcclGroup.cpp - Collectives by NCCL --------------------------------===//
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

NcclCommunicator::NcclCommunicator(const DriverApi &driver, RankStore &store,
                                   NcclOptions options)
    : driver(driver), store(store), options(std::move(options)), runner(driver),
      log(this->options.rank, size_t(this->options.logEntries)) {}

NcclCommunicator::~NcclCommunicator() {
  watchdog.reset();
  // All of them end before one is destroyed: a kernel of one may wait for what
  // another one does.
  std::string message;
  if (!poll(message))
    abort();
  groups.clear();
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

bool NcclCommunicator::check(CuResult result, const char *what,
                             std::string &message) const {
  if (result == kCuSuccess)
    return true;
  message = std::string(what) + ": " + driver.describe(result);
  return false;
}

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

bool NcclCommunicator::open(std::string &message) {
  // Kernels of two communicators may need each other's processors to go on.
  // All ranks start them in one order, and the library keeps to it if told so.
  static std::once_flag isSet;
  std::call_once(isSet, [] {
    setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
  });
  return nccl->load(options.library, message);
}

bool NcclCommunicator::allocate(int64_t bytes, CuAddress &address,
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

static NcclGroup::Use getUse(const rg_collective_entry &entry) {
  int32_t kind = entry.collective.kind;
  return kind == RG_REDUCE_SCATTER || kind == RG_ALL_REDUCE
             ? NcclGroup::Use::Reduce
             : NcclGroup::Use::Move;
}

/// Which axes have collectives of a use.
static std::vector<bool> findAxes(const rg_program &program,
                                  NcclGroup::Use use) {
  std::vector<bool> found(size_t(program.axes_count));
  for (int64_t i = 0; i < program.collective_count; ++i)
    if (getUse(program.collectives[i]) == use)
      found[size_t(program.collectives[i].axes)] = true;
  return found;
}

int64_t
NcclCommunicator::estimateLibraryBytes(const rg_gpu_program &gpuProgram) const {
  // Buffers for some tens of channels to each peer.
  constexpr int64_t kBytesOfGroup = int64_t(256) << 20;
  using Use = NcclGroup::Use;
  const rg_program &tables = *gpuProgram.program;
  int64_t bytes = 0;
  for (Use use : {Use::Move, Use::Reduce}) {
    std::vector<bool> isUsed = findAxes(tables, use);
    for (size_t axes = 0; axes < isUsed.size(); ++axes)
      if (isUsed[axes] && getGroup(tables.axes[axes], options.rank).size() > 1)
        bytes += kBytesOfGroup;
  }
  return bytes;
}

/// True if a graph of the program holds a collective.
static bool capturesCollectives(const rg_gpu_program &gpu) {
  for (int64_t i = 0; i < gpu.graph_count; ++i)
    for (int64_t k = gpu.graphs[i].first; k < gpu.graphs[i].end; ++k)
      if (gpu.program->instructions[k].opcode == RG_OP_COLLECTIVE)
        return true;
  return false;
}

/// Creates the communicators that collectives need, in the order of the axes
/// and, for equal groups, of their use.
bool NcclCommunicator::createGroups(bool inGraphs, std::string &message) {
  using Use = NcclGroup::Use;
  // Gathers by copy engines in a graph wait for events that a step before the
  // capture may have recorded, and count on flags that such a step has left.
  auto getPolicy = [&](Use use) {
    return use == Use::Move && !inGraphs ? kNcclPolicyZero : kNcclUndefined;
  };
  auto numAxes = size_t(program->axes_count);
  for (Use use : {Use::Move, Use::Reduce}) {
    std::vector<NcclGroup *> ofAxes(numAxes);
    std::vector<bool> isUsed = findAxes(*program, use);
    for (size_t axes = 0; axes < numAxes; ++axes) {
      if (!isUsed[axes])
        continue;
      std::vector<int32_t> group = getGroup(program->axes[axes], options.rank);
      std::string name = "nccl/" + std::to_string(axes) + "/" +
                         std::to_string(group.front()) +
                         (use == Use::Move ? "/move" : "/reduce");
      groups.push_back(std::make_shared<NcclGroup>(nccl, std::move(group), use,
                                                   getPolicy(use)));
      ofAxes[axes] = groups.back().get();
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
    for (int64_t i = 0; i < program->collective_count; ++i)
      if (getUse(program->collectives[i]) == use)
        collectives[size_t(i)].group =
            ofAxes[size_t(program->collectives[i].axes)];
  }
  return true;
}

bool NcclCommunicator::planCollectives(std::string &message) {
  for (int64_t i = 0; i < program->collective_count; ++i) {
    const rg_collective_entry &entry = program->collectives[i];
    const rg_axes &axes = program->axes[entry.axes];
    PlanOptions planOptions;
    planOptions.ranks = int64_t(getGroup(axes, options.rank).size());
    planOptions.position = getPosition(axes, options.rank);
    planOptions.useLibrary = true;
    planOptions.useLibraryOrder = !options.isReproducible;
    planOptions.reductionBytes = options.reductionBytes;
    Collective collective;
    message = readCollective(entry, planOptions.ranks, collective);
    if (!message.empty()) {
      message = "transfer " + std::to_string(i) + ": " + message;
      return false;
    }
    PlannedCollective &planned = collectives.emplace_back();
    planned.plan = planCollective(collective, planOptions);
    planned.bytes = int64_t(getReceivedBytes(collective, planOptions.ranks));
    if (!runner.prepare(planned.plan, message))
      return false;
  }
  return true;
}

bool NcclCommunicator::makeStaging(std::string &message) {
  std::vector<int64_t> needed(size_t(program->stream_count));
  for (int64_t i = 0; i < program->instruction_count; ++i) {
    const rg_instruction &instruction = program->instructions[i];
    if (instruction.opcode != RG_OP_COLLECTIVE)
      continue;
    int64_t &bytes = needed[size_t(instruction.stream)];
    bytes = std::max(bytes,
                     collectives[size_t(instruction.index)].plan.stagingBytes);
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

/// Prepares what the device writes around each collective.
bool NcclCommunicator::makeMarks(std::string &message) {
  std::vector<uint32_t> values = {0};
  for (int64_t i = 0; i < program->instruction_count; ++i) {
    bool isCollective = program->instructions[i].opcode == RG_OP_COLLECTIVE;
    marks.push_back(isCollective ? uint32_t(values.size()) : 0);
    if (isCollective)
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

bool NcclCommunicator::prepare(const rg_gpu_program &gpuProgram,
                               std::string &message) {
  program = gpuProgram.program;
  if (program->ranks && program->ranks != options.ranks) {
    message = "the program was compiled for " + std::to_string(program->ranks) +
              " ranks, but there are " + std::to_string(options.ranks);
    return false;
  }
  if (!planCollectives(message) || !makeStaging(message) || !makeMarks(message))
    return false;
  // No rank begins to wait for others before all can be waited for.
  if (!createGroups(capturesCollectives(gpuProgram), message) ||
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

void NcclCommunicator::beginStep() {
  // The device has nothing to do, so nobody else writes these.
  for (int32_t i = 0; i < program->stream_count; ++i)
    progress[i].begun = progress[i].done = 0;
  log.beginStep();
  stepBegin = Clock::now();
  watchdog->beginStep();
}

bool NcclCommunicator::isStepLong() const {
  std::chrono::duration<double> elapsed = Clock::now() - stepBegin.load();
  return elapsed.count() > getLongSeconds();
}

void NcclCommunicator::endStep() {
  watchdog->endStep();
  log.endStep();
}

/// The device writes a number to memory of the host.
bool NcclCommunicator::mark(const volatile uint32_t &place, uint32_t value,
                            CuStream stream, std::string &message) {
  return check(driver.cuMemcpyDtoHAsync_v2(const_cast<uint32_t *>(&place),
                                           numbers + value * sizeof(uint32_t),
                                           sizeof(uint32_t), stream),
               "cannot write progress", message);
}

void NcclCommunicator::replay(int64_t number) {
  const rg_instruction &instruction = program->instructions[number];
  const PlannedCollective &planned = collectives[size_t(instruction.index)];
  NcclGroup &group = *planned.group;
  CollectiveEntry entry;
  entry.sequence = group.countCollective();
  entry.stream = instruction.stream;
  entry.mark = marks[size_t(number)];
  entry.bytes = planned.bytes;
  entry.group = &group.getMembers();
  entry.collective = &program->collectives[instruction.index].collective;
  entry.instruction = &instruction;
  log.add(entry);
}

bool NcclCommunicator::start(int32_t rank, int64_t number,
                             const CuAddress *buffers, CuStream stream,
                             std::string &message) {
  // A graph writes the same marks whenever it is launched.
  replay(number);
  const rg_instruction &instruction = program->instructions[number];
  PlannedCollective &planned = collectives[size_t(instruction.index)];
  NcclGroup &group = *planned.group;
  uint32_t value = marks[size_t(number)];
  WorkLabel label = {rank, number, instruction.description};
  PlanMemory memory = {buffers, staging[size_t(instruction.stream)]};
  auto ranks = int64_t(group.getMembers().size());
  StreamProgress &at = progress[instruction.stream];
  bool isGood = mark(at.begun, value, stream, message);
  for (const PlanPhase &phase : planned.plan.phases) {
    isGood = isGood &&
             runner.run(phase, ranks, memory, stream, label, message) &&
             (!phase.hasExchange() ||
              group.exchange(phase, memory, stream, message));
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

bool NcclCommunicator::pollGroups(std::string &message) {
  for (const auto &group : groups)
    if (!group->poll(message))
      return false;
  return true;
}

/// What has failed before counts, too: another thread may have found it, and
/// communicators that were ended report nothing.
bool NcclCommunicator::pollFailure(std::string &message) {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (!failure.empty()) {
      message = failure;
      return false;
    }
  }
  return pollGroups(message);
}

bool NcclCommunicator::poll(std::string &message) {
  std::string reason;
  if (!pollGroups(reason))
    fail(reason);
  std::lock_guard<std::mutex> lock(failureMutex);
  if (failure.empty())
    return true;
  message = failure;
  return false;
}

/// Keeps the first failure, says where the rank is, and ends all that waits.
void NcclCommunicator::fail(const std::string &reason) {
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
void NcclCommunicator::startAbort() {
  // At once, as ending one may wait for another.
  for (const std::shared_ptr<NcclGroup> &group : groups) {
    if (!group->close())
      continue;
    {
      std::lock_guard<std::mutex> lock(ending->mutex);
      ++ending->numLeft;
    }
    std::thread([group, ending = ending] {
      group->abort();
      std::lock_guard<std::mutex> lock(ending->mutex);
      --ending->numLeft;
      ending->wake.notify_all();
    }).detach();
  }
}

void NcclCommunicator::abort() {
  startAbort();
  std::chrono::duration<double> limit(options.abortSeconds);
  std::unique_lock<std::mutex> lock(ending->mutex);
  ending->wake.wait_for(lock, limit, [this] { return ending->numLeft == 0; });
}
