//===- RunFlags.cpp - Flags of a run --------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/RunFlags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

using namespace regather;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

// Each sets a value; what was expected if the text is something else, or null.

template <typename IntegerT>
static const char *readInteger(const std::string &text, IntegerT &value) {
  const char *end = text.data() + text.size();
  auto [last, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && last == end ? nullptr : "a whole number";
}

static const char *readValue(const std::string &text, int64_t &value) {
  return readInteger(text, value);
}

static const char *readValue(const std::string &text, uint64_t &value) {
  return readInteger(text, value) ? "a whole number from 0 up" : nullptr;
}

static const char *readValue(const std::string &text, int32_t &value) {
  if (readInteger(text, value) || value < 0)
    return "a whole number from 0 to 2147483647";
  return nullptr;
}

static const char *readValue(const std::string &text, double &value) {
  char *end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? "a number" : nullptr;
}

static const char *readValue(const std::string &text, std::string &value) {
  value = text;
  return nullptr;
}

template <typename T>
static const char *readValue(const std::string &text, std::optional<T> &value) {
  return readValue(text, value.emplace());
}

static Failure readEngine(const std::string &text, EngineKind &engine) {
  if (text != "cpu" && text != "interpreter")
    return Failure("--engine expects cpu or interpreter, got \"" + text + "\"");
  engine = text == "cpu" ? EngineKind::Cpu : EngineKind::Interpreter;
  return Failure();
}

static Failure readAlgorithms(const std::string &text,
                              std::optional<bool> &timesAlgorithms) {
  if (text != "first" && text != "timed")
    return Failure("--algorithms expects first or timed, got \"" + text + "\"");
  timesAlgorithms = text == "timed";
  return Failure();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// A flag whose value goes to one place.
template <typename PlaceT>
static RunFlag makeFlag(const char *name, const char *value, const char *help,
                        PlaceT place, RunFlagTools tools = RunFlagTools::Both) {
  auto read = [name, place](RunFlags &flags, const std::string &text) {
    const char *expected = readValue(text, place(flags));
    return expected ? Failure(std::string("--") + name + " expects " +
                              expected + ", got \"" + text + "\"")
                    : Failure();
  };
  return {name, value, help, tools, read};
}

/// The same for the name of a file, which is not empty.
template <typename PlaceT>
static RunFlag makeFileFlag(const char *name, const char *value,
                            const char *help, PlaceT place) {
  auto read = [name, place](RunFlags &flags, const std::string &text) {
    place(flags) = text;
    return text.empty()
               ? Failure(std::string("--") + name + " needs the name of a file")
               : Failure();
  };
  return {name, value, help, RunFlagTools::Both, read};
}

template <typename PlaceT>
static RunFlag makeSwitch(const char *name, const char *help, PlaceT place,
                          RunFlagTools tools = RunFlagTools::Both) {
  auto read = [place](RunFlags &flags, const std::string &) {
    place(flags) = true;
    return Failure();
  };
  return {name, nullptr, help, tools, read};
}

#define PLACE(member) [](RunFlags &flags) -> auto & { return flags.member; }

static std::vector<RunFlag> makeFlags() {
  return {
      makeFlag("ranks", "N", "Number of ranks; the mesh decides by default",
               PLACE(ranks), RunFlagTools::BothButDeclared),
      RunFlag{"engine", "cpu|interpreter",
              "What runs a step: cpu, compiled code on threads (default), or "
              "interpreter, the slow reference",
              RunFlagTools::ModulesOnly,
              [](RunFlags &flags, const std::string &text) {
                return readEngine(text, flags.engine);
              }},
      makeFlag("steps", "N", "Number of steps; updates are fed back",
               PLACE(options.steps)),
      makeFileFlag("inputs", "FILE",
                   "Read arguments from a safetensors file of global tensors, "
                   "or from a folder that --outputs-sharded wrote",
                   PLACE(options.inputs.file)),
      RunFlag{"random-inputs", "SEED[,integers]",
              "Draw the arguments that no file holds; \",integers\" draws "
              "small integers",
              RunFlagTools::Both,
              [](RunFlags &flags, const std::string &text) {
                return parseRandomInputs(text, flags.options.inputs);
              }},
      makeFlag("rng-seed", "N",
               "Seed of the random numbers that the step draws, over that of "
               "the file (default 0)",
               PLACE(options.inputs.rngSeed)),
      makeFlag("learning-rate", "VALUE",
               "Value of the argument of role learning_rate",
               PLACE(options.inputs.learningRate)),
      makeFlag("first-step", "N",
               "Number of the first step, to go on with a run",
               PLACE(options.inputs.firstStep)),
      makeFileFlag("text", "FILE",
                   "Train on the bytes of a file, a new batch each step",
                   PLACE(options.text)),
      makeFlag("text-inputs", "TOKENS,LABELS",
               "Inputs that --text feeds, if the step has other integer inputs",
               PLACE(options.textInputs)),
      makeFileFlag("outputs", "FILE",
                   "Write the results of the last step as global tensors",
                   PLACE(options.outputs)),
      makeFileFlag("outputs-sharded", "DIR",
                   "Write the results of the last step to a folder, one file "
                   "for each rank",
                   PLACE(options.outputsSharded)),
      RunFlag{"save-every", "N", "Write that folder after each N steps, too",
              RunFlagTools::Both,
              [](RunFlags &flags, const std::string &text) {
                int64_t &steps = flags.options.saveEvery;
                if (readValue(text, steps) || steps < 1)
                  return Failure("--save-every must be at least 1, got " +
                                 text);
                return Failure();
              }},
      makeFlag("seed", "S",
               "Order in which the interpreter completes collectives",
               PLACE(seed), RunFlagTools::ModulesOnly),
      RunFlag{"comm",
              "threads[,latency=SECONDS][,bandwidth=RATE] | mpi[,checked] | "
              "nccl[,reproducible]",
              "How ranks on processors reach each other; with latency=50us or "
              "bandwidth=10GB/s collectives take as long as over a network; "
              "mpi makes the process one rank of a job of mpirun or srun, and "
              "checked gives its messages a checksum; nccl "
              "makes the process, which runs a bundle for GPUs, one rank of a "
              "job of torchrun, mpirun or srun",
              RunFlagTools::Both,
              [](RunFlags &flags, const std::string &text) {
                auto communicator = parseCommunicator(text);
                if (!communicator)
                  return communicator.getFailure();
                flags.communicator = *communicator;
                return Failure();
              }},
      RunFlag{"algorithms", "first|timed",
              "Which proposal of cuBLASLt a bundle for GPUs uses for a GEMM: "
              "the first (default), or the fastest",
              RunFlagTools::Both,
              [](RunFlags &flags, const std::string &text) {
                return readAlgorithms(text, flags.timesAlgorithms);
              }},
      makeFlag("device", "N",
               "Number of the GPU that runs a bundle for GPUs (default 0)",
               PLACE(device)),
      makeFlag("timeout", "SECONDS",
               "Seconds a rank waits for others before it gives up (default "
               "600; on GPUs 300 in the first step, then 100)",
               PLACE(timeout)),
      makeFlag("threads", "N",
               "Threads on which each rank computes (default: those of the "
               "machine, divided by the ranks)",
               PLACE(threads)),
      makeSwitch("check-plan",
                 "Check that the step touches as much memory as its plan says, "
                 "and report both",
                 PLACE(options.checkPlan)),
      makeFileFlag("report", "FILE", "Write what --json prints to a file",
                   PLACE(options.report)),
      makeFileFlag("trace", "FILE",
                   "Write what ranks did in the last step, for Perfetto",
                   PLACE(options.trace)),
      RunFlag{"profile", "FILE.html",
              "Print where the time of a step goes, kernel by kernel, beside "
              "what the machine reaches; and write it as a page",
              RunFlagTools::Both,
              [](RunFlags &flags, const std::string &text) {
                flags.options.profile.isAsked = true;
                flags.options.profile.page = text;
                return Failure();
              },
              /*isOptional=*/true},
      makeSwitch("json", "Print one JSON object on stdout",
                 PLACE(options.json)),
      makeSwitch("quiet", "Print no progress", PLACE(quiet),
                 RunFlagTools::BothButDeclared)};
}

#undef PLACE

const std::vector<RunFlag> &regather::getRunFlags() {
  static const std::vector<RunFlag> flags = makeFlags();
  return flags;
}

const RunFlag *regather::findRunFlag(const std::string &name) {
  auto flag =
      std::find_if(getRunFlags().begin(), getRunFlags().end(),
                   [&](const RunFlag &flag) { return flag.name == name; });
  return flag == getRunFlags().end() ? nullptr : &*flag;
}

Failure regather::checkRunFlags(const RunFlags &flags) {
  if (flags.timeout && !(*flags.timeout > 0))
    return Failure("--timeout must be positive");
  // The most that a step to be run is prepared for.
  constexpr int64_t kMostRanks = 4096;
  if (flags.ranks && (*flags.ranks < 1 || *flags.ranks > kMostRanks))
    return Failure("--ranks must be between 1 and " +
                   std::to_string(kMostRanks) + ", got " +
                   std::to_string(*flags.ranks));
  if (flags.engine == EngineKind::Interpreter) {
    const std::pair<bool, const char *> given[] = {
        {flags.options.checkPlan, "--check-plan"},
        {!flags.options.trace.empty(), "--trace"},
        {flags.options.profile.isAsked, "--profile"},
        {flags.communicator.has_value(), "--comm"}};
    for (auto [isGiven, name] : given)
      if (isGiven)
        return Failure(std::string(name) + " needs the cpu engine");
  }
  return checkRunOptions(flags.options);
}
