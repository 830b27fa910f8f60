//===- PartitionedStep.h - Run forward, then backward -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_ENGINES_PARTITIONEDSTEP_H
#define REGATHER_EXECUTION_ENGINES_PARTITIONEDSTEP_H

#include "regather/Execution/Engines/Engine.h"

#include <memory>

namespace regather {

/// What becomes of the results of forward in a step that tg-partition has
/// split, by number.
struct StepPartition {
  /// Those that backward takes behind the arguments of the step.
  std::vector<unsigned> saved;
  /// Those that are results of the step. The results of backward follow them.
  std::vector<unsigned> returned;
};

/// An engine for a partitioned step: runs `forward`, then `backward` with the
/// values that forward has saved on the same rank.
std::unique_ptr<Engine>
createPartitionedEngine(StepPartition partition,
                        std::unique_ptr<Engine> forward,
                        std::unique_ptr<Engine> backward);

} // namespace regather

#endif // REGATHER_EXECUTION_ENGINES_PARTITIONEDSTEP_H
