//===- RunOutputs.cpp - The files that a run writes -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunOutputs.h"

#include "regather/Execution/Profile/FormatProfile.h"
#include "regather/Execution/Training/RunTrace.h"
#include "regather/Execution/Training/ShardFolder.h"
#include "regather/Support/AtomicFile.h"

using namespace regather;

static Failure explainFile(const std::string &path, const Failure &failure) {
  return Failure("cannot write '" + path + "': " + failure.getMessage());
}

std::vector<Failure> regather::checkOutputs(const RunOptions &options,
                                            std::optional<int64_t> onlyRank) {
  std::vector<Failure> failures;
  auto check = [&](const std::string &path,
                   Failure (*tryPath)(const std::string &)) {
    if (path.empty())
      return;
    if (Failure failure = tryPath(path))
      failures.push_back(explainFile(path, failure));
  };
  check(options.outputsSharded, checkFolderWritable);
  if (onlyRank.value_or(0) == 0)
    for (const std::string &path :
         {options.outputs, options.report, options.trace, options.profile.page})
      check(path, checkWritable);
  return failures;
}

Failure regather::writeShards(const RunOptions &options, Engine &engine,
                              const StepSignature &step,
                              const TrainingResult &training) {
  auto waitForAll = [&]() -> Failure {
    // Nothing is sent, but all ranks have to come.
    auto parts = engine.gather(HostTensor::zeros(ElementType::I8, {0}));
    return parts ? Failure()
                 : Failure("cannot save the results: " + parts.getMessage());
  };
  return writeShardFolder(options.outputsSharded, step, training, waitForAll);
}

/// A file without its folder.
static std::string getTitle(const std::string &file) {
  return file.substr(file.rfind('/') + 1);
}

Failure regather::writeOutputs(const RunOptions &options, Engine &engine,
                               const StepSignature &step,
                               const TrainingResult &training,
                               const RunReport &report) {
  auto write = [](const std::string &path, const std::string &text) {
    Failure failure = writeFileAtomically(path, {text});
    return failure ? explainFile(path, failure) : Failure();
  };
  if (!options.outputs.empty()) {
    auto tensors = collectOutputs(engine, step, training);
    if (!tensors)
      return tensors.getFailure();
    std::map<std::string, std::string> metadata;
    if (step.segments)
      metadata[kElasticKey] = std::to_string(step.segments);
    if (!step.elasticAxes.empty())
      metadata[kElasticAxesKey] = step.elasticAxes;
    if (training.onlyRank.value_or(0) == 0)
      if (Failure failure =
              writeSafetensors(options.outputs, *tensors, metadata))
        return explainFile(options.outputs, failure);
  }
  if (!options.outputsSharded.empty())
    if (Failure failure = writeShards(options, engine, step, training))
      return failure;
  // What is left is about the whole job.
  if (training.onlyRank.value_or(0) != 0)
    return Failure();
  if (!options.report.empty())
    if (Failure failure = write(options.report, formatJson(report)))
      return failure;
  if (!options.trace.empty())
    if (Failure failure = write(options.trace, formatTrace(engine.getSpans())))
      return failure;
  if (!options.profile.page.empty() && report.profile)
    return write(options.profile.page,
                 renderProfile(*report.profile, getTitle(options.file)));
  return Failure();
}
