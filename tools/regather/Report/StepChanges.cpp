//===- StepChanges.cpp - Changes that may help a step ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepChanges.h"

#include "llvm/Support/FormatVariadic.h"

using namespace regather;
using llvm::formatv;

namespace {
class ChangeFinder {
public:
  explicit ChangeFinder(const AdvisedStep &step)
      : step(step), request(step.request), timing(step.report.timing),
        boundary(step.report.after.boundary) {}

  std::vector<StepChange> find();

private:
  void addOrders();
  void addBuckets();
  void addResharding();
  void addRecomputation();
  void addMesh();
  void addMicroBatches();
  void add(ChangeKind kind, std::string title, std::string explanation,
           std::string flags,
           std::function<void(RunRequest &, PassOptionTexts &)> apply) {
    changes.push_back({kind, std::move(title), std::move(explanation),
                       std::move(flags), std::move(apply)});
  }
  void addReshard(std::string title, std::string explanation,
                  const std::string &mode);
  void addPolicy(std::string title, std::string explanation,
                 const std::string &policy);

  bool isExposed() const { return timing.exposedSeconds > 0; }
  /// Whether `text`, options of a pass, asks for mode `mode`.
  static bool asksFor(llvm::StringRef text, llvm::StringRef mode) {
    llvm::StringRef first = text.trim().split(' ').first;
    first.consume_front("mode=");
    return first == mode;
  }
  /// The axis and the ranks of a mesh of one axis over which this request
  /// shards the step.
  std::optional<std::pair<std::string, int64_t>> getOnlyAxis() const;
  /// Ranks of a node, if the step lies on several that it fills.
  std::optional<int64_t> getFilledNode() const;

  const AdvisedStep &step;
  const RunRequest &request;
  const report::StepTiming &timing;
  const report::Boundary &boundary;
  std::vector<StepChange> changes;
};
} // namespace

void ChangeFinder::addOrders() {
  if (!isExposed())
    return;
  std::string cluster = timing.cluster;
  auto set = [](std::string text) {
    return [text](RunRequest &request, PassOptionTexts &) {
      request.schedule = text;
    };
  };
  if (!asksFor(request.schedule, "auto"))
    add(ChangeKind::Order, "Schedule the step",
        "Collectives start early enough to be hidden behind computation, "
        "within 1.05 times the memory.",
        "--schedule=auto", set("mode=auto cluster=" + cluster));
  bool isLimited = llvm::any_of(
      timing.collectives, [](const report::TimedCollective &collective) {
        return llvm::StringRef(collective.reason).contains("memory");
      });
  if (asksFor(request.schedule, "auto") && isLimited &&
      !llvm::StringRef(request.schedule).contains("memory-limit="))
    add(ChangeKind::Order, "Let the schedule take more memory",
        "Some collectives cannot start earlier within the limit.",
        "--schedule='auto memory-limit=1.2x'",
        set("mode=auto memory-limit=1.2x cluster=" + cluster));
}

void ChangeFinder::addBuckets() {
  if (!isExposed() || !(request.bucket.empty() || request.bucket == "none"))
    return;
  std::string text = "mode=auto cluster=" + timing.cluster;
  add(ChangeKind::Buckets, "Merge small collectives",
      "Neighbours that would be exposed start as one, and pay for latency "
      "once.",
      "--bucket=auto", [text](RunRequest &request, PassOptionTexts &) {
        request.bucket = text;
      });
}

void ChangeFinder::addReshard(std::string title, std::string explanation,
                              const std::string &mode) {
  add(ChangeKind::Resharding, std::move(title), std::move(explanation),
      "--reshard=" +
          (llvm::StringRef(mode).contains(' ') ? "'" + mode + "'" : mode),
      [mode](RunRequest &request, PassOptionTexts &) {
        request.reshard = mode;
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
               "never");
  if (boundary.gatheredBytes > 0 && !isRegathered)
    addReshard("Release parameters after forward",
               "All but the unit that backward begins with are gathered "
               "again.",
               "default");
  std::optional<int64_t> node = getFilledNode();
  if (node && isRegathered &&
      !llvm::StringRef(request.reshard).contains("group="))
    addReshard("Gather again inside the node",
               formatv("Each node keeps one copy, of which a rank has 1/{0}; "
                       "backward does not use the network for gathers.",
                       *node),
               formatv("always group={0}", *node));
}

void ChangeFinder::addPolicy(std::string title, std::string explanation,
                             const std::string &policy) {
  if (asksFor(request.policy, policy))
    return;
  add(ChangeKind::Recomputation, std::move(title), std::move(explanation),
      "--policy=" + policy, [policy](RunRequest &request, PassOptionTexts &) {
        request.policy = policy;
      });
}

void ChangeFinder::addRecomputation() {
  if (!boundary.recomputed.empty())
    add(ChangeKind::Recomputation, "Recompute nothing",
        "Backward reads what forward has computed.",
        request.policy.empty() ? "--recompute=none"
                               : "--policy=none --recompute=none",
        [](RunRequest &request, PassOptionTexts &) {
          request.policy.clear();
          request.recompute = "none";
        });
  if (boundary.saved.empty())
    return;
  if (boundary.recomputed.empty())
    add(ChangeKind::Recomputation, "Recompute cheap operations",
        "A minimum cut saves the fewest bytes without computing any product "
        "twice.",
        "--recompute=min-cut", [](RunRequest &request, PassOptionTexts &) {
          request.recompute = "min-cut";
        });
  if (asksFor(request.policy, "full"))
    return;
  addPolicy("Save products and attention alone",
            "Everything else is computed again in backward.", "selective");
  addPolicy("Recompute whole layers",
            "Only the inputs of layers are saved, at the price of one more "
            "forward pass.",
            "full");
}

std::optional<std::pair<std::string, int64_t>>
ChangeFinder::getOnlyAxis() const {
  if (!request.replicateAxis.empty())
    return std::nullopt;
  std::string mesh = request.mesh;
  mlir::ModuleOp original = step.original;
  if (mesh.empty() && original.getOps<tg::MeshOp>().empty() &&
      request.ranks.value_or(1) > 1)
    mesh = "dp:" + std::to_string(*request.ranks);
  auto [axis, digits] = llvm::StringRef(mesh).split(':');
  int64_t ranks = 0;
  if (axis.empty() || digits.getAsInteger(10, ranks))
    return std::nullopt;
  return std::make_pair(axis.str(), ranks);
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
  std::string mesh = formatv("{0}:{1},{2}:{3}", replicas, axis->second / *node,
                             axis->first, *node);
  add(ChangeKind::Mesh, "Shard inside the node, replicate across nodes (HSDP)",
      "Parameters are gathered over the links of a node; gradients alone cross "
      "the network. A rank holds " +
          std::to_string(axis->second / *node) + " times as many of them.",
      "--mesh=" + mesh + " --replicate-axis=" + replicas,
      [mesh, replicas](RunRequest &request, PassOptionTexts &) {
        request.mesh = mesh;
        request.replicateAxis = replicas;
      });
}

void ChangeFinder::addMicroBatches() {
  auto given = step.passOptions.find("tg-shard-parameters");
  if (!isExposed() || !getOnlyAxis() ||
      (given != step.passOptions.end() &&
       llvm::StringRef(given->second).contains("micro-batches")))
    return;
  add(ChangeKind::Work, "Accumulate gradients over two micro-batches",
      "Parameters are gathered, and gradients reduced, once for both.",
      "--pass-option=tg-shard-parameters:micro-batches=2",
      [](RunRequest &, PassOptionTexts &options) {
        std::string &text = options["tg-shard-parameters"];
        text += (text.empty() ? "" : " ") + std::string("micro-batches=2");
      });
  changes.back().batches = 2;
}

std::vector<StepChange> ChangeFinder::find() {
  addOrders();
  addBuckets();
  addResharding();
  addRecomputation();
  addMesh();
  addMicroBatches();
  return std::move(changes);
}

std::vector<StepChange> regather::findChanges(const AdvisedStep &step) {
  return ChangeFinder(step).find();
}
