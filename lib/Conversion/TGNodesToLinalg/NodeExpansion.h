//===- NodeExpansion.h - Nodes in terms of simpler nodes --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before nodes become structured operations, those whose elements no rule
// computes with are replaced by nodes on elements that rules know.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGNODESTOLINALG_NODEEXPANSION_H
#define REGATHER_LIB_CONVERSION_TGNODESTOLINALG_NODEEXPANSION_H

#include "NodeBuilder.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::nodes {

/// Replaces every complex tensor by two real ones. Arguments and results of
/// functions become one real tensor with a last dimension of size 2, the real
/// part first. Fails with an error at what it cannot replace.
mlir::LogicalResult expandComplexNodes(mlir::ModuleOp module);

/// Replaces every tensor of `ui8` by one of `i16` that holds the same numbers.
/// Arguments and results of functions become tensors of `i8` with the same
/// bits.
mlir::LogicalResult expandUnsignedNodes(mlir::ModuleOp module);

/// An operand of a new node: a tensor, or any other argument.
using NodeOperand = llvm::PointerUnion<mlir::Value, mlir::Attribute>;

/// Makes nodes that take the place of another, with its location and
/// attributes.
class NodeMaker : public mlir::ImplicitLocOpBuilder {
public:
  /// In front of `node`.
  explicit NodeMaker(tg::NodeOp node);
  /// At `point`, in `phase` if it is known, without other attributes.
  explicit NodeMaker(mlir::Location loc, mlir::Block::iterator point,
                     mlir::Block *block,
                     std::optional<tg::Phase> phase = std::nullopt);

  mlir::Value make(Target target, llvm::ArrayRef<NodeOperand> operands,
                   mlir::Type type);
  /// The same, with a list of tensors as the first argument.
  mlir::Value makeOfList(Target target, mlir::ValueRange list,
                         mlir::Attribute second, mlir::Type type);
  /// A copy of `node` with other operands and types of results.
  tg::NodeOp copy(tg::NodeOp node, mlir::ValueRange operands,
                  mlir::TypeRange types);

private:
  mlir::DictionaryAttr attributes;
};

/// The arguments that `args` lists, or all operands in order.
llvm::SmallVector<NodeOperand> getNodeOperands(tg::NodeOp node);

/// The tensor with elements of another type.
mlir::RankedTensorType withElement(mlir::Type tensor, mlir::Type element);

} // namespace regather::nodes

#endif // REGATHER_LIB_CONVERSION_TGNODESTOLINALG_NODEEXPANSION_H
