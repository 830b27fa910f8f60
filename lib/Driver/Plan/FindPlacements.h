//===- FindPlacements.h - Parameters over model axes ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_PLAN_FINDPLACEMENTS_H
#define REGATHER_LIB_DRIVER_PLAN_FINDPLACEMENTS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace regather {

/// Placements, as `--shard` takes them.
using Placements = std::vector<std::string>;

/// Where a search has ended.
struct FoundPlacements {
  Placements shard;
  /// What tg-shard-step counts for a step that is placed so, and what it counts
  /// for none that is placed otherwise: in seconds, 0 if it counts bytes, or
  /// has proven nothing.
  double costSeconds = 0;
  double boundSeconds = 0;
  /// What a rank keeps, as tg-shard-step counts it: as if no other axis of the
  /// mesh shared it.
  double keptBytes = 0;
};

/// What tg-shard-step chooses for a mesh such as `dp:8,cp:2,tp:4` of a cluster,
/// and what it would choose otherwise, the best by its costs first;
/// none if no cut costs less. Others that cost a quarter more than the first,
/// and keep no less, are left out. With a limit, they keep no more bytes. The
/// module stays as it is. Emits the errors of the pass. Several threads may
/// ask.
mlir::FailureOr<std::vector<FoundPlacements>>
findPlacements(mlir::ModuleOp module, llvm::StringRef mesh,
               const std::string &cluster,
               std::optional<int64_t> keptLimit = std::nullopt);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_PLAN_FINDPLACEMENTS_H
