//===- StepFlags.cpp - Flags that say which step is meant -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepFlags.h"

#include "regather/Driver/CompileStep.h"
#include "regather/Execution/Training/RunFlags.h"
#include "regather/Pipelines/StepOptionText.h"

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

static cl::opt<int64_t> ranks("ranks", cl::desc(findRunFlag("ranks")->help),
                              cl::value_desc("N"), stepCommands,
                              cl::cat(getCategory()));
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

/// Reads the flags into options, each text by itself.
static Failure readTexts(StepOptions &options) {
  const std::reference_wrapper<const cl::opt<std::string>> texts[] = {
      mesh,    replicateAxis, batch,     layout, policy,
      reshard, recompute,     optimizer, bucket, schedule};
  for (const cl::opt<std::string> &flag : texts)
    if (Failure failure = setStepOption(options, flag.ArgStr, flag.getValue(),
                                        "--" + flag.ArgStr.str()))
      return failure;
  return Failure();
}

Result<StepOptions> regather::readStepFlags() {
  StepOptions options;
  if (Failure failure = readTexts(options))
    return failure;
  // A rank of a run is one thread at least.
  int64_t mostRanks = simulateCommand || reportCommand ? 1 << 20 : 4096;
  if (ranks.getNumOccurrences() && (ranks < 1 || ranks > mostRanks))
    return Failure("--ranks must be between 1 and " +
                   std::to_string(mostRanks) + ", got " +
                   std::to_string(ranks));
  if (mesh.empty() && replicateAxis.getNumOccurrences())
    return Failure("--replicate-axis needs --mesh");
  options.entry = entry;
  options.ranks = getRequestedRanks();
  options.cluster = cluster;
  // Only a run has data that could be of another size.
  if (batch.empty() && !runCommand)
    options.batch = tg::BatchMode::Auto;
  for (const std::string &plan : plans)
    if (Failure failure = readPlan(options, plan, "--plan=" + plan))
      return failure;
  for (const std::string &text : passOption)
    if (Failure failure = setPassOptions(options, text, "--pass-option"))
      return failure;
  return options;
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

std::string regather::getCacheDirectory() {
  return cacheDir.getNumOccurrences() ? cacheDir.getValue()
                                      : getDefaultCacheDirectory();
}

unsigned regather::getCompileThreads() { return compileThreads; }
