//===- RunFlags.cpp - Flags of a run of a bundle --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunFlags.h"

#include <cstdlib>
#include <functional>

using namespace regather;

namespace {
/// One flag; a switch if it takes no value.
struct Flag {
  const char *name;
  const char *value;
  const char *help;
  /// Sets what the flag says; false if the value makes no sense.
  std::function<bool(RunFlags &, const std::string &)> set;

  bool isSwitch() const { return !value; }
};
} // namespace

static bool parse(const std::string &text, std::string &value) {
  value = text;
  return true;
}

static bool parse(const std::string &text, double &value) {
  char *end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

static bool parse(const std::string &text, int64_t &value) {
  char *end = nullptr;
  errno = 0;
  value = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && *end == '\0' && errno == 0;
}

static bool parse(const std::string &text, int32_t &value) {
  int64_t wide = 0;
  bool ok = parse(text, wide) && wide >= 0 && wide <= INT32_MAX;
  value = static_cast<int32_t>(wide);
  return ok;
}

template <typename T>
static bool parse(const std::string &text, std::optional<T> &value) {
  return parse(text, value.emplace());
}

namespace {
/// The name of a file, which is not empty.
struct FileName {
  std::string &name;
};
} // namespace

static bool parse(const std::string &text, FileName file) {
  return parse(text, file.name) && !text.empty();
}

/// A flag whose value goes to one place.
#define REGATHER_FLAG(name, value, help, place)                                \
  Flag {                                                                       \
    name, value, help, [](RunFlags &flags, const std::string &text) {          \
      return parse(text, flags.place);                                         \
    }                                                                          \
  }
#define REGATHER_FILE_FLAG(name, value, help, place)                           \
  Flag {                                                                       \
    name, value, help, [](RunFlags &flags, const std::string &text) {          \
      return parse(text, FileName{flags.place});                               \
    }                                                                          \
  }
#define REGATHER_SWITCH(name, help, place)                                     \
  Flag {                                                                       \
    name, nullptr, help, [](RunFlags &flags, const std::string &) {            \
      flags.place = true;                                                      \
      return true;                                                             \
    }                                                                          \
  }

static const std::vector<Flag> &getFlags() {
  static const std::vector<Flag> flags = {
      REGATHER_FLAG("ranks", "N",
                    "Number of ranks; the bundle decides by "
                    "default",
                    ranks),
      REGATHER_FLAG("steps", "N", "Number of steps; updates are fed back",
                    options.steps),
      REGATHER_FILE_FLAG(
          "inputs", "FILE",
          "Read arguments from a safetensors file of global tensors",
          options.inputs.file),
      Flag{"random-inputs", "SEED[,integers]",
           "Draw the arguments that no file holds",
           [](RunFlags &flags, const std::string &text) {
             return !parseRandomInputs(text, flags.options.inputs);
           }},
      REGATHER_FLAG("rng-seed", "N",
                    "Seed of the random numbers that the step draws",
                    options.inputs.rngSeed),
      REGATHER_FLAG("learning-rate", "VALUE",
                    "Value of the argument of role learning_rate",
                    options.inputs.learningRate),
      REGATHER_FLAG("first-step", "N",
                    "Number of the first step, to go on with a run",
                    options.inputs.firstStep),
      REGATHER_FILE_FLAG("text", "FILE",
                         "Train on the bytes of a file, a new batch each step",
                         options.text),
      REGATHER_FLAG("text-inputs", "TOKENS,LABELS", "Inputs that --text feeds",
                    options.textInputs),
      REGATHER_FILE_FLAG("outputs", "FILE",
                         "Write the results of the last step as global tensors",
                         options.outputs),
      REGATHER_FILE_FLAG("outputs-sharded", "DIR",
                         "Write them to a folder, one file for each rank",
                         options.outputsSharded),
      Flag{"save-every", "N", "Write that folder after each N steps, too",
           [](RunFlags &flags, const std::string &text) {
             return parse(text, flags.options.saveEvery) &&
                    flags.options.saveEvery > 0;
           }},
      REGATHER_FILE_FLAG("report", "FILE", "Write what --json prints to a file",
                         options.report),
      REGATHER_FILE_FLAG("trace", "FILE",
                         "Write what ranks did in the last step, for Perfetto",
                         options.trace),
      REGATHER_FLAG(
          "comm",
          "threads[,latency=SECONDS][,bandwidth=RATE] | nccl[,reproducible]",
          "How ranks reach each other: latency and bandwidth are "
          "injected; nccl makes the process one rank of a job of "
          "torchrun, mpirun or srun",
          communicator),
      REGATHER_FLAG("timeout", "SECONDS",
                    "Seconds a rank waits for others before it gives up",
                    timeout),
      REGATHER_FLAG("threads", "N", "Threads on which each rank computes",
                    bundle.executor.threads),
      Flag{"algorithms", "first|timed",
           "Which proposal of cuBLASLt a bundle for GPUs uses for a product of "
           "matrices: the first, or the fastest",
           [](RunFlags &flags, const std::string &text) {
             return !flags.bundle.setAlgorithms(text);
           }},
      REGATHER_FLAG("device", "N",
                    "Number of the GPU that runs a bundle for GPUs",
                    bundle.gpu.device),
      REGATHER_SWITCH("check-plan",
                      "Check that the step touches as much memory as its plan "
                      "says",
                      options.checkPlan),
      REGATHER_SWITCH("json", "Print one JSON object on stdout", options.json),
      REGATHER_SWITCH("quiet", "Print no progress", quiet)};
  return flags;
}

std::string regather::getUsage() {
  std::string text = "usage: regather-run FILE.rgb [flags]\n";
  for (const Flag &flag : getFlags()) {
    std::string left = std::string("  --") + flag.name +
                       (flag.isSwitch() ? "" : "=") +
                       (flag.isSwitch() ? "" : flag.value);
    left.resize(std::max<size_t>(left.size() + 2, 34), ' ');
    text += left + flag.help + '\n';
  }
  return text;
}

Failure regather::parseRunFlags(const std::vector<std::string> &arguments,
                                RunFlags &flags) {
  bool hasTimeout = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    if (argument.rfind("-", 0) != 0) {
      if (!flags.options.file.empty())
        return Failure("expects one bundle, got '" + flags.options.file +
                       "' and '" + argument + "'");
      flags.options.file = argument;
      continue;
    }
    size_t equals = std::min(argument.find('='), argument.size());
    size_t dashes = argument.rfind("--", 0) == 0 ? 2 : 1;
    std::string name = argument.substr(dashes, equals - dashes);
    const Flag *flag = nullptr;
    for (const Flag &candidate : getFlags())
      if (candidate.name == name)
        flag = &candidate;
    if (!flag)
      return Failure("there is no flag --" + name);
    bool hasValue = equals < argument.size();
    if (flag->isSwitch() && hasValue)
      return Failure("--" + name + " takes no value");
    std::string value = hasValue ? argument.substr(equals + 1) : "";
    if (!flag->isSwitch() && !hasValue) {
      if (++i == arguments.size())
        return Failure("--" + name + " needs a value");
      value = arguments[i];
    }
    if (!flag->set(flags, value))
      return Failure("--" + name + " does not take \"" + value + "\"");
    hasTimeout |= name == "timeout";
  }
  if (flags.options.file.empty())
    return Failure("expects the name of a bundle");
  if (hasTimeout && !(flags.timeout > 0))
    return Failure("--timeout must be positive");
  flags.bundle.executor.timeout_seconds = 600;
  if (hasTimeout)
    flags.bundle.setTimeout(flags.timeout);
  flags.bundle.setRanks(flags.ranks);
  if (!flags.communicator.empty()) {
    CommunicatorOptions communicator;
    if (Failure failure = parseCommunicator(flags.communicator, communicator))
      return failure;
    flags.bundle.setCommunicator(communicator);
  }
  if (flags.options.checkPlan)
    flags.bundle.watchArena();
  flags.bundle.executor.record_spans = !flags.options.trace.empty();
  return checkRunOptions(flags.options);
}
