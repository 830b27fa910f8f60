//===- ShardFiles.h - The files of a folder of shards -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The files of a save replace those of the one before it all at once. They are
// written to the folder `regather-saving` in the folder of shards. When all are
// on the disk, it is renamed to `regather-saved`: from then on its files are
// the ones that count. They move up one by one, and at last `regather-saved`
// disappears.
//
// Whenever a process is killed, either the old save can be read, or the new
// one: a file in `regather-saved` counts instead of its namesake in the folder,
// and what is left in `regather-saving` is never read. Other files in the
// folder are left alone.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_TENSORS_SHARDFILES_H
#define REGATHER_LIB_EXECUTION_TENSORS_SHARDFILES_H

#include "regather/Support/Result.h"

#include <cstdint>
#include <string>

namespace regather {

/// Where the shard of a rank is written to.
std::string getSavingPath(const std::string &directory, int64_t rank,
                          int64_t ranks);

/// Makes the folder ready for a save of so many ranks, and completes one that
/// was interrupted. All processes of a job may do it at the same time.
Failure prepareSave(const std::string &directory, int64_t ranks);

/// Lets the files that all processes have written count. All processes of a job
/// may do it at the same time, but none may begin another save before all are
/// done.
Failure commitSave(const std::string &directory);

/// How many ranks wrote the shards that count.
Result<int64_t> findRanks(const std::string &directory);

/// The shard of a rank that counts; where it would be if there is none.
std::string findShard(const std::string &directory, int64_t rank,
                      int64_t ranks);

} // namespace regather

#endif // REGATHER_LIB_EXECUTION_TENSORS_SHARDFILES_H
