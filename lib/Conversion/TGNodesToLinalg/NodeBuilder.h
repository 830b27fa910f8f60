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

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"

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

/// How nodes of one target are expanded.
struct NodeRule {
  /// Names of the parameters, in order.
  llvm::StringLiteral schema = "";
  BuildFn build = nullptr;
  /// Number of results; none if it depends on the arguments.
  std::optional<unsigned> numResults = 1;
  /// True if results may be none.
  bool optionalResults = false;
  /// True if nodes are called for effects, which may be lost.
  bool dropsEffects = false;
};

/// Rules by target.
using RuleTable = llvm::StringMap<NodeRule>;

/// One function for each theme; the files have their names.
void addActivationRules(RuleTable &table);
void addAttentionRules(RuleTable &table);
void addChannelNormRules(RuleTable &table);
void addConstantRules(RuleTable &table);
void addConvolutionRules(RuleTable &table);
void addElementwiseRules(RuleTable &table);
void addIndexingRules(RuleTable &table);
void addLossRules(RuleTable &table);
void addMatrixProductRules(RuleTable &table);
void addNormalizationRules(RuleTable &table);
void addPoolingRules(RuleTable &table);
void addRandomRules(RuleTable &table);
void addReductionRules(RuleTable &table);
void addRoundingRules(RuleTable &table);
void addSoftmaxRules(RuleTable &table);
void addSortingRules(RuleTable &table);
void addStridedViewRules(RuleTable &table);
void addViewRules(RuleTable &table);

} // namespace regather::nodes

#endif // REGATHER_LIB_CONVERSION_TGNODESTOLINALG_NODEBUILDER_H
