//===- StepSharder.h - Shard the parameters of a step -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_STEPSHARDER_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_STEPSHARDER_H

#include "Gradients.h"
#include "Partitioner.h"

namespace regather::tg::spmd {

/// Gradients of one unit that one collective reduces.
struct ReductionGroup {
  mlir::Type element;
  Reduction reduction;
  bool sharded;
  llvm::SmallVector<Gradient> gradients;
  llvm::SmallVector<mlir::Value> locals;
};

/// Turns a step on one device into the step of one rank of a mesh: gives each
/// argument its part, gathers parameters unit by unit before their first use,
/// lets the partitioner split the rest, and reduces the gradients of a unit
/// once the last of them is computed.
class StepSharder {
public:
  StepSharder(const Step &step, const DataMesh &mesh, const ElementTypes &types,
              llvm::ArrayRef<Unit> units, const GradientPlan &plan);

  void run();

  const Partitioner &getPartitioner() const { return partitioner; }
  int64_t getNumCollectives() {
    return partitioner.getCommunication().getNumCollectives();
  }

private:
  void addArguments();
  ValueState getArgumentState(unsigned argument) const;
  void splitBatch(mlir::Operation *slice);
  void startUnits();
  void gatherUnit(const Unit &unit, mlir::Operation *user);
  /// Gives all other operations the gathered parameter.
  void defineGathered(const Parameter &parameter, mlir::Value gathered);
  void reduceUnit(unsigned number, mlir::Operation *last);
  void reduceTogether(const ReductionGroup &group);
  void finishGradient(const Gradient &gradient, mlir::Value local);
  void finishLoss(mlir::Operation *op);
  void convertResults();
  mlir::Value convertResult(unsigned result, PlacementAttr &placement);
  void replaceSignature(llvm::ArrayRef<PlacementAttr> results);

  const Step &step;
  const DataMesh &mesh;
  const ElementTypes &types;
  llvm::ArrayRef<Unit> units;
  const GradientPlan &plan;
  Partitioner partitioner;
  /// State of every argument of the new step.
  llvm::SmallVector<ValueState> argumentStates;
  /// Units by the operation before which they are gathered.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 1>>
      gatherBefore;
  /// Reduced gradients in the type in which they were reduced.
  llvm::DenseMap<mlir::Value, mlir::Value> reduced;
  /// The value that is the loss, if the step has one.
  mlir::Value loss;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_STEPSHARDER_H
