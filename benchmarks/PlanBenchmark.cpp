//===- PlanBenchmark.cpp - The memory planner beside a plain greedy one ---===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: regather-plan-bench [--effort N] [FILE.csv ...]
//
// Plans each file (columns: buffer, first step, end, size; a name such as
// A.1048576.csv says the capacity to reach), then synthetic training steps. The
// rival is the usual greedy planner of inference runtimes: largest buffer
// first, into the smallest gap that holds it, by a scan over all placed
// buffers.
//
//===----------------------------------------------------------------------===//

#include "PlanChecker.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace llvm;
using namespace regather;

namespace {
struct Case {
  std::string name;
  MemoryPlanRequest request;
  std::optional<uint64_t> capacity;
};
struct Rival {
  uint64_t peak = 0;
  double seconds = 0;
};
} // namespace

static Rival planGreedilyBySize(const MemoryPlanRequest &request) {
  auto start = std::chrono::steady_clock::now();
  ArrayRef<BufferRequest> buffers = request.buffers;
  std::vector<uint32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return buffers[a].size != buffers[b].size
               ? buffers[a].size > buffers[b].size
               : a < b;
  });
  std::vector<uint64_t> offsets(buffers.size());
  // By offset.
  std::vector<uint32_t> placed;
  Rival rival;
  for (uint32_t number : order) {
    const BufferRequest &buffer = buffers[number];
    uint64_t best = 0, bestGap = UINT64_MAX, end = 0;
    for (uint32_t other : placed) {
      const BufferRequest &neighbour = buffers[other];
      if (neighbour.begin >= buffer.end || neighbour.end <= buffer.begin)
        continue;
      uint64_t aligned = alignTo(end, buffer.alignment);
      if (aligned + buffer.size <= offsets[other] &&
          offsets[other] - aligned < bestGap) {
        best = aligned;
        bestGap = offsets[other] - aligned;
      }
      end = std::max(end, offsets[other] + neighbour.size);
    }
    if (bestGap == UINT64_MAX)
      best = alignTo(end, buffer.alignment);
    offsets[number] = best;
    rival.peak = std::max(rival.peak, best + buffer.size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), number,
                                   [&](uint32_t a, uint32_t b) {
                                     return offsets[a] < offsets[b];
                                   }),
                  number);
  }
  rival.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return rival;
}

static Expected<Case> readCase(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(path);
  if (!file)
    return createStringError(file.getError(), "cannot read " + path);
  Case result;
  result.name = sys::path::filename(path).str();
  uint64_t capacity = 0;
  if (!sys::path::extension(sys::path::stem(path))
           .drop_front()
           .getAsInteger(10, capacity))
    result.capacity = capacity;
  SmallVector<StringRef> lines;
  (*file)->getBuffer().trim().split(lines, '\n');
  for (auto [number, line] : drop_begin(enumerate(lines))) {
    SmallVector<StringRef> fields;
    line.trim().split(fields, ',');
    BufferRequest buffer;
    if (fields.size() < 4 || fields[1].getAsInteger(10, buffer.begin) ||
        fields[2].getAsInteger(10, buffer.end) ||
        fields[3].getAsInteger(10, buffer.size))
      return createStringError(formatv("{0}:{1}: expected a name and three "
                                       "numbers",
                                       path, number + 1)
                                   .str());
    result.request.buffers.push_back(buffer);
  }
  return result;
}

/// Lifetimes as in a sharded training step of about `count` buffers: parameters
/// are gathered before each layer, forward and backward, one layer ahead;
/// activations live until the backward of their layer; gradients until the
/// reduce-scatter one layer later. Sizes vary from layer to layer by a little.
static Case makeTrainingStep(uint32_t count) {
  constexpr uint32_t kOps = 12;
  constexpr uint64_t kKiB = 1024;
  std::mt19937_64 random(count);
  uint32_t layers = std::max(count / (3 * kOps + 4), 2U);
  uint64_t layerSteps = kOps, steps = 2 * layers * layerSteps;
  Case result;
  result.name = formatv("training step, {0} layers", layers).str();
  auto add = [&](uint64_t size, uint64_t begin, uint64_t end) {
    result.request.buffers.push_back(
        {size, 256, begin, std::min(std::max(end, begin + 1), steps + 1), {}});
  };
  for (uint32_t layer = 0; layer != layers; ++layer) {
    uint64_t forward = layer * layerSteps;
    uint64_t backward = steps - forward - layerSteps;
    uint64_t weights = 8192 * kKiB + random() % 16 * 64 * kKiB;
    uint64_t ahead = layerSteps;
    add(weights, forward - std::min(forward, ahead), forward + layerSteps);
    add(weights, backward - std::min(backward, ahead), backward + layerSteps);
    add(weights, backward, backward + 2 * layerSteps);
    for (uint32_t op = 0; op != kOps; ++op) {
      // Every other result is saved for the backward pass.
      uint64_t size = (1 + random() % 8) * 256 * kKiB + random() % 4 * 512;
      uint64_t step = forward + op, back = backward + kOps - 1 - op;
      add(size, step, op % 2 == 0 ? back + 1 : step + 1 + random() % 3);
      add(size, back, back + 2 + random() % 3);
      add(size / 2 + 4, back, back + 1);
    }
  }
  return result;
}

static int report(const Case &test, MemoryPlannerOptions options) {
  options.capacity = test.capacity;
  Result<MemoryPlan> plan = planMemory(test.request, options);
  if (!plan) {
    errs() << plan.getMessage() << "\n";
    return 1;
  }
  if (Failure failure =
          checkMemoryPlan(test.request, plan->offsets, plan->peak)) {
    errs() << failure.getMessage() << "\n";
    return 1;
  }
  Rival rival = planGreedilyBySize(test.request);
  auto gap = [&](uint64_t peak) {
    return 100.0 * static_cast<double>(peak - plan->lowerBound) /
           static_cast<double>(plan->lowerBound);
  };
  StringRef reached = !test.capacity                 ? "-"
                      : plan->peak <= *test.capacity ? "yes"
                                                     : "no";
  outs() << formatv("{0,-28} {1,7} {2,6} {3,8:f2} {4,8:f3} {5,8:f2} {6,8:f3}  "
                    "{7}\n",
                    test.name, test.request.buffers.size(), reached,
                    gap(plan->peak), plan->time.count(), gap(rival.peak),
                    rival.seconds, plan->strategy);
  outs().flush();
  return 0;
}

int main(int argc, char **argv) {
  MemoryPlannerOptions options;
  std::vector<Case> cases;
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    if (argument == "--effort" && i + 1 < argc) {
      if (StringRef(argv[++i]).getAsInteger(10, options.effort)) {
        errs() << "expected a number after --effort, got " << argv[i] << "\n";
        return 1;
      }
      continue;
    }
    Expected<Case> test = readCase(argument);
    if (!test) {
      errs() << toString(test.takeError()) << "\n";
      return 1;
    }
    cases.push_back(std::move(*test));
  }
  if (cases.empty())
    for (uint32_t count : {1000, 10000, 30000})
      cases.push_back(makeTrainingStep(count));
  outs() << formatv("{0,-28} {1,7} {2,6} {3,8} {4,8} {5,8} {6,8}  {7}\n",
                    "case", "buffers", "fits", "gap %", "s", "rival %", "s",
                    "strategy");
  int status = 0;
  for (const Case &test : cases)
    status |= report(test, options);
  return status;
}
