//===- RunOutputs.h - The files that a run writes ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_TRAINING_RUNOUTPUTS_H
#define REGATHER_LIB_EXECUTION_TRAINING_RUNOUTPUTS_H

#include "regather/Execution/Training/RunStep.h"

namespace regather {

/// Writes all files that are asked for.
Failure writeOutputs(const RunOptions &options, Engine &engine,
                     const StepSignature &step, const TrainingResult &training,
                     const RunReport &report);

/// Writes the folder of shards, with results that the engine has fetched.
Failure writeShards(const RunOptions &options, Engine &engine,
                    const StepSignature &step, const TrainingResult &training);

} // namespace regather

#endif // REGATHER_LIB_EXECUTION_TRAINING_RUNOUTPUTS_H
