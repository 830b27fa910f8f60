//===- TGCost.cpp - Costs of operations -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::tg;

int64_t regather::tg::getTensorBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.hasStaticShape())
      bytes += getTensorBytes(tensor);
  return bytes;
}

OpCost regather::tg::getOpCost(Operation *op) {
  OpCost cost;
  if (auto costed = dyn_cast<CostOpInterface>(op)) {
    cost.flops = costed.getFlops();
    cost.readBytes = costed.getReadBytes();
    cost.writtenBytes = costed.getWrittenBytes();
    cost.view = costed.isView();
    return cost;
  }
  cost.readBytes = getTensorBytes(op->getOperandTypes());
  cost.writtenBytes = getTensorBytes(op->getResultTypes());
  return cost;
}

//===----------------------------------------------------------------------===//
// External models
//===----------------------------------------------------------------------===//

namespace {
/// Structured ops of linalg: the body runs once for each point of the domain.
template <typename OpTy>
struct LinalgCost
    : public CostOpInterface::ExternalModel<LinalgCost<OpTy>, OpTy> {
  double getFlops(Operation *op) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    double points = 1;
    for (int64_t size : linalgOp.getStaticLoopRanges())
      points *= ShapedType::isDynamic(size) ? 0 : size;
    double arithmetic = 0;
    for (Operation &inner : linalgOp.getBlock()->without_terminator())
      arithmetic += isa<linalg::IndexOp>(inner) ? 0 : 1;
    return points * arithmetic;
  }
  int64_t getReadBytes(Operation *op) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    int64_t bytes = 0;
    for (OpOperand &operand : op->getOpOperands())
      if (linalgOp.payloadUsesValueFromOperand(&operand))
        bytes += getTensorBytes(operand.get().getType());
    return bytes;
  }
  int64_t getWrittenBytes(Operation *op) const {
    return getTensorBytes(op->getResultTypes());
  }
  bool isView(Operation *) const { return false; }
  bool isLibraryCall(Operation *op) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    return linalg::isaContractionOpInterface(linalgOp) ||
           linalg::isaConvolutionOpInterface(linalgOp);
  }
};

/// Views of tensor: no bytes move.
template <typename OpTy>
struct ViewCost : public CostOpInterface::ExternalModel<ViewCost<OpTy>, OpTy> {
  double getFlops(Operation *) const { return 0; }
  int64_t getReadBytes(Operation *) const { return 0; }
  int64_t getWrittenBytes(Operation *) const { return 0; }
  bool isView(Operation *) const { return true; }
};

template <typename... Ops> void attachLinalgCost(MLIRContext *context) {
  (Ops::template attachInterface<LinalgCost<Ops>>(*context), ...);
}

template <typename... Ops> void attachViewCost(MLIRContext *context) {
  (Ops::template attachInterface<ViewCost<Ops>>(*context), ...);
}
} // namespace

void regather::tg::registerCostExternalModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, TGDialect *, linalg::LinalgDialect *) {
        attachLinalgCost<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
            >(context);
      });
  registry.addExtension(
      +[](MLIRContext *context, TGDialect *, tensor::TensorDialect *) {
        attachViewCost<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                       tensor::ReshapeOp, tensor::CastOp,
                       tensor::ExtractSliceOp, tensor::EmptyOp>(context);
      });
}
