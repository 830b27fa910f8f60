//===- AutoBuckets.cpp - Buckets by schedules -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AutoBuckets.h"

#include "regather/Analysis/Buckets/BucketChoice.h"
#include "regather/Analysis/Modules/ModuleUnits.h"
#include "regather/Dialect/TG/Steps/TimedStep.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::buckets;

static int64_t getBytes(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += getValueBytes(value);
  return bytes;
}

/// Bytes of the whole tensors, gathered or not yet scattered.
static int64_t getWholeBytes(const Candidate &candidate) {
  return std::max(getBytes(candidate.getInputs()),
                  getBytes(candidate.getTensors()));
}

/// The first operation that reads a member; nothing if only the end does.
static std::optional<unsigned> findFirstUse(const StepGraph &graph,
                                            const Candidate &candidate) {
  std::optional<unsigned> first;
  for (Value tensor : candidate.getTensors())
    for (Operation *user : tensor.getUsers())
      if (user != graph.getBlock().getTerminator()) {
        unsigned place = graph.getNumber(user);
        first = std::min(first.value_or(place), place);
      }
  return first;
}

/// Bytes that are gathered, or reduced, of the largest unit.
static int64_t getLargestUnit(FunctionOpInterface func, const StepGraph &graph,
                              ArrayRef<Candidate> candidates, bool gathers) {
  std::vector<ModuleUse> uses;
  std::vector<int64_t> bytes;
  llvm::SmallDenseSet<BlockArgument> seen;
  for (const Candidate &candidate : candidates) {
    CollectiveOpInterface op = candidate.op;
    if (isa<AllGatherOp>(op) != gathers)
      continue;
    for (auto [parameter, input, tensor] : llvm::zip_equal(
             candidate.parameters, op.getInputs(), candidate.getTensors())) {
      if (!parameter || !seen.insert(parameter).second)
        continue;
      SmallVector<StringRef> modules = getModules(func, parameter);
      uses.push_back({modules.empty() ? StringRef() : modules.front(),
                      findFirstUse(graph, candidate)});
      bytes.push_back(std::max(getValueBytes(input), getValueBytes(tensor)));
    }
  }
  int64_t largest = 0;
  for (const ModuleUnit &unit : findModuleUnits(uses)) {
    int64_t sum = 0;
    for (unsigned member : unit.members)
      sum += bytes[member];
    largest = std::max(largest, sum);
  }
  return largest;
}

namespace {
/// Gives equal values equal numbers.
template <typename T> class Numbering {
public:
  unsigned getNumber(const T &value) {
    auto it = llvm::find(values, value);
    if (it == values.end())
      it = values.insert(it, value);
    return it - values.begin();
  }

private:
  /// There are few values, so that a search through all is quick.
  SmallVector<T, 8> values;
};
} // namespace

AutoBuckets regather::tg::buckets::chooseAutoBuckets(
    FunctionOpInterface func, const StepGraph &graph, const Candidates &found,
    StepCosts &costs, const AutoOptions &options) {
  ArrayRef<Candidate> candidates = found.collectives;
  const CostModel &model = costs.getModel();
  BucketChoiceProblem problem;
  problem.graph = buildTimedStep(graph, makeStepTiming(costs)).program;
  problem.memoryLimit = getBucketMemoryLimit(problem.graph, kMemorySlack);
  problem.isEarly = found.isEarly;
  BucketSizeProblem &sizes = problem.sizes;
  for (bool gathers : {true, false})
    sizes.unitBytes = std::max(
        sizes.unitBytes, getLargestUnit(func, graph, candidates, gathers));
  sizes.maxCompute = options.maxCompute;
  Numbering<std::pair<MergeKey, Attribute>> keys;
  // Numbers of candidates, by collective of the problem.
  std::vector<uint32_t> numbers;
  for (auto [number, candidate] : llvm::enumerate(candidates)) {
    if (!candidate.mark.empty())
      continue;
    CollectiveOpInterface op = candidate.op;
    GroupPlacement group = costs.getGroup(op);
    SizedCollective sized;
    sized.key = keys.getNumber({MergeKey(candidate), getElementTypes(op)});
    sized.stream = problem.graph.ops[candidate.number].stream;
    sized.isGather = isa<AllGatherOp>(op);
    sized.receivedBytes = op.getReceivedBytes(group.ranks);
    sized.wholeBytes = getWholeBytes(candidate);
    sized.saturatingBytes =
        model.saturatingBytes(getCollectiveKind(op), group, options.saturation);
    numbers.push_back(number);
    sizes.collectives.push_back(sized);
    problem.collectives.push_back(
        {candidate.number, graph.getNumber(candidate.wait)});
  }
  sizes.maxBytes =
      options.maxBytes > 0 ? options.maxBytes : getDefaultMaxBytes(sizes);
  sizes.getSeconds = [&](uint32_t i, double bytes) {
    CollectiveOpInterface op = candidates[numbers[i]].op;
    return model.collectiveSeconds(getCollectiveKind(op), bytes,
                                   costs.getGroup(op));
  };
  AutoBuckets result;
  if (numbers.empty())
    return result;
  BucketChoice choice = chooseScheduledBuckets(problem);
  result.secondsBefore = choice.secondsWithout;
  result.secondsAfter = choice.seconds;
  result.numJudged = choice.numJudged;
  for (std::vector<uint32_t> &bucket : choice.buckets) {
    if (bucket.size() < 2)
      continue;
    for (uint32_t &member : bucket)
      member = numbers[member];
    result.wanted.push_back({"", std::move(bucket)});
  }
  return result;
}
