//===- PtxInterpreter.cpp - Kernels in PTX, run here ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxInterpreter.h"

#include "MemoryMonitor.h"
#include "PtxTensorCores.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace regather::runtime;

using Kind = PtxInstruction::Kind;

/// Lanes of a warp.
static constexpr size_t kLanes = 32;

/// Bytes that cp.async copies, and of a row that ldmatrix reads.
static constexpr size_t kCopyBytes = 16;

namespace {
/// Runs the blocks of one launch.
class PtxMachine {
public:
  PtxMachine(const PtxFunction &kernel, const PtxLaunch &launch)
      : kernel(kernel), launch(launch), stride(kernel.initial.size()),
        states(size_t(launch.threads)),
        registers(stride * size_t(launch.threads)),
        sharedBytes(size_t(kernel.sharedBytes + launch.dynamicSharedBytes)),
        local(size_t(kernel.localBytes) * size_t(launch.threads)) {
    if (launch.monitor) {
      shared = launch.monitor->allocate("shared memory", sharedBytes,
                                        MemoryMonitor::Kind::Shared);
    } else {
      ownShared.resize(sharedBytes);
      shared = ownShared.data();
    }
  }

  std::string run();

private:
  /// Waits for the block, or for the warp.
  enum class State : uint8_t { Ready, Barrier, Warp, Ended };
  /// What cp.async has begun.
  struct Copy {
    std::byte *target;
    const std::byte *source;
    size_t bytes;
    int64_t group;
  };
  struct Thread {
    size_t next = 0;
    State state = State::Ready;
    std::vector<Copy> copies;
    int64_t groups = 0; ///< of copies, that have ended

    void goOn() {
      ++next;
      state = State::Ready;
    }
  };

  void initialize();
  bool runBlock(int64_t block);
  bool runWarp(size_t begin, size_t end);
  bool runTogether(size_t begin, size_t end);
  /// Numbers from 0 to `count`, in the order in which threads run.
  size_t getTurn(size_t i, size_t count) const {
    return launch.order == ThreadOrder::Ascending ? i : count - 1 - i;
  }
  void shuffle(const PtxInstruction &instruction, size_t begin, size_t end);
  bool runTensorCores(const PtxInstruction &instruction, size_t begin,
                      size_t end);
  bool beginCopy(const PtxInstruction &instruction, const uint64_t *values);
  bool endCopies(const PtxInstruction &instruction, Thread &thread);
  State runThread(const PtxFunction &function, uint64_t *values, size_t &next);
  bool call(const PtxInstruction &instruction, uint64_t *values);
  std::byte *find(const PtxInstruction &instruction, const uint64_t *values,
                  size_t bytes);
  bool isAligned(uint64_t address, size_t bytes);
  /// Memory that the running thread touches; null, after a problem, if it must
  /// not.
  std::byte *findShared(uint64_t address, size_t bytes, MemoryAccess access);
  std::byte *findGlobal(uint64_t address, size_t bytes, MemoryAccess access);
  bool watch(size_t thread, const std::byte *data, size_t bytes,
             size_t alignment, MemoryAccess access);
  bool watchMatrices(const PtxInstruction &instruction, const PtxRows &rows,
                     size_t begin);
  bool load(const PtxInstruction &instruction, uint64_t *values);
  bool store(const PtxInstruction &instruction, const uint64_t *values);
  bool fail(const std::string &message) {
    if (problem.empty())
      problem = message;
    return false;
  }

  const PtxFunction &kernel;
  const PtxLaunch &launch;
  size_t stride;
  std::vector<Thread> states;
  std::vector<uint64_t> registers; ///< of all threads
  std::byte *shared;
  size_t sharedBytes;
  std::vector<std::byte> ownShared; ///< unless it is watched
  std::vector<std::byte> local;     ///< of all threads
  size_t running = 0;               ///< number of the thread that runs
  size_t lastRange = 0;
  int depth = 0;
  std::string problem;
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Where the elements of a load or a store lie; null if they are outside of the
/// memory or not aligned.
std::byte *PtxMachine::find(const PtxInstruction &instruction,
                            const uint64_t *values, size_t bytes) {
  uint64_t address =
      values[instruction.operands[0]] + uint64_t(instruction.offset);
  bool isStore = instruction.kind == Kind::StoreShared ||
                 instruction.kind == Kind::StoreGlobal ||
                 instruction.kind == Kind::StoreGeneric;
  MemoryAccess access = isStore ? MemoryAccess::Write : MemoryAccess::Read;
  if (instruction.kind == Kind::LoadShared ||
      instruction.kind == Kind::StoreShared)
    return findShared(address, bytes, access);
  if (instruction.kind == Kind::LoadLocal ||
      instruction.kind == Kind::StoreLocal) {
    // Functions that have local memory are kernels.
    auto size = size_t(kernel.localBytes);
    if (isAligned(address, bytes) && address <= size && bytes <= size - address)
      return local.data() + running * size + address;
    fail("an address is outside of local memory");
    return nullptr;
  }
  bool isGeneric = instruction.kind == Kind::LoadGeneric ||
                   instruction.kind == Kind::StoreGeneric;
  if (isGeneric && address >= kSharedWindow)
    return findShared(address - kSharedWindow, bytes, access);
  return findGlobal(address, bytes, access);
}

bool PtxMachine::isAligned(uint64_t address, size_t bytes) {
  return address % bytes == 0 ||
         fail("an address is not aligned to the " + std::to_string(bytes) +
              " bytes of the access");
}

/// True if the thread may touch memory, or if none is watched.
bool PtxMachine::watch(size_t thread, const std::byte *data, size_t bytes,
                       size_t alignment, MemoryAccess access) {
  return !launch.monitor ||
         launch.monitor->access(int64_t(thread), data, bytes, alignment,
                                access) ||
         fail(launch.monitor->getError());
}

std::byte *PtxMachine::findShared(uint64_t address, size_t bytes,
                                  MemoryAccess access) {
  if (launch.monitor && address < sharedBytes) {
    std::byte *data = shared + address;
    return watch(running, data, bytes, bytes, access) ? data : nullptr;
  }
  if (!isAligned(address, bytes))
    return nullptr;
  if (address <= sharedBytes && bytes <= sharedBytes - address)
    return shared + address;
  fail("an address is outside of shared memory");
  return nullptr;
}

std::byte *PtxMachine::findGlobal(uint64_t address, size_t bytes,
                                  MemoryAccess access) {
  for (size_t i = 0; i < launch.memory.size(); ++i) {
    // Mostly the one of the access before.
    size_t number = (lastRange + i) % launch.memory.size();
    const DeviceRange &range = launch.memory[number];
    uint64_t offset = address - range.address;
    if (offset > range.bytes || bytes > range.bytes - offset)
      continue;
    lastRange = number;
    return isAligned(address, bytes) ? reinterpret_cast<std::byte *>(address)
                                     : nullptr;
  }
  if (launch.monitor) {
    auto *data = reinterpret_cast<std::byte *>(address);
    return watch(running, data, bytes, bytes, access) ? data : nullptr;
  }
  fail("address " + std::to_string(address) + " lies in no allocation");
  return nullptr;
}

bool PtxMachine::load(const PtxInstruction &instruction, uint64_t *values) {
  size_t size = size_t(std::abs(instruction.bytes));
  std::byte *data =
      find(instruction, values, size * instruction.results.size());
  if (!data)
    return false;
  for (int result : instruction.results) {
    uint64_t value = 0;
    std::memcpy(&value, data, size);
    if (instruction.bytes < 0 && size < 8) {
      // Registers that integers of fewer bits are loaded into have 32.
      int shift = int(64 - 8 * size);
      value = uint32_t(int64_t(value << shift) >> shift);
    }
    values[result] = value;
    data += size;
  }
  return true;
}

bool PtxMachine::store(const PtxInstruction &instruction,
                       const uint64_t *values) {
  size_t size = size_t(std::abs(instruction.bytes));
  std::byte *data =
      find(instruction, values, size * (instruction.operands.size() - 1));
  if (!data)
    return false;
  for (size_t i = 1; i < instruction.operands.size(); ++i, data += size)
    std::memcpy(data, &values[instruction.operands[i]], size);
  return true;
}

bool PtxMachine::beginCopy(const PtxInstruction &instruction,
                           const uint64_t *values) {
  const std::vector<int> &operands = instruction.operands;
  size_t bytes = kCopyBytes;
  if (operands.size() == 3)
    bytes = std::min(bytes, size_t(uint32_t(values[operands[2]])));
  std::byte *target =
      findShared(values[operands[0]] + uint64_t(instruction.offset), kCopyBytes,
                 MemoryAccess::BeginCopy);
  uint64_t source = values[operands[1]] + uint64_t(instruction.sourceOffset);
  // Nothing is read of what is filled up with zeros.
  const std::byte *data =
      bytes == 0 ? shared : findGlobal(source, kCopyBytes, MemoryAccess::Read);
  if (!target || !data)
    return false;
  Thread &thread = states[running];
  thread.copies.push_back({target, data, bytes, thread.groups});
  return true;
}

bool PtxMachine::endCopies(const PtxInstruction &instruction, Thread &thread) {
  auto goesOn = [&](const Copy &copy) {
    return copy.group >= thread.groups - instruction.offset;
  };
  for (const Copy &copy : thread.copies)
    if (!goesOn(copy)) {
      if (!watch(running, copy.target, kCopyBytes, kCopyBytes,
                 MemoryAccess::EndCopy))
        return false;
      std::memset(copy.target, 0, kCopyBytes);
      std::memcpy(copy.target, copy.source, copy.bytes);
    }
  thread.copies.erase(
      std::remove_if(thread.copies.begin(), thread.copies.end(),
                     [&](const Copy &copy) { return !goesOn(copy); }),
      thread.copies.end());
  return true;
}

//===----------------------------------------------------------------------===//
// A thread
//===----------------------------------------------------------------------===//

static uint64_t getMask(int bits) {
  return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

static void unpack(const PtxInstruction &instruction, uint64_t *values) {
  uint64_t bits = values[instruction.operands[0]];
  for (int result : instruction.results) {
    if (result >= 0)
      values[result] = bits & getMask(instruction.bytes);
    bits >>= instruction.bytes;
  }
}

static void pack(const PtxInstruction &instruction, uint64_t *values) {
  uint64_t bits = 0;
  for (size_t i = instruction.operands.size(); i-- > 0;)
    bits = bits << instruction.bytes |
           (values[instruction.operands[i]] & getMask(instruction.bytes));
  values[instruction.results[0]] = bits;
}

static void multiplyAdd(const PtxInstruction &instruction, int carry,
                        uint64_t *values) {
  const int *operands = instruction.operands.data();
  uint64_t product =
      (values[operands[0]] & getMask(32)) * (values[operands[1]] & getMask(32));
  uint64_t half = instruction.isHigh ? product >> 32 : product & getMask(32);
  uint64_t sum = half + (values[operands[2]] & getMask(32)) +
                 (instruction.addsCarry ? values[carry] : 0);
  values[instruction.results[0]] = sum & getMask(32);
  if (instruction.setsCarry)
    values[carry] = sum >> 32;
}

bool PtxMachine::call(const PtxInstruction &instruction, uint64_t *values) {
  constexpr int kMostCalls = 16;
  const PtxFunction &callee = *instruction.callee;
  if (++depth > kMostCalls)
    return fail("functions call each other without end");
  std::vector<uint64_t> inner = callee.initial;
  for (size_t i = 0; i < callee.parameters.size(); ++i)
    inner[size_t(callee.parameters[i])] = values[instruction.operands[i]];
  size_t next = 0;
  if (runThread(callee, inner.data(), next) != State::Ended)
    return fail("a function waits for other threads");
  for (size_t i = 0; i < callee.results.size(); ++i)
    values[instruction.results[i]] = inner[size_t(callee.results[i])];
  --depth;
  return problem.empty();
}

/// Runs until the thread ends or waits; `next` is the instruction it waits at.
/// Ends after a problem.
PtxMachine::State PtxMachine::runThread(const PtxFunction &function,
                                        uint64_t *values, size_t &next) {
  size_t count = function.instructions.size();
  while (next < count) {
    const PtxInstruction &instruction = function.instructions[next];
    if (instruction.predicate >= 0 &&
        (values[instruction.predicate] != 0) == instruction.isNegated) {
      ++next;
      continue;
    }
    bool isGood = true;
    switch (instruction.kind) {
    case Kind::Compute: {
      const int *operands = instruction.operands.data();
      values[instruction.results[0]] = instruction.compute(
          values[operands[0]], values[operands[1]], values[operands[2]]);
      break;
    }
    case Kind::Unpack:
      unpack(instruction, values);
      break;
    case Kind::Pack:
      pack(instruction, values);
      break;
    case Kind::LoadGeneric:
    case Kind::LoadGlobal:
    case Kind::LoadShared:
    case Kind::LoadLocal:
      isGood = load(instruction, values);
      break;
    case Kind::StoreGeneric:
    case Kind::StoreGlobal:
    case Kind::StoreShared:
    case Kind::StoreLocal:
      isGood = store(instruction, values);
      break;
    case Kind::MultiplyAdd:
      multiplyAdd(instruction, function.carry, values);
      break;
    case Kind::Branch:
      next = instruction.target;
      continue;
    case Kind::Call:
      isGood = call(instruction, values);
      break;
    case Kind::Return:
      return State::Ended;
    case Kind::Barrier:
      return State::Barrier;
    case Kind::Shuffle:
    case Kind::LoadMatrices:
    case Kind::Multiply:
      return State::Warp;
    case Kind::Copy:
      isGood = beginCopy(instruction, values);
      break;
    case Kind::CommitCopies:
      ++states[running].groups;
      break;
    case Kind::WaitForCopies:
      isGood = endCopies(instruction, states[running]);
      break;
    case Kind::Trap:
      isGood = fail("the kernel stops itself: an index is out of bounds");
      break;
    }
    if (!isGood)
      return State::Ended;
    ++next;
  }
  return State::Ended;
}

//===----------------------------------------------------------------------===//
// Threads together
//===----------------------------------------------------------------------===//

/// The lane that a lane gets its value from; itself if there is none.
static size_t getSource(const PtxInstruction &instruction, size_t lane,
                        uint64_t operand, size_t count) {
  using Mode = PtxInstruction::ShuffleMode;
  size_t source = lane;
  switch (instruction.mode) {
  case Mode::Butterfly:
    source = lane ^ size_t(operand);
    break;
  case Mode::Down:
    source = lane + size_t(operand);
    break;
  case Mode::Up:
    source = lane - size_t(operand);
    break;
  case Mode::Index:
    source = size_t(operand);
    break;
  }
  return source < count ? source : lane;
}

void PtxMachine::shuffle(const PtxInstruction &instruction, size_t begin,
                         size_t end) {
  uint64_t values[kLanes] = {};
  for (size_t i = begin; i < end; ++i)
    values[i - begin] = registers[i * stride + size_t(instruction.operands[0])];
  for (size_t i = begin; i < end; ++i) {
    uint64_t *own = &registers[i * stride];
    own[instruction.results[0]] = values[getSource(
        instruction, i - begin, own[instruction.operands[1]], end - begin)];
  }
}

bool PtxMachine::runTensorCores(const PtxInstruction &instruction, size_t begin,
                                size_t end) {
  PtxLanes lanes;
  if (end - begin != lanes.size())
    return fail("tensor cores need all lanes of a warp");
  for (size_t i = begin; i < end; ++i)
    lanes[i - begin] = &registers[i * stride];
  if (instruction.kind == Kind::Multiply) {
    multiplyFragments(instruction, lanes);
    return true;
  }
  PtxRows rows;
  for (size_t i = 0; i < lanes.size(); ++i) {
    uint64_t address =
        lanes[i][instruction.operands[0]] + uint64_t(instruction.offset);
    if (!isAligned(address, kCopyBytes))
      return false;
    if (address > sharedBytes || kCopyBytes > sharedBytes - address)
      return fail("an address is outside of shared memory");
    rows[i] = shared + address;
  }
  if (launch.monitor && !watchMatrices(instruction, rows, begin))
    return false;
  loadFragments(instruction, rows, lanes);
  return true;
}

/// A lane reads its elements itself: another lane may have written them.
bool PtxMachine::watchMatrices(const PtxInstruction &instruction,
                               const PtxRows &rows, size_t begin) {
  for (size_t i = 0; i < instruction.results.size(); ++i)
    if (meetInBanks(&rows[8 * i]))
      launch.monitor->noteBankConflict();
  for (size_t lane = 0; lane < rows.size(); ++lane)
    for (size_t i = 0; i < instruction.results.size(); ++i)
      for (size_t half = 0; half < 2; ++half)
        if (!watch(begin + lane, findElement(instruction, rows, lane, i, half),
                   2, 2, MemoryAccess::Read))
          return false;
  return true;
}

/// Runs the instruction that all lanes of a warp wait at.
bool PtxMachine::runTogether(size_t begin, size_t end) {
  size_t at = states[begin].next;
  const PtxInstruction &instruction = kernel.instructions[at];
  for (size_t i = begin; i < end; ++i)
    if (states[i].state != State::Warp || states[i].next != at)
      return fail("threads of a warp do not meet at a shuffle");
  if (instruction.kind == Kind::Shuffle)
    shuffle(instruction, begin, end);
  else if (!runTensorCores(instruction, begin, end))
    return false;
  for (size_t i = begin; i < end; ++i)
    states[i].goOn();
  return true;
}

bool PtxMachine::runWarp(size_t begin, size_t end) {
  while (true) {
    bool waits = false;
    for (size_t lane = 0; lane < end - begin; ++lane) {
      running = begin + getTurn(lane, end - begin);
      Thread &thread = states[running];
      if (thread.state == State::Ready)
        thread.state =
            runThread(kernel, &registers[running * stride], thread.next);
      waits |= thread.state == State::Warp;
    }
    if (!problem.empty())
      return false;
    if (!waits)
      return true;
    if (!runTogether(begin, end))
      return false;
  }
}

bool PtxMachine::runBlock(int64_t block) {
  for (size_t i = 0; i < states.size(); ++i) {
    registers[i * stride + size_t(kernel.block)] = uint64_t(block);
    states[i] = Thread();
  }
  if (launch.monitor)
    launch.monitor->beginBlock(block);
  size_t warps = (states.size() + kLanes - 1) / kLanes;
  while (true) {
    for (size_t i = 0; i < warps; ++i) {
      size_t begin = kLanes * getTurn(i, warps);
      if (!runWarp(begin, std::min(begin + kLanes, states.size())))
        return false;
    }
    auto waits = [](const Thread &thread) {
      return thread.state == State::Barrier;
    };
    if (std::none_of(states.begin(), states.end(), waits))
      return true;
    if (!std::all_of(states.begin(), states.end(), waits))
      return fail("threads of a block do not meet at a barrier");
    for (Thread &thread : states)
      thread.goOn();
    if (launch.monitor)
      launch.monitor->passBarrier();
  }
}

/// What does not change from block to block: nothing writes to the registers of
/// immediate operands and parameters.
void PtxMachine::initialize() {
  for (size_t i = 0; i < states.size(); ++i) {
    uint64_t *own = &registers[i * stride];
    std::copy(kernel.initial.begin(), kernel.initial.end(), own);
    for (size_t p = 0; p < kernel.parameters.size(); ++p)
      own[kernel.parameters[p]] = launch.parameters[p];
    own[kernel.thread] = i;
    own[kernel.threads] = uint64_t(launch.threads);
    own[kernel.blocks] = uint64_t(launch.blocks);
  }
}

std::string PtxMachine::run() {
  initialize();
  if (launch.monitor)
    launch.monitor->beginLaunch();
  for (int64_t block = 0; block < launch.blocks && problem.empty(); ++block)
    runBlock(block);
  return problem;
}

std::string regather::runtime::runPtx(const PtxFunction &kernel,
                                      const PtxLaunch &launch) {
  if (!kernel.unknown.empty())
    return "nothing runs '" + kernel.unknown + "'";
  return PtxMachine(kernel, launch).run();
}
