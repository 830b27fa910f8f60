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

#include "llvm/ADT/StringMap.h"

namespace regather::tg::sharding {

/// Puts together the rule of a node. Operands and results that get no factors
/// are whole. After the first argument that does not fit, `args.hasFailed` is
/// true and the rule is that which needs everything whole.
class NodeRuleBuilder {
public:
  NodeRuleBuilder(NodeOp node, llvm::StringRef schema);

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

/// An argument that holds sizes of a result.
struct SizeArgument {
  llvm::StringLiteral name = "";
  unsigned result = 0;
  /// The dimension that the argument is the size of; without one, it lists all.
  std::optional<int64_t> dim = std::nullopt;
};

/// Changes a node that works on parts, given the arguments of the whole one,
/// where these mean something else on parts.
using AdaptFn = void (*)(nodes::NodeArguments &whole, NodeOp part);

struct NodeRule {
  /// Names of the parameters, in order.
  llvm::StringLiteral schema = "";
  BuildFn build = nullptr;
  /// What changes in a node that works on parts.
  SizeArgument sizes = {};
  AdaptFn adapt = nullptr;
};

/// Rules by target.
using NodeRuleTable = llvm::StringMap<NodeRule>;

/// One function for each theme; the files have their names.
void addAttentionRules(NodeRuleTable &table);
void addConstantRules(NodeRuleTable &table);
void addConvolutionRules(NodeRuleTable &table);
void addElementwiseRules(NodeRuleTable &table);
void addIndexingRules(NodeRuleTable &table);
void addLossRules(NodeRuleTable &table);
void addMatrixProductRules(NodeRuleTable &table);
void addNormalizationRules(NodeRuleTable &table);
void addPoolingRules(NodeRuleTable &table);
void addRandomRules(NodeRuleTable &table);
void addReductionRules(NodeRuleTable &table);
void addSoftmaxRules(NodeRuleTable &table);
void addViewRules(NodeRuleTable &table);

} // namespace regather::tg::sharding

#endif // REGATHER_LIB_DIALECT_TG_SHARDING_NODERULES_H
