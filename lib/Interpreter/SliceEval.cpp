//===- SliceEval.cpp - Steps for parts of tensors -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Boxes of tensors, element by element. Types are static, but offsets, strides
// and sizes may be values; whether a box lies in its tensor is known only then.
//
//===----------------------------------------------------------------------===//

#include "ElementBody.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather::interp;

//===----------------------------------------------------------------------===//
// Numbers that are constants or values
//===----------------------------------------------------------------------===//

namespace {
/// A list of which some entries are known when the function is compiled and the
/// others are read from slots.
class MixedNumbers {
public:
  MixedNumbers(ArrayRef<OpFoldResult> numbers, Compiler &compiler) {
    for (OpFoldResult number : numbers) {
      if (auto value = dyn_cast<Value>(number))
        entries.push_back({true, compiler.getSlot(value)});
      else
        entries.push_back(
            {false, cast<IntegerAttr>(cast<Attribute>(number)).getInt()});
    }
  }

  SmallVector<int64_t> get(Frame &frame) const {
    SmallVector<int64_t> numbers;
    for (auto [isSlot, number] : entries)
      numbers.push_back(isSlot ? static_cast<int64_t>(frame.values[number].bits)
                               : number);
    return numbers;
  }

private:
  SmallVector<std::pair<bool, int64_t>> entries;
};

/// A strided box of a tensor.
struct Slice {
  Slice(OffsetSizeAndStrideOpInterface op, Compiler &compiler)
      : op(op), offsets(op.getMixedOffsets(), compiler),
        sizes(op.getMixedSizes(), compiler),
        strides(op.getMixedStrides(), compiler) {}

  /// Calls `visit` with the row-major offset in a tensor of `shape` of each
  /// element of the box. Reports a box that does not lie in the tensor, or
  /// that has not `numElements`.
  LogicalResult forEach(ArrayRef<int64_t> shape, int64_t numElements,
                        RankRun &rank, Frame &frame,
                        llvm::function_ref<void(int64_t)> visit) const {
    SmallVector<int64_t> from = offsets.get(frame), size = sizes.get(frame),
                         step = strides.get(frame);
    int64_t count = 1;
    for (int64_t dimSize : size)
      count *= dimSize;
    if (count != numElements)
      return rank.fail(op, "slice has " + Twine(count) +
                               " elements, but its type has " +
                               Twine(numElements));
    if (count == 0)
      return success();
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t last = from[dim] + (size[dim] - 1) * step[dim];
      for (int64_t index : {from[dim], last})
        if (index < 0 || index >= shape[dim])
          return rank.fail(op, "slice reaches index " + Twine(index) +
                                   ", which is out of bounds for dimension " +
                                   Twine(dim) + " of size " +
                                   Twine(shape[dim]));
    }
    SmallVector<int64_t, 4> distance = getStrides(shape);
    SmallVector<int64_t> point(shape.size(), 0);
    do {
      int64_t offset = 0;
      for (size_t dim = 0; dim < shape.size(); ++dim)
        offset += (from[dim] + point[dim] * step[dim]) * distance[dim];
      visit(offset);
    } while (advance(point, size));
    return success();
  }

  Operation *op;
  MixedNumbers offsets, sizes, strides;
};
} // namespace

static StepFunction build(tensor::ExtractSliceOp op, Compiler &compiler) {
  return [slice = Slice(op, compiler), type = op.getType(),
          source = compiler.getSlot(op.getSource()),
          slot = compiler.getSlot(op)](RankRun &rank, Frame &frame) {
    TensorRef input = frame.values[source].tensor;
    TensorRef result = Tensor::create(type);
    int64_t i = 0;
    auto copy = [&](int64_t offset) {
      result->store(i++, input->load(offset));
    };
    if (failed(slice.forEach(input->getShape(), result->getNumElements(), rank,
                             frame, copy)))
      return failure();
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}

static StepFunction build(tensor::InsertSliceOp op, Compiler &compiler) {
  return
      [slice = Slice(op, compiler), source = compiler.getSlot(op.getSource()),
       dest = compiler.getUse(op.getDestMutable()),
       slot = compiler.getSlot(op)](RankRun &rank, Frame &frame) {
        TensorRef input = frame.values[source].tensor;
        TensorRef result = Tensor::makeUnique(take(frame, dest).tensor);
        int64_t i = 0;
        auto copy = [&](int64_t offset) {
          result->store(offset, input->load(i++));
        };
        if (failed(slice.forEach(result->getShape(), input->getNumElements(),
                                 rank, frame, copy)))
          return failure();
        frame.values[slot].tensor = std::move(result);
        return success();
      };
}

static StepFunction build(tensor::PadOp op, Compiler &compiler) {
  auto body = std::make_shared<ElementBody>(op.getRegion().front(),
                                            /*numLoops=*/0, compiler);
  return [op = op.getOperation(), body, type = op.getResultType(),
          low = MixedNumbers(op.getMixedLowPad(), compiler),
          high = MixedNumbers(op.getMixedHighPad(), compiler),
          source = compiler.getSlot(op.getSource()),
          slot = compiler.getSlot(op)](RankRun &rank, Frame &frame) {
    TensorRef input = frame.values[source].tensor;
    TensorRef result = Tensor::create(type);
    SmallVector<int64_t> before = low.get(frame), after = high.get(frame);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int64_t size = before[dim] + input->getDim(dim) + after[dim];
      if (size != type.getDimSize(dim))
        return rank.fail(op, "padding gives " + Twine(size) +
                                 " elements along dimension " + Twine(dim) +
                                 ", but its type has " +
                                 Twine(type.getDimSize(dim)));
    }
    ElementBody::Instance instance(*body, rank, frame);
    SmallVector<int64_t, 4> distance = getStrides(input->getShape());
    SmallVector<int64_t> point(type.getRank(), 0);
    for (int64_t i = 0, e = result->getNumElements(); i < e; ++i) {
      int64_t offset = 0;
      bool inside = true;
      for (int64_t dim = 0; dim < type.getRank(); ++dim) {
        int64_t index = point[dim] - before[dim];
        inside &= index >= 0 && index < input->getDim(dim);
        offset += index * distance[dim];
      }
      if (inside) {
        result->store(i, input->load(offset));
      } else {
        llvm::copy(point, instance.getArguments());
        if (failed(instance.run()))
          return failure();
        result->store(i, instance.getResult(0));
      }
      advance(point, type.getShape());
    }
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}

static StepFunction build(tensor::ConcatOp op, Compiler &compiler) {
  return [dim = op.getDim(), type = op.getResultType(),
          sources = compiler.getSlots(op.getInputs()),
          slot = compiler.getSlot(op)](RankRun &, Frame &frame) {
    TensorRef result = Tensor::create(type);
    SmallVector<int64_t, 4> distance = getStrides(type.getShape());
    int64_t start = 0;
    for (unsigned source : sources) {
      const Tensor &input = *frame.values[source].tensor;
      SmallVector<int64_t> point(type.getRank(), 0);
      for (int64_t i = 0, e = input.getNumElements(); i < e; ++i) {
        int64_t offset = start * distance[dim];
        for (int64_t d = 0; d < type.getRank(); ++d)
          offset += point[d] * distance[d];
        result->store(offset, input.load(i));
        advance(point, input.getShape());
      }
      start += input.getDim(dim);
    }
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}

/// Each row of `indices` names coordinates along the gathered dimensions; the
/// others are copied whole.
static StepFunction build(tensor::GatherOp op, Compiler &compiler) {
  return [op = op.getOperation(), type = op.getResultType(),
          dims = SmallVector<int64_t>(op.getGatherDims()),
          source = compiler.getSlot(op.getSource()),
          indices = compiler.getSlot(op.getIndices()),
          slot = compiler.getSlot(op)](RankRun &rank, Frame &frame) {
    const Tensor &input = *frame.values[source].tensor;
    const Tensor &rows = *frame.values[indices].tensor;
    TensorRef result = Tensor::create(type);
    SmallVector<int64_t, 4> distance = getStrides(input.getShape());
    SmallVector<int64_t> box(input.getShape());
    for (int64_t dim : dims)
      box[dim] = 1;
    int64_t width = dims.size(), next = 0;
    for (int64_t row = 0; row * width < rows.getNumElements(); ++row) {
      int64_t base = 0;
      for (auto [i, dim] : llvm::enumerate(dims)) {
        int64_t index =
            signExtend(rows.load(row * width + i), rows.getType().width);
        if (index < 0 || index >= input.getDim(dim))
          return rank.fail(
              op, "index " + Twine(index) + " is out of bounds for dimension " +
                      Twine(dim) + " of size " + Twine(input.getDim(dim)));
        base += index * distance[dim];
      }
      SmallVector<int64_t> point(input.getRank(), 0);
      if (llvm::is_contained(box, 0))
        continue;
      do {
        int64_t offset = base;
        for (int64_t d = 0; d < input.getRank(); ++d)
          offset += point[d] * distance[d];
        result->store(next++, input.load(offset));
      } while (advance(point, box));
    }
    frame.values[slot].tensor = std::move(result);
    return success();
  };
}

StepFunction regather::interp::buildSliceStep(Operation *op,
                                              Compiler &compiler) {
  return llvm::TypeSwitch<Operation *, StepFunction>(op)
      .Case<tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::PadOp,
            tensor::ConcatOp, tensor::GatherOp>(
          [&](auto typed) { return build(typed, compiler); })
      .Default(StepFunction());
}
