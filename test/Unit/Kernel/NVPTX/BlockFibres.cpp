//===- BlockFibres.cpp - The threads of a block as fibres -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockFibres.h"

#include "WarpExchange.h"

#include <cmath>
#include <cstring>
#include <ucontext.h>

using namespace regather;
using namespace regather::nvptx;

namespace {
constexpr size_t kStackBytes = 128 * 1024;
constexpr int64_t kWarpThreads = 32;

/// What a thread waits for.
enum class State { Ready, Barrier, Warp, Done };

/// An access of cp.async that goes on while the thread does.
struct Copy {
  char *target;
  const char *source;
  int64_t bytes, group;
};

struct Fibre {
  ucontext_t context;
  std::vector<char> stack;
  State state = State::Ready;
  LaneExchange exchange;
  /// Copies that have begun, and the groups of them that have ended.
  std::vector<Copy> copies;
  int64_t groups = 0;
};

class BlockFibres {
public:
  BlockFibres(int64_t block, int64_t threads, ThreadOrder order,
              MemoryMonitor &monitor, llvm::function_ref<void()> body)
      : block(block), monitor(monitor), order(order), body(body),
        fibres(threads) {}

  llvm::Error run();

  void wait(State state) {
    fibres[current].state = state;
    swapcontext(&fibres[current].context, &scheduler);
  }
  Fibre &getCurrent() { return fibres[current]; }

  int64_t block;
  MemoryMonitor &monitor;
  size_t current = 0;
  bool isTrapped = false;

private:
  static void enter();
  void runReady();
  /// Lets threads go on that all wait for each other; false if none do.
  bool release();

  ThreadOrder order;
  llvm::function_ref<void()> body;
  std::vector<Fibre> fibres;
  ucontext_t scheduler;
};

BlockFibres *running = nullptr;
} // namespace

void BlockFibres::enter() {
  running->body();
  // The context ends here for good.
  running->wait(State::Done);
}

void BlockFibres::runReady() {
  for (size_t i = 0; i != fibres.size(); ++i) {
    current = order == ThreadOrder::Ascending ? i : fibres.size() - 1 - i;
    if (fibres[current].state == State::Ready)
      swapcontext(&scheduler, &fibres[current].context);
  }
}

bool BlockFibres::release() {
  auto isAt = [](llvm::MutableArrayRef<Fibre> some, State state) {
    return llvm::all_of(
        some, [&](const Fibre &fibre) { return fibre.state == state; });
  };
  bool isReleased = false;
  for (size_t first = 0; first < fibres.size(); first += kWarpThreads) {
    auto warp = llvm::MutableArrayRef(fibres).slice(first, kWarpThreads);
    if (!isAt(warp, State::Warp))
      continue;
    llvm::SmallVector<LaneExchange *> lanes;
    for (Fibre &fibre : warp)
      lanes.push_back(&fibre.exchange);
    if (!exchange(lanes, static_cast<int64_t>(first), monitor))
      continue;
    for (Fibre &fibre : warp)
      fibre.state = State::Ready;
    isReleased = true;
  }
  if (!isReleased && isAt(fibres, State::Barrier)) {
    for (Fibre &fibre : fibres)
      fibre.state = State::Ready;
    monitor.passBarrier();
    isReleased = true;
  }
  return isReleased;
}

llvm::Error BlockFibres::run() {
  running = this;
  monitor.beginBlock(block);
  for (Fibre &fibre : fibres) {
    fibre.stack.resize(kStackBytes);
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.data();
    fibre.context.uc_stack.ss_size = fibre.stack.size();
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, &BlockFibres::enter, 0);
  }
  do
    runReady();
  while (release());
  running = nullptr;
  if (!monitor.getError().empty())
    return llvm::createStringError(monitor.getError());
  if (isTrapped)
    return llvm::createStringError("an index is out of bounds");
  for (const Fibre &fibre : fibres)
    if (fibre.state != State::Done)
      return llvm::createStringError(
          "threads of block %lld wait for others that do not come",
          static_cast<long long>(block));
  return llvm::Error::success();
}

llvm::Error regather::nvptx::runBlock(int64_t block, int64_t threads,
                                      ThreadOrder order, MemoryMonitor &monitor,
                                      llvm::function_ref<void()> body) {
  return BlockFibres(block, threads, order, monitor, body).run();
}

int64_t regather::nvptx::emulateThreadId() {
  return static_cast<int64_t>(running->current);
}

int64_t regather::nvptx::emulateBlockId() { return running->block; }

void regather::nvptx::emulateBarrier() { running->wait(State::Barrier); }

/// What the warp of the running thread does together.
static LaneExchange &exchangeAs(LaneExchange::Kind kind,
                                std::initializer_list<int64_t> sent) {
  LaneExchange &own = running->getCurrent().exchange;
  own.kind = kind;
  llvm::copy(sent, own.sent.begin());
  running->wait(State::Warp);
  return own;
}

int64_t regather::nvptx::emulateShuffleXor(int64_t value, int32_t offset) {
  return exchangeAs(LaneExchange::Kind::Shuffle, {value, offset}).received[0];
}

void regather::nvptx::emulateLoadMatrices(int64_t address) {
  exchangeAs(LaneExchange::Kind::LoadMatrices, {address});
}

void regather::nvptx::emulateLoadTransposed(int64_t address) {
  exchangeAs(LaneExchange::Kind::LoadTransposed, {address});
}

void regather::nvptx::emulateMultiplyBF16(int32_t a0, int32_t a1, int32_t a2,
                                          int32_t a3, int32_t b0, int32_t b1,
                                          int32_t c0, int32_t c1, int32_t c2,
                                          int32_t c3) {
  exchangeAs(LaneExchange::Kind::MultiplyBF16,
             {a0, a1, a2, a3, b0, b1, c0, c1, c2, c3});
}

void regather::nvptx::emulateMultiplyF16(int32_t a0, int32_t a1, int32_t a2,
                                         int32_t a3, int32_t b0, int32_t b1,
                                         int32_t c0, int32_t c1, int32_t c2,
                                         int32_t c3) {
  exchangeAs(LaneExchange::Kind::MultiplyF16,
             {a0, a1, a2, a3, b0, b1, c0, c1, c2, c3});
}

int32_t regather::nvptx::emulateReceived(int32_t number) {
  return static_cast<int32_t>(
      running->getCurrent().exchange.received[static_cast<size_t>(number)]);
}

/// Of cp.async.
static constexpr int64_t kCopyBytes = 16;

void regather::nvptx::emulateCopy(char *target, const char *source,
                                  int64_t bytes) {
  auto access = [&](const char *address, int64_t count, AccessKind kind) {
    emulateAccess(const_cast<char *>(address), count, kCopyBytes,
                  static_cast<int32_t>(kind));
  };
  if (bytes != 0)
    access(source, bytes, AccessKind::Read);
  access(target, kCopyBytes, AccessKind::BeginCopy);
  Fibre &fibre = running->getCurrent();
  fibre.copies.push_back({target, source, bytes, fibre.groups});
}

void regather::nvptx::emulateCommitCopies() { ++running->getCurrent().groups; }

void regather::nvptx::emulateWaitForCopies(int32_t groups) {
  Fibre &fibre = running->getCurrent();
  // Only now is there what has been copied.
  llvm::erase_if(fibre.copies, [&](const Copy &copy) {
    if (copy.group >= fibre.groups - groups)
      return false;
    emulateAccess(copy.target, kCopyBytes, kCopyBytes,
                  static_cast<int32_t>(AccessKind::EndCopy));
    memset(copy.target, 0, kCopyBytes);
    memcpy(copy.target, copy.source, static_cast<size_t>(copy.bytes));
    return true;
  });
}

float regather::nvptx::emulateExp2(float x) { return std::exp2(x); }

void regather::nvptx::emulateTrap() { running->isTrapped = true; }

void regather::nvptx::emulateAccess(char *address, int64_t bytes,
                                    int64_t alignment, int32_t kind) {
  // The thread ends before it does what it must not.
  if (!running->monitor.access(emulateThreadId(), address, bytes, alignment,
                               static_cast<AccessKind>(kind)))
    running->wait(State::Done);
}
