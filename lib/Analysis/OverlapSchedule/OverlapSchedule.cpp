//===- OverlapSchedule.cpp - Orders that hide communication ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "Distances.h"
#include "MemoryBound.h"
#include "OrderSearch.h"
#include "Orders.h"
#include "Priorities.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static constexpr int64_t kMaxBytes = int64_t(1) << 60;
/// Sums of longer times would be rounded; see `roundSeconds` of the graph.
static constexpr int kMaxSeconds = 4096;

static Failure checkOp(const TimedGraph &timed, uint32_t number,
                       std::vector<bool> &hasWait) {
  const TimedOp &op = timed.ops[number];
  if (!std::isfinite(op.seconds) || op.seconds < 0 || op.seconds > kMaxSeconds)
    return makeFailure("operation {0} must take between 0 and {1} s, got {2}",
                       number, kMaxSeconds, op.seconds);
  for (uint32_t predecessor : timed.predecessors[number])
    if (predecessor >= number)
      return makeFailure(
          "operation {0} must come after what it needs, but needs "
          "operation {1}",
          number, predecessor);
  if (op.kind == TimedOpKind::Collective && op.stream >= timed.streams.size())
    return makeFailure("collective {0} runs on stream {1}, but there are {2}",
                       number, op.stream, timed.streams.size());
  if (op.kind != TimedOpKind::Wait)
    return Failure();
  if (op.collective >= number ||
      timed.ops[op.collective].kind != TimedOpKind::Collective)
    return makeFailure("wait {0} must follow its collective, got operation {1}",
                       number, op.collective);
  if (hasWait[op.collective])
    return makeFailure("collective {0} has a second wait, {1}", op.collective,
                       number);
  if (op.seconds != 0)
    return makeFailure("wait {0} takes time of its own, {1} s", number,
                       op.seconds);
  if (timed.predecessors[number] != ArrayRef(op.collective))
    return makeFailure("wait {0} must need its collective alone", number);
  hasWait[op.collective] = true;
  return Failure();
}

Failure regather::checkTimedGraph(const TimedGraph &timed) {
  if (timed.predecessors.size() != timed.ops.size())
    return makeFailure("expects predecessors of {0} operations, got {1}",
                       timed.ops.size(), timed.predecessors.size());
  if (timed.users.size() != timed.buffers.size())
    return makeFailure("expects users of {0} buffers, got {1}",
                       timed.buffers.size(), timed.users.size());
  std::vector<bool> hasWait(timed.ops.size());
  for (uint32_t op = 0; op != timed.ops.size(); ++op)
    if (Failure failure = checkOp(timed, op, hasWait))
      return failure;
  int64_t sum = timed.residentBytes;
  if (sum < 0 || sum >= kMaxBytes)
    return makeFailure("resident bytes are out of range: {0}", sum);
  for (const auto &[number, buffer] : enumerate(timed.buffers)) {
    if (buffer.bytes < 0 || buffer.bytes >= kMaxBytes - sum)
      return makeFailure("bytes of buffer {0} are out of range: {1}", number,
                         buffer.bytes);
    sum += buffer.bytes;
    if (buffer.writer >= timed.ops.size())
      return makeFailure(
          "buffer {0} is written by operation {1}, but there are "
          "{2}",
          number, buffer.writer, timed.ops.size());
    for (uint32_t user : timed.users[number])
      if (user < buffer.writer || user >= timed.ops.size())
        return makeFailure("buffer {0}, written by operation {1}, is used by "
                           "operation {2}",
                           number, buffer.writer, user);
  }
  for (const auto &[number, stream] : enumerate(timed.streams))
    for (uint32_t other : stream.conflicts)
      if (other >= timed.streams.size() || other == number)
        return makeFailure("stream {0} conflicts with stream {1}", number,
                           other);
  return Failure();
}

double OverlapSchedule::getHiddenPart() const {
  double unavoidable = std::max(0.0, lowerBound - bounds.computeSeconds);
  double communication = std::accumulate(bounds.linkSeconds.begin(),
                                         bounds.linkSeconds.end(), 0.0);
  double hideable = communication - unavoidable;
  if (hideable <= 0)
    return 1;
  return std::min(1.0, (communication - score.exposedSeconds) / hideable);
}

//===----------------------------------------------------------------------===//
// The best of several orders
//===----------------------------------------------------------------------===//

namespace {
class OverlapScheduler {
public:
  OverlapScheduler(const TimedGraph &timed, const OverlapOptions &options);
  Result<OverlapSchedule> run();

private:
  bool consider(Order order, StringRef strategy);
  void addListSchedules(ArrayRef<uint32_t> base);
  void addPutOffSchedules(ArrayRef<uint32_t> base);
  Failure refuseLimit(int64_t least) const;
  bool isGoodEnough() const {
    return !result.order.empty() &&
           result.score.seconds <= result.lowerBound * (1 + kTolerance);
  }

  /// How often priorities are taken from the best order found so far.
  static constexpr unsigned kMaxRounds = 3;
  /// Smaller differences are below the precision of the estimates.
  static constexpr double kTolerance = 1e-3;

  const OverlapOptions &options;
  Graph graph;
  Limits limits;
  std::optional<ListRule> bestRule;
  OverlapSchedule result;
};
} // namespace

OverlapScheduler::OverlapScheduler(const TimedGraph &timed,
                                   const OverlapOptions &options)
    : options(options), graph(timed, options.allowsConflicts) {
  result.given = computeScore(graph, getGivenOrder(graph));
  result.bounds = computeStepBounds(timed);
  result.lowerBound = computeLowerBound(graph);
  limits.bytes = options.memoryLimit.value_or(result.given.peakBytes);
  limits.inFlight = options.inFlight;
  result.memoryLimit = limits.bytes;
}

/// True if `order` is the best one so far.
bool OverlapScheduler::consider(Order order, StringRef strategy) {
  ScheduleScore score = computeScore(graph, order);
  if (!result.order.empty() &&
      std::tie(result.score.seconds, result.score.peakBytes) <=
          std::tie(score.seconds, score.peakBytes))
    return false;
  result.order = std::move(order);
  result.score = score;
  result.strategy = strategy;
  return true;
}

/// Tries all rules on the first base, and the best of them on the others, since
/// the rule decides more than the base.
void OverlapScheduler::addListSchedules(ArrayRef<uint32_t> base) {
  SmallVector<ListRule> rules;
  if (bestRule)
    rules = {*bestRule};
  else
    rules = {{false, false, true}, {false, false, false}};
  for (const ListRule &rule : rules) {
    if (isGoodEnough())
      return;
    if (consider(computeListSchedule(graph, base, limits, rule),
                 "list schedule"))
      bestRule = rule;
  }
}

/// Takes priorities from when things may happen at the latest, and then from
/// when they happened in the best order, too.
void OverlapScheduler::addPutOffSchedules(ArrayRef<uint32_t> base) {
  std::vector<double> tails = graph.priorities, begins = graph.heads;
  double worthwhile = kTolerance * result.lowerBound;
  for (unsigned round = 0; round != kMaxRounds; ++round) {
    double before = result.order.empty() ? 0 : result.score.seconds;
    graph.priorities = computePriorities(graph, begins);
    for (bool protects : {true, false})
      if (!isGoodEnough())
        consider(
            computeListSchedule(graph, base, limits, {true, protects, false}),
            "put-off list schedule");
    if (isGoodEnough() || before - result.score.seconds < worthwhile)
      break;
    begins = computeBegins(graph, result.order);
  }
  graph.priorities = std::move(tails);
}

/// Says that no order keeps to the limit, or that none has been found: finding
/// the one of least memory is NP-hard. `least` is the lowest peak found.
Failure OverlapScheduler::refuseLimit(int64_t least) const {
  int64_t bound = computeMemoryBound(graph);
  if (limits.bytes >= bound)
    return makeFailure(
        "no order found keeps to a memory limit of {0} bytes: the "
        "best one takes {1}, and the step needs at least {2}",
        limits.bytes, least, bound);
  std::string found = least > bound
                          ? formatv("; the best order found takes {0}", least)
                          : std::string();
  return makeFailure(
      "a memory limit of {0} bytes is too low, the step needs at "
      "least {1}{2}",
      limits.bytes, bound, found);
}

Result<OverlapSchedule> OverlapScheduler::run() {
  Order given = getGivenOrder(graph);
  bool isGivenKnown = keepsStreamLimits(graph, given, limits.inFlight);
  if (isGivenKnown && result.given.peakBytes <= limits.bytes)
    consider(std::move(given), "given order");
  Order blocking = computeBlockingOrder(graph),
        frugal = computeFrugalOrder(graph);
  int64_t blockingPeak = computePeakBytes(graph, blocking);
  int64_t frugalPeak = computePeakBytes(graph, frugal);
  if (std::min(blockingPeak, frugalPeak) > limits.bytes) {
    Order least = computeLeastMemoryOrder(graph);
    if (int64_t peak = computePeakBytes(graph, least); peak < frugalPeak) {
      frugal = std::move(least);
      frugalPeak = peak;
    }
  }
  for (const Order &order : options.candidates)
    if (computePeakBytes(graph, order) <= limits.bytes &&
        keepsStreamLimits(graph, order, limits.inFlight))
      consider(order, "candidate");
  if (int64_t least = std::min(blockingPeak, frugalPeak);
      least > limits.bytes && result.order.empty())
    return refuseLimit(isGivenKnown ? std::min(least, result.given.peakBytes)
                                    : least);
  // Orders that gather parameters late leave most room. List schedules by tails
  // are quick, and often meet the lower bound.
  if (frugalPeak <= limits.bytes) {
    addListSchedules(frugal);
    if (!isGoodEnough()) {
      tightenDistances(graph);
      result.lowerBound = std::max(result.lowerBound, computeLowerBound(graph));
      addPutOffSchedules(frugal);
    }
  }
  if (blockingPeak <= limits.bytes)
    addListSchedules(blocking);
  if (!isGoodEnough() && !result.order.empty()) {
    uint64_t effort =
        std::max(options.minEffort, options.effortPerOp * graph.size());
    consider(
        improveSchedule(graph, result.order, limits, result.lowerBound, effort),
        "local search");
  }
  return std::move(result);
}

Result<OverlapSchedule>
regather::scheduleOverlap(const TimedGraph &timed,
                          const OverlapOptions &options) {
  if (Failure failure = checkTimedGraph(timed))
    return failure;
  return OverlapScheduler(timed, options).run();
}

std::optional<double>
regather::estimateOverlap(const TimedGraph &timed,
                          std::optional<int64_t> memoryLimit) {
  if (checkTimedGraph(timed))
    return std::nullopt;
  Graph graph(timed, /*allowsConflicts=*/false);
  Limits limits;
  limits.inFlight = OverlapOptions().inFlight;
  limits.bytes =
      memoryLimit.value_or(computePeakBytes(graph, getGivenOrder(graph)));
  Order base = computeFrugalOrder(graph);
  if (computePeakBytes(graph, base) > limits.bytes)
    base = computeBlockingOrder(graph);
  if (computePeakBytes(graph, base) > limits.bytes)
    base = computeLeastMemoryOrder(graph);
  if (computePeakBytes(graph, base) > limits.bytes)
    return std::nullopt;
  double best = computeScore(graph, computeListSchedule(graph, base, limits,
                                                        {false, false, false}))
                    .seconds;
  graph.priorities = computePriorities(graph, graph.heads);
  return std::min(best,
                  computeScore(graph, computeListSchedule(graph, base, limits,
                                                          {true, true, false}))
                      .seconds);
}
