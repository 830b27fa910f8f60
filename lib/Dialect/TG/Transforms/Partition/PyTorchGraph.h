//===- PyTorchGraph.h - A step as PyTorch's partitioner sees it -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_PYTORCHGRAPH_H
#define REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_PYTORCHGRAPH_H

#include "regather/Analysis/Recomputation/PyTorchPartition.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::tg::partition {

/// The joint graph of a step.
struct PyTorchGraph {
  std::vector<JointNode> nodes;
  /// By node: the values that saving it saves. None for what has several
  /// results. That of a collective is what its wait gives: data in flight does
  /// not cross.
  std::vector<mlir::Value> values;
  /// The operations that make tangents.
  llvm::SmallVector<NodeOp, 1> tangents;
};

/// Writes down `step` as PyTorch would have captured it: a node for each call,
/// result of several, collective and wait; none for the random bits that the
/// import adds. The gradient of the loss, which backward fills in from nothing
/// but its shape, is the tangent. Emits an error if an operation is not one
/// that a captured graph has, or if there is no tangent.
mlir::FailureOr<PyTorchGraph> buildPyTorchGraph(mlir::func::FuncOp step,
                                                const StepGraph &graph);

} // namespace regather::tg::partition

#endif // REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_PYTORCHGRAPH_H
