//===- MpiJob.h - A process that is one rank of an MPI job ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_ENGINES_MPIJOB_H
#define REGATHER_EXECUTION_ENGINES_MPIJOB_H

#include "regather/Runtime/MpiTransport.h"
#include "regather/Support/Result.h"

#include <memory>

namespace regather {

/// This process among those that mpirun, srun or the like has started: one rank
/// of a step each. A process that fails ends without `finish`, and the launcher
/// then ends the others.
class MpiJob {
public:
  /// Opens the library regather_mpi: what REGATHER_MPI_LIBRARY names, or that
  /// of this installation, or what the system's loader finds. The first thing
  /// that a process does, and once; without a launcher it is the only rank.
  static Result<std::shared_ptr<MpiJob>> open();

  int32_t getRank() const { return transport.rank; }
  int32_t getNumRanks() const { return transport.ranks; }
  const rg_transport *getTransport() const { return &transport; }

  /// The code of failures that all ranks find alike.
  static constexpr int kFoundByAll = -1;

  /// What is wrong if a step, or the user, wants another number of ranks; `who`
  /// is the subject, such as "the step has". All ranks find the same.
  Failure checkRanks(int64_t ranks, const std::string &who) const;

  /// Called by all ranks when they are done, or have all found the same
  /// failure; waits for them.
  void finish() const;

private:
  MpiJob() = default;

  rg_transport transport = {};
  rg_mpi_finish_function finishMpi = nullptr;
};

} // namespace regather

#endif // REGATHER_EXECUTION_ENGINES_MPIJOB_H
