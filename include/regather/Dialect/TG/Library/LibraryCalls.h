//===- LibraryCalls.h - Kernels that the runtime has ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognises what a routine of the runtime computes as a whole: a product of
// matrices with the views of its operands and what is done to its result, or
// attention. Works on nodes and on structured operations alike, in time linear
// in the number of operations, and builds nothing.
//
// Buffers of a description are numbered as the inputs, then the outputs.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_LIBRARY_LIBRARYCALLS_H
#define REGATHER_DIALECT_TG_LIBRARY_LIBRARYCALLS_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Runtime/Attention.h"
#include "regather/Runtime/Gemm.h"

namespace regather::tg {

/// A description, or why there is none.
template <typename Desc> struct LibraryMatch {
  std::optional<Desc> desc;
  /// Static text; empty after a match.
  llvm::StringRef reason;

  explicit operator bool() const { return desc.has_value(); }
};

/// The product that `ops`, in program order, compute from dense `inputs`. One
/// of them is the product; those before it are views of what it reads, those
/// behind it change its result, and the last gives `output`, which is dense
/// too. Products of few numbers do not match: loops are faster, and have the
/// bits that the interpreter computes.
LibraryMatch<rg_gemm_desc> matchGemm(llvm::ArrayRef<mlir::Operation *> ops,
                                     mlir::ValueRange inputs,
                                     mlir::Value output);

/// The attention, forward or backward, that `ops` compute: a node for it, views
/// before and views behind it. Outputs are the results of the node, in order,
/// or views of them; the logarithms of a forward node may be missing. Dropout
/// does not match.
LibraryMatch<rg_attention_desc>
matchAttention(llvm::ArrayRef<mlir::Operation *> ops, mlir::ValueRange inputs,
               mlir::ValueRange outputs);

/// The same for what a kernel computes.
std::optional<rg_gemm_desc> matchGemm(KernelOp kernel);
std::optional<rg_attention_desc> matchAttention(KernelOp kernel);

/// True if `op` is a product of two tensors, of any size and type.
bool isProduct(mlir::Operation *op);

/// The routine for attention that `op` asks for, if it is a node for it.
std::optional<Routine> getAttentionRoutine(mlir::Operation *op);

/// The operand of which a result is another view, or a copy; null if it is none
/// that a stride for each dimension describes.
mlir::Value getViewedOperand(mlir::OpResult result);

/// True if `value` is a tensor of zeros.
bool isZeroFill(mlir::Value value);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_LIBRARY_LIBRARYCALLS_H
