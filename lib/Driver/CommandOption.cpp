//===- CommandOption.cpp - Options of commands ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/CommandOption.h"

#include "regather/Driver/CommandRequest.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Support/LLVM/MakeFailure.h"
#include "regather/Support/LLVM/ParseBytes.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Failure readStep(const CommandOption &option, CommandRequest &request,
                        StringRef text, StringRef origin) {
  return setStepOption(request.step, option.name, text, origin);
}

static Failure readBool(bool &value, StringRef text, StringRef origin) {
  if (!text.empty() && text != "true" && text != "false")
    return makeFailure("{0} expects true or false, got '{1}'", origin, text);
  value = text != "false";
  return Failure();
}

template <typename T>
static Failure readNumber(T &value, StringRef text, StringRef origin,
                          int64_t low, int64_t high) {
  int64_t number;
  bool isNumber = !text.getAsInteger(10, number);
  if (!isNumber || number < low || number > high)
    return makeFailure(isNumber ? "{0} must be between {1} and {2}, got {3}"
                                : "{0} must be between {1} and {2}, got '{3}'",
                       origin, low, high, text);
  value = number;
  return Failure();
}

static Failure readRanks(const CommandOption &, CommandRequest &request,
                         StringRef text, StringRef origin) {
  if (request.command == Command::Calibrate)
    return readNumber(request.calibration.ranks, text, origin, 2,
                      CalibrationRequest::kMostRanks);
  // A rank of a program that runs on this machine is one thread at least.
  bool isRun =
      request.command == Command::Run || request.command == Command::Compile;
  return readNumber(request.step.ranks.emplace(), text, origin, 1,
                    isRun ? 4096 : 1 << 20);
}

static Failure readMemory(const CommandOption &, CommandRequest &request,
                          StringRef text, StringRef origin) {
  request.step.memory = parseBytes(text);
  if (request.step.memory)
    return Failure();
  return makeFailure("{0} expects a number of bytes, such as 80GB or 64GiB, "
                     "got '{1}'",
                     origin, text);
}

static Failure readTarget(const CommandOption &, CommandRequest &request,
                          StringRef text, StringRef) {
  auto architectures = parseTarget(text);
  if (!architectures)
    return architectures.getFailure();
  request.compile.architectures = std::move(*architectures);
  return Failure();
}

static Failure readCommunicator(const CommandOption &, CommandRequest &request,
                                StringRef text, StringRef origin) {
  Result<CommunicatorOptions> parsed = parseCommunicator(text.str());
  if (!parsed)
    return makeFailure("{0}: {1}", origin, parsed.getMessage());
  request.calibration.communicator = *parsed;
  return Failure();
}

static Failure readNoFold(const CommandOption &, CommandRequest &request,
                          StringRef text, StringRef origin) {
  bool isGiven = false;
  Failure failure = readBool(isGiven, text, origin);
  request.folds = !isGiven;
  return failure;
}

/// A function that reads a text into a member of the request.
#define TEXT(member)                                                           \
  [](const CommandOption &, CommandRequest &request, StringRef text,           \
     StringRef) {                                                              \
    request.member = text.str();                                               \
    return Failure();                                                          \
  }

/// The same for one of two values, and for a number.
#define SWITCH(member)                                                         \
  [](const CommandOption &, CommandRequest &request, StringRef text,           \
     StringRef origin) { return readBool(request.member, text, origin); }
#define NUMBER(member, low, high)                                              \
  [](const CommandOption &, CommandRequest &request, StringRef text,           \
     StringRef origin) {                                                       \
    return readNumber(request.member, text, origin, low, high);                \
  }

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr Command kRanked[] = {Command::Run,    Command::Compile,
                                      Command::Report, Command::Simulate,
                                      Command::Plan,   Command::Calibrate};
static constexpr Command kPrepared[] = {Command::Run,      Command::Execute,
                                        Command::Compile,  Command::Report,
                                        Command::Simulate, Command::Plan};
static constexpr Command kSharded[] = {Command::Run,      Command::Execute,
                                       Command::Compile,  Command::Report,
                                       Command::Simulate, Command::Tree};
/// A mesh is given, or looked for.
static constexpr Command kPlaced[] = {
    Command::Run,      Command::Execute, Command::Compile, Command::Report,
    Command::Simulate, Command::Plan,    Command::Tree};
static constexpr Command kTimed[] = {Command::Compile, Command::Report,
                                     Command::Simulate, Command::Plan,
                                     Command::Tree};
static constexpr Command kCompiled[] = {Command::Run, Command::Compile};
static constexpr Command kCached[] = {Command::Run, Command::Compile,
                                      Command::Calibrate};
static constexpr Command kCompile[] = {Command::Compile};
static constexpr Command kSimulate[] = {Command::Simulate};
static constexpr Command kPlan[] = {Command::Plan};
static constexpr Command kTree[] = {Command::Tree};
static constexpr Command kCalibrate[] = {Command::Calibrate};

static const CommandOption kOptions[] = {
    {"ranks", "N", "Number of ranks; the mesh decides by default", kRanked,
     readRanks},
    {"entry", "NAME", "Function to take, if the module has several public ones",
     kPrepared, TEXT(step.entry)},
    {"mesh", "AXIS:SIZE,...",
     "Shard the parameters of a step without a mesh over this one (default "
     "dp:N if N ranks are asked for)",
     kSharded, readStep},
    {"shard", "PATTERN=[AXIS] shard DIM",
     "Where parameters, inputs or outputs of modules lie over an axis of the "
     "mesh, such as 'layers.*.wq=[tp] shard 0', 'tokens=[cp] shard 1' or "
     "'output(layers.*.wo)=[tp] shard 1'; all else follows",
     kPlaced, readStep, /*isRepeated=*/true},
    {"replicate-axis", "AXIS", "Axis of the mesh that holds copies of shards",
     kSharded, readStep},
    {"cluster", "NAME|FILE",
     "Where ranks are simulated, and what schedules, buckets and estimates are "
     "made for: a name, or a file (default h100-8 up to 8 ranks, h100-nodes "
     "above; for the code of compile cpu-threads; for tree none, and no "
     "estimates)",
     kTimed, TEXT(step.cluster)},
    {"batch", "BATCH",
     "Whose batch a step without a mesh has: global, that of all ranks "
     "(default of run); per-rank, that of one; or auto, which is global if the "
     "ranks divide it (default of all others)",
     kPlaced, readStep},
    {"elastic", "S",
     "Cut sums over the batch into a balanced tree over so many segments, so "
     "that no bit depends on the number of ranks: 1, 2, 4 ... up to S (default "
     "0: sums are in the order of the ranks)",
     kSharded, readStep},
    {"expert-capacity", "NUMBER",
     "Send rows to the ranks of their experts, over an axis such as ep, with "
     "room for so many times as many as if all experts got equally many, such "
     "as 1.25; a step for which that is too little is run again with room for "
     "all (default none: what the ranks need is gathered)",
     kPlaced, readStep},
    {"expert-chunks", "N",
     "With --expert-capacity, cut the rows of a rank into so many equal parts, "
     "each of which is sent, multiplied and sent back by itself, so that one "
     "travels while another one is multiplied; auto: 1, 2 or 4, whatever takes "
     "the least time in simulation (default 1)",
     kPlaced, readStep},
    {"elastic-axes", "AXIS:S",
     "With --elastic, an axis that cuts the model, such as tp:4: sums over "
     "what "
     "it cuts are trees over S segments, too, so that no bit depends on the "
     "number of its ranks (default: its sums are in the order of its ranks)",
     kSharded, readStep},
    {"memory", "BYTES",
     "Most that each rank may use, such as 80GB or 64GiB, arguments included: "
     "of policies, budgets to recompute and resharding that no other option "
     "decides, those are taken with which the step fits and takes the least "
     "time",
     kPrepared, readMemory},
    {"micro-batches", "N",
     "Cut the batch into so many micro-batches, which are computed one after "
     "the other; auto: within --memory, into 1, 2, 4 ..., whatever fits and "
     "takes the least time (default 1)",
     kPrepared, readStep},
    {"fuse-attention", "MODE OPTION=VALUE...",
     "What becomes of attention that a model writes as products and a softmax: "
     "all is computed by blocks, without scores in memory and with other last "
     "bits; report, which says what would be; or none (default)",
     kPrepared, readStep},
    {"chunk", "BLOCKS",
     "Carry out the largest chain over independent rows, mostly head and loss, "
     "on one block of rows after the other: auto, a number of blocks, or none "
     "(default, but within --memory auto where that is the quickest way to "
     "fit)",
     kPrepared, readStep},
    {"offload", "MODE OPTION=VALUE...",
     "What backward reads from memory of the host: marked, what the model "
     "marks "
     "(default); all; bytes, with bytes=40GB; or options of tg-offload; none "
     "to "
     "keep all on the device. states: all states of the optimizer, too, or "
     "some, "
     "with states=10GB, and options of tg-offload-states",
     kPrepared, readStep},
    {"layout", "LAYOUT",
     "How parameters that are sharded are stored: flat, those of a unit in one "
     "buffer (default), or per-parameter",
     kPrepared, readStep},
    {"policy", "POLICY OPTION=VALUE...",
     "What backward computes again: none, full, selective, or options of "
     "tg-apply-policy, such as 'full modules=head:none'",
     kPrepared, readStep},
    {"reshard", "MODE OPTION=VALUE...",
     "Gathered parameters to release after forward: always, never, default, or "
     "options of tg-reshard-after-forward, such as 'always group=8'; none to "
     "leave them as they are (default: default for captured steps on several "
     "ranks)",
     kPrepared, readStep},
    {"recompute", "MODE OPTION=VALUE...",
     "What backward computes again besides what the policy says: none, or a "
     "mode of tg-partition and its options, such as min-cut (the default for "
     "captured steps)",
     kPrepared, readStep},
    {"optimizer", "NAME OPTION=VALUE...",
     "Append an optimizer to a step that has gradients, such as 'adamw "
     "betas=0.9,0.95'",
     kPrepared, readStep},
    {"bucket", "PLAN",
     "Collectives that start as one: none, auto (default for captured steps on "
     "several ranks), a plan such as '[embedding],[layers.*] each', or options "
     "of tg-bucket-collectives",
     kPrepared, readStep},
    {"schedule", "MODE OPTION=VALUE...",
     "Order of the step: none (as it is), manual (collectives move by a fixed "
     "distance), auto (what hides most of them; default for captured steps on "
     "several ranks), or options of tg-schedule, such as 'auto "
     "memory-limit=1.1x'",
     kPrepared, readStep},
    {"cuda-graph", "MODE OPTION=VALUE...",
     "What a GPU is told at once: none (default), unit (computation of each "
     "unit and phase), modules=PATTERNS, full (the whole step), or options of "
     "exec-form-graphs, such as 'unit min-ops=4'",
     kCompile, readStep},
    {"kernels", "", "Simulate kernels instead of single operations", kSimulate,
     SWITCH(takesKernels)},
    {"overlap-groups", "",
     "Let collectives be in flight together whose groups share more than one "
     "device; say so only if the library allows it",
     kSimulate, SWITCH(step.overlapsGroups)},
    {"order", "FILE",
     "Operations of the step in another order: their names, one on each line "
     "or in a JSON list",
     kSimulate, TEXT(orderFile)},
    {"explain", "NAME",
     "Try the other placements of parameters, by name or a pattern such as "
     "layers.*.wq, or of what modules return, as output(layers.*), on the best "
     "mesh with an axis tp, and say what they would cost",
     kPlan,
     [](const CommandOption &, CommandRequest &request, StringRef text,
        StringRef) {
       request.patterns.push_back(text.str());
       return Failure();
     },
     /*isRepeated=*/true},
    {"count", "N", "Number of plans to keep (default 10)", kPlan,
     NUMBER(count, 1, 1000)},
    {"module", "PATTERN",
     "Show the modules that a pattern matches, such as layers.*, as options of "
     "passes take it",
     kTree,
     [](const CommandOption &, CommandRequest &request, StringRef text,
        StringRef) {
       request.patterns.push_back(text.str());
       return Failure();
     },
     /*isRepeated=*/true},
    {"depth", "N",
     "Levels to show below the model, or below each module that is named",
     kTree, NUMBER(depth, 0, ModuleNames::kMaxDepth)},
    {"no-fold", "", "Show each of several equal modules", kTree, readNoFold},
    {"target", "TARGET",
     "What the code is to run on: cpu, processors with the instructions of "
     "this machine (default), or nvptx:ARCH,..., GPUs of the architectures "
     "sm_80, sm_90a or sm_100a; one alone unless a bundle is written",
     kCompile, readTarget},
    {"cache-dir", "DIR",
     "Folder that keeps compiled kernels, none if empty (default "
     "$REGATHER_CACHE_DIR, or regather in the user's cache folder)",
     kCached, TEXT(compile.cacheDirectory)},
    {"compile-threads", "N",
     "Threads that compile kernels (default 0: one for each core)", kCompiled,
     NUMBER(compile.threads, 0, 1024)},
    {"threads", "N",
     "Threads on which each rank computes (default 0: those of the machine, "
     "divided by the ranks)",
     kCalibrate, NUMBER(calibration.threads, 0, 1024)},
    {"comm", "threads[,latency=SECONDS][,bandwidth=RATE][,host-bandwidth=RATE]",
     "The link between ranks that is measured: threads of this process, with "
     "latency=50us or bandwidth=10GB/s as over a network",
     kCalibrate, readCommunicator},
    {"repetitions", "N",
     "Times that everything is measured; medians count "
     "(default 9)",
     kCalibrate,
     NUMBER(calibration.repetitions, 1, CalibrationRequest::kMostRepetitions)},
    {"libdevice", "FILE",
     "Path of NVIDIA's libdevice, if it is not to be searched for in the CUDA "
     "toolkit",
     kCompile, TEXT(compile.libdevice)},
    {"linker", "FILE", "Path of lld, if it is not to be searched for", kCompile,
     TEXT(compile.linker)},
    {"plan", "as-captured|FILE",
     "as-captured: do nothing to the step that no other option asks for; or a "
     "JSON file with options of passes, such as {\"tg-form-kernels\": "
     "{\"max-ops\": 32}}",
     kPrepared,
     [](const CommandOption &, CommandRequest &request, StringRef text,
        StringRef origin) {
       return readPlan(request.step, text.str(), (origin + "=" + text).str());
     },
     /*isRepeated=*/true},
    {"pass-option", "PASS:OPTION=VALUE",
     "Option of a pass, such as tg-form-kernels:max-ops=32; over those of a "
     "plan",
     kPrepared,
     [](const CommandOption &, CommandRequest &request, StringRef text,
        StringRef origin) {
       return setPassOptions(request.step, text, origin);
     },
     /*isRepeated=*/true},
};

#undef TEXT
#undef SWITCH
#undef NUMBER

bool CommandOption::isOf(Command command) const {
  return llvm::is_contained(commands, command);
}

llvm::ArrayRef<CommandOption> regather::getCommandOptions() { return kOptions; }

std::vector<const CommandOption *> regather::listOptions(Command command) {
  std::vector<const CommandOption *> options;
  for (const CommandOption &option : kOptions)
    if (option.isOf(command))
      options.push_back(&option);
  return options;
}
