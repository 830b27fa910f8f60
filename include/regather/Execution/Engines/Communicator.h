//===- Communicator.h - How ranks reach each other --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_ENGINES_COMMUNICATOR_H
#define REGATHER_EXECUTION_ENGINES_COMMUNICATOR_H

#include "regather/Support/Result.h"

#include <string>

namespace regather {

/// What carries the collectives.
enum class CommunicatorKind {
  /// Threads of one process, with a link that may be injected between them, so
  /// that collectives take as long as over a network.
  Threads,
  /// MPI between the processes of a job, of which each is one rank.
  Mpi,
  /// The same with NCCL, for bundles for GPUs.
  Nccl
};

/// None of this has an effect on results, but for sums by NCCL itself.
struct CommunicatorOptions {
  CommunicatorKind kind = CommunicatorKind::Threads;
  /// Messages of MPI carry a checksum.
  bool isChecked = false;
  /// NCCL moves data only; sums have the bits that ranks of one process give.
  bool isReproducible = false;
  /// Seconds that each collective takes at least.
  double latencySeconds = 0;
  /// Bytes per second that a rank receives at most; 0: unlimited.
  double bandwidth = 0;
  /// Bytes per second that a rank copies to its host at most, and back; 0:
  /// unlimited.
  double hostBandwidth = 0;
};

/// Reads `threads[,latency=SECONDS][,bandwidth=BYTES_PER_SECOND]
/// [,host-bandwidth=BYTES_PER_SECOND]`, `mpi[,checked]` or
/// `nccl[,reproducible]`. Numbers may have units: s, ms, us or ns; B/s, kB/s,
/// MB/s or GB/s, or bits, Mb/s or Gb/s.
Result<CommunicatorOptions> parseCommunicator(const std::string &text);

} // namespace regather

#endif // REGATHER_EXECUTION_ENGINES_COMMUNICATOR_H
