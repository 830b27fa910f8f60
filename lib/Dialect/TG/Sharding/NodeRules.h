//===- NodeRules.h - Rules of nodes, by target ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_SHARDING_NODERULES_H
#define REGATHER_LIB_DIALECT_TG_SHARDING_NODERULES_H

#include "RuleParts.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"
#include "regather/Dialect/TG/Targets/NodeTargetMap.h"

namespace regather::tg::sharding {

/// Puts together the rule of a node. Operands and results that get no factors
/// are whole. After the first argument that does not fit, `args.hasFailed` is
/// true and the rule is that which needs everything whole.
class NodeRuleBuilder {
public:
  NodeRuleBuilder(NodeOp node, NodeTarget target);

  nodes::NodeArguments args;
  ShardingRule rule;

  /// The shape of the tensor called `name`; empty if there is none.
  llvm::ArrayRef<int64_t> getShape(llvm::StringRef name);
  /// Empty if result i is not a tensor.
  llvm::ArrayRef<int64_t> getResultShape(unsigned i = 0);
  /// True if result i exists and is a tensor.
  bool hasResult(unsigned i);
  /// True if the argument is a tensor, or a number, that is known to be zero.
  bool isZeroArgument(llvm::StringRef name);

  /// Sets the factors of the tensor called `name`, or of all tensors of a list;
  /// does nothing if there is none. A tensor that is given for two parameters
  /// must have the same factors for both.
  void setOperand(llvm::StringRef name, const TensorFactors &factors);
  /// The same for a tensor that is broadcast to `shape`.
  void setBroadcast(llvm::StringRef name, const TensorFactors &factors,
                    llvm::ArrayRef<int64_t> shape);
  /// The same for operand i.
  void setOperand(unsigned i, const TensorFactors &factors);
  void setResult(const TensorFactors &factors, unsigned i = 0);

  /// Declares the node linear in these arguments together. Does nothing unless
  /// all are tensors that are given for no other parameter.
  void addLinear(llvm::ArrayRef<llvm::StringRef> names);
  /// Declares that of this tensor only the type of its elements is read.
  void addUnread(llvm::StringRef name);

  ShardingRule finish();

private:
  NodeOp node;
  llvm::SmallVector<bool> isOperandSet, isResultSet;
  /// Number of parameters that each operand is given for.
  llvm::SmallVector<unsigned> numUses;
  bool isConsistent = true;
};

/// Fills in the rule of a node.
using BuildFn = void (*)(NodeRuleBuilder &);

/// Changes a node that works on parts, given the arguments of the whole one,
/// where these mean something else on parts.
using AdaptFn = void (*)(nodes::NodeArguments &whole, NodeOp part);

struct NodeRule {
  BuildFn build = nullptr;
  /// What changes in a node that works on parts, besides sizes.
  AdaptFn adapt = nullptr;
};

using NodeRuleTable = NodeTargetMap<NodeRule>;

// What rules are registered for.
using Operator = NodeOperator;
using Target = NodeTarget;

/// All rules, of targets that the table of operators calls `Ruled`.
const NodeRuleTable &getNodeRules();

/// One function for each theme; the files have their names.
void addAttentionRules(NodeRuleTable &table);
void addConstantRules(NodeRuleTable &table);
void addConvolutionRules(NodeRuleTable &table);
void addElementwiseRules(NodeRuleTable &table);
void addFactorizationRules(NodeRuleTable &table);
void addIndexingRules(NodeRuleTable &table);
void addLossRules(NodeRuleTable &table);
void addGemmRules(NodeRuleTable &table);
void addNormalizationRules(NodeRuleTable &table);
void addPoolingRules(NodeRuleTable &table);
void addRandomRules(NodeRuleTable &table);
void addReductionRules(NodeRuleTable &table);
void addSoftmaxRules(NodeRuleTable &table);
void addViewRules(NodeRuleTable &table);

} // namespace regather::tg::sharding

#endif // REGATHER_LIB_DIALECT_TG_SHARDING_NODERULES_H
