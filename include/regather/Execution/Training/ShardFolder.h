//===- ShardFolder.h - One file for each rank -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A folder with one safetensors file for each rank, `rank-2-of-4.safetensors`,
// which holds what the rank holds. The metadata of a file say what its tensors
// are parts of, so that any number of ranks, in any layout, can read them:
//
//   regather.rank, regather.ranks   the rank, and how many there are
//   regather.save                   equal in all files of one folder
//   regather.elastic                segments of the batch, of an elastic step
//   regather.elastic-axes           axes of its model that are elastic, if any
//   regather.parts                  JSON: for each tensor its name, the shape
//                                   of the global one, offsets and sizes of the
//                                   part, and, if it is flat, names, offsets
//                                   and shapes of its members
//
// A save replaces an older one at once: whenever its process is killed, the
// folder holds the one or the other. `lib/Execution/Tensors/ShardFiles.h` says
// how.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_SHARDFOLDER_H
#define REGATHER_EXECUTION_TRAINING_SHARDFOLDER_H

#include "regather/Execution/Tensors/Safetensors.h"
#include "regather/Execution/Training/Training.h"

#include <functional>
#include <memory>

namespace regather {

/// Returns when all processes of a job have called it, as often; fails if one
/// will not.
using JobBarrier = std::function<Failure()>;

/// Writes the results of the last step, a file for each rank. Of copies, the
/// first rank keeps one; parts of sums are added up. Makes the folder if it
/// does not exist; if it has shards, they stay as they are until the new ones
/// are complete. A process of a job writes the file of its rank, and waits for
/// the others by `waitForAll`.
Failure writeShardFolder(const std::string &directory,
                         const StepSignature &step,
                         const TrainingResult &training,
                         const JobBarrier &waitForAll);

/// Opens a safetensors file, or a folder of shards. Errors name the file.
Result<std::unique_ptr<TensorSource>> openTensorSource(const std::string &path);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_SHARDFOLDER_H
