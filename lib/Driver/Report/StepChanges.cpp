//===- StepChanges.cpp - Changes that may help a step ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepChanges.h"

#include "regather/Dialect/TG/Transforms/WrittenAttention.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Support/MeshText.h"
#include "regather/Timeline/WriteTimeline.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace regather;
using llvm::formatv;

namespace {
class ChangeFinder {
public:
  explicit ChangeFinder(const AdvisedStep &step)
      : step(step), options(step.options), timing(step.report.timing),
        boundary(step.report.after.boundary) {}

  std::vector<StepChange> find();

private:
  void addOrders();
  void addBuckets();
  void addResharding();
  void addRecomputation();
  void addAttention();
  void addExperts();
  void addExpertChunks();
  void addMesh();
  void addMicroBatches();
  void add(ChangeKind kind, std::string title, std::string explanation,
           std::string flags, std::function<void(StepOptions &)> apply) {
    changes.push_back({kind, std::move(title), std::move(explanation),
                       std::move(flags), std::move(apply)});
  }
  void addReshard(std::string title, std::string explanation,
                  tg::ReshardMode mode, int64_t group = 0);
  void addPolicy(std::string title, std::string explanation,
                 tg::PolicyPlan plan);

  bool isExposed() const { return timing.exposedSeconds > 0; }
  bool isScheduled() const {
    return options.schedule.isWanted() &&
           options.schedule.options.mode == tg::ScheduleMode::Auto;
  }
  bool hasPolicy(tg::PolicyPlan plan) const {
    return options.policy && options.policy->policy == plan;
  }
  /// The axis and the ranks of a mesh of one axis over which this request
  /// shards the step.
  std::optional<std::pair<std::string_view, int64_t>> getOnlyAxis() const;
  /// Ranks of a node, if the step lies on several that it fills.
  std::optional<int64_t> getFilledNode() const;

  const AdvisedStep &step;
  const StepOptions &options;
  const report::StepTiming &timing;
  const report::Boundary &boundary;
  std::vector<StepChange> changes;
};
} // namespace

void ChangeFinder::addOrders() {
  if (!isExposed())
    return;
  auto schedule = [&](std::string memoryLimit) {
    tg::SchedulePassOptions changed;
    changed.cluster = timing.cluster;
    changed.memoryLimit = std::move(memoryLimit);
    return [changed](StepOptions &options) {
      options.schedule = {PassDecision::Yes, changed};
    };
  };
  std::string usualLimit = tg::SchedulePassOptions().memoryLimit;
  if (!isScheduled())
    add(ChangeKind::Order, "Schedule the step",
        formatv("Collectives start early enough to be hidden behind "
                "computation, within {0} times the memory.",
                tg::kMemorySlack),
        "--schedule=auto", schedule(usualLimit));
  bool isLimited = llvm::any_of(
      timing.collectives, [](const report::TimedCollective &collective) {
        return llvm::StringRef(collective.reason).contains("memory");
      });
  if (isScheduled() && isLimited &&
      options.schedule.options.memoryLimit == usualLimit)
    add(ChangeKind::Order, "Let the schedule take more memory",
        "Some collectives cannot start earlier within the limit.",
        "--schedule='auto memory-limit=1.2x'", schedule("1.2x"));
}

void ChangeFinder::addBuckets() {
  if (!isExposed() || options.bucket.isWanted())
    return;
  tg::BucketCollectivesPassOptions changed;
  changed.mode = tg::BucketMode::Auto;
  changed.cluster = timing.cluster;
  add(ChangeKind::Buckets, "Merge small collectives",
      "Neighbours that would be exposed start as one, and pay for latency "
      "once.",
      "--bucket=auto", [changed](StepOptions &options) {
        options.bucket = {PassDecision::Yes, changed};
      });
}

void ChangeFinder::addReshard(std::string title, std::string explanation,
                              tg::ReshardMode mode, int64_t group) {
  tg::ReshardAfterForwardPassOptions changed;
  changed.mode = mode;
  changed.group = group;
  StepOptions shown;
  shown.reshard = {PassDecision::Yes, changed};
  std::string text = printStepOption(shown, "reshard");
  add(ChangeKind::Resharding, std::move(title), std::move(explanation),
      "--reshard=" +
          (llvm::StringRef(text).contains(' ') ? "'" + text + "'" : text),
      [changed](StepOptions &options) {
        options.reshard = {PassDecision::Yes, changed};
      });
}

void ChangeFinder::addResharding() {
  if (boundary.parameters.empty() || step.report.overview.ranks < 2)
    return;
  bool isRegathered =
      llvm::any_of(boundary.parameters, [](const auto &parameter) {
        return parameter.regatheredBytes > 0;
      });
  if (isRegathered)
    addReshard("Keep gathered parameters until backward",
               "They are gathered once, and take memory from forward to "
               "backward.",
               tg::ReshardMode::Never);
  if (boundary.gatheredBytes > 0 && !isRegathered)
    addReshard("Release parameters after forward",
               "All but the unit that backward begins with are gathered "
               "again.",
               tg::ReshardMode::Default);
  std::optional<int64_t> node = getFilledNode();
  if (node && isRegathered &&
      !(options.reshard.isWanted() && options.reshard.options.group != 0))
    addReshard("Gather again inside the node",
               formatv("Each node keeps one copy, of which a rank has 1/{0}; "
                       "backward does not use the network for gathers.",
                       *node),
               tg::ReshardMode::Always, *node);
}

void ChangeFinder::addPolicy(std::string title, std::string explanation,
                             tg::PolicyPlan plan) {
  if (hasPolicy(plan))
    return;
  StepOptions shown;
  shown.policy.emplace().policy = plan;
  add(ChangeKind::Recomputation, std::move(title), std::move(explanation),
      "--policy=" + printStepOption(shown, "policy"),
      [plan](StepOptions &options) { options.policy.emplace().policy = plan; });
}

void ChangeFinder::addRecomputation() {
  if (!boundary.recomputed.empty())
    add(ChangeKind::Recomputation, "Recompute nothing",
        "Backward reads what forward has computed.",
        options.policy ? "--policy=none --recompute=none" : "--recompute=none",
        [](StepOptions &options) {
          options.policy.reset();
          options.recompute.decision = PassDecision::No;
        });
  if (boundary.saved.empty())
    return;
  if (boundary.recomputed.empty())
    add(ChangeKind::Recomputation, "Recompute cheap operations",
        "A minimum cut saves the fewest bytes without computing any GEMM "
        "twice.",
        "--recompute=min-cut", [](StepOptions &options) {
          options.recompute = {PassDecision::Yes, {}};
          options.recompute.options.mode = tg::PartitionMode::MinCut;
        });
  if (hasPolicy(tg::PolicyPlan::Full))
    return;
  addPolicy("Save GEMMs and attention alone",
            "Everything else is computed again in backward.",
            tg::PolicyPlan::Selective);
  addPolicy("Recompute whole layers",
            "Only the inputs of layers are saved, at the price of one more "
            "forward pass.",
            tg::PolicyPlan::Full);
}

void ChangeFinder::addAttention() {
  if (options.fuseAttention.isWanted() &&
      options.fuseAttention.options.mode == tg::FuseAttentionMode::All)
    return;
  tg::WrittenAttention written = tg::findWrittenAttention(step.original);
  if (written.chains == 0)
    return;
  add(ChangeKind::Attention, "Compute attention without storing scores",
      formatv("The model writes it as products and a softmax, {0} times, with "
              "probabilities of {1}. The last bits of results change.",
              written.chains, formatBytes(written.scoreBytes)),
      "--fuse-attention=all", [](StepOptions &options) {
        options.fuseAttention = {PassDecision::Yes, {}};
      });
}

void ChangeFinder::addExperts() {
  bool hasAxis = llvm::any_of(options.shard.mesh, [](const std::string &text) {
    auto axis = parseMeshAxis(text);
    return axis && axis->first == "ep" && axis->second > 1;
  });
  if (!hasAxis || options.shard.elastic)
    return;
  if (options.dispatch.isWanted())
    return addExpertChunks();
  tg::DispatchRowsPassOptions changed;
  add(ChangeKind::Experts, "Send rows to their experts",
      formatv("The ranks of ep have room for {0} times as many rows as if all "
              "experts got equally many, instead of all rows of each other. A "
              "step that needs more is run again with room for all; a bundle "
              "stops.",
              static_cast<double>(changed.capacity)),
      formatv("--expert-capacity={0}", static_cast<double>(changed.capacity)),
      [changed](StepOptions &options) {
        options.dispatch = {PassDecision::Yes, changed};
      });
}

void ChangeFinder::addExpertChunks() {
  if (options.dispatch.options.chunks != 1 || !isExposed())
    return;
  add(ChangeKind::Experts, "Send rows in two chunks",
      "One chunk travels while experts compute the other one. Each has room "
      "for "
      "its own rows, and no bit changes.",
      "--expert-chunks=2",
      [](StepOptions &changed) { changed.dispatch.options.chunks = 2; });
}

std::optional<std::pair<std::string_view, int64_t>>
ChangeFinder::getOnlyAxis() const {
  if (!options.shard.replicateAxis.empty() || options.shard.mesh.size() != 1)
    return std::nullopt;
  return parseMeshAxis(options.shard.mesh.front());
}

std::optional<int64_t> ChangeFinder::getFilledNode() const {
  std::optional<int64_t> node = step.model.getCluster().getRanksPerNode();
  int64_t ranks = step.report.overview.ranks;
  if (!node || *node < 2 || ranks <= *node || ranks % *node != 0)
    return std::nullopt;
  return node;
}

void ChangeFinder::addMesh() {
  auto axis = getOnlyAxis();
  std::optional<int64_t> node = getFilledNode();
  if (!axis || !node || axis->second <= *node || axis->second % *node != 0)
    return;
  std::string replicas = axis->first == "replicate" ? "rep" : "replicate";
  llvm::SmallVector<std::string> mesh = {
      formatv("{0}:{1}", replicas, axis->second / *node),
      formatv("{0}:{1}", axis->first, *node)};
  add(ChangeKind::Mesh, "Shard inside the node, replicate across nodes (HSDP)",
      "Parameters are gathered over the links of a node; gradients alone cross "
      "the network. A rank holds " +
          std::to_string(axis->second / *node) + " times as many of them.",
      "--mesh=" + llvm::join(mesh, ",") + " --replicate-axis=" + replicas,
      [mesh, replicas](StepOptions &options) {
        options.shard.mesh = mesh;
        options.shard.replicateAxis = replicas;
      });
}

void ChangeFinder::addMicroBatches() {
  if (!isExposed() || !getOnlyAxis() || options.shard.microBatches != 1)
    return;
  add(ChangeKind::Work, "Accumulate gradients over two micro-batches",
      "Parameters are gathered, and gradients reduced, once for both.",
      "--pass-option=tg-shard-parameters:micro-batches=2",
      [](StepOptions &options) { options.shard.microBatches = 2; });
  changes.back().batches = 2;
}

std::vector<StepChange> ChangeFinder::find() {
  addOrders();
  addBuckets();
  addResharding();
  addRecomputation();
  addAttention();
  addExperts();
  addMesh();
  addMicroBatches();
  return std::move(changes);
}

std::vector<StepChange> regather::findChanges(const AdvisedStep &step) {
  return ChangeFinder(step).find();
}
