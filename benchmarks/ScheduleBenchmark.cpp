//===- ScheduleBenchmark.cpp - How the scheduler scales -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: regather-schedule-bench [MAXIMUM OPERATIONS]
//
// Schedules synthetic sharded training steps of more and more layers, within
// 1.05 times the peak of the step as it is given, and prints one JSON object a
// line.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/OverlapSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

#include <sys/resource.h>

using namespace llvm;
using namespace regather;

namespace {
/// A transformer of `numLayers` layers. Each is gathered right before its
/// forward and again before its backward; its gradients are reduced, waited for
/// and used to update its shard right after. With tensor parallelism, two
/// all-reduces in each half of a layer are on a stream of their own.
class StepBuilder {
public:
  StepBuilder(uint32_t numLayers, bool hasTensorParallel)
      : numLayers(numLayers), hasTensorParallel(hasTensorParallel) {
    program.streams = {{0, {}}, {1, {}}};
    program.links.resize(2);
  }

  TimedProgram build() {
    for (uint32_t layer = 0; layer != numLayers; ++layer)
      addForward();
    for (uint32_t layer = numLayers; layer-- != 0;)
      addBackward(layer);
    for (ArrayRef<uint32_t> list : needs)
      program.predecessors.push(list);
    for (ArrayRef<uint32_t> list : users)
      program.users.push(list);
    return std::move(program);
  }

private:
  static constexpr int64_t kMiB = int64_t(1) << 20;
  static constexpr uint32_t kOpsPerHalf = 40;

  uint32_t add(TimedOp op, ArrayRef<uint32_t> needed, int64_t bytes) {
    uint32_t number = program.ops.size();
    program.ops.push_back(op);
    program.buffers.push_back({bytes, number, false});
    needs.emplace_back(needed);
    users.emplace_back();
    for (uint32_t need : needed)
      users[need].push_back(number);
    return number;
  }
  uint32_t compute(double milliseconds, ArrayRef<uint32_t> needed,
                   int64_t bytes) {
    return add({TimedOpKind::Compute, 0, 0, milliseconds / 1024}, needed,
               bytes);
  }
  /// Starts a collective and waits for it right away.
  uint32_t communicate(uint32_t stream, double milliseconds,
                       ArrayRef<uint32_t> needed, int64_t bytes) {
    uint32_t start =
        add({TimedOpKind::Collective, stream, 0, milliseconds / 1024}, needed,
            bytes);
    uint32_t wait = add({TimedOpKind::Wait, stream, start, 0}, start, 0);
    for (uint32_t need : needed)
      users[need].push_back(wait);
    starts.resize(program.ops.size());
    starts[wait] = start;
    return wait;
  }
  /// Whoever reads what a wait hands on keeps the buffer of the collective.
  void use(uint32_t op, uint32_t wait) {
    needs[op].push_back(wait);
    users[starts[wait]].push_back(op);
  }

  uint32_t addChain(double milliseconds, uint32_t gathered, int64_t bytes,
                    uint32_t divisor, SmallVectorImpl<uint32_t> &chain) {
    for (uint32_t i = 0; i != kOpsPerHalf / divisor; ++i) {
      SmallVector<uint32_t> needed;
      if (last)
        needed.push_back(*last);
      last = compute(milliseconds, needed, bytes);
      use(*last, gathered);
      chain.push_back(*last);
      if (hasTensorParallel && i % 20 == 19) {
        uint32_t wait = communicate(1, 0.5, *last, bytes);
        last = compute(0.01, {}, bytes);
        use(*last, wait);
      }
    }
    return *last;
  }
  void addForward() {
    uint32_t cast = compute(0.02, {}, 54 * kMiB);
    uint32_t gathered = communicate(0, 2.0, cast, 436 * kMiB);
    addChain(0.1, gathered, 16 * kMiB, 1, saved.emplace_back());
  }
  void addBackward(uint32_t layer) {
    uint32_t cast = compute(0.02, {}, 54 * kMiB);
    uint32_t gathered = communicate(0, 2.0, cast, 436 * kMiB);
    SmallVector<uint32_t> chain;
    addChain(0.1, gathered, 16 * kMiB, 1, chain);
    // What belongs to the weights hangs off the chain.
    SmallVector<uint32_t> gradients;
    for (auto [i, op] : enumerate(chain)) {
      users[saved[layer][saved[layer].size() - 1 - i]].push_back(op);
      if (i % 4 == 0)
        gradients.push_back(compute(0.4, {op}, 87 * kMiB));
    }
    uint32_t reduced = communicate(0, 4.0, gradients, 109 * kMiB);
    uint32_t update = compute(0.2, {}, 0);
    use(update, reduced);
  }

  uint32_t numLayers;
  bool hasTensorParallel;
  TimedProgram program;
  std::vector<SmallVector<uint32_t>> needs, users;
  std::vector<uint32_t> starts;
  std::vector<SmallVector<uint32_t>> saved;
  std::optional<uint32_t> last;
};
} // namespace

static bool measure(uint32_t numLayers, bool hasTensorParallel) {
  TimedProgram program = StepBuilder(numLayers, hasTensorParallel).build();
  OverlapOptions options;
  options.memoryLimit =
      computeMemoryCurve(program, program.getStepOrder()).peakBytes / 100 * 105;
  auto begin = std::chrono::steady_clock::now();
  Expected<OverlapSchedule> schedule = scheduleOverlap(program, options);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  if (!schedule) {
    errs() << toString(schedule.takeError()) << '\n';
    return false;
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  outs() << formatv(
      "{{\"ops\": {0}, \"tensor_parallel\": {1}, \"seconds\": {2:f4}, "
      "\"given_ms\": {3:f2}, \"step_ms\": {4:f2}, \"exposed_ms\": {5:f2}, "
      "\"bound_ms\": {6:f2}, \"peak_ratio\": {7:f4}, \"strategy\": \"{8}\", "
      "\"resident_gib\": {9:f2}}\n",
      program.ops.size(), hasTensorParallel ? "true" : "false", seconds,
      schedule->given.seconds * 1e3, schedule->score.seconds * 1e3,
      schedule->score.exposedSeconds * 1e3, schedule->lowerBound * 1e3,
      static_cast<double>(schedule->score.peakBytes) /
          static_cast<double>(schedule->given.peakBytes),
      schedule->strategy, usage.ru_maxrss / 1048576.0);
  outs().flush();
  return true;
}

int main(int argc, char **argv) {
  uint64_t maximum = 36000;
  if (argc > 2 || (argc == 2 && StringRef(argv[1]).getAsInteger(10, maximum))) {
    errs() << "usage: regather-schedule-bench [MAXIMUM OPERATIONS]\n";
    return 1;
  }
  for (bool hasTensorParallel : {false, true})
    for (uint64_t ops = 1125; ops <= maximum; ops *= 2)
      if (!measure(ops / (hasTensorParallel ? 114 : 98) + 1, hasTensorParallel))
        return 1;
  return 0;
}
