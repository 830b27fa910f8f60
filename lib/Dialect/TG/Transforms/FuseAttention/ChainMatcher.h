//===- ChainMatcher.h - Recognising attention -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_CHAINMATCHER_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_CHAINMATCHER_H

#include "AttentionChain.h"

namespace regather::tg::attention {

/// `aten.tanh` of `aten.tanh.default`, or the name of another operation.
std::string getCalledName(mlir::Operation *op);

/// Who reads a value that only the chain may read.
std::string describeReader(llvm::StringRef what, mlir::Operation *reader);

/// The number that `node` multiplies `operand` with, if that is all it does.
std::optional<double> getFactor(NodeOp node, mlir::Value operand);

/// A use of a value, or of what it has become behind views, conversions and
/// multiplications.
struct Leaf {
  mlir::OpOperand *use;
  bool isTransposed;
  double scale;
};

/// Goes up from a softmax to the product that gives its scores, and down to the
/// products that read the probabilities. AttentionChain.h has the outline.
class ChainMatcher {
public:
  explicit ChainMatcher(NodeOp softmax) { chain.softmax = softmax; }

  /// False if it is no chain; `reason` says why then.
  bool match();

  AttentionChain chain;
  std::string reason;

private:
  bool fail(const llvm::Twine &why) {
    reason = why.str();
    return false;
  }
  bool matchSoftmax();
  bool matchScores();
  bool stepToProduct(NodeOp node, mlir::Value &scores);
  bool stepThroughSum(NodeOp node, NodeTarget target, mlir::Value &scores);
  bool stepThroughChoice(NodeOp node, NodeTarget target, mlir::Value &scores);
  bool addMask(MaskKind kind, mlir::Value mask, mlir::Value scores);
  bool matchProbabilities();
  bool matchBackward();
  bool matchGradientOfProbabilities();
  bool matchGradientsOfOperands();
  bool collectLeaves(mlir::Value root, llvm::StringRef what, bool isGradient,
                     llvm::SmallVectorImpl<Leaf> &leaves);
  bool undoesMask(NodeOp node, NodeTarget target, mlir::Value gradient);
  bool takeScaled(mlir::Value &gradient, double scale);
  bool checkTypes();
  void findHeads();
  bool checkMask();

  /// All values between the products: what has the batch and the heads apart.
  llvm::SmallVector<mlir::Value> values;
  /// The product that gives the gradient of the value, and that of the
  /// probabilities.
  NodeOp gradValueProduct, gradProbabilitiesProduct;
};

} // namespace regather::tg::attention

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_CHAINMATCHER_H
