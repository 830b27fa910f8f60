//===- Engine.h - What runs a step ------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// An engine runs one step on every rank of a mesh. There are four behind this
// interface: the interpreter, which says what programs mean, the native engine,
// which compiles a step and runs it, and those that run a bundle, on processors
// and on GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_ENGINES_ENGINE_H
#define REGATHER_EXECUTION_ENGINES_ENGINE_H

#include "regather/Execution/Tensors/StepSignature.h"

namespace regather {

/// How an engine came to its kernels, the distinct functions that it compiles.
struct KernelCounts {
  int64_t count = 0;
  int64_t compiled = 0;
  /// Taken from the cache.
  int64_t cached = 0;
};

/// What computes an instruction: generated code, a routine of the runtime, a
/// copy or fill of memory, or the walk through the program by itself.
enum class RunWork : uint8_t {
  Kernel,
  Gemm,
  Attention,
  Convolution,
  Copy,
  Control
};

/// When a rank did something in a step.
struct RunSpan {
  enum class Kind : uint8_t { Computation, Wait, Communication };
  Kind kind = Kind::Computation;
  /// What it was, and where in the source.
  std::string name, place;
  int32_t stream = 0;
  /// On a device, streams compute beside each other.
  bool isOnDevice = false;
  /// Of computation: by what, whether on operands of 16 bits, and what the
  /// program says that it costs; see rg_instruction.
  RunWork work = RunWork::Control;
  bool isNarrow = false;
  double flops = 0;
  int64_t bytes = 0;
  /// Seconds since the step began.
  double begin = 0, end = 0;
};

/// Bytes of the memory plan of a step, on one rank.
struct ArenaReport {
  /// Size of the arena.
  int64_t planned = 0;
  /// The most bytes that are live at once: no plan needs less.
  int64_t lowerBound = 0;
  /// Where the bytes that were really written end; only if it was asked for.
  std::optional<int64_t> touched;
  /// Size of the arena in memory of the host, and where what was written there
  /// ends.
  int64_t plannedOnHost = 0;
  std::optional<int64_t> touchedOnHost;
  /// Bytes of the arguments that lie there between steps; `planned` has no
  /// arguments at all.
  int64_t argumentsOnHost = 0;
};

class Engine {
public:
  virtual ~Engine() = default;

  /// Name as given to `--engine`.
  virtual std::string getName() const = 0;

  /// In a job with one rank in each process, the rank of this one: the engine
  /// runs it alone, and has no results of the others.
  virtual std::optional<int32_t> getOnlyRank() const { return std::nullopt; }

  /// In a job, a tensor of each rank, at rank 0; none at the others. All ask in
  /// the same order for as many bytes. An error if one does not.
  virtual Result<std::vector<HostTensor>> gather(const HostTensor &tensor) {
    return Failure("the engine runs no job");
  }

  /// The same at all ranks, of a small tensor.
  virtual Result<std::vector<HostTensor>> exchange(const HostTensor &tensor) {
    return Failure("the engine runs no job");
  }

  /// Asked after each step, in a job by all ranks: true if the training is to
  /// end after it. `wants` says that this process was asked to; the ranks of a
  /// job then end after the next step, which is the same one for all.
  virtual Result<bool> agreeToStop(int64_t step, bool wants) { return wants; }

  /// Runs the step once on all ranks. `arguments[r]` are the arguments of rank
  /// r (none for the ranks of other processes) and match the step's types;
  /// those that the step updates may hold the update afterwards. On success
  /// `results[r]` are the results of rank r. On failure the engine has reported
  /// why, all threads of the run have ended, and the engine must not be used
  /// again.
  virtual bool run(std::vector<RankValues> &arguments,
                   std::vector<RankValues> &results) = 0;

  /// An engine may keep results other than the loss where it computes, until
  /// they are asked for: in their place `run` gives tensors without data. As an
  /// argument of the next run such a tensor stands for the update that the last
  /// run has kept. This gets what the last run has kept into `results`. False,
  /// after the engine has reported why, if it fails.
  virtual bool fetch(std::vector<RankValues> &results) { return true; }

  /// The most bytes that the tensors of one rank took at once in the runs so
  /// far, arguments included; nothing if the engine does not count.
  virtual std::optional<int64_t> getPeakBytes() const { return std::nullopt; }

  /// Seconds for which each rank was blocked by communication in the last run;
  /// empty if the engine does not measure them.
  virtual std::vector<double> getWaitSeconds() const { return {}; }

  /// Seconds that the last run took on the device of each rank of this process,
  /// from its first call to its last; empty if there is none.
  virtual std::vector<double> getDeviceSeconds() const { return {}; }

  /// Threads on which each rank computes; 0 if there is no such number.
  virtual int32_t getThreads() const { return 0; }

  /// What each rank of this process did in the last run; empty unless it was
  /// asked for.
  virtual std::vector<std::vector<RunSpan>> getSpans() const { return {}; }

  /// Nothing if the engine has no memory plan.
  virtual std::optional<ArenaReport> getArena() const { return std::nullopt; }

  /// What computes routines for which there is a choice, and why: one line
  /// each.
  virtual std::vector<std::string> getRoutines() const { return {}; }

  /// Nothing if the engine does not compile.
  virtual std::optional<KernelCounts> getKernels() const {
    return std::nullopt;
  }
};

} // namespace regather

#endif // REGATHER_EXECUTION_ENGINES_ENGINE_H
