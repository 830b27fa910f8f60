//===- BucketChoice.cpp - Buckets that shorten a schedule -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Buckets/BucketChoice.h"

#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <map>

using namespace llvm;
using namespace regather;

using Buckets = std::vector<std::vector<uint32_t>>;

namespace {
/// Received bytes up to which buckets are filled, as multiples of those that
/// saturate the link; 0 to merge nothing.
struct Targets {
  double gathers = 0;
  double reductions = 0;
};

class BucketChooser {
public:
  explicit BucketChooser(const BucketChoiceProblem &problem);
  BucketChoice run();

private:
  /// Steps that differ by less than this take equally long.
  static constexpr double kTolerance = 5e-4;
  /// The first and the last buckets are filled up to this multiple of what
  /// saturates the link, the next ones to twice as much, and so on.
  static constexpr double kSmallest = 0.125;
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  Buckets fill(const Targets &targets) const;
  double judge(const Buckets &buckets);
  double consider(Buckets buckets);
  bool canJudge() const { return spent < problem.effort; }
  void descend(Targets targets, double seconds);
  void search();

  const BucketChoiceProblem &problem;
  BucketSizeProblem sizes;
  DependencyGraph graph;
  uint64_t spent = 0;
  std::map<Buckets, double> judged;
  BucketChoice result;
};
} // namespace

BucketChooser::BucketChooser(const BucketChoiceProblem &problem)
    : problem(problem), sizes(problem.sizes),
      graph(getDependencies(problem.graph)) {
  // Seconds of computation before each operation, in the order of the step.
  std::vector<double> instants = {0};
  for (const TimedOp &op : problem.graph.ops)
    instants.push_back(instants.back() +
                       (op.kind == TimedOpKind::Compute ? op.seconds : 0));
  std::vector<uint32_t> firstUse(problem.graph.ops.size(),
                                 problem.graph.ops.size());
  for (uint32_t op = problem.graph.ops.size(); op-- != 0;)
    for (uint32_t needed : problem.graph.predecessors[op])
      firstUse[needed] = op;
  sizes.computeSeconds = instants.back();
  for (auto [sized, ops] : zip_equal(sizes.collectives, problem.collectives)) {
    sized.ready = 0;
    for (uint32_t needed : problem.graph.predecessors[ops.start])
      sized.ready = std::max(sized.ready, instants[needed + 1]);
    sized.need = instants[firstUse[ops.wait]];
  }
}

/// Fills one bucket of each key after the other. Gathers come in the order of
/// their readers, reductions in that of their operands.
Buckets BucketChooser::fill(const Targets &targets) const {
  struct Open {
    size_t bucket = 0;
    double received = 0;
    int64_t whole = 0;
    double firstReady = 0;
  };
  auto getInstant = [&](uint32_t i) {
    const SizedCollective &sized = sizes.collectives[i];
    return sized.isGather ? sized.need : sized.ready;
  };
  std::vector<uint32_t> byInstant(sizes.collectives.size());
  for (uint32_t i = 0; i != byInstant.size(); ++i)
    byInstant[i] = i;
  llvm::sort(byInstant, [&](uint32_t a, uint32_t b) {
    return std::make_pair(getInstant(a), a) < std::make_pair(getInstant(b), b);
  });
  // Received bytes of a key before a collective, and behind it.
  DenseMap<uint32_t, double> total, before;
  for (const SizedCollective &sized : sizes.collectives)
    total[sized.key] += sized.receivedBytes;
  DenseMap<uint32_t, Open> open;
  Buckets buckets;
  for (uint32_t i : byInstant) {
    const SizedCollective &sized = sizes.collectives[i];
    double &passed = before[sized.key];
    // Nothing hides the first gathers nor the last reductions.
    double distance = sized.isGather
                          ? passed
                          : total[sized.key] - passed - sized.receivedBytes;
    passed += sized.receivedBytes;
    double multiple = sized.isGather ? targets.gathers : targets.reductions;
    double limit = std::min(multiple * sized.saturatingBytes,
                            kSmallest * sized.saturatingBytes + distance);
    auto it = open.find(sized.key);
    if (it != open.end() && multiple > 0 && it->second.received < limit &&
        it->second.whole + sized.wholeBytes <= sizes.maxBytes &&
        (sized.isGather || sizes.maxCompute == 0 ||
         sized.ready - it->second.firstReady <= sizes.maxCompute)) {
      buckets[it->second.bucket].push_back(i);
      it->second.received += sized.receivedBytes;
      it->second.whole += sized.wholeBytes;
      continue;
    }
    open[sized.key] = {buckets.size(), sized.receivedBytes, sized.wholeBytes,
                       sized.ready};
    buckets.push_back({i});
  }
  for (std::vector<uint32_t> &bucket : buckets)
    llvm::sort(bucket);
  llvm::sort(buckets);
  return buckets;
}

/// What the step takes with `buckets`; infinity if that needs too much memory.
double BucketChooser::judge(const Buckets &buckets) {
  auto [it, isNew] = judged.try_emplace(buckets);
  if (!isNew)
    return it->second;
  std::vector<BucketPart> parts =
      cutCyclicBuckets(graph, problem.collectives, buckets);
  TimedGraph merged =
      mergeCollectives(problem.graph, problem.collectives, parts,
                       problem.isEarly, [&](const BucketPart &part) {
                         double bytes = 0;
                         for (uint32_t member : part.members)
                           bytes += sizes.collectives[member].receivedBytes;
                         return sizes.getSeconds(part.members.front(), bytes);
                       });
  spent += merged.ops.size();
  ++result.numJudged;
  return it->second =
             estimateOverlap(merged, problem.memoryLimit).value_or(kInfinity);
}

/// What the step takes with `buckets`, which are kept if nothing was shorter.
double BucketChooser::consider(Buckets buckets) {
  double seconds = judge(buckets);
  if (seconds < result.seconds * (1 - kTolerance)) {
    result.seconds = seconds;
    result.buckets = std::move(buckets);
  }
  return seconds;
}

/// Goes on with other sizes as long as the step gets shorter than `seconds`.
void BucketChooser::descend(Targets targets, double seconds) {
  for (double factor : {4.0, 0.25}) {
    for (double Targets::*kind : {&Targets::reductions, &Targets::gathers}) {
      while (canJudge()) {
        Targets next = targets;
        next.*kind *= factor;
        double shorter = consider(fill(next));
        if (!(shorter < seconds * (1 - kTolerance)))
          break;
        seconds = shorter;
        targets = next;
      }
    }
  }
}

/// Looks for buckets of at most `sizes.maxBytes`.
void BucketChooser::search() {
  consider(chooseBuckets(sizes));
  Targets best;
  double bestSeconds = kInfinity;
  for (double multiple : {1.0, 8.0, 0.25}) {
    if (!canJudge())
      break;
    Targets targets = {multiple, multiple};
    double seconds = consider(fill(targets));
    if (seconds < bestSeconds) {
      bestSeconds = seconds;
      best = targets;
    }
  }
  if (bestSeconds < kInfinity)
    descend(best, bestSeconds);
}

/// The caps to look at, the largest first. They do not depend on the largest
/// one otherwise: whatever a smaller cap allows, a larger one does, too.
static std::vector<int64_t> getCaps(const BucketSizeProblem &sizes) {
  constexpr double kRatio = 1.4142135623730951;
  int64_t smallest = 0;
  for (const SizedCollective &sized : sizes.collectives)
    if (smallest == 0 || sized.wholeBytes < smallest)
      smallest = sized.wholeBytes;
  // Two collectives are no less than twice the smallest one.
  double least = std::max<double>(2.0 * static_cast<double>(smallest), 1);
  double base = std::max<double>(static_cast<double>(sizes.unitBytes), 1);
  double top = static_cast<double>(sizes.maxBytes);
  while (base < top)
    base *= kRatio;
  std::vector<int64_t> caps;
  double cap = base;
  while (cap >= least) {
    if (cap <= top)
      caps.push_back(static_cast<int64_t>(cap));
    cap /= kRatio;
  }
  if (caps.empty())
    caps.push_back(sizes.maxBytes);
  return caps;
}

BucketChoice BucketChooser::run() {
  result.buckets = fill(Targets());
  result.seconds = result.secondsWithout = judge(result.buckets);
  // No choice takes less than all computation.
  if (sizes.collectives.empty() ||
      result.seconds <= sizes.computeSeconds * (1 + kTolerance))
    return std::move(result);
  for (int64_t cap : getCaps(sizes)) {
    if (!canJudge() && result.numJudged > 1)
      break;
    sizes.maxBytes = cap;
    search();
  }
  return std::move(result);
}

BucketChoice
regather::chooseScheduledBuckets(const BucketChoiceProblem &problem) {
  return BucketChooser(problem).run();
}

int64_t regather::getBucketMemoryLimit(const TimedGraph &graph, double slack) {
  constexpr int64_t kRoom = 1 << 20;
  int64_t peak = computeMemoryCurve(graph, graph.getStepOrder()).peakBytes;
  return std::max(static_cast<int64_t>(static_cast<double>(peak) * slack),
                  peak + kRoom);
}
