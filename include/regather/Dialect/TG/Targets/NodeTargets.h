//===- NodeTargets.h - Operators that nodes call ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the project knows of the operators of the captured framework, as the
// tables of NodeTargets.td say it. The target of a node, `aten.add.Tensor`, is
// an overload of an operator, `aten.add`. What all overloads have in common is
// known of the operator, so that it also holds for overloads without a record;
// parameters and results are known of targets.
//
// Adding an operator: docs/adding-an-operator.md.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_NODETARGETS_H
#define REGATHER_DIALECT_TG_TARGETS_NODETARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace regather::tg {

// The enumerations are unscoped; a namespace for each keeps their enumerators
// apart. They are written `NodeOperator::AtenAdd`, `NodeTarget::AtenAddTensor`.
namespace operators {
#define GET_NodeOperator_DECL
#include "regather/Dialect/TG/Targets/NodeTargets.inc"
} // namespace operators
namespace targets {
#define GET_NodeTarget_DECL
#include "regather/Dialect/TG/Targets/NodeTargets.inc"
} // namespace targets
using operators::NodeOperator;
using targets::NodeTarget;

/// What kind of work an operator does.
enum class OperatorClass : uint8_t {
  /// A view that leaves the elements in row-major order.
  Reshape,
  /// Any other view: permutations and parts.
  View,
  /// Copies elements to other places.
  Rearrangement,
  Elementwise,
  /// Reductions, and scans along a dimension.
  Reduction,
  Sorting,
  /// Normalizations and softmax, with their gradients.
  Normalization,
  Loss,
  /// Pooling and resampling of images.
  Pooling,
  /// Matrices and vectors that are multiplied.
  Gemm,
  Convolution,
  Attention,
  /// Reads or writes at places that a tensor of indices gives.
  Indexing,
  /// Fills a tensor with values that no other tensor has.
  Constant,
  /// Draws random numbers, or is the gradient of what does.
  Random,
  /// Makes complex tensors, or takes them apart.
  ComplexNumbers,
  /// Collectives, which are nodes only where the import knows no operation.
  Communication,
  /// Checks data, and gives nothing.
  Assertion
};

inline constexpr size_t kNumOperatorClasses =
    static_cast<size_t>(OperatorClass::Assertion) + 1;

/// How the work of an operator is counted; TG/IR/TGNodeCost.cpp has the
/// formulas.
enum class CostClass : uint8_t {
  /// Nothing: no bytes move.
  View,
  /// One for each element of the largest tensor.
  Elements,
  /// The same, but reads as much of operand 0 as it writes.
  Pick,
  /// GEMM of operands 0 and 1.
  Gemm,
  /// GEMM of operands 1 and 2, with operand 0 added.
  AddedGemm,
  /// A GEMM for each group of rows.
  GroupedGemm,
  /// LU, Cholesky or QR of the matrices of operand 0.
  Factorization,
  /// Rows of operand 1 from the rows before them, by operand 0.
  TriangularSolve,
  Convolution,
  ConvolutionBackward,
  Attention,
  AttentionBackward
};

/// The set of `get_default_op_list` of PyTorch 2.13, without operators that
/// write into their arguments, that an operator is in. Views are recomputable,
/// too. test/python/test_match_pytorch.py compares with what is installed.
enum class PyTorchSet : uint8_t { Unlisted, View, Recomputable, Random };

/// How many random bits an element takes.
enum class RandomDraw : uint8_t {
  /// The operator is not random.
  Nothing,
  /// It is, but no numbers are defined for it.
  Undefined,
  /// 32 bits.
  Word,
  /// 64 bits.
  Long,
  /// As many as the significand of the result can use.
  Significand
};

/// What becomes of a node in `convert-tg-nodes-to-linalg`.
enum class TargetLowering : uint8_t {
  /// A builder makes operations of linalg and others.
  Built,
  /// It is replaced by other nodes before: a function of complex numbers.
  Expanded,
  /// The conversion fails.
  Opaque
};

/// How a node splits over ranks.
enum class TargetSharding : uint8_t {
  /// As a rule says.
  Ruled,
  /// Not at all: its tensors are whole.
  Whole
};

struct NodeOperatorInfo {
  NodeOperator op;
  /// Without overload: `aten.add`.
  llvm::StringLiteral name;
  OperatorClass kind;
  CostClass cost;
  PyTorchSet pytorch;
  RandomDraw draw;
  /// Saving its results is better than computing them again, however many bytes
  /// they have: GEMMs, convolutions, attention, sorting.
  bool isExpensive;
};

struct NodeTargetInfo {
  NodeTarget target;
  /// `aten.add.Tensor`.
  llvm::StringLiteral name;
  NodeOperator op;
  /// Names of the parameters in order, separated by spaces.
  llvm::StringLiteral parameters;
  /// `kVaryingResults` if it depends on the arguments.
  int numResults;
  /// True if results may be none.
  bool hasOptionalResults;
  /// The parameter that holds sizes of result 0; empty if none does.
  llvm::StringLiteral sizeParameter;
  /// The dimension that it is the size of, or `kAllDims`.
  int sizeDim;
  TargetLowering lowering;
  TargetSharding sharding;
};

inline constexpr int kVaryingResults = -1;
inline constexpr int kAllDims = -1;

/// All records, ordered by the names of the enumerators, numbers among them as
/// numbers: not in the order of their values.
llvm::ArrayRef<NodeOperatorInfo> getNodeOperators();
llvm::ArrayRef<NodeTargetInfo> getNodeTargets();

/// Constant time.
const NodeOperatorInfo &getInfo(NodeOperator op);
const NodeTargetInfo &getInfo(NodeTarget target);

/// The name that nodes have as their target.
inline llvm::StringRef getName(NodeTarget target) {
  return getInfo(target).name;
}

/// The target of this name. O(log n) in the number of targets.
std::optional<NodeTarget> findNodeTarget(llvm::StringRef name);

/// The operator of which `target` is an overload, known or not. O(log n).
std::optional<NodeOperator> findNodeOperator(llvm::StringRef target);

/// The class of the operator of which `target` is an overload.
std::optional<OperatorClass> getOperatorClass(llvm::StringRef target);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TARGETS_NODETARGETS_H
