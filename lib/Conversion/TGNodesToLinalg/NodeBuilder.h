//===- NodeBuilder.h - What a builder makes of a node -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGNODESTOLINALG_NODEBUILDER_H
#define REGATHER_LIB_CONVERSION_TGNODESTOLINALG_NODEBUILDER_H

#include "regather/Dialect/TG/Nodes/NodeArguments.h"
#include "regather/Dialect/TG/Targets/NodeTargetMap.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::nodes {

/// Makes operations in front of a node, at its location.
class NodeBuilder : public mlir::ImplicitLocOpBuilder {
public:
  explicit NodeBuilder(NodeArguments &args);

  /// Type of result i; null if it is none.
  mlir::RankedTensorType getResultType(unsigned i = 0);
  llvm::ArrayRef<int64_t> getShape(unsigned i = 0) {
    return getResultType(i).getShape();
  }
  mlir::Type getElement(unsigned i = 0) {
    return getResultType(i).getElementType();
  }

  /// Gives the node's results; a null value for one that is none. Fails with an
  /// error if the types are not the node's.
  mlir::LogicalResult finish(llvm::ArrayRef<mlir::Value> values);

  llvm::ArrayRef<mlir::Value> getResults() const { return results; }

private:
  NodeArguments &args;
  llvm::SmallVector<mlir::Value> results;
};

/// Builds the results of a node, or emits an error.
using BuildFn = mlir::LogicalResult (*)(NodeArguments &, NodeBuilder &);

using BuilderTable = tg::NodeTargetMap<BuildFn>;

// What builders are registered for.
using Operator = tg::NodeOperator;
using Target = tg::NodeTarget;

/// All builders, of targets that the table of operators calls `Built`.
const BuilderTable &getNodeBuilders();

/// One function for each theme; the files have their names.
void addActivationBuilders(BuilderTable &table);
void addAttentionBuilders(BuilderTable &table);
void addChannelNormBuilders(BuilderTable &table);
void addCholeskyBuilders(BuilderTable &table);
void addConstantBuilders(BuilderTable &table);
void addConvolutionBuilders(BuilderTable &table);
void addElementwiseBuilders(BuilderTable &table);
void addIndexingBuilders(BuilderTable &table);
void addLossBuilders(BuilderTable &table);
void addGemmBuilders(BuilderTable &table);
void addGroupedGemmBuilders(BuilderTable &table);
void addHistogramBuilders(BuilderTable &table);
void addLuBuilders(BuilderTable &table);
void addNormalizationBuilders(BuilderTable &table);
void addPoolingBuilders(BuilderTable &table);
void addQrBuilders(BuilderTable &table);
void addRandomBuilders(BuilderTable &table);
void addReductionBuilders(BuilderTable &table);
void addRoundingBuilders(BuilderTable &table);
void addScanBuilders(BuilderTable &table);
void addSearchBuilders(BuilderTable &table);
void addSoftmaxBuilders(BuilderTable &table);
void addSortingBuilders(BuilderTable &table);
void addStridedViewBuilders(BuilderTable &table);
void addTriangularSolveBuilders(BuilderTable &table);
void addViewBuilders(BuilderTable &table);

} // namespace regather::nodes

#endif // REGATHER_LIB_CONVERSION_TGNODESTOLINALG_NODEBUILDER_H
