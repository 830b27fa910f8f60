//===- AttentionChain.h - Attention written as products ------------*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognises scaled dot-product attention in the nodes of a captured step:
//
//   scores = query key, times a number, masked
//   output = softmax(scores) value
//
// with views, copies and conversions in between, and the nodes of backward that
// read the probabilities:
//
//   grad value  = probabilities^T grad
//   grad scores = softmax's gradient of grad value^T
//   grad query  = grad scores key^T, times the number
//   grad key    = query^T grad scores, times the number
//
// Linear in the number of uses of the chain's values.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_ATTENTIONCHAIN_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_ATTENTIONCHAIN_H

#include "MatrixStacks.h"

namespace regather::tg::attention {

/// What a mask does to the scores. A causal one hides columns behind the row.
enum class MaskKind { None, Added, Shows, Hides, Causal };

struct AttentionChain {
  NodeOp softmax;
  /// The products of three dimensions. Batch and heads are one dimension.
  NodeOp scoreProduct, outputProduct;
  /// The operands: [n, rows, width], [n, width, columns] and [n, columns,
  /// value width].
  mlir::Value getQuery() { return scoreProduct.getInputs()[0]; }
  mlir::Value getKey() { return scoreProduct.getInputs()[1]; }
  mlir::Value getValue() { return outputProduct.getInputs()[1]; }
  mlir::Value getOutput() { return outputProduct.getResult(0); }

  double scale = 1;
  MaskKind maskKind = MaskKind::None;
  mlir::Value mask;
  /// The dimensions of the scores where they are masked.
  llvm::SmallVector<int64_t> maskedShape;

  int64_t batch = 0, heads = 0, rows = 0, columns = 0, width = 0,
          valueWidth = 0;

  /// The operator that backward of the softmax is, or null without backward.
  NodeOp softmaxBackward;
  /// Shaped as the output, the query, the key and the value; null without
  /// backward. What needs no gradient has none.
  mlir::Value gradOutput, gradQuery, gradKey, gradValue;
  /// The products of backward that come first, and that read the gradient.
  llvm::SmallVector<mlir::Operation *, 4> backwardProducts;

  /// Bytes of the probabilities, as the softmax gives them.
  int64_t scoreBytes = 0;
};

/// The chain around a softmax. If there is none, `reason` says why; it is empty
/// for a softmax that has nothing to do with attention.
std::optional<AttentionChain> matchAttentionChain(NodeOp softmax,
                                                  std::string &reason);

} // namespace regather::tg::attention

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_ATTENTIONCHAIN_H
