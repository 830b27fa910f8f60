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
using regather::Failure;
using regather::Result;

NcclCommunicator::NcclCommunicator(const DriverApi &driver, RankStore &store,
                                   NcclOptions options)
    : driver(driver), store(store), options(std::move(options)), runner(driver),
      log(this->options.rank, size_t(this->options.logEntries)) {}

NcclCommunicator::~NcclCommunicator() {
  watchdog.reset();
  // All of them end before one is destroyed: a kernel of one may wait for what
  // another one does.
  if (poll()) {
    startAbort();
    awaitAbort();
  } else {
    store.leave();
  }
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

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

Failure NcclCommunicator::open() {
  // Kernels of two communicators may need each other's processors to go on.
  // All ranks start them in one order, and the library keeps to it if told so.
  static std::once_flag isSet;
  std::call_once(isSet, [] {
    setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
  });
  return nccl->load(options.library);
}

Result<CuAddress> NcclCommunicator::allocate(int64_t bytes) {
  CuAddress address = 0;
  if (bytes == 0)
    return address;
  if (nccl->hasWindows()) {
    void *memory = nullptr;
    NcclResult result = nccl->ncclMemAlloc(&memory, size_t(bytes));
    if (result != kNcclSuccess)
      return Failure(
          "cannot allocate " + std::to_string(bytes) +
              " bytes for the arena: " + nccl->describe(result, nullptr),
          RG_ERROR_MEMORY);
    address = CuAddress(reinterpret_cast<uintptr_t>(memory));
  } else if (Failure problem =
                 driver.check(driver.cuMemAlloc_v2(&address, size_t(bytes)),
                              "cannot allocate the arena")) {
    return Failure(problem.getMessage(), RG_ERROR_MEMORY);
  }
  arenas.push_back({address, bytes});
  return address;
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

int64_t NcclCommunicator::estimateLibraryBytes(const rg_program &tables) const {
  // Buffers for some tens of channels to each peer.
  constexpr int64_t kBytesOfGroup = int64_t(256) << 20;
  using Use = NcclGroup::Use;
  int64_t bytes = 0;
  for (Use use : {Use::Move, Use::Reduce}) {
    std::vector<bool> isUsed = findAxes(tables, use);
    for (size_t axes = 0; axes < isUsed.size(); ++axes)
      if (isUsed[axes] && getGroup(tables.axes[axes], options.rank).size() > 1)
        bytes += kBytesOfGroup;
  }
  return bytes;
}

/// Creates the communicators that collectives need, in the order of the axes
/// and, for equal groups, of their use.
Failure NcclCommunicator::createGroups(bool inGraphs) {
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
      Failure problem = store.barrier(
          "the communicators of axes " + std::to_string(axes) +
          (use == Use::Move ? " for gathers" : " for reductions"));
      if (!problem)
        problem = ofAxes[axes]->create(name, options.rank, store,
                                       options.setupSeconds);
      for (size_t i = 0; !problem && nccl->hasWindows() && i < arenas.size();
           ++i)
        problem = ofAxes[axes]->registerMemory(
            arenas[i].address, arenas[i].bytes, name + "/" + std::to_string(i),
            store, options.setupSeconds);
      if (problem)
        return problem;
    }
    for (int64_t i = 0; i < program->collective_count; ++i)
      if (getUse(program->collectives[i]) == use)
        collectives[size_t(i)].group =
            ofAxes[size_t(program->collectives[i].axes)];
  }
  return Failure();
}

Failure NcclCommunicator::planCollectives() {
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
    std::string problem = readCollective(entry, planOptions.ranks, collective);
    if (!problem.empty())
      return Failure("transfer " + std::to_string(i) + ": " + problem,
                     RG_ERROR_ARGUMENT);
    PlannedCollective &planned = collectives.emplace_back();
    planned.plan = planCollective(collective, planOptions);
    planned.bytes = int64_t(getReceivedBytes(collective, planOptions.ranks));
    if (Failure failed = runner.prepare(planned.plan))
      return failed;
  }
  return Failure();
}

Failure NcclCommunicator::makeStaging() {
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
    if (bytes == 0)
      continue;
    if (Failure problem =
            driver.check(driver.cuMemAlloc_v2(&address, size_t(bytes)),
                         ("cannot allocate " + std::to_string(bytes) +
                          " bytes of staging memory for transfers")
                             .c_str()))
      return problem;
  }
  return Failure();
}

/// Prepares what the device writes around each collective.
Failure NcclCommunicator::makeMarks() {
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
  Failure problem = driver.check(driver.cuMemAlloc_v2(&numbers, bytes),
                                 "cannot allocate memory for progress");
  if (!problem)
    problem = driver.check(driver.cuMemHostAlloc(&memory, progressBytes, 0),
                           "cannot allocate memory for progress");
  // At once, so that it is freed whatever fails.
  progress = static_cast<StreamProgress *>(memory);
  if (!problem)
    problem = driver.check(driver.cuStreamCreate(&stream, kCuStreamNonBlocking),
                           "cannot create a stream");
  if (problem)
    return problem;
  for (int32_t i = 0; i < program->stream_count; ++i)
    progress[i].begun = progress[i].done = 0;
  log.setProgress(progress);
  problem = driver.check(
      driver.cuMemcpyHtoDAsync_v2(numbers, values.data(), bytes, stream),
      "cannot copy to the device");
  if (!problem)
    problem = driver.check(driver.cuStreamSynchronize(stream),
                           "cannot copy to the device");
  driver.cuStreamDestroy_v2(stream);
  return problem;
}

Failure NcclCommunicator::prepare(const rg_program &newProgram, bool inGraphs) {
  program = &newProgram;
  if (program->ranks && program->ranks != options.ranks)
    return Failure("the program was compiled for " +
                       std::to_string(program->ranks) +
                       " ranks, but there are " + std::to_string(options.ranks),
                   RG_ERROR_ARGUMENT);
  Failure problem = planCollectives();
  if (!problem)
    problem = makeStaging();
  if (!problem)
    problem = makeMarks();
  if (problem)
    return problem;
  problem = createGroups(inGraphs);
  // No rank begins to wait for others before all can be waited for.
  if (!problem)
    problem = store.barrier("prepared");
  if (problem) {
    // To end them in order would wait for the ranks that are missing.
    abort(problem.getMessage());
    return problem;
  }
  watchdog = std::make_unique<Watchdog>(
      options.watchdog,
      [this] {
        // Of a step that takes long the ranks hear from each other, so that one
        // that has stopped is known when time is over.
        if (isStepLong())
          store.sayAlive();
        Failure failure = pollFailure();
        // Not each NCCL tells of a process that was killed.
        std::string dead = failure ? "" : store.describeDead();
        return dead.empty() ? failure : Failure(dead);
      },
      [this](const std::string &reason) {
        std::string silent =
            pollFailure() ? "" : store.describeSilent(getLongSeconds());
        fail(reason + (silent.empty() ? "" : "; ") + silent);
      });
  return Failure();
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
Failure NcclCommunicator::mark(const volatile uint32_t &place, uint32_t value,
                               CuStream stream) {
  return driver.check(
      driver.cuMemcpyDtoHAsync_v2(const_cast<uint32_t *>(&place),
                                  numbers + value * sizeof(uint32_t),
                                  sizeof(uint32_t), stream),
      "cannot write progress");
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

Failure NcclCommunicator::start(int32_t rank, int64_t number,
                                const CuAddress *buffers, CuStream stream) {
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
  Failure problem = mark(at.begun, value, stream);
  for (const PlanPhase &phase : planned.plan.phases) {
    if (!problem)
      problem = runner.run(phase, ranks, memory, stream, label);
    if (!problem && phase.hasExchange())
      problem = group.exchange(phase, memory, stream);
  }
  if (!problem)
    problem = mark(at.done, value, stream);
  if (!problem)
    return problem;
  fail(problem.getMessage());
  return poll();
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

Failure NcclCommunicator::pollGroups() {
  for (const auto &group : groups)
    if (Failure found = group->poll())
      return found;
  return Failure();
}

/// What has failed before counts, too: another thread may have found it, and
/// communicators that were ended report nothing.
Failure NcclCommunicator::pollFailure() {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (failure)
      return failure;
  }
  return pollGroups();
}

Failure NcclCommunicator::poll() {
  if (Failure found = pollGroups())
    fail(found.getMessage());
  std::lock_guard<std::mutex> lock(failureMutex);
  return failure;
}

/// Keeps the first failure, says where the rank is, and ends all that waits.
void NcclCommunicator::fail(const std::string &reason) {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (failure)
      return;
    std::string message = reason + "; " + log.describe();
    if (!options.logFile.empty()) {
      bool isWritten = log.write(options.logFile, reason);
      message += isWritten ? "; the last collectives are in '"
                           : "; the last collectives cannot be written to '";
      message += options.logFile + "'";
    }
    failure = Failure(message, RG_ERROR_DEVICE);
  }
  store.tellFailure(reason);
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

void NcclCommunicator::abort(const std::string &reason) {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (!failure)
      failure = Failure(reason, RG_ERROR_ABORTED);
  }
  startAbort();
  awaitAbort();
}

void NcclCommunicator::awaitAbort() {
  if (hasAwaitedAbort.exchange(true))
    return;
  std::chrono::duration<double> limit(options.abortSeconds);
  std::unique_lock<std::mutex> lock(ending->mutex);
  ending->wake.wait_for(lock, limit, [this] { return ending->numLeft == 0; });
}
