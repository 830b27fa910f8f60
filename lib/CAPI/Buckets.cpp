//===- Buckets.cpp - Collectives that start as one ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Buckets.h"

#include "Cost.h"
#include "ModulePaths.h"
#include "Status.h"
#include "TimedArrays.h"

#include "regather/Analysis/Buckets/BucketChoice.h"
#include "regather/Analysis/Buckets/BucketPlan.h"
#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <map>

using namespace regather;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

RegatherStatus *regatherPlanBuckets(const char *plan, const char *what,
                                    uint32_t numPaths, const char *const *paths,
                                    uint32_t *buckets) {
  if (!plan || !what || !capi::areTexts(numPaths, paths) ||
      (numPaths > 0 && !buckets))
    return capi::takeStatus(makeFailure("an argument is null"));
  Result<BucketPlan> read = readBucketPlan(plan);
  if (!read)
    return capi::takeStatus(read.getFailure());
  PatternMatches found = matchModulePatterns(
      "plan", read->patterns, std::vector<StringRef>(paths, paths + numPaths),
      what);
  if (found.failure)
    return capi::takeStatus(capi::getFailure(found));
  llvm::StringMap<uint32_t> numbers;
  for (auto [i, match] : llvm::enumerate(found.matches)) {
    buckets[i] = REGATHER_C_NONE;
    if (match.pattern)
      buckets[i] =
          numbers.try_emplace(read->getBucketName(match), numbers.size())
              .first->second;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

namespace {
/// The collectives of a graph, and what is to be done to them.
class Merger {
public:
  Merger(TimedGraph graph, const RegatherMergeable &mergeable,
         const RegatherBucketOptions &options)
      : graph(std::move(graph)), mergeable(mergeable), options(options) {}

  Failure run(uint32_t *parts, uint32_t *order, uint32_t *numLeft);

private:
  Failure read();
  Failure checkCollective(uint32_t number) const;
  Failure checkKeys() const;
  std::vector<CollectiveBucket> getPlanned() const;
  Result<std::vector<CollectiveBucket>> choose();
  void measure(BucketSizeProblem &sizes, const CostModel &model) const;

  CollectiveKind getKind(uint32_t number) const {
    return *capi::getCollectiveKind(mergeable.kinds[number]);
  }

  TimedGraph graph;
  const RegatherMergeable &mergeable;
  const RegatherBucketOptions &options;
  std::vector<CollectiveOps> collectives;
  std::vector<bool> isEarly;
  /// By stream.
  std::vector<GroupPlacement> groups;
};
} // namespace

Failure Merger::checkCollective(uint32_t number) const {
  uint32_t start = mergeable.starts[number];
  if (start >= graph.ops.size() ||
      graph.ops[start].kind != TimedOpKind::Collective)
    return makeFailure("operation {0} starts no collective", start);
  if (number > 0 && start <= mergeable.starts[number - 1])
    return makeFailure("collectives are not in ascending order");
  if (!llvm::is_contained({RegatherCollectiveAllGather,
                           RegatherCollectiveReduceScatter,
                           RegatherCollectiveAllReduce},
                          mergeable.kinds[number]))
    return makeFailure("collective {0} is neither a gather nor a reduction",
                       number);
  double received = mergeable.receivedBytes[number];
  if (!(received >= 0) || !std::isfinite(received) ||
      mergeable.wholeBytes[number] < 0)
    return makeFailure("bytes of collective {0} are negative or not finite",
                       number);
  return Failure();
}

Failure Merger::checkKeys() const {
  // By key, the first collective that has it.
  std::map<uint32_t, uint32_t> first;
  for (uint32_t i = 0; i != mergeable.count; ++i) {
    uint32_t other = first.try_emplace(mergeable.keys[i], i).first->second;
    if (mergeable.kinds[i] != mergeable.kinds[other] ||
        graph.ops[mergeable.starts[i]].stream !=
            graph.ops[mergeable.starts[other]].stream)
      return makeFailure("collectives {0} and {1} have one key, but different "
                         "kinds or streams",
                         other, i);
  }
  return Failure();
}

Failure Merger::read() {
  if (mergeable.count > 0 &&
      (!mergeable.starts || !mergeable.keys || !mergeable.kinds ||
       !mergeable.receivedBytes || !mergeable.wholeBytes))
    return makeFailure("an array of collectives is missing");
  if (!options.isEarly && !graph.ops.empty())
    return makeFailure("an array of operations is missing");
  std::vector<uint32_t> waits(graph.ops.size());
  for (auto [number, op] : llvm::enumerate(graph.ops))
    if (op.kind == TimedOpKind::Wait)
      waits[op.collective] = number;
  for (uint32_t i = 0; i != mergeable.count; ++i) {
    if (Failure failure = checkCollective(i))
      return failure;
    collectives.push_back({mergeable.starts[i], waits[mergeable.starts[i]]});
  }
  isEarly.assign(options.isEarly, options.isEarly + graph.ops.size());
  return checkKeys();
}

/// What one plan and one key put together.
std::vector<CollectiveBucket> Merger::getPlanned() const {
  std::map<std::pair<uint32_t, uint32_t>, CollectiveBucket> byName;
  for (uint32_t i = 0; i != mergeable.count; ++i)
    if (options.planned[i] != REGATHER_C_NONE)
      byName[{options.planned[i], mergeable.keys[i]}].push_back(i);
  std::vector<CollectiveBucket> buckets;
  for (auto &[name, members] : byName)
    buckets.push_back(std::move(members));
  return buckets;
}

void Merger::measure(BucketSizeProblem &sizes, const CostModel &model) const {
  for (uint32_t i = 0; i != mergeable.count; ++i) {
    SizedCollective sized;
    sized.key = mergeable.keys[i];
    sized.stream = graph.ops[collectives[i].start].stream;
    sized.isGather = getKind(i) == CollectiveKind::AllGather;
    sized.receivedBytes = mergeable.receivedBytes[i];
    sized.wholeBytes = mergeable.wholeBytes[i];
    sized.saturatingBytes = model.saturatingBytes(
        getKind(i), groups[sized.stream], options.saturation);
    sizes.collectives.push_back(sized);
  }
  sizes.unitBytes = options.unitBytes;
  sizes.maxCompute = options.maxCompute;
  sizes.maxBytes =
      options.maxBytes > 0 ? options.maxBytes : getDefaultMaxBytes(sizes);
}

Result<std::vector<CollectiveBucket>> Merger::choose() {
  if (!options.cluster)
    return makeFailure("an argument is null");
  if (!(options.saturation > 0 && options.saturation < 1) ||
      !(options.maxCompute >= 0) || options.maxBytes < 0 ||
      options.unitBytes < 0)
    return makeFailure("options of buckets are out of range");
  Result<Cluster> cluster = loadCluster(options.cluster);
  if (!cluster)
    return cluster.getFailure();
  CostModel model(std::move(*cluster));
  Result<IndexLists> ranks = capi::readLists(
      options.groups, graph.streams.size(), UINT32_MAX, "groups of streams");
  if (!ranks)
    return ranks.getFailure();
  for (size_t stream = 0; stream != ranks->size(); ++stream) {
    llvm::ArrayRef<uint32_t> members = (*ranks)[stream];
    if (members.empty())
      return makeFailure("the group of stream {0} has no ranks", stream);
    groups.push_back(
        model.placeGroup(std::vector<int64_t>(members.begin(), members.end())));
  }
  BucketChoiceProblem problem;
  measure(problem.sizes, model);
  problem.sizes.getSeconds = [&](uint32_t i, double bytes) {
    return model.collectiveSeconds(
        getKind(i), bytes, groups[graph.ops[collectives[i].start].stream]);
  };
  problem.memoryLimit = options.memoryLimit >= 0
                            ? options.memoryLimit
                            : getBucketMemoryLimit(graph, tg::kMemorySlack);
  problem.collectives = collectives;
  problem.isEarly = isEarly;
  problem.graph = graph;
  return chooseScheduledBuckets(problem).buckets;
}

Failure Merger::run(uint32_t *parts, uint32_t *order, uint32_t *numLeft) {
  if (Failure failure = read())
    return failure;
  std::vector<CollectiveBucket> buckets;
  if (options.planned) {
    buckets = getPlanned();
  } else if (mergeable.count > 0) {
    Result<std::vector<CollectiveBucket>> chosen = choose();
    if (!chosen)
      return chosen.getFailure();
    buckets = std::move(*chosen);
  }
  llvm::erase_if(buckets, [](const CollectiveBucket &bucket) {
    return bucket.size() < 2;
  });
  DependencyGraph dependencies = getDependencies(graph);
  std::vector<BucketPart> found =
      cutCyclicBuckets(dependencies, collectives, buckets);
  for (uint32_t i = 0; i != mergeable.count; ++i)
    parts[i] = i;
  for (const BucketPart &part : found)
    for (uint32_t member : part.members)
      parts[member] = part.members.front();
  std::vector<uint32_t> left =
      orderBuckets(dependencies, collectives, found, isEarly);
  llvm::copy(left, order);
  *numLeft = left.size();
  return Failure();
}

RegatherStatus *regatherBucketCollectives(const RegatherTimedArrays *arrays,
                                          const RegatherMergeable *mergeable,
                                          const RegatherBucketOptions *options,
                                          uint32_t *parts, uint32_t *order,
                                          uint32_t *numLeft) {
  if (!arrays || !mergeable || !options || !numLeft ||
      (mergeable->count > 0 && !parts) || (arrays->numOps > 0 && !order))
    return capi::takeStatus(makeFailure("an argument is null"));
  Result<TimedGraph> graph = capi::readTimedGraph(*arrays);
  if (!graph)
    return capi::takeStatus(graph.getFailure());
  return capi::takeStatus(Merger(std::move(*graph), *mergeable, *options)
                              .run(parts, order, numLeft));
}
