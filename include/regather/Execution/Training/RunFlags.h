//===- RunFlags.h - Flags of a run ---------------------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// One table for `regather run` and `regather-run`: each makes what its command
// line looks like of it.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_RUNFLAGS_H
#define REGATHER_EXECUTION_TRAINING_RUNFLAGS_H

#include "regather/Execution/Engines/Communicator.h"
#include "regather/Execution/Engines/MpiJob.h"
#include "regather/Execution/Training/RunStep.h"

namespace regather {

/// What runs a step that has not been compiled into a bundle.
enum class EngineKind { Cpu, Interpreter };

/// What the flags of a run say.
struct RunFlags {
  RunOptions options;
  /// Nothing leaves it to the step.
  std::optional<int64_t> ranks;
  std::optional<CommunicatorOptions> communicator;
  /// The job that the communicator asks for, once it is opened; else null.
  std::shared_ptr<MpiJob> job;
  /// Seconds a rank waits for others; nothing leaves them to the engine.
  std::optional<double> timeout;
  /// 0 divides the threads of the machine between the ranks.
  int32_t threads = 0;
  /// GEMMs on GPUs use the algorithm that was the fastest, or the first;
  /// nothing leaves it to the runtime.
  std::optional<bool> timesAlgorithms;
  int32_t device = 0;
  EngineKind engine = EngineKind::Cpu;
  /// Of the interpreter.
  uint64_t seed = 0;
  bool quiet = false;

  /// Seconds that ranks of a processor wait for others by default.
  static constexpr double kDefaultTimeout = 600;
};

/// Which of the tools has a flag.
enum class RunFlagTools {
  Both,
  /// Both, but `regather` declares it with flags of its other commands.
  BothButDeclared,
  /// `regather run`, which runs modules, too.
  ModulesOnly
};

struct RunFlag {
  const char *name;
  /// What stands for the value in help texts; null of a switch.
  const char *value;
  const char *help;
  RunFlagTools tools;
  /// Sets what the flag says, of which the text of a switch has no part.
  /// Messages begin with the name of the flag.
  std::function<Failure(RunFlags &flags, const std::string &text)> read;
  /// The value may be left out, and the text is empty then.
  bool isOptional = false;

  bool isSwitch() const { return !value; }
};

/// All flags of a run, in the order in which help texts show them.
const std::vector<RunFlag> &getRunFlags();

/// Null if there is none of this name.
const RunFlag *findRunFlag(const std::string &name);

/// The first thing that is wrong with the flags together.
Failure checkRunFlags(const RunFlags &flags);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_RUNFLAGS_H
