//===- RunStep.h - A run from its options to its report ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_RUNSTEP_H
#define REGATHER_EXECUTION_TRAINING_RUNSTEP_H

#include "regather/Execution/Training/RunReport.h"
#include "regather/Execution/Training/StepInputs.h"

#include <functional>
#include <memory>

namespace regather {

/// Whether kernels are to be profiled, and where it is told besides in the
/// report.
struct ProfileOptions {
  bool isAsked = false;
  /// A page to write; empty for none.
  std::string page;
  /// What remembers what the machine reaches; empty for nothing.
  std::string cacheFolder = getCacheFolder();
};

/// What a user asks of a run, whatever is run.
struct RunOptions {
  /// What is run, for the report.
  std::string file;
  int64_t steps = 1;
  InputOptions inputs;
  /// A file to train on, and the inputs that it feeds; empty for none.
  std::string text;
  std::string textInputs;
  /// Files to write; empty for none.
  std::string outputs;
  /// A folder for one file of each rank, and after how many steps it is written
  /// in between; 0 for never.
  std::string outputsSharded;
  int64_t saveEvery = 0;
  std::string report;
  /// A file for the trace of the last step.
  std::string trace;
  ProfileOptions profile;
  bool json = false;
  /// The run fails if it does not touch the memory that was planned.
  bool checkPlan = false;

  /// True if the engine has to remember what ranks do; see Engine::getSpans.
  bool needsSpans() const { return profile.isAsked || !trace.empty(); }
};

/// The first thing that is wrong with the options by themselves.
Failure checkRunOptions(const RunOptions &options);

/// What is run.
struct RunSubject {
  StepSignature step;
  std::vector<CollectiveSummary> collectives;
  /// Compiles or loads it, once its inputs are known to be good. The message of
  /// a failure is empty if it has been reported.
  std::function<Result<std::unique_ptr<Engine>>()> createEngine;
  /// Reports what is wrong with the results of the step.
  std::function<void(const std::string &message)> reportError;
  /// The rank of this process in a job with one in each; the others' inputs are
  /// not made.
  std::optional<int64_t> onlyRank = std::nullopt;
  /// Compiles what runs a step again that had too little room for its rows;
  /// null if there is nothing to do so.
  std::function<Result<RoomyStep>()> createRoomy = {};
};

/// Hears how a run goes on while it does, and may end it. This one ignores it.
/// All calls come from the thread of the run; `index` counts steps from 0.
class RunListener {
public:
  virtual ~RunListener() = default;

  /// Something that is no error, but that people should know.
  virtual void warn(const std::string &message) {}
  /// The engine is ready, and the first step begins.
  virtual void begin() {}
  virtual void finishStep(int64_t index, std::optional<double> loss,
                          double seconds) {}
  /// The results of a step have been written to the folder of shards.
  virtual void saveStep(int64_t index) {}
  /// Asked after each step but the last: true if the run is to end. In a job,
  /// all ranks end after the same step when one of them is asked to.
  virtual bool shouldStop() { return false; }
  /// No step comes any more, whether or not the run has failed.
  virtual void end() {}
};

/// Tries all places that a run writes to, before results would be lost; what is
/// wrong with each that cannot be written. In a job only rank 0 writes more
/// than its shard.
std::vector<Failure> checkOutputs(const RunOptions &options,
                                  std::optional<int64_t> onlyRank);

/// Loads the inputs, trains, and writes the outputs, with those of the last
/// step that was run. Prints nothing. The message of a failure is empty if the
/// engine, or whoever creates it, has reported why.
Result<RunReport> runStep(const RunOptions &options, const RunSubject &subject,
                          RunListener &listener);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_RUNSTEP_H
