//===- AutoBuckets.cpp - Buckets by a dry run -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AutoBuckets.h"

#include "regather/Analysis/BucketSizes.h"
#include "regather/Dialect/TG/Utils/ModuleUnits.h"

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

/// Of the whole tensors, gathered or not yet scattered.
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

/// Bytes of the gathered parameters of the largest unit.
static int64_t getLargestUnit(FunctionOpInterface func, const StepGraph &graph,
                              ArrayRef<Candidate> candidates) {
  std::vector<ModuleUse> uses;
  std::vector<int64_t> bytes;
  llvm::SmallDenseSet<BlockArgument> seen;
  for (const Candidate &candidate : candidates) {
    if (!isa<AllGatherOp>(candidate.op))
      continue;
    for (auto [parameter, tensor] :
         llvm::zip_equal(candidate.parameters, candidate.getTensors())) {
      if (!parameter || !seen.insert(parameter).second)
        continue;
      SmallVector<StringRef> modules = getModules(func, parameter);
      uses.push_back({modules.empty() ? StringRef() : modules.front(),
                      findFirstUse(graph, candidate)});
      bytes.push_back(getValueBytes(tensor));
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
  /// Few.
  SmallVector<T, 8> values;
};
} // namespace

/// By operation, and for the end: seconds of computation before it.
static std::vector<double> getInstants(const StepGraph &graph,
                                       StepCosts &costs) {
  std::vector<double> instants = {0};
  for (Operation *op : graph.getOps())
    instants.push_back(instants.back() + costs.getComputeSeconds(op));
  return instants;
}

/// The instant at which all operands of `candidate` are there.
static double getReady(const StepGraph &graph, const Candidate &candidate,
                       ArrayRef<double> instants) {
  double ready = 0;
  for (Value input : candidate.getInputs())
    if (Operation *def = input.getDefiningOp())
      ready = std::max(ready, instants[graph.getNumber(def) + 1]);
  return ready;
}

AutoBuckets regather::tg::buckets::chooseAutoBuckets(
    FunctionOpInterface func, const StepGraph &graph,
    ArrayRef<Candidate> candidates, StepCosts &costs,
    const AutoOptions &options) {
  std::vector<double> instants = getInstants(graph, costs);
  const CostModel &model = costs.getModel();
  BucketSizeProblem problem;
  problem.computeSeconds = instants.back();
  problem.maxBytes = options.maxBytes > 0
                         ? options.maxBytes
                         : getLargestUnit(func, graph, candidates);
  problem.maxCompute = options.maxCompute;
  Numbering<std::pair<MergeKey, Attribute>> keys;
  Numbering<std::pair<Attribute, Attribute>> streams;
  // Numbers of candidates, by collective of the problem.
  std::vector<uint32_t> numbers;
  std::vector<std::vector<uint32_t>> single;
  for (auto [number, candidate] : llvm::enumerate(candidates)) {
    if (!candidate.mark.empty())
      continue;
    CollectiveOpInterface op = candidate.op;
    GroupPlacement group = costs.getGroup(op);
    std::optional<unsigned> firstUse = findFirstUse(graph, candidate);
    SizedCollective sized;
    sized.key = keys.getNumber({MergeKey(candidate), getElementTypes(op)});
    sized.stream = streams.getNumber({op.getMeshAttr(), op.getAxesAttr()});
    sized.isGather = isa<AllGatherOp>(op);
    sized.ready = getReady(graph, candidate, instants);
    sized.need = firstUse ? instants[*firstUse] : problem.computeSeconds;
    sized.receivedBytes = op.getReceivedBytes(group.ranks);
    sized.wholeBytes = getWholeBytes(candidate);
    sized.saturatingBytes =
        model.saturatingBytes(getCollectiveKind(op), group, options.saturation);
    single.push_back({static_cast<uint32_t>(numbers.size())});
    numbers.push_back(number);
    problem.collectives.push_back(sized);
  }
  problem.getSeconds = [&](uint32_t i, double bytes) {
    CollectiveOpInterface op = candidates[numbers[i]].op;
    return model.collectiveSeconds(getCollectiveKind(op), bytes,
                                   costs.getGroup(op));
  };
  std::vector<std::vector<uint32_t>> chosen = chooseBuckets(problem);
  AutoBuckets result;
  result.computeSeconds = problem.computeSeconds;
  result.secondsBefore = runDry(problem, single).seconds;
  result.secondsAfter = runDry(problem, chosen).seconds;
  for (std::vector<uint32_t> &bucket : chosen) {
    if (bucket.size() < 2)
      continue;
    for (uint32_t &member : bucket)
      member = numbers[member];
    result.wanted.push_back({"", std::move(bucket)});
  }
  return result;
}
