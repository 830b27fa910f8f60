//===- PlanMeshes.cpp - Which mesh is quickest ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/PlanMeshes.h"

#include "../Memory/MeasureStep.h"
#include "FindPlacements.h"
#include "MeshCandidates.h"

#include "regather/Dialect/TG/Steps/TimedStep.h"
#include "regather/Dialect/TG/Transforms/Experts.h"
#include "regather/Dialect/TG/Transforms/ModelAxes.h"
#include "regather/Driver/Clusters.h"
#include "regather/Driver/ExpertChunks.h"
#include "regather/Driver/PrepareStep.h"
#include "regather/Driver/SimulatedStep.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Timeline/WriteTimeline.h"

#include <numeric>

using namespace mlir;
using namespace regather;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

std::string MeshPlan::getLimit() const {
  if (!exposed.empty() && exposed.front().second > computeSeconds)
    return exposed.front().first;
  return "computation";
}

std::string OtherPlacement::getText() const {
  return placement.empty() ? pattern + " as it follows" : placement;
}

std::vector<std::string> MeshPlan::getFlags() const {
  std::vector<std::string> flags = {"--mesh=" + mesh};
  if (!replicateAxis.empty())
    flags.push_back("--replicate-axis=" + replicateAxis);
  for (const std::string &placement : shard)
    flags.push_back("--shard=" + placement);
  if (hasOwnBatches)
    flags.push_back("--batch=per-rank");
  if (!expertCapacity.empty())
    flags.push_back("--expert-capacity=" + expertCapacity);
  if (!expertChunks.empty())
    flags.push_back("--expert-chunks=" + expertChunks);
  auto add = [&](StringRef name, const std::string &value) {
    if (!value.empty())
      flags.push_back(("--" + name + "=" + value).str());
  };
  add("micro-batches", choice.microBatches);
  add("chunk", choice.chunk == "none" ? "" : choice.chunk);
  add("policy", choice.policy);
  add("recompute", choice.recompute);
  add("reshard", choice.reshard);
  add("offload", choice.offload);
  add("schedule", choice.schedule);
  return flags;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// Dimensions whose cuts are tried: those of matrices, and of a batch of
/// sequences of rows.
static constexpr int64_t kParameterDims = 2, kOutputDims = 3;

namespace {
/// Keeps the first error, with its notes, instead of showing it.
class FirstError {
public:
  explicit FirstError(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error ||
              !text.empty())
            return success();
          text = diagnostic.str();
          for (Diagnostic &note : diagnostic.getNotes())
            notes.push_back(note.str());
          return success();
        }) {}

  std::string text;
  std::vector<std::string> notes;

private:
  ScopedDiagnosticHandler handler;
};

/// The least that was found for a mesh on which nothing fits.
struct LeastMemory {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  std::string mesh;
  std::vector<std::string> notes;
  /// What its placements keep; see FoundPlacements.
  double keptBytes = 0;
};

/// A mesh with placements, as it is before memory is decided about.
struct Candidate {
  StepOptions options;
  MeshPlan plan;
  MeasuredStep measured;
  double keptBytes = 0;
};

class Search {
public:
  Search(ModuleOp module, const PlanRequest &request, CostModel model,
         ProgressListener &progress)
      : module(module), request(request), model(std::move(model)),
        progress(progress) {}

  FailureOr<MeshSearch> run();

private:
  LogicalResult readTotals();
  void tryMesh(const MeshCandidate &mesh);
  /// Sets what the flags for a mesh set; says why if it cannot.
  bool setMesh(const MeshCandidate &mesh, const FoundPlacements &placements,
               StepOptions &options, MeshPlan &plan, std::string &problem);
  /// What a search has found for the axes of the model, the best first; none,
  /// and the reason, if it could not. Meshes share it whose data axis has other
  /// sizes on the same links.
  ArrayRef<FoundPlacements> getPlacements(const MeshCandidate &mesh,
                                          std::string &problem);
  /// Nothing if it cannot be; then that is counted.
  std::optional<Candidate> measure(const MeshCandidate &mesh,
                                   const FoundPlacements &placements,
                                   std::string &problem);
  /// Decides about memory if the step does not fit; says why if it cannot.
  bool fitMemory(const MeshCandidate &mesh, Candidate &candidate,
                 std::string &problem, LeastMemory &found);
  void tryPlacements(const MeshCandidate &mesh,
                     ArrayRef<FoundPlacements> choices,
                     std::optional<MeshPlan> &best, LeastMemory &found,
                     std::string &problem);
  void keep(MeshPlan plan);
  bool isTooSlow(double boundSecondsPerRow) const {
    return search.plans.size() >= request.count &&
           boundSecondsPerRow >= search.plans.back().getSecondsPerRow();
  }
  void explain();
  LogicalResult emitNothing();

  ModuleOp module;
  const PlanRequest &request;
  CostModel model;
  ProgressListener &progress;
  MeshSearch search;
  StepTotals totals;
  LeastMemory least;
  std::string largestParameter;
  double largestBytes = 0;
  /// By axes of the model and the links of the data axis: what a search has
  /// chosen, or why it could not.
  std::map<std::pair<std::string, unsigned>,
           std::pair<std::vector<FoundPlacements>, std::string>>
      found;
};
} // namespace

LogicalResult Search::readTotals() {
  OwningOpRef<ModuleOp> copy = module.clone();
  // Decisions that are asked for may need a mesh.
  StepOptions options;
  options.entry = request.step.entry;
  options.asCaptured = true;
  // States take memory on any mesh.
  options.optimizer = request.step.optimizer;
  FailureOr<PreparedStep> prepared = prepareWholeStep(*copy, options);
  if (failed(prepared))
    return failure();
  if (tg::MeshOp mesh = prepared->step.mesh)
    return mesh.emitError()
           << "a plan is made for a step on one device, but this one lies over "
              "mesh \""
           << mesh.getSymName() << "\" already";
  const StepSignature &signature = prepared->step.signature;
  bool hasParameters = false;
  func::FuncOp entry = prepared->step.entry;
  llvm::SmallDenseSet<Value> experts;
  for (Operation &op : entry.getBody().front())
    if (BlockArgument argument = tg::findExperts(&op)) {
      auto type = cast<RankedTensorType>(argument.getType());
      totals.experts = std::gcd(totals.experts, type.getDimSize(0));
      experts.insert(argument);
    }
  for (auto [value, argument] :
       llvm::zip_equal(signature.arguments, entry.getArguments())) {
    auto bytes = static_cast<double>(tg::getValueBytes(argument));
    if (value.role == Role::Parameter) {
      totals.parameterBytes += bytes;
      totals.expertBytes += experts.contains(argument) ? bytes : 0;
      hasParameters = true;
      if (bytes > largestBytes) {
        largestBytes = bytes;
        largestParameter = value.name;
      }
    }
    if (value.role == Role::OptimizerState)
      totals.stateBytes += bytes;
    if (value.role == Role::Input && value.globalShape.size() > 1 &&
        totals.positions == 0)
      totals.positions = value.globalShape[1];
  }
  if (!hasParameters)
    return module.emitError() << "the step has no parameters to shard";
  if (const StepValue *batch = findBatch(signature))
    totals.rows = batch->globalShape.front();
  ModelFlops flops = countModelFlops(*copy);
  totals.flops = flops.flops;
  totals.peakFlops = model.getCluster().device.peakFlops.lookup(flops.type);
  return success();
}

ArrayRef<FoundPlacements> Search::getPlacements(const MeshCandidate &mesh,
                                                std::string &problem) {
  int64_t sizes[] = {mesh.data, mesh.getModelRanks()};
  unsigned link = model.placeMeshGroup(sizes, {0}).getLink();
  auto [it, isNew] = found.try_emplace({mesh.getModelMesh(), link});
  auto &[choices, reason] = it->second;
  if (isNew) {
    FirstError error(module.getContext());
    FailureOr<std::vector<FoundPlacements>> chosen = findPlacements(
        module, mesh.getShardedMesh(), chooseCluster(request.step, module));
    if (failed(chosen))
      reason = error.text;
    else if (chosen->empty())
      reason = "no placement over tp costs less than none";
    else
      choices = std::move(*chosen);
  }
  problem = reason;
  return choices;
}

bool Search::setMesh(const MeshCandidate &mesh,
                     const FoundPlacements &placements, StepOptions &options,
                     MeshPlan &plan, std::string &problem) {
  plan.mesh = mesh.getMesh();
  options.ranks.reset();
  options.memory.reset();
  auto set = [&](StringRef name, const std::string &text) {
    Failure failure = setStepOption(options, name, text, name);
    if (failure)
      problem = failure.getMessage();
    return !failure;
  };
  if (!set("mesh", plan.mesh))
    return false;
  if (mesh.replicas > 1) {
    plan.replicateAxis = "rep";
    if (!set("replicate-axis", plan.replicateAxis))
      return false;
  }
  if (mesh.experts == 1)
    options.sendNoRows();
  // Placements over axes that this mesh lacks are for others.
  llvm::erase_if(options.model.shard, [&](const std::string &text) {
    StringRef axis = tg::getAnnotatedAxis(text);
    return (axis == "tp" && mesh.tensor == 1) ||
           (axis == "cp" && mesh.sequence == 1) ||
           (axis == "ep" && mesh.experts == 1);
  });
  plan.shard.assign(options.model.shard.begin(), options.model.shard.end());
  plan.placementSeconds = placements.costSeconds;
  plan.placementBoundSeconds = placements.boundSeconds;
  for (const std::string &placement : placements.shard) {
    if (!set("shard", placement))
      return false;
    plan.shard.push_back(placement);
  }
  return true;
}

bool Search::fitMemory(const MeshCandidate &mesh, Candidate &candidate,
                       std::string &problem, LeastMemory &found) {
  MeasuredStep &measured = candidate.measured;
  if (search.limit <= 0 || measured.choice.getBytes() <= search.limit)
    return true;
  if (isTooSlow(measured.boundSeconds / candidate.plan.rows)) {
    problem = "not quicker than the last plan, by its bound";
    return false;
  }
  FirstError error(module.getContext());
  candidate.options.memory = search.limit;
  MemorySearchNotes notes;
  notes.first = &measured;
  // What cannot be the best plan is only to be one.
  notes.takesFirst =
      !search.plans.empty() && measured.boundSeconds / candidate.plan.rows >=
                                   search.getBest().getSecondsPerRow();
  std::optional<StepMemoryPlan> plan;
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(decideMemory(*copy, candidate.options, plan, &notes))) {
    problem = "does not fit in memory";
    int64_t bytes = notes.leastBytes.value_or(measured.choice.getBytes());
    if (bytes < found.bytes)
      found = {bytes, mesh.getMesh(), error.notes, candidate.keptBytes};
    if (bytes < least.bytes)
      least = found;
    return false;
  }
  measured = *notes.chosen;
  measured.boundSeconds = std::min(plan->boundSeconds, measured.boundSeconds);
  return true;
}

void Search::keep(MeshPlan plan) {
  auto isBefore = [](const MeshPlan &a, const MeshPlan &b) {
    return std::make_tuple(a.getSecondsPerRow(), llvm::count(a.mesh, ','),
                           a.mesh) < std::make_tuple(b.getSecondsPerRow(),
                                                     llvm::count(b.mesh, ','),
                                                     b.mesh);
  };
  search.plans.insert(llvm::upper_bound(search.plans, plan, isBefore), plan);
  if (search.plans.size() > request.count) {
    search.plans.pop_back();
    ++search.others["slower than the last plan"];
  }
}

std::optional<Candidate> Search::measure(const MeshCandidate &mesh,
                                         const FoundPlacements &placements,
                                         std::string &problem) {
  Candidate candidate = {request.step, {}, {}, placements.keptBytes};
  MeshPlan &plan = candidate.plan;
  if (!setMesh(mesh, placements, candidate.options, plan, problem))
    return std::nullopt;
  FirstError error(module.getContext());
  FailureOr<MeasuredStep> measured = failure();
  if (succeeded(decideExpertChunks(module, candidate.options)))
    measured = measureStep(module, candidate.options, model);
  if (candidate.options.dispatch.isWanted()) {
    plan.expertCapacity = printStepOption(candidate.options, "expert-capacity");
    plan.expertChunks = printStepOption(candidate.options, "expert-chunks");
  }
  if (failed(measured)) {
    problem = error.text;
    return std::nullopt;
  }
  candidate.measured = std::move(*measured);
  plan.hasOwnBatches = candidate.measured.hasOwnBatches;
  plan.rows = static_cast<double>(std::max<int64_t>(totals.rows, 1)) *
              (plan.hasOwnBatches ? static_cast<double>(mesh.getBatches()) : 1);
  return candidate;
}

/// Of several placements on one mesh, what is quickest.
void Search::tryPlacements(const MeshCandidate &mesh,
                           ArrayRef<FoundPlacements> choices,
                           std::optional<MeshPlan> &best, LeastMemory &found,
                           std::string &problem) {
  std::vector<Candidate> candidates;
  for (const FoundPlacements &placements : choices)
    if (std::optional<Candidate> one = measure(mesh, placements, problem))
      candidates.push_back(std::move(*one));
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return std::tie(a.measured.choice.seconds, a.plan.shard) <
           std::tie(b.measured.choice.seconds, b.plan.shard);
  });
  for (Candidate &one : candidates) {
    // A limit makes no step quicker.
    if (best && best->choice.seconds <= one.measured.choice.seconds)
      break;
    double rows = one.plan.rows;
    double bound =
        std::max(one.measured.boundSeconds / rows, mesh.boundSecondsPerRow);
    if (!fitMemory(mesh, one, problem, found))
      continue;
    MeasuredStep &measured = one.measured;
    bound = std::min(bound, measured.boundSeconds / rows);
    if (search.boundSecondsPerRow == 0 || bound < search.boundSecondsPerRow)
      search.boundSecondsPerRow = bound;
    if (best && best->choice.seconds <= measured.choice.seconds)
      continue;
    best = std::move(one.plan);
    best->choice = measured.choice;
    best->boundSeconds = measured.boundSeconds;
    best->computeSeconds = measured.computeSeconds;
    best->exposed = std::move(measured.exposed);
    best->utilization = measured.utilization;
  }
}

void Search::tryMesh(const MeshCandidate &mesh) {
  if (isTooSlow(mesh.boundSecondsPerRow)) {
    ++search.others["not quicker than the last plan, by its bound"];
    return;
  }
  bool namesTensor =
      llvm::any_of(request.step.model.shard, [](const std::string &text) {
        return tg::getAnnotatedAxis(text) == "tp";
      });
  std::string problem;
  const FoundPlacements none;
  ArrayRef<FoundPlacements> choices = none;
  if (mesh.tensor > 1 && !namesTensor)
    choices = getPlacements(mesh, problem);
  std::optional<MeshPlan> best;
  LeastMemory found;
  tryPlacements(mesh, choices, best, found, problem);
  search.numMeasured += !choices.empty();
  // What keeps less may fit where what is quickest does not.
  if (!best && found.keptBytes > 0) {
    FirstError error(module.getContext());
    auto share =
        static_cast<double>(search.limit) / static_cast<double>(found.bytes);
    FailureOr<std::vector<FoundPlacements>> smaller = findPlacements(
        module, mesh.getShardedMesh(), chooseCluster(request.step, module),
        static_cast<int64_t>(share * found.keptBytes));
    std::string otherProblem;
    if (succeeded(smaller))
      tryPlacements(mesh, *smaller, best, found, otherProblem);
  }
  if (best)
    keep(std::move(*best));
  else
    ++search.others[problem];
}

/// Options with the flags of a plan.
static FailureOr<StepOptions> applyFlags(ModuleOp module, StepOptions options,
                                         const MeshPlan &plan) {
  options.ranks.reset();
  options.memory.reset();
  options.model.shard.clear();
  options.sendNoRows();
  options.choosesParts = false;
  for (const std::string &flag : plan.getFlags()) {
    auto [name, value] = StringRef(flag).drop_front(2).split('=');
    if (Failure failure = setStepOption(options, name, value, name))
      return module.emitError() << failure.getMessage();
  }
  return options;
}

/// The name or pattern that an annotation places.
static StringRef getPlaced(StringRef annotation) {
  return annotation.rsplit('=').first.trim();
}

void Search::explain() {
  if (request.explained.empty())
    return;
  auto it = llvm::find_if(search.plans, [](const MeshPlan &plan) {
    return StringRef(plan.mesh).contains("tp:");
  });
  if (it == search.plans.end()) {
    search.problem =
        "there is nothing to explain of \"" + request.explained.front() +
        "\": none of the " + std::to_string(search.plans.size()) +
        " plans has an axis tp, and over dp all parameters are sharded alike";
    return;
  }
  const MeshPlan &best = *it;
  search.explainedMesh = best.mesh;
  for (const std::string &pattern : request.explained) {
    auto chosen = llvm::find_if(best.shard, [&](const std::string &text) {
      return getPlaced(text) == pattern;
    });
    // Parameters of which nothing is said are whole; what leaves a module
    // follows from what it reads.
    bool isOutput = StringRef(pattern).starts_with("output(");
    std::string isWhole = pattern + "=[tp] whole";
    std::string unsaid = isOutput ? "" : isWhole;
    std::string current = chosen == best.shard.end() ? unsaid : *chosen;
    std::vector<std::string> all = {isWhole};
    if (isOutput)
      all.insert(all.begin(), unsaid);
    int64_t numDims = isOutput ? kOutputDims : kParameterDims;
    for (int64_t dim = 0; dim != numDims; ++dim)
      all.push_back(pattern + "=[tp] shard " + std::to_string(dim));
    for (const std::string &placement : all) {
      MeshPlan changed = best;
      // Decisions about memory fit the placements for which they were made.
      changed.choice = MemoryChoice();
      llvm::erase_if(changed.shard, [&](const std::string &text) {
        return getPlaced(text) == pattern;
      });
      if (!placement.empty())
        changed.shard.push_back(placement);
      FirstError error(module.getContext());
      FailureOr<StepOptions> options =
          applyFlags(module, request.step, changed);
      FailureOr<MeasuredStep> measured = failure();
      if (succeeded(options))
        measured = measureStep(module, *options, model);
      OtherPlacement other{
          pattern, placement, placement == current, {}, error.text};
      if (succeeded(measured))
        other.choice = measured->choice;
      search.explanations.push_back(std::move(other));
    }
    // Nothing is known of what none of the placements can be of.
    if (llvm::none_of(ArrayRef(search.explanations).take_back(all.size()),
                      [](const OtherPlacement &other) {
                        return !other.placement.empty() &&
                               other.choice.has_value();
                      }))
      search.problem = search.explanations.back().problem;
  }
}

LogicalResult Search::emitNothing() {
  InFlightDiagnostic diag = module.emitError();
  if (least.mesh.empty()) {
    diag << "no mesh of " << search.ranks << " ranks can be planned";
    for (const auto &[reason, count] : search.others)
      diag.attachNote() << count << (count == 1 ? " mesh: " : " meshes: ")
                        << reason;
    double shared = (totals.parameterBytes + totals.stateBytes) /
                    static_cast<double>(search.ranks);
    diag.attachNote() << "parameters and states of the optimizer take "
                      << formatBytes(static_cast<int64_t>(shared)) << " of the "
                      << formatBytes(search.limit)
                      << " at least if each rank has a part of all; the "
                         "largest is \""
                      << largestParameter << "\", "
                      << formatBytes(static_cast<int64_t>(largestBytes))
                      << " as a whole";
    return diag;
  }
  diag << "no plan fits in " << search.limit << " bytes ("
       << formatBytes(search.limit) << ") on each of " << search.ranks
       << " ranks: the least that was found is " << least.bytes
       << " bytes, with --mesh=" << least.mesh;
  for (const std::string &note : least.notes)
    diag.attachNote() << note;
  return diag;
}

FailureOr<MeshSearch> Search::run() {
  search.file = request.file;
  search.cluster = model.getCluster().name;
  search.ranks = *request.step.ranks;
  search.limit = request.step.memory.value_or(
      static_cast<int64_t>(model.getCluster().device.memoryBytes));
  if (failed(readTotals()))
    return failure();
  std::vector<MeshCandidate> meshes =
      listMeshes(search.ranks, totals, request.step.batch, search.limit, model,
                 search.others);
  search.numMeshes = meshes.size();
  for (const auto &[reason, count] : search.others)
    search.numMeshes += count;
  progress.begin("planning");
  for (auto [number, mesh] : llvm::enumerate(meshes)) {
    tryMesh(mesh);
    progress.advance(static_cast<int64_t>(number) + 1,
                     static_cast<int64_t>(meshes.size()));
  }
  progress.end();
  if (search.plans.empty())
    return emitNothing();
  explain();
  return std::move(search);
}

FailureOr<MeshSearch> regather::planMeshes(ModuleOp module,
                                           const PlanRequest &request,
                                           ProgressListener &progress) {
  StepOptions options = request.step;
  if (!options.ranks)
    return module.emitError() << "a plan needs a number of ranks";
  if (std::string message = findIdleChunks(options); !message.empty())
    return module.emitError() << message;
  FailureOr<CostModel> model = loadChosenCluster(module, options);
  if (failed(model))
    return failure();
  if (Failure failure = model->getCluster().checkRanks(*options.ranks))
    return module.emitError() << failure.getMessage();
  return Search(module, request, std::move(*model), progress).run();
}
