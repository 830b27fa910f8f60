//===- KernelCandidates.cpp - What generated code can run -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCandidates.h"

#include "regather/Dialect/TG/Nodes/RandomTargets.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather::tg;

/// True for tensors that a kernel can take and return. Those of complex and
/// unsigned numbers change their type when nodes are lowered.
static bool isKernelTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         !isa<ComplexType>(tensor.getElementType()) &&
         !tensor.getElementType().isUnsignedInteger();
}

/// Operations of these dialects say all that they do.
static bool isComputation(Operation *op) {
  return isa<NodeOp, RandomOp>(op) ||
         isa_and_nonnull<arith::ArithDialect, linalg::LinalgDialect,
                         math::MathDialect, tensor::TensorDialect>(
             op->getDialect());
}

/// True for operations without operands that make a value at no cost. Large
/// tables are read, not repeated.
static bool isConstant(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  Attribute value;
  if (matchPattern(op, m_Constant(&value))) {
    auto elements = dyn_cast<DenseElementsAttr>(value);
    return !isa<ElementsAttr>(value) ||
           (elements && (elements.isSplat() || elements.getNumElements() <=
                                                   kernels::kMaxCheapElements));
  }
  if (auto node = dyn_cast<NodeOp>(op))
    return node.getInputs().empty() &&
           !regather::nodes::isRandomTarget(node.getTarget());
  return isa<tensor::EmptyOp, linalg::FillOp>(op);
}

kernels::Candidate
kernels::getCandidate(Operation *op,
                      function_ref<bool(Operation *)> isRepeated) {
  if (!isComputation(op) || !isMemoryEffectFree(op) || op->getNumResults() == 0)
    return Candidate::No;
  bool readsConstants = true, readsTensors = true;
  forEachInput(op, [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (def && isRepeated(def))
      return;
    readsConstants = false;
    readsTensors &= isKernelTensor(value.getType());
  });
  if (readsConstants && isConstant(op))
    return Candidate::Repeated;
  if (op->hasTrait<OpTrait::ConstantLike>())
    return Candidate::No;
  // A region reads values from outside as a whole.
  visitUsedValuesDefinedAbove(op->getRegions(), [&](OpOperand *operand) {
    Operation *def = operand->get().getDefiningOp();
    readsTensors &= def && isRepeated(def);
  });
  // What a node leaves out is no tensor, and nobody can read it.
  bool writesTensors = llvm::all_of(op->getResults(), [](Value value) {
    return isKernelTensor(value.getType()) ||
           (isa<regather::tg::OpaqueType>(value.getType()) &&
            value.use_empty());
  });
  if (!readsTensors || !writesTensors)
    return Candidate::No;
  auto costed = dyn_cast<CostOpInterface>(op);
  return costed && costed.isLibraryCall() ? Candidate::LibraryCall
                                          : Candidate::Yes;
}

bool kernels::isView(Operation *op) {
  auto costed = dyn_cast<CostOpInterface>(op);
  return costed && costed.isView();
}

bool kernels::isCheap(Operation *op) {
  auto isSmall = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || (tensor.hasStaticShape() &&
                       tensor.getNumElements() <= kMaxCheapElements);
  };
  return llvm::all_of(op->getOperandTypes(), isSmall) &&
         llvm::all_of(op->getResultTypes(), isSmall);
}

bool kernels::isRecomputed(Operation *op) {
  auto policy = op->getAttrOfType<PolicyAttr>(kPolicyAttrName);
  return policy && policy.getValue() == Policy::MustRecompute;
}
