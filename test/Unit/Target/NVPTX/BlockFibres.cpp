//===- BlockFibres.cpp - The threads of a block as fibres -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockFibres.h"

#include <ucontext.h>

using namespace regather;
using namespace regather::nvptx;

namespace {
constexpr size_t kStackBytes = 128 * 1024;
constexpr int64_t kWarpThreads = 32;

/// What a thread waits for.
enum class State { Ready, Barrier, Shuffle, Done };

struct Fibre {
  ucontext_t context;
  std::vector<char> stack;
  State state = State::Ready;
  int64_t sent = 0, received = 0;
  int64_t offset = 0;
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
    if (!isAt(warp, State::Shuffle))
      continue;
    for (auto [lane, fibre] : llvm::enumerate(warp)) {
      fibre.received = warp[lane ^ fibre.offset].sent;
      fibre.state = State::Ready;
    }
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

int64_t regather::nvptx::emulateShuffleXor(int64_t value, int32_t offset) {
  Fibre &fibre = running->getCurrent();
  fibre.sent = value;
  fibre.offset = offset;
  running->wait(State::Shuffle);
  return fibre.received;
}

void regather::nvptx::emulateTrap() { running->isTrapped = true; }

void regather::nvptx::emulateAccess(char *address, int64_t bytes,
                                    int64_t alignment, int32_t kind) {
  // The thread ends before it does what it must not.
  if (!running->monitor.access(emulateThreadId(), address, bytes, alignment,
                               static_cast<AccessKind>(kind)))
    running->wait(State::Done);
}
