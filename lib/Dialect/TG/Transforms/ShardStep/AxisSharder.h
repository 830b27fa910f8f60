//===- AxisSharder.h - Shard a step over one more axis -------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_AXISSHARDER_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_AXISSHARDER_H

#include "../ShardParameters/Partitioner.h"
#include "../ShardParameters/Signature.h"
#include "Annotations.h"

namespace regather::tg::spmd {

/// Turns a step into one rank's part of it along one axis of a mesh. Arguments
/// lie as the seeds say; parameters and optimizer states that have none become
/// what their first use on parts wants; all others are whole. Gradients and
/// updates lie as their arguments do, losses are whole, and other results may
/// leave the step cut.
class AxisSharder {
public:
  /// `mesh` has the axis as its shard axis. A trial makes no remarks.
  AxisSharder(const Step &step, const DataMesh &mesh, const AxisSeeds &seeds,
              bool isTrial = false);

  /// Called before `run`: ranks get the matrices of all experts.
  void gatherExperts() { partitioner.gatherExperts(); }
  void run();

  const Partitioner &getPartitioner() const { return partitioner; }
  int64_t getNumCollectives() {
    return partitioner.getCommunication().getNumCollectives();
  }
  /// The number of parameters that are cut along the axis.
  int64_t countShardedParameters() const;

private:
  /// What is known of one argument of the step.
  struct Argument {
    mlir::BlockArgument local;
    ValueState state;
    /// Nothing has decided about it.
    bool isOpen = false;
  };

  void addArguments();
  /// Cuts an argument that is open; see CutArgumentFn.
  mlir::Value cutArgument(mlir::BlockArgument argument, int64_t dim);
  /// Gathers what has used the argument whole before it was cut.
  void gatherEarlierUses(unsigned argument);
  /// Sets up the values that are converted where they are computed.
  void findEarlyResults();
  /// Converts results of `op` that leave the step, or that a seed places.
  void convertEarly(mlir::Operation *op);
  /// How a gradient that is made of `value` alone, or nearly so, lies.
  std::optional<ValueState> getWantedState(mlir::Value value);
  ValueState getArgumentState(unsigned argument);
  ValueState getResultState(unsigned result);
  void convertResults();

  const Step &step;
  const DataMesh &mesh;
  const AxisSeeds &seeds;
  Partitioner partitioner;
  llvm::SmallVector<Argument> arguments;
  /// By new argument, its number.
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  /// By value, results of the step that are gradients or losses.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 1>> earlyResults;
  /// Waits for arguments that some use needs whole, if any does in the end.
  llvm::SmallVector<mlir::Operation *> gathered;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_AXISSHARDER_H
