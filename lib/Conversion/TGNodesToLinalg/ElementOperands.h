//===- ElementOperands.h - Tensors or numbers as operands -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGNODESTOLINALG_ELEMENTOPERANDS_H
#define REGATHER_LIB_CONVERSION_TGNODESTOLINALG_ELEMENTOPERANDS_H

#include "NodeBuilder.h"
#include "StructuredOps.h"

namespace regather::nodes {

struct ElementOperand {
  /// Null for a number.
  Tensor tensor;
  mlir::TypedAttr number;
};
using ElementOperands = llvm::SmallVector<ElementOperand, 3>;

/// The arguments with these names.
ElementOperands getOperands(NodeArguments &args,
                            llvm::ArrayRef<llvm::StringRef> names);

/// The type that PyTorch promotes operands to: tensors with dimensions decide
/// before those without, and these before numbers, within a category.
mlir::Type getPromotedType(llvm::ArrayRef<ElementOperand> operands);

/// Applies `fn` to the operands' elements, converted to `compute`, and gives
/// the node's result.
mlir::LogicalResult finishPointwise(NodeArguments &args, NodeBuilder &b,
                                    llvm::ArrayRef<ElementOperand> operands,
                                    mlir::Type compute, ElementFn fn);

} // namespace regather::nodes

#endif // REGATHER_LIB_CONVERSION_TGNODESTOLINALG_ELEMENTOPERANDS_H
