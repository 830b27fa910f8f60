//===- Indexing.cpp - Expansions that read or write at given places -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::nodes;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static Value toIndex(B &b, Value value) {
  return arith::IndexCastOp::create(b, b.getIndexType(), value);
}

/// An index that counts from the back if it is negative.
static Value wrap(B &b, Value index, int64_t extent) {
  Type type = index.getType();
  Value zero = makeConstant(b, type, 0.0);
  Value size = makeConstant(b, type, static_cast<double>(extent));
  Value isNegative = compare(b, Relation::Lt, index, zero);
  return arith::SelectOp::create(b, isNegative, add(b, index, size), index);
}

/// The shape with `count` dimensions of size 1 behind.
static SmallVector<int64_t> withTrailingOnes(ArrayRef<int64_t> shape,
                                             size_t count) {
  SmallVector<int64_t> result(shape);
  result.append(count, 1);
  return result;
}

//===----------------------------------------------------------------------===//
// Writing rows
//===----------------------------------------------------------------------===//

/// Writes row i of `values` to row `indices[i]` of `into`, or adds it there,
/// for i from the first to the last: the order of sums is fixed, and of several
/// rows written to one place the last stays.
static Tensor scatterRows(B &b, Tensor into, Tensor indices, Tensor values,
                          bool accumulate) {
  int64_t numRows = values.getType().getDimSize(0);
  int64_t width = values.getType().getDimSize(1);
  Type element = into.getType().getElementType();
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(1), b.getIndexAttr(width)};
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
  auto getOffsets = [&](Value row) {
    return SmallVector<OpFoldResult>{row, b.getIndexAttr(0)};
  };
  auto loop = scf::ForOp::create(
      b, makeIndex(b, 0), makeIndex(b, numRows), makeIndex(b, 1),
      ValueRange(into),
      [&](OpBuilder &builder, Location loc, Value i, ValueRange carried) {
        B b(loc, builder);
        Value target = toIndex(b, tensor::ExtractOp::create(b, indices, i));
        Tensor row = tensor::ExtractSliceOp::create(b, values, getOffsets(i),
                                                    sizes, strides)
                         .getResult();
        if (accumulate) {
          Tensor old = tensor::ExtractSliceOp::create(
                           b, carried[0], getOffsets(target), sizes, strides)
                           .getResult();
          row =
              pointwise(b, {1, width}, element, {old, row},
                        [](B &b, ValueRange v) { return add(b, v[0], v[1]); });
        }
        Value result = tensor::InsertSliceOp::create(
            b, row, carried[0], getOffsets(target), sizes, strides);
        scf::YieldOp::create(b, result);
      });
  return cast<Tensor>(loop.getResult(0));
}

/// Scatters into `self`, seen as rows of `width` elements. Sums of narrow
/// floats are accumulated in f32.
static Tensor scatterInto(B &b, Tensor self, Tensor rows, Tensor values,
                          int64_t width, bool accumulate) {
  RankedTensorType type = self.getType();
  Type element = type.getElementType();
  Type compute = accumulate ? getComputeType(element) : element;
  int64_t numRows = rows.getType().getNumElements();
  int64_t extent = width == 0 ? 0 : type.getNumElements() / width;
  Tensor into = reshape(b, convertTensor(b, self, compute), {extent, width});
  values = reshape(b, convertTensor(b, values, compute), {numRows, width});
  Tensor result =
      scatterRows(b, into, reshape(b, rows, {numRows}), values, accumulate);
  return convertTensor(b, reshape(b, result, type.getShape()), element);
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

static LogicalResult buildEmbedding(NodeArguments &args, NodeBuilder &b) {
  Tensor weight = args.getTensor("weight"), indices = args.getTensor("indices");
  if (failed(args.expectRank("weight", weight, 2)) ||
      failed(args.expectIndices("indices", indices)))
    return failure();
  SmallVector<int64_t> shape(indices.getType().getShape());
  Tensor rows = reshape(b, indices, withTrailingOnes(shape, 1));
  shape.push_back(weight.getType().getDimSize(1));
  return b.finish(
      pointwise(b, shape, weight.getType().getElementType(), rows,
                [&](B &b, ValueRange v) -> Value {
                  Value column = linalg::IndexOp::create(b, shape.size() - 1);
                  Value position[] = {toIndex(b, v[0]), column};
                  return tensor::ExtractOp::create(b, weight, position);
                }));
}

static LogicalResult buildEmbeddingBackward(NodeArguments &args,
                                            NodeBuilder &b) {
  Tensor grad = args.getTensor("grad_output");
  Tensor indices = args.getTensor("indices");
  int64_t padding = args.getInt("padding_idx", -1);
  bool isScaled = args.getBool("scale_grad_by_freq", false);
  if (failed(args.expectIndices("indices", indices)))
    return failure();
  if (isScaled)
    return args.fail("scale_grad_by_freq", "is not supported");
  if (b.getShape().size() != 2)
    return args.fail("gives two dimensions");
  SmallVector<int64_t> shape(indices.getType().getShape());
  int64_t width = b.getShape()[1];
  Tensor column = reshape(b, indices, withTrailingOnes(shape, 1));
  shape.push_back(width);
  if (failed(args.expectShape("grad_output", grad, shape)))
    return failure();
  Type compute = getComputeType(b.getElement());
  if (padding >= 0)
    grad = pointwise(
        b, shape, compute, {grad, column}, [&](B &b, ValueRange v) -> Value {
          Value index =
              makeConstant(b, v[1].getType(), static_cast<double>(padding));
          Value value = convertElement(b, v[0], compute);
          return arith::SelectOp::create(b,
                                         compare(b, Relation::Eq, v[1], index),
                                         makeConstant(b, compute, 0.0), value);
        });
  Tensor zero = fill(b, b.getShape(), makeNumber(compute, 0.0));
  Tensor sum = scatterInto(b, zero, indices, grad, width, /*accumulate=*/true);
  return b.finish(convertTensor(b, sum, b.getElement()));
}

//===----------------------------------------------------------------------===//
// One index tensor along one dimension
//===----------------------------------------------------------------------===//

/// Reads "index", which must have as many dimensions as `self` and not be
/// larger outside of `dim`.
static Tensor getAlignedIndex(NodeArguments &args, Tensor self, int64_t dim) {
  Tensor index = args.getTensor("index");
  if (failed(args.expectIndices("index", index)) ||
      failed(args.expectRank("index", index, self.getType().getRank())))
    return nullptr;
  for (int64_t d = 0; d < self.getType().getRank(); ++d)
    if (d != dim &&
        index.getType().getDimSize(d) > self.getType().getDimSize(d)) {
      (void)args.fail("index",
                      "is larger than \"self\" in dimension " + Twine(d));
      return nullptr;
    }
  return index;
}

static LogicalResult buildGather(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t rank = self.getType().getRank();
  int64_t dim = args.getDim("dim", rank);
  if (args.hasFailed())
    return failure();
  Tensor index = getAlignedIndex(args, self, dim);
  if (!index)
    return failure();
  return b.finish(pointwise(
      b, index.getType().getShape(), self.getType().getElementType(), index,
      [&](B &b, ValueRange v) -> Value {
        SmallVector<Value> position;
        for (int64_t d = 0; d < rank; ++d)
          position.push_back(d == dim ? toIndex(b, v[0])
                                      : linalg::IndexOp::create(b, d));
        return tensor::ExtractOp::create(b, self, position);
      }));
}

static LogicalResult buildIndexSelect(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self"), index = args.getTensor("index");
  if (failed(args.expectIndices("index", index)) ||
      failed(args.expectRank("index", index, 1)))
    return failure();
  SmallVector<int64_t> shape(self.getType().getShape());
  int64_t rank = self.getType().getRank();
  int64_t dim = args.getDim("dim", rank);
  if (args.hasFailed())
    return failure();
  if (rank == 0)
    return args.fail("self", "must have dimensions");
  int64_t count = index.getType().getDimSize(0);
  shape[dim] = count;
  Tensor aligned = reshape(b, index, withTrailingOnes(count, rank - dim - 1));
  return b.finish(pointwise(
      b, shape, self.getType().getElementType(), aligned,
      [&](B &b, ValueRange v) -> Value {
        SmallVector<Value> position;
        for (int64_t d = 0; d < rank; ++d)
          position.push_back(d == dim ? toIndex(b, v[0])
                                      : linalg::IndexOp::create(b, d));
        return tensor::ExtractOp::create(b, self, position);
      }));
}

/// Positions in row-major order of the elements that a scatter writes.
static Tensor makeScatterPositions(B &b, Tensor self, Tensor index,
                                   int64_t dim) {
  ArrayRef<int64_t> extents = self.getType().getShape();
  return pointwise(
      b, index.getType().getShape(), b.getI64Type(), index,
      [&](B &b, ValueRange v) {
        Value position = makeConstant(b, b.getI64Type(), 0.0);
        for (auto [d, extent] : llvm::enumerate(extents)) {
          Value along =
              static_cast<int64_t>(d) == dim
                  ? convertElement(b, v[0], b.getI64Type())
                  : Value(arith::IndexCastOp::create(
                        b, b.getI64Type(), linalg::IndexOp::create(b, d)));
          Value size =
              arith::ConstantOp::create(b, b.getI64IntegerAttr(extent));
          position = add(b, mul(b, position, size), along);
        }
        return position;
      });
}

template <bool Accumulate>
static LogicalResult buildScatter(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t dim = args.getDim("dim", self.getType().getRank());
  if (failed(args.expectShape("self", self, b.getShape())))
    return failure();
  Tensor index = getAlignedIndex(args, self, dim);
  if (!index)
    return failure();
  ArrayRef<int64_t> shape = index.getType().getShape();
  Tensor values;
  if (args.has("value")) {
    TypedAttr number = args.getNumber("value");
    if (args.hasFailed())
      return failure();
    values = fill(b, shape, makeNumber(b.getElement(), number));
  } else {
    values = args.getTensor("src");
    if (failed(args.expectRank("src", values, shape.size())))
      return failure();
    for (auto [d, size] : llvm::enumerate(shape)) {
      if (values.getType().getDimSize(d) < size)
        return args.fail("src",
                         "is smaller than \"index\" in dimension " + Twine(d));
      values = slice(b, values, d, 0, size);
    }
  }
  Tensor positions = makeScatterPositions(b, self, index, dim);
  return b.finish(
      scatterInto(b, self, positions, values, /*width=*/1, Accumulate));
}

static LogicalResult buildIndexAdd(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self"), index = args.getTensor("index");
  Tensor source = args.getTensor("source");
  TypedAttr alpha = args.getNumber("alpha", 1);
  if (failed(args.expectIndices("index", index)) ||
      failed(args.expectRank("index", index, 1)))
    return failure();
  int64_t rank = self.getType().getRank();
  int64_t dim = args.getDim("dim", rank);
  if (args.hasFailed())
    return failure();
  if (dim != 0 || rank == 0)
    return args.fail("dim", "must be the first dimension");
  if (makeNumber(b.getF64Type(), alpha) != makeNumber(b.getF64Type(), 1.0))
    return args.fail("alpha", "must be 1");
  SmallVector<int64_t> shape(self.getType().getShape());
  int64_t width = 1;
  for (int64_t size : ArrayRef(shape).drop_front())
    width *= size;
  shape[0] = index.getType().getDimSize(0);
  if (failed(args.expectShape("source", source, shape)))
    return failure();
  return b.finish(
      scatterInto(b, self, index, source, width, /*accumulate=*/true));
}

//===----------------------------------------------------------------------===//
// Lists of index tensors
//===----------------------------------------------------------------------===//

namespace {
/// The index tensors of `index` and `index_put`.
struct IndexList {
  /// Null for a dimension that is taken whole.
  SmallVector<Tensor> tensors;
  /// What the index tensors are broadcast to.
  SmallVector<int64_t> shape;
  /// Where these dimensions lie in the result.
  int64_t place = 0;
};
} // namespace

static FailureOr<IndexList> getIndexList(NodeArguments &args, Tensor self) {
  IndexList list;
  list.tensors = args.getTensors("indices");
  if (args.hasFailed())
    return failure();
  int64_t rank = self.getType().getRank();
  if (static_cast<int64_t>(list.tensors.size()) > rank)
    return args.fail("indices", "has more entries than \"self\" dimensions");
  list.tensors.resize(rank);
  int64_t first = -1, last = -1, count = 0;
  for (auto [d, tensor] : llvm::enumerate(list.tensors)) {
    if (!tensor)
      continue;
    if (failed(args.expectIndices("indices", tensor)))
      return failure();
    first = first < 0 ? d : first;
    last = d;
    ++count;
    ArrayRef<int64_t> own = tensor.getType().getShape();
    if (own.size() > list.shape.size())
      list.shape.insert(list.shape.begin(), own.size() - list.shape.size(), 1);
    auto common = MutableArrayRef(list.shape).take_back(own.size());
    for (auto [size, ownSize] : llvm::zip(common, own))
      if (size == 1)
        size = ownSize;
  }
  if (count == 0)
    return args.fail("indices", "must hold a tensor");
  if (failed(args.expectBroadcast(list.tensors, list.shape)))
    return failure();
  // Apart from each other, the indexed dimensions move to the front.
  list.place = last - first + 1 == count ? first : 0;
  return list;
}

static LogicalResult buildIndex(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  FailureOr<IndexList> list = getIndexList(args, self);
  if (failed(list))
    return failure();
  RankedTensorType type = self.getType();
  // Dimension of the result that each whole dimension becomes.
  SmallVector<int64_t> shape, whole(type.getRank(), -1);
  auto addIndexed = [&] { llvm::append_range(shape, list->shape); };
  for (int64_t d = 0, seen = 0; d < type.getRank(); ++d) {
    if (seen++ == list->place)
      addIndexed();
    if (list->tensors[d])
      continue;
    whole[d] = shape.size();
    shape.push_back(type.getDimSize(d));
  }
  size_t behind = shape.size() - list->place - list->shape.size();
  SmallVector<Tensor> inputs;
  for (Tensor tensor : list->tensors)
    if (tensor)
      inputs.push_back(reshape(
          b, tensor, withTrailingOnes(tensor.getType().getShape(), behind)));
  return b.finish(
      pointwise(b, shape, type.getElementType(), inputs,
                [&](B &b, ValueRange v) -> Value {
                  SmallVector<Value> position;
                  size_t next = 0;
                  for (int64_t d = 0; d < type.getRank(); ++d) {
                    if (whole[d] >= 0)
                      position.push_back(linalg::IndexOp::create(b, whole[d]));
                    else
                      position.push_back(
                          toIndex(b, wrap(b, v[next++], type.getDimSize(d))));
                  }
                  return tensor::ExtractOp::create(b, self, position);
                }));
}

static LogicalResult buildIndexPut(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self"), values = args.getTensor("values");
  bool accumulate = args.getBool("accumulate", false);
  if (failed(args.expectShape("self", self, b.getShape())))
    return failure();
  FailureOr<IndexList> list = getIndexList(args, self);
  if (failed(list))
    return failure();
  SmallVector<int64_t> extents;
  SmallVector<Tensor> indices;
  SmallVector<int64_t> shape = list->shape;
  int64_t width = 1;
  for (auto [d, tensor] : llvm::enumerate(list->tensors)) {
    int64_t extent = self.getType().getDimSize(d);
    if (tensor && indices.size() != d)
      return args.fail("indices", "must be for the leading dimensions");
    if (tensor) {
      indices.push_back(tensor);
      extents.push_back(extent);
    } else {
      shape.push_back(extent);
      width *= extent;
    }
  }
  if (failed(args.expectBroadcast(values, shape)))
    return failure();
  Tensor rows = pointwise(
      b, list->shape, b.getI64Type(), indices, [&](B &b, ValueRange v) {
        Value row = makeConstant(b, b.getI64Type(), 0.0);
        for (auto [value, extent] : llvm::zip(v, extents)) {
          Value along =
              wrap(b, convertElement(b, value, b.getI64Type()), extent);
          Value size =
              arith::ConstantOp::create(b, b.getI64IntegerAttr(extent));
          row = add(b, mul(b, row, size), along);
        }
        return row;
      });
  return b.finish(scatterInto(b, self, rows, broadcast(b, values, shape), width,
                              accumulate));
}

void regather::nodes::addIndexingRules(RuleTable &table) {
  table["aten.embedding.default"] = {
      "weight indices padding_idx scale_grad_by_freq sparse", buildEmbedding};
  table["aten.embedding_dense_backward.default"] = {
      "grad_output indices num_weights padding_idx scale_grad_by_freq",
      buildEmbeddingBackward};
  table["aten.gather.default"] = {"self dim index", buildGather};
  table["aten.index_select.default"] = {"self dim index", buildIndexSelect};
  table["aten.scatter.value"] = {"self dim index value", buildScatter<false>};
  table["aten.scatter.src"] = {"self dim index src", buildScatter<false>};
  table["aten.scatter_add.default"] = {"self dim index src",
                                       buildScatter<true>};
  table["aten.index_add.default"] = {"self dim index source alpha",
                                     buildIndexAdd};
  table["aten.index.Tensor"] = {"self indices", buildIndex};
  table["aten.index_put.default"] = {"self indices values accumulate",
                                     buildIndexPut};
}
