//===- StepSharder.h - Shard the parameters of a step -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_STEPSHARDER_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_STEPSHARDER_H

#include "OwnBatches.h"
#include "Partitioner.h"
#include "Signature.h"

namespace regather::tg::spmd {

/// Gradients of one unit that one collective reduces.
struct ReductionGroup {
  mlir::Type element;
  Reduction reduction;
  /// The dimension that is cut, if each rank needs its shard only.
  std::optional<int64_t> dim;
  llvm::SmallVector<Gradient> gradients;
  llvm::SmallVector<mlir::Value> locals;
};

/// Flat gradients of one unit that one collective reduces.
struct FlatReductionGroup {
  mlir::Type element;
  Reduction reduction;
  Group over;
  llvm::SmallVector<unsigned> buffers;
  llvm::SmallVector<mlir::Value> locals;
};

/// Turns a step on one device into the step of one rank of a mesh: gives each
/// argument its part, gathers parameters unit by unit before their first use,
/// lets the partitioner split the rest, and reduces the gradients of a unit
/// once the last of them is computed.
class StepSharder {
public:
  StepSharder(const Step &step, const DataMesh &mesh, const ElementTypes &types,
              llvm::ArrayRef<Unit> units, const GradientPlan &plan,
              llvm::ArrayRef<FlatBuffer> buffers);

  void run();

  const Partitioner &getPartitioner() const { return partitioner; }
  int64_t getNumCollectives() {
    return partitioner.getCommunication().getNumCollectives();
  }

private:
  /// How the parameter that a gradient belongs to is cut; whole if all of the
  /// gradient is needed.
  ValueState getWantedState(const Gradient &gradient) const;
  void addArguments();
  void addArgument(unsigned argument);
  void addFlatArgument(const FlatBuffer &buffer);
  void splitBatch(mlir::Operation *slice);
  void startUnits();
  void gatherUnit(unsigned number, mlir::Operation *user);
  /// Gives the parameters of a gathered buffer to all other operations.
  void defineMembers(const FlatBuffer &buffer, mlir::Value gathered);
  /// Gives all other operations the gathered parameter.
  void defineGathered(const Parameter &parameter, mlir::Value gathered);
  void reduceUnit(unsigned number, mlir::Operation *last);
  void reduceTogether(const ReductionGroup &group);
  void finishGradient(const Gradient &gradient, mlir::Value local);
  /// The type in which gradients are reduced that are computed in `element`. In
  /// an elastic step that of all sums, so that no rank rounds its own.
  mlir::Type getReducedType(mlir::Type element) const;
  /// What the gradients of all ranks make together.
  ValueState getGradientState(mlir::Value gradient) const;
  /// The gradient that this rank has in this state.
  mlir::Value getLocalGradient(mlir::Value gradient);
  void skipFlatCasts();
  void reduceFlat(unsigned unit);
  /// Reduces it at the end of the step if no operation computes it.
  mlir::Value getFlatGradient(unsigned buffer);
  /// How the gradients that the ranks of a buffer have are combined; nothing if
  /// they are not all combined the same way.
  std::optional<Reduction> getFlatReduction(const FlatBuffer &buffer) const;
  mlir::Value flattenPartial(const FlatBuffer &buffer);
  /// The rank's part of gradients that are reduced one by one.
  mlir::Value flattenReduced(const FlatBuffer &buffer);
  /// The sum over the axes that cut the model of which `mean` is one over the
  /// wide ranks.
  mlir::Value addCopies(mlir::Value mean);
  /// Casts what was reduced to the gradient that leaves the step.
  mlir::Value castToGradient(mlir::Value reduced, const FlatBuffer &buffer);
  void finishLoss(mlir::Operation *op);
  void convertResults();
  mlir::Value convertResult(unsigned result, PlacementAttr &placement);
  /// The same for a result other than a gradient, of a rank's own batch.
  mlir::Value convertOwnResult(unsigned result, PlacementAttr &placement);
  /// The mean of a value that each rank has one of.
  mlir::Value makeMean(mlir::Value value);

  const Step &step;
  const DataMesh &mesh;
  const ElementTypes &types;
  llvm::ArrayRef<Unit> units;
  const GradientPlan &plan;
  llvm::ArrayRef<FlatBuffer> buffers;
  BatchDependence dependence;
  Partitioner partitioner;
  /// The buffers of each unit.
  std::vector<llvm::SmallVector<unsigned, 2>> buffersOfUnit;
  /// The argument for each buffer, and its gradient once it is reduced.
  llvm::SmallVector<mlir::Value> flatArguments, flatGradients;
  llvm::SmallVector<ArgumentSource> arguments;
  /// State of every argument of the captured step.
  llvm::SmallVector<ValueState> argumentStates;
  /// Units by the operation before which they are gathered.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 1>>
      gatherBefore;
  /// Reduced gradients in the type in which they were reduced, and the mean of
  /// the losses.
  llvm::DenseMap<mlir::Value, mlir::Value> reduced;
  /// The value that is the loss, if the step has one.
  mlir::Value loss;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_STEPSHARDER_H
