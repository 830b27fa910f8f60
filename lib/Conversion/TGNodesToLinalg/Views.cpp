//===- Views.cpp - Expansions that move elements --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::nodes;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static LogicalResult buildView(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  if (self.getType().getNumElements() != b.getResultType().getNumElements())
    return args.fail("self", "has " + Twine(self.getType().getNumElements()) +
                                 " elements, but the result " +
                                 Twine(b.getResultType().getNumElements()));
  return b.finish(reshape(b, self, b.getShape()));
}

static LogicalResult buildUnsqueeze(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  SmallVector<int64_t> shape(self.getType().getShape());
  int64_t dim = args.getDim("dim", shape.size() + 1);
  if (args.hasFailed())
    return failure();
  shape.insert(shape.begin() + dim, 1);
  return b.finish(reshape(b, self, shape));
}

/// Removes those of the dimensions whose size is 1.
static LogicalResult buildSqueeze(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t rank = self.getType().getRank();
  SmallVector<int64_t> dims =
      args.has("dim") ? args.getDims("dim", rank)
                      : llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (args.hasFailed())
    return failure();
  llvm::erase_if(dims, [&](int64_t dim) {
    return rank == 0 || self.getType().getDimSize(dim) != 1;
  });
  return b.finish(dropDims(b, self, dims));
}

static LogicalResult buildExpand(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (failed(args.expectBroadcast(self, b.getShape())))
    return failure();
  return b.finish(broadcast(b, self, b.getShape()));
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

static LogicalResult buildTranspose(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t rank = self.getType().getRank();
  int64_t first = args.getDim("dim0", rank), second = args.getDim("dim1", rank);
  if (args.hasFailed())
    return failure();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (rank > 0)
    std::swap(permutation[first], permutation[second]);
  return b.finish(transpose(b, self, permutation));
}

static LogicalResult buildT(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t rank = self.getType().getRank();
  if (rank > 2)
    return args.expectRank("self", self, 2);
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::reverse(permutation.begin(), permutation.end());
  return b.finish(transpose(b, self, permutation));
}

static LogicalResult buildPermute(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t rank = self.getType().getRank();
  SmallVector<int64_t> permutation = args.getDims("dims", rank);
  if (args.hasFailed())
    return failure();
  if (static_cast<int64_t>(permutation.size()) != rank)
    return args.fail("dims", "must name " + Twine(rank) + " dimensions, got " +
                                 Twine(permutation.size()));
  return b.finish(transpose(b, self, permutation));
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

namespace {
/// The elements that a slice takes along one dimension.
struct SliceBounds {
  int64_t start = 0, size = 0, step = 1;
};
} // namespace

/// Reads "start", "end" and "step"; bounds count from the back if negative and
/// are clamped.
static SliceBounds getRange(NodeArguments &args, int64_t extent) {
  SliceBounds range;
  auto clamp = [&](int64_t bound) {
    if (bound < 0)
      bound += extent;
    return std::clamp<int64_t>(bound, 0, extent);
  };
  range.start = clamp(args.getInt("start", 0));
  int64_t end = clamp(args.getInt("end", std::numeric_limits<int64_t>::max()));
  range.step = args.getInt("step", 1);
  if (range.step < 1) {
    (void)args.fail("step", "must be positive, got " + Twine(range.step));
    return range;
  }
  range.size =
      end > range.start ? (end - range.start + range.step - 1) / range.step : 0;
  return range;
}

/// Reads "dim" of a tensor that has dimensions.
static int64_t getOwnDim(NodeArguments &args, Tensor tensor,
                         std::optional<int64_t> standard = std::nullopt) {
  int64_t rank = tensor.getType().getRank();
  if (rank == 0)
    (void)args.fail("self", "must have dimensions");
  return args.getDim("dim", rank, standard);
}

/// Reads "index" along a dimension of size `extent`.
static int64_t getPosition(NodeArguments &args, int64_t extent) {
  int64_t index = args.getInt("index");
  if (index < -extent || index >= extent)
    (void)args.fail("index", "is " + Twine(index) + " in a dimension of size " +
                                 Twine(extent));
  return index < 0 ? index + extent : index;
}

static LogicalResult buildSlice(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t dim = getOwnDim(args, self, 0);
  if (args.hasFailed())
    return failure();
  SliceBounds range = getRange(args, self.getType().getDimSize(dim));
  if (args.hasFailed())
    return failure();
  return b.finish(slice(b, self, dim, range.start, range.size, range.step));
}

static LogicalResult buildSelect(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t dim = getOwnDim(args, self);
  if (args.hasFailed())
    return failure();
  int64_t index = getPosition(args, self.getType().getDimSize(dim));
  if (args.hasFailed())
    return failure();
  return b.finish(dropDims(b, slice(b, self, dim, index, 1), dim));
}

/// Writes `source` into a slice of `into`, which then is the result.
static LogicalResult finishInserted(NodeArguments &args, NodeBuilder &b,
                                    StringRef sourceName, Tensor source,
                                    Tensor into, int64_t dim,
                                    SliceBounds range) {
  SmallVector<int64_t> shape(into.getType().getShape());
  shape[dim] = range.size;
  if (failed(args.expectShape(sourceName, source, shape)))
    return failure();
  source = convertTensor(b, source, into.getType().getElementType());
  return b.finish(insertSlice(b, source, into, dim, range.start, range.step));
}

static LogicalResult buildSliceBackward(NodeArguments &args, NodeBuilder &b) {
  Tensor grad = args.getTensor("grad_output");
  if (args.hasFailed())
    return failure();
  int64_t rank = b.getResultType().getRank();
  if (failed(args.expectRank("grad_output", grad, rank)))
    return failure();
  int64_t dim = getOwnDim(args, grad);
  if (args.hasFailed())
    return failure();
  SliceBounds range = getRange(args, b.getShape()[dim]);
  if (args.hasFailed())
    return failure();
  Tensor zero = fill(b, b.getShape(), makeNumber(b.getElement(), 0.0));
  return finishInserted(args, b, "grad_output", grad, zero, dim, range);
}

static LogicalResult buildSelectBackward(NodeArguments &args, NodeBuilder &b) {
  Tensor grad = args.getTensor("grad_output");
  if (args.hasFailed())
    return failure();
  int64_t rank = b.getResultType().getRank();
  int64_t dim = args.getDim("dim", rank);
  if (rank == 0)
    return args.fail("input_sizes", "must not be empty");
  if (args.hasFailed())
    return failure();
  int64_t index = getPosition(args, b.getShape()[dim]);
  SmallVector<int64_t> shape(b.getShape());
  shape.erase(shape.begin() + dim);
  if (failed(args.expectShape("grad_output", grad, shape)))
    return failure();
  shape.insert(shape.begin() + dim, 1);
  Tensor zero = fill(b, b.getShape(), makeNumber(b.getElement(), 0.0));
  return finishInserted(args, b, "grad_output", reshape(b, grad, shape), zero,
                        dim, {index, 1, 1});
}

/// Pads with a constant; a negative amount cuts off. `pad` lists the amounts
/// before and after each dimension, the last dimension first.
static LogicalResult buildConstantPad(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  SmallVector<int64_t> amounts = args.getInts("pad");
  double value = args.getFloat("value", 0.0);
  if (args.hasFailed())
    return failure();
  int64_t rank = self.getType().getRank();
  if (amounts.size() % 2 != 0 ||
      static_cast<int64_t>(amounts.size()) > 2 * rank)
    return args.fail("pad", "must hold two amounts for each of at most " +
                                Twine(rank) + " dimensions, got " +
                                Twine(amounts.size()));
  for (size_t i = 0; i < amounts.size(); i += 2) {
    int64_t dim = rank - 1 - static_cast<int64_t>(i / 2);
    int64_t before = amounts[i], after = amounts[i + 1];
    int64_t cut = std::max<int64_t>(-before, 0) + std::max<int64_t>(-after, 0);
    if (cut > self.getType().getDimSize(dim))
      return args.fail("pad", "cuts off more than there is along dimension " +
                                  Twine(dim));
    self = pad(b, self, dim, before, after,
               makeNumber(self.getType().getElementType(), value));
  }
  return b.finish(self);
}

/// The values of `src` in the shape and type of `self`.
static LogicalResult buildCopy(NodeArguments &args, NodeBuilder &b) {
  Tensor source = args.getTensor("src");
  if (args.hasFailed() || failed(args.expectBroadcast(source, b.getShape())))
    return failure();
  return b.finish(
      broadcast(b, convertTensor(b, source, b.getElement()), b.getShape()));
}

static LogicalResult buildSliceScatter(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self"), source = args.getTensor("src");
  if (args.hasFailed())
    return failure();
  int64_t dim = getOwnDim(args, self, 0);
  if (args.hasFailed())
    return failure();
  SliceBounds range = getRange(args, self.getType().getDimSize(dim));
  if (args.hasFailed())
    return failure();
  return finishInserted(args, b, "src", source, self, dim, range);
}

static LogicalResult buildSelectScatter(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self"), source = args.getTensor("src");
  if (args.hasFailed())
    return failure();
  int64_t dim = getOwnDim(args, self);
  if (args.hasFailed())
    return failure();
  int64_t index = getPosition(args, self.getType().getDimSize(dim));
  SmallVector<int64_t> shape(self.getType().getShape());
  shape.erase(shape.begin() + dim);
  if (failed(args.expectShape("src", source, shape)))
    return failure();
  shape.insert(shape.begin() + dim, 1);
  return finishInserted(args, b, "src", reshape(b, source, shape), self, dim,
                        {index, 1, 1});
}

//===----------------------------------------------------------------------===//
// Splitting and joining
//===----------------------------------------------------------------------===//

static LogicalResult finishSplit(NodeArguments &args, NodeBuilder &b,
                                 Tensor self, int64_t dim,
                                 ArrayRef<int64_t> sizes) {
  SmallVector<Value> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > self.getType().getDimSize(dim) - start)
      return args.fail("sizes do not fit dimension " + Twine(dim) +
                       " of size " + Twine(self.getType().getDimSize(dim)));
    parts.push_back(slice(b, self, dim, start, size));
    start += size;
  }
  return b.finish(parts);
}

static LogicalResult buildSplit(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  int64_t size = args.getInt("split_size");
  if (args.hasFailed())
    return failure();
  int64_t dim = getOwnDim(args, self, 0);
  if (args.hasFailed())
    return failure();
  int64_t extent = self.getType().getDimSize(dim);
  if (size < 1)
    return args.fail("split_size", "must be positive, got " + Twine(size));
  SmallVector<int64_t> sizes;
  for (int64_t start = 0; start < extent; start += size)
    sizes.push_back(std::min(size, extent - start));
  if (sizes.empty())
    sizes.push_back(0);
  return finishSplit(args, b, self, dim, sizes);
}

static LogicalResult buildSplitWithSizes(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  SmallVector<int64_t> sizes = args.getInts("split_sizes");
  if (args.hasFailed())
    return failure();
  int64_t dim = getOwnDim(args, self, 0);
  if (args.hasFailed())
    return failure();
  return finishSplit(args, b, self, dim, sizes);
}

static LogicalResult buildCat(NodeArguments &args, NodeBuilder &b) {
  SmallVector<Tensor> tensors = args.getTensors("tensors");
  int64_t rank = b.getResultType().getRank();
  int64_t dim = args.getDim("dim", rank, 0);
  if (args.hasFailed())
    return failure();
  if (rank == 0)
    return args.fail("tensors", "must have dimensions");
  SmallVector<Value> parts;
  for (Tensor tensor : tensors) {
    // PyTorch lets an empty vector be joined with tensors of any shape.
    if (tensor && tensor.getType().getShape() == ArrayRef<int64_t>(0))
      continue;
    SmallVector<int64_t> shape(b.getShape());
    if (!tensor)
      return args.fail("tensors", "must be a list of tensors");
    if (tensor.getType().getRank() == rank)
      shape[dim] = tensor.getType().getDimSize(dim);
    if (failed(args.expectShape("tensors", tensor, shape)))
      return failure();
    parts.push_back(convertTensor(b, tensor, b.getElement()));
  }
  if (parts.empty())
    return b.finish(fill(b, b.getShape(), makeNumber(b.getElement(), 0.0)));
  if (parts.size() == 1)
    return b.finish(parts);
  return b.finish(tensor::ConcatOp::create(b, dim, parts).getResult());
}

//===----------------------------------------------------------------------===//
// Repetition and reversal
//===----------------------------------------------------------------------===//

/// Tiles: each dimension is repeated as a whole, next to itself.
static LogicalResult buildRepeat(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  SmallVector<int64_t> repeats = args.getInts("repeats");
  if (args.hasFailed())
    return failure();
  SmallVector<int64_t> shape(self.getType().getShape());
  if (repeats.size() < shape.size())
    return args.fail("repeats", "must have at least " + Twine(shape.size()) +
                                    " entries, got " + Twine(repeats.size()));
  shape.insert(shape.begin(), repeats.size() - shape.size(), 1);
  SmallVector<int64_t> single, tiled, result;
  for (auto [count, size] : llvm::zip_equal(repeats, shape)) {
    if (count < 0)
      return args.fail("repeats", "must not be negative, got " + Twine(count));
    single.append({1, size});
    tiled.append({count, size});
    result.push_back(count * size);
  }
  Tensor tiles = broadcast(b, reshape(b, self, single), tiled);
  return b.finish(reshape(b, tiles, result));
}

static LogicalResult buildFlip(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t rank = self.getType().getRank();
  SmallVector<int64_t> dims = args.getDims("dims", rank);
  if (args.hasFailed())
    return failure();
  return b.finish(reverse(b, self, dims));
}

//===----------------------------------------------------------------------===//
// Triangles
//===----------------------------------------------------------------------===//

/// Keeps the elements for which R holds between column - row and the diagonal.
template <Relation R>
static LogicalResult buildTriangle(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  int64_t diagonal = args.getInt("diagonal", 0);
  if (failed(args.expectShape("self", self, b.getShape())))
    return failure();
  int64_t rank = self.getType().getRank();
  if (rank < 2)
    return args.expectRank("self", self, 2);
  return b.finish(pointwise(
      b, b.getShape(), b.getElement(), self, [&](B &b, ValueRange v) -> Value {
        auto getIndex = [&](int64_t dim) -> Value {
          return arith::IndexCastOp::create(b, b.getI64Type(),
                                            linalg::IndexOp::create(b, dim));
        };
        Value distance = sub(b, getIndex(rank - 1), getIndex(rank - 2));
        Value limit =
            arith::ConstantOp::create(b, b.getI64IntegerAttr(diagonal));
        Value zero = makeConstant(b, v[0].getType(), 0.0);
        return arith::SelectOp::create(b, compare(b, R, distance, limit), v[0],
                                       zero);
      }));
}

void regather::nodes::addViewBuilders(BuilderTable &table) {
  table.add(Operator::AtenCat, buildCat);
  table.add(Operator::AtenConstantPadNd, buildConstantPad);
  table.add(Operator::AtenCopy, buildCopy);
  table.add(Operator::AtenExpand, buildExpand);
  table.add(Operator::AtenFlip, buildFlip);
  table.add(Operator::AtenPermute, buildPermute);
  table.add(Operator::AtenRepeat, buildRepeat);
  table.add({Operator::AtenReshape, Operator::AtenUnsafeView,
             Operator::AtenView, Operator::AtenViewCopy},
            buildView);
  table.add(Operator::AtenSelect, buildSelect);
  table.add(Operator::AtenSelectBackward, buildSelectBackward);
  table.add(Operator::AtenSelectScatter, buildSelectScatter);
  table.add(Operator::AtenSlice, buildSlice);
  table.add(Operator::AtenSliceBackward, buildSliceBackward);
  table.add(Operator::AtenSliceScatter, buildSliceScatter);
  table.add(Target::AtenSplitTensor, buildSplit);
  table.add(Operator::AtenSplitWithSizes, buildSplitWithSizes);
  table.add(Operator::AtenSqueeze, buildSqueeze);
  table.add(Operator::AtenT, buildT);
  table.add(Operator::AtenTranspose, buildTranspose);
  table.add(Operator::AtenTril, buildTriangle<Relation::Le>);
  table.add(Operator::AtenTriu, buildTriangle<Relation::Ge>);
  table.add(Operator::AtenUnsqueeze, buildUnsqueeze);
}
