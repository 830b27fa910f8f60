//===- StepStatistics.h - What a module consists of -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_STEPSTATISTICS_H
#define REGATHER_DRIVER_STEPSTATISTICS_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Execution/Training/RunReport.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace regather {

/// Collectives that differ in none of these are counted together.
struct CollectiveKey {
  std::string kind;
  tg::Phase phase;
  std::string mesh;
  std::vector<std::string> axes;
  int64_t ranks;

  bool operator<(const CollectiveKey &other) const {
    return std::tie(phase, kind, mesh, axes, ranks) <
           std::tie(other.phase, other.kind, other.mesh, other.axes,
                    other.ranks);
  }
};

struct CollectiveCount {
  int64_t ops = 0;
  int64_t tensors = 0;
  /// Bytes that each rank receives.
  int64_t bytes = 0;
};

struct ParameterCount {
  int64_t count = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
  int64_t bytesPerRank = 0;
};

/// What lives on from forward to backward.
struct BoundaryCount {
  /// Bytes of all forward values that backward reads or takes.
  int64_t savedBytes = 0;
  /// The part of them that is gathered parameters, each counted once, however
  /// many views of it there are.
  int64_t gatheredBytes = 0;
  /// Arithmetic of what backward computes again: of its operations with the
  /// `tg.id` of one of forward.
  double recomputedFlops = 0;
};

struct StepStatistics {
  int64_t ops = 0;
  int64_t nodes = 0;
  std::map<std::string, int64_t> opsByDialect;
  std::map<std::string, int64_t> opsByPhase;
  std::map<std::string, double> flopsByPhase;
  std::map<CollectiveKey, CollectiveCount> collectives;
  ParameterCount parameters;
  BoundaryCount boundary;
};

/// Counts over all functions of `module`.
StepStatistics collectStatistics(mlir::ModuleOp module);

/// Its collectives, as reports of runs and bundles have them.
std::vector<CollectiveSummary> summarizeCollectives(mlir::ModuleOp module);

/// One JSON object; `file` is what it says was counted.
std::string formatJson(const StepStatistics &stats, llvm::StringRef file);

/// The same for people, a line for each kind of collective.
std::string formatText(const StepStatistics &stats);

} // namespace regather

#endif // REGATHER_DRIVER_STEPSTATISTICS_H
