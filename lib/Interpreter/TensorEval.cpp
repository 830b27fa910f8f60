//===- TensorEval.cpp - Steps for elements and shapes of tensors ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// All tensors are row-major and contiguous, so that casts and reshapes keep the
// order of elements. A step that changes a tensor first makes it unique, which
// copies it unless this was its last use.
//
//===----------------------------------------------------------------------===//

#include "ElementBody.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather::interp;

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

static StepFunction build(tensor::EmptyOp op, Compiler &compiler) {
  return [type = op.getType(), slot = compiler.getSlot(op)](RankRun &,
                                                            Frame &frame) {
    frame.values[slot].tensor = Tensor::create(type);
    return success();
  };
}

static StepFunction build(tensor::SplatOp op, Compiler &compiler) {
  return [type = cast<RankedTensorType>(op.getType()),
          input = compiler.getSlot(op.getInput()),
          slot = compiler.getSlot(op)](RankRun &, Frame &frame) {
    TensorRef result = Tensor::create(type);
    result->fill(frame.values[input].bits);
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}

static StepFunction build(tensor::FromElementsOp op, Compiler &compiler) {
  return [type = cast<RankedTensorType>(op.getType()),
          elements = compiler.getSlots(op.getElements()),
          slot = compiler.getSlot(op)](RankRun &, Frame &frame) {
    TensorRef result = Tensor::create(type);
    for (auto [i, element] : llvm::enumerate(elements))
      result->store(i, frame.values[element].bits);
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}

static StepFunction build(tensor::GenerateOp op, Compiler &compiler) {
  auto body = std::make_shared<ElementBody>(op.getBody().front(),
                                            /*numLoops=*/0, compiler);
  return [body, type = cast<RankedTensorType>(op.getType()),
          slot = compiler.getSlot(op)](RankRun &rank, Frame &frame) {
    TensorRef result = Tensor::create(type);
    ElementBody::Instance instance(*body, rank, frame);
    SmallVector<int64_t> point(type.getRank(), 0);
    for (int64_t i = 0, e = result->getNumElements(); i < e; ++i) {
      llvm::copy(point, instance.getArguments());
      if (failed(instance.run()))
        return failure();
      result->store(i, instance.getResult(0));
      advance(point, type.getShape());
    }
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The row-major offset that `indices` name; reports an index out of bounds.
static FailureOr<int64_t> getOffset(const Tensor &tensor,
                                    ArrayRef<unsigned> indices, Operation *op,
                                    RankRun &rank, Frame &frame) {
  int64_t offset = 0;
  for (auto [dim, slot] : llvm::enumerate(indices)) {
    auto index = static_cast<int64_t>(frame.values[slot].bits);
    int64_t size = tensor.getDim(dim);
    if (index < 0 || index >= size)
      return rank.fail(op, "index " + Twine(index) +
                               " is out of bounds for dimension " + Twine(dim) +
                               " of size " + Twine(size));
    offset = offset * size + index;
  }
  return offset;
}

static StepFunction build(tensor::ExtractOp op, Compiler &compiler) {
  return [op = op.getOperation(), tensor = compiler.getSlot(op.getTensor()),
          indices = compiler.getSlots(op.getIndices()),
          slot = compiler.getSlot(op)](RankRun &rank, Frame &frame) {
    const Tensor &source = *frame.values[tensor].tensor;
    FailureOr<int64_t> offset = getOffset(source, indices, op, rank, frame);
    if (failed(offset))
      return failure();
    frame.values[slot].bits = source.load(*offset);
    return success();
  };
}

static StepFunction build(tensor::InsertOp op, Compiler &compiler) {
  return [op = op.getOperation(), scalar = compiler.getSlot(op.getScalar()),
          dest = compiler.getUse(op.getDestMutable()),
          indices = compiler.getSlots(op.getIndices()),
          slot = compiler.getSlot(op)](RankRun &rank, Frame &frame) {
    FailureOr<int64_t> offset =
        getOffset(*frame.values[dest.slot].tensor, indices, op, rank, frame);
    if (failed(offset))
      return failure();
    TensorRef result = Tensor::makeUnique(take(frame, dest).tensor);
    result->store(*offset, frame.values[scalar].bits);
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static StepFunction build(tensor::DimOp op, Compiler &compiler) {
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  return [op = op.getOperation(), type, index = compiler.getSlot(op.getIndex()),
          slot = compiler.getSlot(op)](RankRun &rank, Frame &frame) {
    uint64_t dim = frame.values[index].bits;
    if (dim >= static_cast<uint64_t>(type.getRank()))
      return rank.fail(op, "dimension " + Twine(static_cast<int64_t>(dim)) +
                               " does not exist in a tensor of rank " +
                               Twine(type.getRank()));
    frame.values[slot].bits = type.getDimSize(dim);
    return success();
  };
}

static StepFunction build(tensor::RankOp op, Compiler &compiler) {
  auto type = cast<RankedTensorType>(op.getTensor().getType());
  return [rank = type.getRank(), slot = compiler.getSlot(op)](RankRun &,
                                                              Frame &frame) {
    frame.values[slot].bits = rank;
    return success();
  };
}

/// The same elements in the same order as another type: casts and reshapes.
static StepFunction buildReinterpretation(Operation *op, Compiler &compiler) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto source = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!source)
    return nullptr;
  if (source.getNumElements() != type.getNumElements()) {
    compiler.noteError(op, "'" + op->getName().getStringRef() +
                               "' changes the number of elements");
    return nullptr;
  }
  return [type, input = compiler.getUse(op->getOpOperand(0)),
          slot = compiler.getSlot(op->getResult(0))](RankRun &, Frame &frame) {
    TensorRef result = Tensor::makeUnique(take(frame, input).tensor);
    result->reshape(type.getShape());
    result->bitcast(*getScalarType(type.getElementType()));
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}

StepFunction regather::interp::buildTensorStep(Operation *op,
                                               Compiler &compiler) {
  if (isa<tensor::CastOp, tensor::BitcastOp, tensor::ReshapeOp,
          tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return buildReinterpretation(op, compiler);
  return llvm::TypeSwitch<Operation *, StepFunction>(op)
      .Case<tensor::EmptyOp, tensor::SplatOp, tensor::FromElementsOp,
            tensor::GenerateOp, tensor::ExtractOp, tensor::InsertOp,
            tensor::DimOp, tensor::RankOp>(
          [&](auto typed) { return build(typed, compiler); })
      .Default(StepFunction());
}
