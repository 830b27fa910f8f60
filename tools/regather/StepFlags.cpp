//===- StepFlags.cpp - Flags that say which step is meant -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepFlags.h"

#include "StepStatistics.h"

#include "regather/Pipelines/DefaultPlan.h"
#include "regather/Pipelines/PassOptionCheck.h"
#include "regather/StepAnalysis/MergeParts.h"
#include "regather/Support/LLVM/ParseJson.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <functional>

using namespace regather;
namespace cl = llvm::cl;

namespace {
/// The commands that take a step, as a modifier of an option.
struct StepCommands {
  void apply(cl::Option &option) const {
    for (cl::SubCommand *command :
         {&runCommand, &compileCommand, &reportCommand, &simulateCommand})
      option.addSubCommand(*command);
  }
};
} // namespace

static constexpr StepCommands stepCommands;

/// Ranks of a node in the clusters that are taken by default.
static constexpr int64_t kRanksPerNode = 8;

static cl::opt<int64_t>
    ranks("ranks", cl::desc("Number of ranks; the mesh decides by default"),
          cl::value_desc("N"), stepCommands, cl::cat(getCategory()));
static cl::opt<std::string>
    entry("entry",
          cl::desc("Function to take, if the module has several public ones"),
          cl::value_desc("NAME"), stepCommands, cl::cat(getCategory()));
static cl::opt<std::string>
    mesh("mesh",
         cl::desc("Shard the parameters of a step without a mesh over this one "
                  "(default dp:N for --ranks N)"),
         cl::value_desc("AXIS:SIZE,..."), stepCommands, cl::cat(getCategory()));
static cl::opt<std::string>
    replicateAxis("replicate-axis",
                  cl::desc("Axis of --mesh that holds copies of shards"),
                  cl::value_desc("AXIS"), stepCommands, cl::cat(getCategory()));
static cl::opt<std::string>
    cluster("cluster",
            cl::desc("Where ranks are simulated, and what schedules and "
                     "buckets are made for: a name, or a file (default h100-8 "
                     "up to 8 ranks, h100-nodes above; for the code of compile "
                     "cpu-threads)"),
            cl::value_desc("NAME|FILE"), cl::sub(compileCommand),
            cl::sub(reportCommand), cl::sub(simulateCommand),
            cl::cat(getCategory()));
static cl::opt<std::string> batch(
    "batch",
    cl::desc("Whose batch a step without a mesh has: global, that of all ranks "
             "(default of run); per-rank, that of one; or auto, which is "
             "global if the ranks divide it (default of all others)"),
    cl::value_desc("BATCH"), stepCommands, cl::cat(getCategory()));
static cl::opt<std::string>
    layout("layout",
           cl::desc("How parameters that are sharded are stored: flat, those "
                    "of a unit in one buffer (default), or per-parameter"),
           cl::value_desc("LAYOUT"), stepCommands, cl::cat(getCategory()));
static cl::opt<std::string> policy(
    "policy",
    cl::desc("What backward computes again: none, full, selective, or options "
             "of tg-apply-policy, such as 'full modules=head:none'"),
    cl::value_desc("POLICY OPTION=VALUE..."), stepCommands,
    cl::cat(getCategory()));
static cl::opt<std::string>
    reshard("reshard",
            cl::desc("Gathered parameters to release after forward: always, "
                     "never, default, or options of tg-reshard-after-forward, "
                     "such as 'always group=8'; none to leave them as they are "
                     "(default: default for captured steps on several "
                     "ranks)"),
            cl::value_desc("MODE OPTION=VALUE..."), stepCommands,
            cl::cat(getCategory()));
static cl::opt<std::string> recompute(
    "recompute",
    cl::desc("What backward computes again besides what --policy says: none, "
             "or a mode of tg-partition and its options, such as min-cut (the "
             "default for captured steps)"),
    cl::value_desc("MODE OPTION=VALUE..."), stepCommands,
    cl::cat(getCategory()));
static cl::opt<std::string> optimizer(
    "optimizer",
    cl::desc("Append an optimizer to a step that has gradients, such as "
             "'adamw betas=0.9,0.95'"),
    cl::value_desc("NAME OPTION=VALUE..."), stepCommands,
    cl::cat(getCategory()));
static cl::opt<std::string>
    bucket("bucket",
           cl::desc("Collectives that start as one: none, auto (default for "
                    "captured steps on several ranks), a plan such as "
                    "'[embedding],[layers.*] each', or options of "
                    "tg-bucket-collectives"),
           cl::value_desc("PLAN"), stepCommands, cl::cat(getCategory()));
static cl::opt<std::string> schedule(
    "schedule",
    cl::desc(
        "Order of the step: none (as it is), manual (collectives move by a "
        "fixed distance), auto (what hides most of them; default for "
        "captured steps on several ranks), or options of tg-schedule, such as "
        "'auto memory-limit=1.1x'"),
    cl::value_desc("MODE OPTION=VALUE..."), stepCommands,
    cl::cat(getCategory()));
static cl::list<std::string> passOption(
    "pass-option",
    cl::desc("Option of a pass, such as tg-form-kernels:max-ops=32; over those "
             "of --plan"),
    cl::value_desc("PASS:OPTION=VALUE"), stepCommands, cl::cat(getCategory()));
static cl::list<std::string> plans(
    "plan",
    cl::desc("as-captured: do nothing to the step that no flag asks for; or a "
             "JSON file with options of passes, such as {\"tg-form-kernels\": "
             "{\"max-ops\": 32}}"),
    cl::value_desc("as-captured|FILE"), stepCommands, cl::cat(getCategory()));
static cl::opt<std::string>
    cacheDir("cache-dir",
             cl::desc("Folder that keeps compiled kernels, none if empty "
                      "(default $REGATHER_CACHE_DIR, or regather in the "
                      "user's cache folder)"),
             cl::value_desc("DIR"), cl::sub(runCommand),
             cl::sub(compileCommand), cl::cat(getCategory()));
static cl::opt<unsigned>
    compileThreads("compile-threads",
                   cl::desc("Threads that compile kernels (default one for "
                            "each core)"),
                   cl::value_desc("N"), cl::init(0), cl::sub(runCommand),
                   cl::sub(compileCommand), cl::cat(getCategory()));

PassOptionTexts &regather::getPassOptions() {
  static PassOptionTexts texts;
  return texts;
}

static void addOption(std::string &text, const llvm::Twine &option) {
  text += (text.empty() ? "" : " ") + option.str();
}

/// The passes of ours that a step goes through if all flags are given.
static std::string listPasses() {
  TrainingPipelineOptions options;
  options.mesh = "dp:2";
  options.policy = "none";
  options.reshard = "always";
  options.optimizer = "adamw";
  options.bucket = "auto";
  mlir::OpPassManager pm(mlir::ModuleOp::getOperationName(),
                         mlir::OpPassManager::Nesting::Implicit);
  for (llvm::StringRef recompute : {"none", "min-cut"}) {
    options.recompute = recompute.str();
    if (failed(buildTrainingPipeline(pm, options, llvm::nulls())))
      return "";
  }
  buildNativePipeline(pm, /*entry=*/"", /*lowersNodes=*/true);
  llvm::SetVector<llvm::StringRef> names;
  for (mlir::Pass &pass : pm)
    if (isPassKnown(pass.getArgument()))
      names.insert(pass.getArgument());
  return llvm::join(names.getArrayRef(), ", ");
}

static Failure addPassOption(llvm::StringRef pass, const std::string &option,
                             llvm::StringRef flag) {
  if (!isPassKnown(pass))
    return Failure((flag + " names pass \"" + pass +
                    "\", which does not exist; a step goes through " +
                    listPasses())
                       .str());
  std::string wrong =
      findWrongOption(pass, option, (flag + ": pass \"" + pass + "\"").str());
  addOption(getPassOptions()[pass.str()], option);
  return wrong.empty() ? Failure() : Failure(wrong);
}

/// The value of an option as it is written in a pipeline.
static std::string getText(const llvm::json::Value &value) {
  if (auto text = value.getAsString())
    return text->str();
  const llvm::json::Array *array = value.getAsArray();
  if (!array)
    return llvm::formatv("{0}", value).str();
  std::vector<std::string> parts;
  for (const llvm::json::Value &element : *array)
    parts.push_back(getText(element));
  return llvm::join(parts, ",");
}

/// Whether the step that the flags ask for needs several nodes. What is wrong
/// about flags is said later.
static bool needsNodes(mlir::ModuleOp module) {
  if (!mesh.empty()) {
    llvm::SmallVector<llvm::StringRef> axes;
    llvm::StringRef(mesh).split(axes, ',');
    int64_t product = 1;
    for (llvm::StringRef axis : axes)
      if (uint32_t size = 0; !axis.split(':').second.getAsInteger(10, size))
        product = std::min<int64_t>(product * size, kRanksPerNode + 1);
    return product > kRanksPerNode;
  }
  if (ranks.getNumOccurrences())
    return ranks > kRanksPerNode;
  return llvm::any_of(module.getOps<tg::MeshOp>(), [](tg::MeshOp mesh) {
    return mesh.getNumRanks() > kRanksPerNode;
  });
}

std::string regather::getRequestedCluster(mlir::ModuleOp module) {
  if (!cluster.empty())
    return cluster;
  return needsNodes(module) ? "h100-nodes" : "h100-8";
}

std::optional<CostModel> regather::loadRequestedCluster(mlir::ModuleOp module) {
  Result<Cluster> loaded = loadCluster(getRequestedCluster(module));
  if (loaded)
    return CostModel(std::move(*loaded));
  reportError(loaded.getMessage());
  return std::nullopt;
}

std::string regather::getTargetCluster() {
  return cluster.empty() ? "cpu-threads" : cluster.getValue();
}

static Failure readPlan(const std::string &plan) {
  auto explain = [&](const llvm::Twine &why) {
    return Failure(("cannot read plan '" + plan + "': " + why).str());
  };
  auto file = llvm::MemoryBuffer::getFile(plan);
  if (!file)
    return explain(file.getError().message());
  auto json = parseJson((*file)->getBuffer());
  if (!json)
    return explain(llvm::toString(json.takeError()));
  const llvm::json::Object *passes = json->getAsObject();
  if (!passes)
    return explain("expects an object of passes");
  for (const auto &[pass, options] : *passes) {
    const llvm::json::Object *object = options.getAsObject();
    if (!object)
      return explain("expects an object of options for pass \"" +
                     llvm::StringRef(pass) + "\"");
    for (const auto &[name, value] : *object)
      if (Failure failure = addPassOption(
              pass, (llvm::StringRef(name) + "=" + getText(value)).str(),
              "--plan=" + plan))
        return failure;
  }
  return Failure();
}

/// Checks the first word of a flag's text: a mode, alone or as `OPTION=MODE`.
static Failure checkMode(const cl::opt<std::string> &flag,
                         llvm::ArrayRef<llvm::StringRef> modes,
                         llvm::StringRef option = "mode") {
  llvm::StringRef word =
      llvm::StringRef(flag.getValue()).trim().split(' ').first;
  if (word.split('=').first == option)
    word = word.split('=').second;
  if (word.empty() || word.contains('=') || llvm::is_contained(modes, word))
    return Failure();
  return Failure(("--" + flag.ArgStr + " expects " +
                  llvm::join(modes.drop_back(), ", ") + " or " + modes.back() +
                  ", got \"" + word + "\"")
                     .str());
}

/// What is no mode of --bucket is a plan.
static bool isBucketPlan() {
  llvm::StringRef text = llvm::StringRef(bucket).trim();
  return text.starts_with("[") || text.starts_with("@") ||
         text.starts_with("/");
}

static Failure checkModes() {
  if (Failure failure = checkMode(batch, {"global", "per-rank", "auto"}))
    return failure;
  if (Failure failure = checkMode(layout, {"flat", "per-parameter"}))
    return failure;
  if (Failure failure =
          checkMode(policy, {"none", "full", "selective"}, "policy"))
    return failure;
  if (Failure failure =
          checkMode(reshard, {"always", "never", "default", "none"}))
    return failure;
  if (Failure failure = checkMode(
          recompute, {"min-cut", "default", "replay", "budget", "none"}))
    return failure;
  if (Failure failure = checkMode(optimizer, {"adamw", "sgd"}, "optimizer"))
    return failure;
  if (!isBucketPlan())
    if (Failure failure =
            checkMode(bucket, {"auto", "plan", "none", "a list of modules"}))
      return failure;
  return checkMode(schedule, {"auto", "manual", "none"});
}

/// Checks the options that the texts of flags hold.
static Failure checkTexts() {
  TrainingPipelineOptions texts;
  texts.policy = policy;
  texts.reshard = reshard;
  texts.recompute = recompute;
  texts.optimizer = optimizer;
  texts.bucket = bucket;
  texts.schedule = schedule;
  std::string wrong = findWrongOption(texts, "--", "");
  return wrong.empty() ? Failure() : Failure(wrong);
}

Failure regather::rejectSchedule(const llvm::Twine &reason) {
  if (schedule.empty() || schedule == "none")
    return Failure();
  return Failure(("--schedule has no effect " + reason).str());
}

Failure regather::readStepFlags() {
  if (Failure failure = checkModes())
    return failure;
  if (Failure failure = checkTexts())
    return failure;
  // A rank of a run is one thread at least.
  int64_t mostRanks = simulateCommand || reportCommand ? 1 << 20 : 4096;
  if (ranks.getNumOccurrences() && (ranks < 1 || ranks > mostRanks))
    return Failure("--ranks must be between 1 and " +
                   std::to_string(mostRanks) + ", got " +
                   std::to_string(ranks));
  if (mesh.empty() && replicateAxis.getNumOccurrences())
    return Failure("--replicate-axis needs --mesh");
  for (const std::string &plan : plans)
    if (plan != kAsCaptured)
      if (Failure failure = readPlan(plan))
        return failure;
  for (llvm::StringRef text : passOption) {
    auto [pass, option] = text.split(':');
    if (pass.empty() || !option.contains('='))
      return Failure("--pass-option expects PASS:OPTION=VALUE, got \"" +
                     text.str() + "\"");
    if (Failure failure = addPassOption(pass, option.str(), "--pass-option"))
      return failure;
  }
  return Failure();
}

Failure regather::rejectStepFlags() {
  const std::reference_wrapper<const cl::Option> flags[] = {
      entry,    mesh,       replicateAxis, batch,     layout,
      policy,   reshard,    recompute,     optimizer, bucket,
      schedule, passOption, plans};
  for (const cl::Option &flag : flags)
    if (flag.getNumOccurrences())
      return Failure("--" + flag.ArgStr.str() +
                     " has no effect on a bundle, which is compiled already");
  return Failure();
}

std::optional<int64_t> regather::getRequestedRanks() {
  return ranks.getNumOccurrences() ? std::optional<int64_t>(ranks)
                                   : std::nullopt;
}

RunRequest regather::getRequestedStep(llvm::StringRef cluster) {
  RunRequest request;
  request.ranks = getRequestedRanks();
  request.mesh = mesh;
  request.replicateAxis = replicateAxis;
  // Only a run has data that could be of another size.
  request.batch =
      batch.empty() && (compileCommand || reportCommand || simulateCommand)
          ? "auto"
          : batch.getValue();
  request.layout = layout;
  request.policy = policy;
  request.reshard = reshard;
  request.recompute = recompute;
  request.optimizer = optimizer;
  request.bucket = llvm::StringRef(bucket).trim().str();
  request.schedule = llvm::StringRef(schedule).trim().str();
  request.asCaptured = llvm::is_contained(plans, kAsCaptured);
  request.cluster = cluster.str();
  return request;
}

const StepValue *regather::findBatch(const StepSignature &step) {
  for (const StepValue &value : step.arguments)
    if (value.role == Role::Input && !value.globalShape.empty())
      return &value;
  return nullptr;
}

llvm::FailureOr<AnalyzedStep>
regather::prepareRequestedStep(mlir::ModuleOp module, RunRequest &request,
                               PassOptionTexts &passOptions) {
  if (failed(lowerForeignTypes(module)))
    return mlir::failure();
  llvm::FailureOr<AnalyzedStep> step = analyzeStep(
      module, entry, request.mesh.empty() ? request.ranks : std::nullopt);
  if (failed(step))
    return mlir::failure();
  completeRequest(module, *step, passOptions, request);
  if (request.schedulesKernels && request.schedule != "none") {
    // What is said of the pass itself counts more.
    std::string &options = passOptions["tg-schedule"];
    options =
        options.empty() ? request.schedule : request.schedule + " " + options;
  }
  bool isSharded = bool(step->mesh);
  const StepValue *batch = findBatch(step->signature);
  int64_t captured = batch ? batch->globalShape.front() : 0;
  if (failed(prepareStep(module, *step, request, passOptions)))
    return mlir::failure();
  step = analyzeStep(module, entry, request.ranks);
  if (failed(step) || request.batch != "auto")
    return step;
  batch = findBatch(step->signature);
  if (isSharded || !step->mesh) {
    request.batch = "";
    return step;
  }
  bool isDivided =
      !batch ||
      captured % std::max<int64_t>(
                     batch->globalShape.front() /
                         std::max<int64_t>(batch->localShape.front(), 1),
                     1) ==
          0;
  request.batch = isDivided ? "global" : "per-rank";
  return step;
}

llvm::FailureOr<AnalyzedStep>
regather::prepareWholeStep(mlir::ModuleOp module, RunRequest &request,
                           PassOptionTexts &passOptions) {
  llvm::FailureOr<AnalyzedStep> step =
      prepareRequestedStep(module, request, passOptions);
  return failed(step) ? step : mergeParts(*step);
}

llvm::FailureOr<AnalyzedStep>
regather::prepareStepByFlags(mlir::ModuleOp module, bool lowerNodes) {
  RunRequest request = getRequestedStep(getTargetCluster());
  request.lower = lowerNodes;
  request.schedulesKernels = !lowerNodes;
  return prepareRequestedStep(module, request, getPassOptions());
}

bool regather::hasUnusedPassOptions() {
  for (const auto &unused : getPassOptions())
    reportError("options for pass \"" + unused.first +
                "\" are given, which this step does not go through");
  return !getPassOptions().empty();
}

std::string regather::getCacheDirectory() {
  if (cacheDir.getNumOccurrences())
    return cacheDir;
  if (std::optional<std::string> directory =
          llvm::sys::Process::GetEnv("REGATHER_CACHE_DIR"))
    return *directory;
  llvm::SmallString<128> directory;
  if (!llvm::sys::path::cache_directory(directory))
    return "";
  llvm::sys::path::append(directory, "regather");
  return directory.str().str();
}

unsigned regather::getCompileThreads() { return compileThreads; }

std::vector<CollectiveSummary>
regather::summarizeCollectives(mlir::ModuleOp module) {
  std::vector<CollectiveSummary> summaries;
  StepStatistics stats = collectStatistics(module);
  for (const auto &[key, count] : stats.collectives)
    summaries.push_back({key.kind, stringifyPhase(key.phase).str(), key.mesh,
                         key.axes, key.ranks, count.ops, count.tensors,
                         count.bytes});
  return summaries;
}
