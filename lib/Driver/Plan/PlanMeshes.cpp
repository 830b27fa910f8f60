//===- PlanMeshes.cpp - Which mesh is quickest ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/PlanMeshes.h"

#include "../SideBySide.h"
#include "MeshTrial.h"

#include "regather/Dialect/TG/Steps/TimedStep.h"
#include "regather/Dialect/TG/Transforms/Experts.h"
#include "regather/Dialect/TG/Transforms/ModelAxes.h"
#include "regather/Driver/Clusters.h"
#include "regather/Driver/ExpertChunks.h"
#include "regather/Driver/PrepareStep.h"
#include "regather/Driver/SimulatedStep.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Timeline/WriteTimeline.h"

#include <cmath>
#include <mutex>
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
/// Meshes that are tried side by side once there are enough plans. What is
/// known of others then does not depend on the threads of the machine.
static constexpr size_t kSideBySide = 4;
/// By how much what was estimated may be wrong.
static constexpr double kEstimateSlack = 1.05;

namespace {
class Search {
public:
  Search(ModuleOp module, const PlanRequest &request, CostModel model,
         ProgressListener &progress)
      : module(module), request(request), model(std::move(model)),
        progress(progress) {}

  FailureOr<MeshSearch> run();

private:
  LogicalResult readTotals();
  /// By axes of the model and the links of the data axis: meshes share what a
  /// search has chosen if their data axis has other sizes on the same links.
  using PlacementKey = std::pair<std::string, unsigned>;
  PlacementKey getKey(const MeshCandidate &mesh) const;
  /// True if a search places parameters over tp.
  bool searches(const MeshCandidate &mesh) const;

  void tryAllMeshes(ArrayRef<MeshCandidate> meshes);
  void tryMeshes(std::vector<MeshTrial> trials);
  void measureWhole(MutableArrayRef<MeshTrial> trials);
  void tryTightMeshes();
  void findAllPlacements(ArrayRef<MeshTrial> trials);
  void measureAll(MutableArrayRef<MeshTrial> trials);
  /// Of a mesh over which nothing could be measured.
  std::string hearProblem(const MeshTrial &trial);
  void decide(ArrayRef<MeshTrial *> trials);
  void finish(MeshTrial &trial);
  void carryOutEstimated();
  void carryOut(MutableArrayRef<MeshTrial> trials);
  void carryOutLeast();
  void keep(MeshPlan plan);

  /// Shows that a part of the work on one mesh is done: each is measured, and
  /// decided about.
  void advance();
  bool isEstimateWorthIt(ArrayRef<MeshCandidate> meshes) const;

  PlansSoFar getPlansSoFar() const;
  void explain();
  LogicalResult emitNothing();

  ModuleOp module;
  const PlanRequest &request;
  CostModel model;
  ProgressListener &progress;
  std::mutex mutex;
  int64_t numDone = 0, numToDo = 0;
  MeshSearch search;
  StepTotals totals;
  bool isOpen = false;
  std::optional<ShortSteps> shortSteps;
  std::optional<PlanInput> input, wholeInput;
  /// Those that do not fit as they are.
  std::vector<MeshTrial> tight;
  /// Those with a plan by estimates, and what these take for a row, the least
  /// first.
  std::vector<MeshTrial> estimated;
  std::vector<double> estimatedSeconds;
  LeastMemory least;
  std::string largestParameter;
  double largestBytes = 0;
  /// What was found, or why nothing was.
  std::map<PlacementKey, std::pair<std::vector<FoundPlacements>, std::string>>
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
  isOpen =
      !prepared->step.backward &&
      isOpenStep(module, module.lookupSymbol<func::FuncOp>(entry.getSymName()));
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

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

Search::PlacementKey Search::getKey(const MeshCandidate &mesh) const {
  int64_t sizes[] = {mesh.data, mesh.getModelRanks()};
  return {mesh.getModelMesh(), model.placeMeshGroup(sizes, {0}).getLink()};
}

bool Search::searches(const MeshCandidate &mesh) const {
  return mesh.tensor > 1 &&
         llvm::none_of(request.step.model.shard, [](const std::string &text) {
           return tg::getAnnotatedAxis(text) == "tp";
         });
}

void Search::findAllPlacements(ArrayRef<MeshTrial> trials) {
  using Found = FailureOr<std::vector<FoundPlacements>>;
  std::string cluster = chooseCluster(request.step, module);
  std::map<PlacementKey, const MeshCandidate *> wanted;
  for (const MeshTrial &trial : trials)
    if (PlacementKey key = getKey(trial.getMesh());
        searches(trial.getMesh()) && !found.count(key))
      wanted.try_emplace(key, &trial.getMesh());
  std::vector<Found> chosen(wanted.size(), failure());
  std::vector<std::function<void()>> parts;
  for (const auto &[key, mesh] : wanted)
    parts.push_back([&, mesh = mesh, number = parts.size()] {
      chosen[number] = findPlacements(module, mesh->getShardedMesh(), cluster);
    });
  runSideBySide(module.getContext(), parts);
  for (auto [one, result] : llvm::zip_equal(wanted, chosen)) {
    auto &[choices, reason] = found[one.first];
    if (failed(result)) {
      FirstError error(module.getContext());
      (void)findPlacements(module, one.second->getShardedMesh(), cluster);
      reason = error.text;
    } else if (result->empty()) {
      reason = "no placement over tp costs less than none";
    } else {
      choices = std::move(*result);
    }
  }
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

void Search::advance() {
  std::lock_guard<std::mutex> lock(mutex);
  ++numDone;
  progress.advance(std::min(numDone, numToDo), numToDo);
}

std::string Search::hearProblem(const MeshTrial &trial) {
  FoundPlacements none;
  const FoundPlacements *placements = &none;
  if (searches(trial.getMesh())) {
    const auto &[choices, reason] = found.at(getKey(trial.getMesh()));
    if (choices.empty())
      return reason;
    placements = &choices.back();
  }
  FirstError error(module.getContext());
  std::string problem;
  (void)trial.measure(*placements, PlansSoFar(), problem);
  return problem.empty() ? error.text : problem;
}

/// Each mesh with each of its placements.
void Search::measureAll(MutableArrayRef<MeshTrial> trials) {
  const std::vector<FoundPlacements> none(1);
  PlansSoFar soFar = getPlansSoFar();
  std::vector<std::vector<std::optional<PlacedStep>>> measured(trials.size());
  std::vector<std::function<void()>> parts;
  for (auto [trial, steps] : llvm::zip_equal(trials, measured)) {
    const MeshCandidate &mesh = trial.getMesh();
    const std::vector<FoundPlacements> &choices =
        searches(mesh) ? found.at(getKey(mesh)).first : none;
    search.numMeasured += !choices.empty();
    steps.resize(choices.size());
    for (auto [placements, place] : llvm::zip_equal(choices, steps))
      parts.push_back([this, &soFar, &trial = trial, &placements = placements,
                       &place = place,
                       isLast = &placements == &choices.back()] {
        std::string unheard;
        FailureOr<PlacedStep> step = trial.measure(placements, soFar, unheard);
        if (succeeded(step))
          place = std::move(*step);
        if (isLast)
          advance();
      });
  }
  runSideBySide(module.getContext(), parts);
  for (auto [trial, steps] : llvm::zip_equal(trials, measured)) {
    std::vector<PlacedStep> possible;
    for (std::optional<PlacedStep> &step : steps)
      if (step)
        possible.push_back(std::move(*step));
    trial.setSteps(std::move(possible));
  }
}

PlansSoFar Search::getPlansSoFar() const {
  SmallVector<double> seconds;
  for (double estimate : estimatedSeconds)
    seconds.push_back(kEstimateSlack * estimate);
  for (const MeshPlan &plan : search.plans)
    seconds.push_back(plan.getSecondsPerRow());
  llvm::sort(seconds);
  PlansSoFar soFar;
  if (!seconds.empty())
    soFar.best = seconds.front();
  if (seconds.size() >= request.count)
    soFar.last = seconds[request.count - 1];
  return soFar;
}

void Search::finish(MeshTrial &trial) {
  if (trial.least.bytes < least.bytes)
    least = trial.least;
  if (trial.plan && trial.isEstimated()) {
    double seconds = trial.plan->getSecondsPerRow();
    estimatedSeconds.insert(llvm::upper_bound(estimatedSeconds, seconds),
                            seconds);
    estimated.push_back(std::move(trial));
    return;
  }
  double bound = trial.boundSecondsPerRow;
  if (std::isfinite(bound) &&
      (search.boundSecondsPerRow == 0 || bound < search.boundSecondsPerRow))
    search.boundSecondsPerRow = bound;
  if (trial.plan)
    keep(std::move(*trial.plan));
  else
    ++search.others[trial.problem];
}

void Search::decide(ArrayRef<MeshTrial *> trials) {
  PlansSoFar soFar = getPlansSoFar();
  std::vector<std::function<void()>> parts;
  for (MeshTrial *trial : trials)
    parts.push_back([this, trial, soFar] {
      trial->decide(soFar);
      advance();
    });
  runSideBySide(module.getContext(), parts);
  for (MeshTrial *trial : trials)
    finish(*trial);
}

/// Steps that cannot be estimated: options may speak of layers that are left
/// out.
void Search::measureWhole(MutableArrayRef<MeshTrial> trials) {
  auto isMissing = [&](const MeshTrial &trial) {
    const MeshCandidate &mesh = trial.getMesh();
    return !trial.hasSteps() &&
           (!searches(mesh) || !found.at(getKey(mesh)).first.empty());
  };
  std::vector<MeshTrial> others;
  for (const MeshTrial &trial : trials)
    if (isMissing(trial))
      others.emplace_back(*wholeInput, trial.getMesh());
  // They have been counted.
  search.numMeasured -= others.size();
  measureAll(others);
  auto other = others.begin();
  for (MeshTrial &trial : trials)
    if (isMissing(trial))
      trial = std::move(*other++);
}

/// What fits as it is makes other plans too slow; the rest is for later.
void Search::tryMeshes(std::vector<MeshTrial> trials) {
  findAllPlacements(trials);
  measureAll(trials);
  if (input->estimatesTime)
    measureWhole(trials);
  std::vector<MeshTrial *> fitting;
  for (MeshTrial &trial : trials) {
    if (!trial.hasSteps())
      ++search.others[hearProblem(trial)];
    else if (trial.fitsAsItIs())
      fitting.push_back(&trial);
    else
      tight.push_back(std::move(trial));
  }
  decide(fitting);
}

/// Decides about the memory of what does not fit as it is, first of the mesh
/// that would be quickest. Where nothing fits, that one is looked at by itself,
/// since the search is less thorough for those that cannot be the best plan.
void Search::tryTightMeshes() {
  std::vector<MeshTrial *> trials;
  for (MeshTrial &trial : tight)
    trials.push_back(&trial);
  // They lie in the order in which they were measured.
  llvm::sort(trials, [](const MeshTrial *a, const MeshTrial *b) {
    return std::make_pair(a->getSecondsPerRow(), a) <
           std::make_pair(b->getSecondsPerRow(), b);
  });
  for (ArrayRef<MeshTrial *> left = trials; !left.empty();) {
    bool isFirst = search.plans.empty() && estimated.empty();
    ArrayRef<MeshTrial *> next = left.take_front(isFirst ? 1 : kSideBySide);
    decide(next);
    left = left.drop_front(next.size());
  }
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
      // Decisions about memory fit the placements for which they were made, but
      // for what does nothing twice.
      changed.choice = MemoryChoice();
      if (best.choice.recompute == "none" && best.choice.reshard == "never") {
        changed.choice.recompute = best.choice.recompute;
        changed.choice.reshard = best.choice.reshard;
      }
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
  if (least.step.plan.mesh.empty()) {
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
       << " bytes, with --mesh=" << least.step.plan.mesh;
  for (const std::string &note : least.notes)
    diag.attachNote() << note;
  return diag;
}

/// True if so many steps are to be looked at that those to carry out are a
/// small part.
bool Search::isEstimateWorthIt(ArrayRef<MeshCandidate> meshes) const {
  // What a search ends with, at most.
  constexpr size_t kPlacements = 3;
  // Steps for each plan.
  constexpr size_t kLeastSteps = 6;
  size_t steps = 0;
  for (const MeshCandidate &mesh : meshes)
    steps += searches(mesh) ? kPlacements : 1;
  return steps >= kLeastSteps * request.count;
}

void Search::tryAllMeshes(ArrayRef<MeshCandidate> meshes) {
  numToDo = 2 * static_cast<int64_t>(meshes.size());
  for (size_t number = 0; number != meshes.size();) {
    size_t missing =
        request.count -
        std::min<size_t>(request.count, search.plans.size() + estimated.size());
    std::vector<MeshTrial> trials;
    double last = getPlansSoFar().last;
    for (; number != meshes.size() &&
           trials.size() < std::max(missing, kSideBySide);
         ++number) {
      if (meshes[number].boundSecondsPerRow >= last)
        ++search.others["not quicker than the last plan, by its bound"];
      else
        trials.emplace_back(*input, meshes[number]);
    }
    tryMeshes(std::move(trials));
  }
  tryTightMeshes();
}

void Search::carryOut(MutableArrayRef<MeshTrial> trials) {
  std::vector<std::function<void()>> parts;
  for (MeshTrial &trial : trials)
    parts.push_back([this, &trial] {
      trial.carryOut();
      advance();
    });
  runSideBySide(module.getContext(), parts);
  search.numCarriedOut += trials.size();
  for (MeshTrial &trial : trials)
    finish(trial);
}

/// The quickest by estimates, until no other can be among the plans.
void Search::carryOutEstimated() {
  if (input->estimatesTime) {
    search.numLayers = shortSteps->countLayers();
    search.numAllLayers = shortSteps->countAllLayers();
  }
  llvm::sort(estimated, [](const MeshTrial &a, const MeshTrial &b) {
    return std::make_pair(a.plan->getSecondsPerRow(), a.plan->mesh) <
           std::make_pair(b.plan->getSecondsPerRow(), b.plan->mesh);
  });
  estimatedSeconds.clear();
  MutableArrayRef<MeshTrial> left = estimated;
  numDone = 0;
  numToDo = static_cast<int64_t>(std::min<size_t>(request.count, left.size()));
  while (!left.empty()) {
    size_t missing = request.count - search.plans.size();
    double least = left.front().plan->getSecondsPerRow() / kEstimateSlack;
    if (least >= getPlansSoFar().last)
      break;
    size_t count = std::min(std::max(missing, kSideBySide), left.size());
    carryOut(left.take_front(count));
    left = left.drop_front(count);
  }
  if (!left.empty())
    search.others["slower than the last plan, by an estimate"] += left.size();
  if (search.plans.empty() && !least.step.plan.mesh.empty())
    carryOutLeast();
}

/// Nothing fits by estimates, which may be wrong.
void Search::carryOutLeast() {
  LeastMemory guess = std::move(least);
  least = {};
  FirstError error(module.getContext());
  MeshTrial trial(*input, guess.mesh);
  trial.carryOut(std::move(guess.step));
  ++search.numCarriedOut;
  finish(trial);
  least.notes = error.notes;
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
  shortSteps = ShortSteps::create(module);
  input.emplace(PlanInput{module, isOpen, request, model, totals, search.limit,
                          shortSteps ? &*shortSteps : nullptr,
                          shortSteps && isEstimateWorthIt(meshes)});
  wholeInput.emplace(PlanInput{module, isOpen, request, model, totals,
                               search.limit, nullptr, false});
  tryAllMeshes(meshes);
  carryOutEstimated();
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
