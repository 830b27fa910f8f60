//===- BucketCollectives.cpp - Let collectives start as one ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketCollectives/AutoBuckets.h"

#include "regather/Analysis/Buckets/BucketPlan.h"
#include "regather/Dialect/TG/Chains/ParameterChains.h"
#include "regather/Dialect/TG/Modules/ModulePattern.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tg-bucket-collectives"

namespace regather::tg {
#define GEN_PASS_DEF_BUCKETCOLLECTIVESPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::buckets;

namespace {
/// By parameter: the name of the bucket that the plan puts it into; none if no
/// pattern claims it.
using PlannedNames = llvm::DenseMap<BlockArgument, std::string>;

/// A function, and what can be merged in it.
struct Step {
  FunctionOpInterface func;
  StepGraph graph;
  Candidates candidates;

  explicit Step(FunctionOpInterface func)
      : func(func), graph(func.getFunctionBody().front()),
        candidates(findCandidates(func, graph)) {}
};

struct BucketCollectives
    : public regather::tg::impl::BucketCollectivesPassBase<BucketCollectives> {
  using BucketCollectivesPassBase::BucketCollectivesPassBase;

  void runOnOperation() override {
    if (failed(checkOptions()) ||
        failed(mode == BucketMode::Auto ? bucketBySchedule() : bucketByPlan()))
      signalPassFailure();
  }

private:
  LogicalResult checkOptions();
  LogicalResult bucketByPlan();
  LogicalResult bucketBySchedule();
  FailureOr<PlannedNames> planNames(ArrayRef<Step> steps);
  bool takeApartByName(const Step &step, const PlannedNames &names);
  void merge(const Step &step, ArrayRef<WantedBucket> wanted);
  void emitParts(FunctionOpInterface func, ArrayRef<Candidate> candidates,
                 ArrayRef<WantedBucket> wanted, ArrayRef<BucketPart> parts);
};
} // namespace

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

/// The name of a collective in messages: all_gather of "layers.0.wq.weight".
static std::string describe(FunctionOpInterface func,
                            const Candidate &candidate) {
  std::string text = candidate.op->getName().stripDialect().str();
  BlockArgument first = candidate.parameters.front();
  if (first)
    text += " of \"" + getParameterName(func, first) + "\"";
  if (candidate.parameters.size() > 1)
    text += " and " + std::to_string(candidate.parameters.size() - 1) + " more";
  return text;
}

static void emitApart(FunctionOpInterface func, const Candidate &candidate,
                      StringRef bucket, const Twine &reason) {
  CollectiveOpInterface op = candidate.op;
  remark::missed(op.getLoc(),
                 remark::RemarkOpts::name("kept-apart").category(DEBUG_TYPE))
      << remark::reason("{0} stays apart in bucket \"{1}\": {2}",
                        describe(func, candidate), bucket, reason.str());
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

namespace {
/// A module that has a parameter, or one that the parameter holds.
struct Owner {
  FunctionOpInterface func;
  BlockArgument parameter;
  StringRef module;
};
} // namespace

/// The modules of all parameters that are gathered or reduced.
static std::vector<Owner> findOwners(ArrayRef<Step> steps) {
  std::vector<Owner> owners;
  llvm::DenseSet<BlockArgument> seen;
  for (const Step &step : steps)
    for (const Candidate &candidate : step.candidates.collectives)
      for (BlockArgument parameter : candidate.parameters)
        if (parameter && seen.insert(parameter).second)
          for (StringRef path : getModules(step.func, parameter))
            owners.push_back({step.func, parameter, path});
  return owners;
}

FailureOr<PlannedNames> BucketCollectives::planNames(ArrayRef<Step> steps) {
  Result<BucketPlan> read = readBucketPlan(plan);
  if (!read)
    return emitError(getOperation().getLoc()) << read.getMessage();
  PlannedNames names;
  std::vector<Owner> owners;
  if (!read->patterns.empty())
    owners = findOwners(steps);
  if (owners.empty())
    return names;
  SmallVector<StringRef> paths;
  for (const Owner &owner : owners)
    paths.push_back(owner.module);
  FailureOr<std::vector<PatternMatch>> matches =
      matchPatterns(owners.front().func, "plan", read->patterns, paths,
                    "module of a parameter that is gathered or reduced");
  if (failed(matches))
    return failure();
  // The module whose pattern decided.
  llvm::DenseMap<BlockArgument, StringRef> reasons;
  for (auto [owner, match] : llvm::zip_equal(owners, *matches)) {
    if (!match.pattern)
      continue;
    std::string name = read->getBucketName(match);
    auto [it, inserted] = names.try_emplace(owner.parameter, name);
    if (inserted)
      reasons[owner.parameter] = owner.module;
    else if (it->second != name)
      return emitError(owner.func.getLoc())
             << "flat parameter \""
             << getParameterName(owner.func, owner.parameter)
             << "\" holds parameters of module \"" << reasons[owner.parameter]
             << "\", which is in bucket \"" << it->second
             << "\" of option 'plan', and of module \"" << owner.module
             << "\", which is in bucket \"" << name << '"';
  }
  return names;
}

/// Returns true if there was anything to do.
bool BucketCollectives::takeApartByName(const Step &step,
                                        const PlannedNames &names) {
  bool changed = false;
  for (const Candidate &candidate : step.candidates.collectives) {
    if (!candidate.mark.empty())
      continue;
    llvm::MapVector<StringRef, SmallVector<unsigned>> groups;
    for (auto [i, parameter] : llvm::enumerate(candidate.parameters)) {
      auto it = names.find(parameter);
      groups[it == names.end() ? StringRef() : StringRef(it->second)].push_back(
          i);
    }
    if (groups.size() < 2)
      continue;
    ++numTakenApart;
    SmallVector<SmallVector<unsigned>> members;
    for (auto &[name, group] : groups)
      members.push_back(std::move(group));
    takeApart(candidate, members);
    changed = true;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

namespace {
/// Candidates that agree in everything; only gathers may differ in their
/// element types.
struct Group {
  MergeKey key;
  SmallVector<unsigned> members;
};
} // namespace

/// Groups the candidates of one bucket; `name` is for remarks.
static SmallVector<Group, 4> groupByKey(FunctionOpInterface func,
                                        ArrayRef<Candidate> candidates,
                                        ArrayRef<unsigned> members,
                                        StringRef name) {
  // There are few: one for each kind of collective and each phase.
  SmallVector<Group, 4> groups;
  for (unsigned member : members) {
    MergeKey key(candidates[member]);
    auto *it = llvm::find_if(
        groups, [&](const Group &group) { return group.key == key; });
    if (it == groups.end()) {
      auto *other = llvm::find_if(groups, [&](const Group &group) {
        return group.key.name == key.name;
      });
      if (other != groups.end())
        emitApart(func, candidates[member], name,
                  describeDifference(other->key, key));
      it = groups.insert(groups.end(), Group{key, {}});
    }
    it->members.push_back(member);
  }
  return groups;
}

/// Groups candidates by the names of their buckets, and by what they agree in.
static std::vector<WantedBucket> groupByName(FunctionOpInterface func,
                                             ArrayRef<Candidate> candidates,
                                             const PlannedNames &names) {
  llvm::MapVector<StringRef, SmallVector<unsigned>> byName;
  for (auto [i, candidate] : llvm::enumerate(candidates)) {
    auto it = names.find(candidate.parameters.front());
    StringRef planned = it == names.end() ? StringRef() : StringRef(it->second);
    StringRef name = candidate.mark.empty() ? planned : candidate.mark;
    if (!name.empty())
      byName[name].push_back(i);
  }
  std::vector<WantedBucket> wanted;
  for (auto &[name, ofName] : byName)
    for (const Group &group : groupByKey(func, candidates, ofName, name)) {
      // Gathers that cannot lie in one buffer are grouped by element type.
      llvm::MapVector<Attribute, std::vector<uint32_t>> byType;
      bool isOne =
          group.key.elementTypes || haveCommonLayout(candidates, group.members);
      for (unsigned member : group.members) {
        Attribute type =
            isOne ? Attribute() : getElementTypes(candidates[member].op);
        if (!byType.empty() && !byType.contains(type))
          emitApart(func, candidates[member], name,
                    "element types differ, and shards cannot be aligned "
                    "behind each other");
        byType[type].push_back(member);
      }
      for (auto &[type, members] : byType)
        wanted.push_back({name.str(), std::move(members)});
    }
  return wanted;
}

void BucketCollectives::emitParts(FunctionOpInterface func,
                                  ArrayRef<Candidate> candidates,
                                  ArrayRef<WantedBucket> wanted,
                                  ArrayRef<BucketPart> parts) {
  for (const BucketPart &part : parts) {
    const WantedBucket &bucket = wanted[part.bucket];
    const Candidate &first = candidates[part.members.front()];
    if (part.cause) {
      ++numCuts;
      emitApart(func, first, bucket.name,
                *part.cause == part.bucket
                    ? "others of the bucket depend on it"
                    : "others of the bucket depend on it, through bucket \"" +
                          wanted[*part.cause].name + "\"");
    }
    if (part.members.size() < 2)
      continue;
    ++numBuckets;
    numMerged += part.members.size();
    int64_t bytes = 0, tensors = 0;
    for (uint32_t member : part.members)
      for (Value tensor : candidates[member].getTensors()) {
        bytes += getValueBytes(tensor);
        ++tensors;
      }
    CollectiveOpInterface op = first.op;
    remark::passed(op.getLoc(),
                   remark::RemarkOpts::name("merged").category(DEBUG_TYPE))
        << remark::reason(
               "{0} {1} collectives of phase {2} are one in bucket \"{3}\"",
               part.members.size(), op->getName().stripDialect(),
               stringifyPhase(op.getPhase()), bucket.name)
        << remark::metric("tensors", tensors) << remark::metric("bytes", bytes);
  }
}

void BucketCollectives::merge(const Step &step, ArrayRef<WantedBucket> wanted) {
  if (wanted.empty())
    return;
  std::vector<CollectiveBucket> members;
  for (const WantedBucket &bucket : wanted)
    members.push_back(bucket.members);
  std::vector<CollectiveOps> collectives;
  for (const Candidate &candidate : step.candidates.collectives)
    collectives.push_back(
        {candidate.number, step.graph.getNumber(candidate.wait)});
  DependencyGraph dependencies = getDependencies(step.graph);
  std::vector<BucketPart> parts =
      cutCyclicBuckets(dependencies, collectives, members);
  // Remarks come in program order.
  llvm::sort(parts, [](const BucketPart &a, const BucketPart &b) {
    return a.members < b.members;
  });
  emitParts(step.func, step.candidates.collectives, wanted, parts);
  mergeBuckets(step.func, step.graph, dependencies, step.candidates, wanted,
               parts);
}

LogicalResult BucketCollectives::checkOptions() {
  auto fail = [&](const Twine &message) {
    return emitError(getOperation().getLoc()) << message;
  };
  if (mode == BucketMode::Auto && !plan.empty())
    return fail("'plan' has no effect with 'mode=auto', got \"" + plan + "\"");
  const BucketCollectivesPassOptions defaults;
  const std::pair<StringRef, bool> ofAuto[] = {
      {"cluster", cluster != defaults.cluster},
      {"saturation", saturation != defaults.saturation},
      {"max-bytes", maxBytes != defaults.maxBytes},
      {"max-compute", maxCompute != defaults.maxCompute}};
  for (auto [name, isChanged] : ofAuto)
    if (isChanged && mode == BucketMode::Plan)
      return fail("'" + name + "' has no effect with 'mode=plan'");
  if (!(saturation > 0 && saturation < 1))
    return fail("'saturation' must be above 0 and below 1, got " +
                Twine(llvm::formatv("{0}", saturation.getValue()).str()));
  if (maxBytes < 0)
    return fail("'max-bytes' must not be negative, got " +
                Twine(maxBytes.getValue()));
  if (!(maxCompute >= 0))
    return fail("'max-compute' must not be negative, got " +
                Twine(llvm::formatv("{0}", maxCompute.getValue()).str()));
  return success();
}

LogicalResult BucketCollectives::bucketByPlan() {
  std::vector<Step> steps;
  for (FunctionOpInterface func : getSteps(getOperation()))
    steps.emplace_back(func);
  FailureOr<PlannedNames> names = planNames(steps);
  if (failed(names))
    return failure();
  auto bucket = [&](const Step &step) {
    merge(step, groupByName(step.func, step.candidates.collectives, *names));
  };
  for (const Step &step : steps) {
    if (takeApartByName(step, *names))
      bucket(Step(step.func));
    else
      bucket(step);
  }
  return success();
}

LogicalResult BucketCollectives::bucketBySchedule() {
  Result<Cluster> read = loadCluster(cluster);
  if (!read)
    return emitError(getOperation().getLoc()) << read.getMessage();
  CostModel model(std::move(*read));
  FailureOr<StepCosts> costs = StepCosts::create(getOperation(), model);
  if (failed(costs))
    return failure();
  unsigned number = 0;
  for (FunctionOpInterface func : getSteps(getOperation())) {
    Step step(func);
    ArrayRef<Candidate> candidates = step.candidates.collectives;
    std::vector<WantedBucket> wanted =
        groupByName(func, candidates, PlannedNames());
    // Marks may be left from an earlier run.
    llvm::StringSet<> marks;
    for (const WantedBucket &bucket : wanted)
      marks.insert(bucket.name);
    AutoBuckets chosen =
        chooseAutoBuckets(func, step.graph, step.candidates, *costs,
                          {saturation, maxBytes, maxCompute});
    for (WantedBucket &bucket : chosen.wanted) {
      do
        bucket.name = "auto." + std::to_string(number++);
      while (marks.contains(bucket.name));
      wanted.push_back(std::move(bucket));
    }
    if (!candidates.empty())
      remark::analysis(
          func.getLoc(),
          remark::RemarkOpts::name("estimate").category(DEBUG_TYPE))
          << remark::reason(
                 "a schedule takes {0:f3} ms, {1:f3} ms with buckets",
                 chosen.secondsBefore * 1e3, chosen.secondsAfter * 1e3)
          << remark::metric("schedules", chosen.numJudged);
    merge(step, wanted);
  }
  return success();
}
