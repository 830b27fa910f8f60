//===- NodeArguments.h - Arguments of a node by name ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads `args` and `kwargs` of a `tg.node` by the names that the table
// of operators gives the parameters. The first argument that does not fit emits
// an error; from then on `hasFailed` is true and getters return placeholders,
// so that a builder reads all its arguments and checks once.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_NODES_NODEARGUMENTS_H
#define REGATHER_DIALECT_TG_NODES_NODEARGUMENTS_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

namespace regather::nodes {

using Tensor = mlir::TypedValue<mlir::RankedTensorType>;

/// True for the element types that expansions compute with.
bool isSupportedElement(mlir::Type type);

class NodeArguments {
public:
  /// `target` is that of `node`. Quiet arguments emit no errors: who reads them
  /// asks `hasFailed`.
  NodeArguments(tg::NodeOp node, tg::NodeTarget target, bool isQuiet = false);

  tg::NodeOp getNode() const { return node; }
  /// Names of the parameters, in order.
  llvm::ArrayRef<llvm::StringRef> getNames() const { return names; }
  bool hasFailed() const { return failedOnce; }

  /// Emits an error about the argument called `name`, unless there was one.
  mlir::LogicalResult fail(llvm::StringRef name, const llvm::Twine &message);
  /// The same about the node as a whole.
  mlir::LogicalResult fail(const llvm::Twine &message);

  /// True if the argument is given and not none.
  bool has(llvm::StringRef name) { return lookup(name) != nullptr; }
  /// True if the argument is a tensor, and not a number.
  bool isTensor(llvm::StringRef name);

  Tensor getTensor(llvm::StringRef name);
  /// Null if the argument is none or absent.
  Tensor getOptionalTensor(llvm::StringRef name);
  /// The tensors of a list; null for those that are none.
  llvm::SmallVector<Tensor> getTensors(llvm::StringRef name);

  /// Numbers of the node's operands among an argument, which is a tensor or a
  /// list of tensors.
  llvm::SmallVector<unsigned, 1> getOperandNumbers(llvm::StringRef name);

  /// An integer, boolean or float. Arguments without `standard` are required.
  mlir::TypedAttr getNumber(llvm::StringRef name,
                            std::optional<int64_t> standard = std::nullopt);
  int64_t getInt(llvm::StringRef name,
                 std::optional<int64_t> standard = std::nullopt);
  double getFloat(llvm::StringRef name,
                  std::optional<double> standard = std::nullopt);
  bool getBool(llvm::StringRef name,
               std::optional<bool> standard = std::nullopt);
  llvm::StringRef getString(llvm::StringRef name, llvm::StringRef standard);
  llvm::SmallVector<int64_t> getInts(llvm::StringRef name);

  /// A dimension of a tensor with `rank` dimensions, counted from the front. A
  /// scalar counts as having one.
  int64_t getDim(llvm::StringRef name, int64_t rank,
                 std::optional<int64_t> standard = std::nullopt);
  /// Distinct dimensions in the order given; one integer is a list of one.
  llvm::SmallVector<int64_t> getDims(llvm::StringRef name, int64_t rank);
  /// The same in ascending order; none and the empty list mean all.
  llvm::SmallVector<int64_t> getReducedDims(llvm::StringRef name, int64_t rank);

  /// Fails unless each tensor can be broadcast to `shape`; skips null.
  mlir::LogicalResult expectBroadcast(llvm::ArrayRef<Tensor> tensors,
                                      llvm::ArrayRef<int64_t> shape);
  /// Fails unless the argument `tensor` called `name` has this rank.
  mlir::LogicalResult expectRank(llvm::StringRef name, Tensor tensor,
                                 int64_t rank);
  /// Fails unless the argument `tensor` called `name` has this shape.
  mlir::LogicalResult expectShape(llvm::StringRef name, Tensor tensor,
                                  llvm::ArrayRef<int64_t> shape);
  /// Fails unless the argument holds integers that can be indices.
  mlir::LogicalResult expectIndices(llvm::StringRef name, Tensor tensor);

private:
  /// Null if the argument is absent or none.
  mlir::Attribute lookup(llvm::StringRef name);
  /// Like `lookup`, with an error if there is none.
  mlir::Attribute require(llvm::StringRef name);
  Tensor readTensor(llvm::StringRef name, mlir::Attribute attr);
  std::optional<int64_t> normalizeDim(llvm::StringRef name, int64_t dim,
                                      int64_t rank);
  void checkNames();

  tg::NodeOp node;
  llvm::SmallVector<llvm::StringRef, 8> names;
  bool isQuiet;
  bool failedOnce = false;
};

} // namespace regather::nodes

#endif // REGATHER_DIALECT_TG_NODES_NODEARGUMENTS_H
