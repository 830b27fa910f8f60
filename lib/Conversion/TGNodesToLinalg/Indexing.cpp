//===- Indexing.cpp - Expansions that read or write at given places -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "Scatter.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
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

/// Reads "src" and gives the part of it that `index` has places for.
static Tensor getScatterSource(NodeArguments &args, B &b, Tensor index) {
  Tensor source = args.getTensor("src");
  ArrayRef<int64_t> shape = index.getType().getShape();
  if (failed(args.expectRank("src", source, shape.size())))
    return nullptr;
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (source.getType().getDimSize(d) < size) {
      (void)args.fail("src",
                      "is smaller than \"index\" in dimension " + Twine(d));
      return nullptr;
    }
    source = slice(b, source, d, 0, size);
  }
  return source;
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
    values = getScatterSource(args, b, index);
    if (!values)
      return failure();
  }
  Tensor positions = makeScatterPositions(b, self, index, dim);
  return b.finish(
      scatterInto(b, self, positions, values, /*width=*/1, Accumulate));
}

namespace {
/// How `scatter_reduce` combines what comes to one place.
struct ScatterReduction {
  Value (*combine)(B &, Value, Value);
  /// The start of a place whose own value does not count.
  TypedAttr (*makeStart)(Type);
};
} // namespace

static std::optional<ScatterReduction> getReduction(StringRef name) {
  auto makeZero = [](Type type) { return makeNumber(type, 0.0); };
  auto makeOne = [](Type type) { return makeNumber(type, 1.0); };
  if (name == "sum" || name == "mean")
    return ScatterReduction{add, makeZero};
  if (name == "prod")
    return ScatterReduction{mul, makeOne};
  if (name == "amax")
    return ScatterReduction{maximum, makeLowest};
  if (name == "amin")
    return ScatterReduction{minimum, makeHighest};
  return std::nullopt;
}

/// Without `include_self`, a place that is written to starts from a neutral
/// element instead of its own value.
static LogicalResult buildScatterReduce(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  StringRef name = args.getString("reduce", "");
  bool includesSelf = args.getBool("include_self", true);
  if (args.hasFailed())
    return failure();
  int64_t dim = args.getDim("dim", self.getType().getRank());
  std::optional<ScatterReduction> reduction = getReduction(name);
  if (failed(args.expectShape("self", self, b.getShape())))
    return failure();
  if (!reduction)
    return args.fail("reduce", "must be \"sum\", \"mean\", \"prod\", "
                               "\"amax\" or \"amin\", got \"" +
                                   name + "\"");
  Tensor index = getAlignedIndex(args, self, dim);
  Tensor source = index ? getScatterSource(args, b, index) : nullptr;
  if (!source)
    return failure();
  Tensor places = makeScatterPositions(b, self, index, dim);
  ArrayRef<int64_t> shape = index.getType().getShape();
  Type element = b.getElement(), compute = getComputeType(element);
  Tensor start = convertTensor(b, self, compute);
  if (!includesSelf)
    start = scatterInto(b, start, places,
                        fill(b, shape, reduction->makeStart(compute)),
                        /*width=*/1, /*accumulate=*/false);
  Tensor result = combineInto(
      b, start, places, source, /*width=*/1,
      [&](B &b, ValueRange v) { return reduction->combine(b, v[0], v[1]); });
  if (name == "mean") {
    Tensor counts =
        fill(b, b.getShape(), makeNumber(compute, includesSelf ? 1.0 : 0.0));
    counts = scatterInto(b, counts, places,
                         fill(b, shape, makeNumber(compute, 1.0)), /*width=*/1,
                         /*accumulate=*/true);
    result = pointwise(b, b.getShape(), compute, {result, counts},
                       [&](B &b, ValueRange v) {
                         Value one = makeConstant(b, compute, 1.0);
                         return div(b, v[0], maximum(b, v[1], one));
                       });
  }
  return b.finish(convertTensor(b, result, element));
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
  if (rank == 0)
    return args.fail("self", "must have dimensions");
  SmallVector<int64_t> shape(self.getType().getShape());
  shape[dim] = index.getType().getDimSize(0);
  if (failed(args.expectShape("self", self, b.getShape())) ||
      failed(args.expectShape("source", source, shape)))
    return failure();
  Type compute = getComputeType(b.getElement());
  if (makeNumber(compute, alpha) != makeNumber(compute, 1.0))
    source = pointwise(b, shape, compute, source, [&](B &b, ValueRange v) {
      return mul(b, convertElement(b, v[0], compute),
                 makeConstant(b, compute, alpha));
    });
  // The rows along the dimension come first.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  order.erase(order.begin() + dim);
  order.insert(order.begin(), dim);
  SmallVector<int64_t> inverse(rank);
  int64_t width = 1;
  for (auto [i, d] : llvm::enumerate(order)) {
    inverse[d] = i;
    width *= i == 0 ? 1 : shape[d];
  }
  Tensor sum = scatterInto(b, transpose(b, self, order), index,
                           transpose(b, source, order), width,
                           /*accumulate=*/true);
  return b.finish(transpose(b, sum, inverse));
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
  // If other dimensions lie between them, the indexed dimensions move to the
  // front.
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

/// `tensor[mask] = value` for one value: a choice. `mask` is of the leading
/// dimensions.
static LogicalResult finishMaskedPut(NodeArguments &args, NodeBuilder &b,
                                     Tensor self, Tensor mask, Tensor value) {
  ArrayRef<int64_t> shape = self.getType().getShape();
  ArrayRef<int64_t> masked = mask.getType().getShape();
  if (value.getType().getNumElements() != 1)
    return args.fail("values", "must be one value, where a mask says which "
                               "elements are replaced");
  if (masked.size() > shape.size() || shape.take_front(masked.size()) != masked)
    return args.fail("indices", "must hold a mask of the shape of \"self\"");
  mask =
      reshape(b, mask, withTrailingOnes(masked, shape.size() - masked.size()));
  return b.finish(
      pointwise(b, shape, b.getElement(), {self, mask, reshape(b, value, {})},
                [](B &b, ValueRange v) -> Value {
                  return arith::SelectOp::create(b, v[1], v[2], v[0]);
                }));
}

/// The row of the indexed dimensions, of these sizes, that each set of indices
/// names.
static Tensor makeRows(B &b, ArrayRef<int64_t> shape, ArrayRef<Tensor> indices,
                       ArrayRef<int64_t> extents) {
  return pointwise(b, shape, b.getI64Type(), indices, [&](B &b, ValueRange v) {
    Value row = makeConstant(b, b.getI64Type(), 0.0);
    for (auto [value, extent] : llvm::zip(v, extents)) {
      Value along = wrap(b, convertElement(b, value, b.getI64Type()), extent);
      Value size = arith::ConstantOp::create(b, b.getI64IntegerAttr(extent));
      row = add(b, mul(b, row, size), along);
    }
    return row;
  });
}

static LogicalResult buildIndexPut(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self"), values = args.getTensor("values");
  bool accumulate = args.getBool("accumulate", false);
  SmallVector<Tensor> given = args.getTensors("indices");
  if (failed(args.expectShape("self", self, b.getShape())))
    return failure();
  if (given.size() == 1 && given[0] && !accumulate &&
      given[0].getType().getElementType().isInteger(1))
    return finishMaskedPut(args, b, self, given[0], values);
  FailureOr<IndexList> list = getIndexList(args, self);
  if (failed(list))
    return failure();
  // The indexed dimensions come first. In the values, which are what an index
  // gives, they are where these dimensions lie there.
  int64_t rank = self.getType().getRank();
  SmallVector<int64_t> indexed, whole, extents, shape;
  SmallVector<Tensor> indices;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t extent = self.getType().getDimSize(d);
    if (Tensor tensor = list->tensors[d]) {
      indices.push_back(tensor);
      extents.push_back(extent);
      indexed.push_back(d);
    } else {
      whole.push_back(d);
      shape.push_back(extent);
    }
  }
  int64_t width = 1;
  for (int64_t size : shape)
    width *= size;
  shape.insert(shape.begin() + list->place, list->shape.begin(),
               list->shape.end());
  if (failed(args.expectBroadcast(values, shape)))
    return failure();
  auto numIndexed = static_cast<int64_t>(list->shape.size());
  auto valueOrder = llvm::to_vector(
      llvm::seq<int64_t>(list->place, list->place + numIndexed));
  for (int64_t d = 0, end = shape.size(); d < end; ++d)
    if (d < list->place || d >= list->place + numIndexed)
      valueOrder.push_back(d);
  SmallVector<int64_t> order = indexed, inverse(rank);
  llvm::append_range(order, whole);
  for (auto [i, d] : llvm::enumerate(order))
    inverse[d] = i;
  Tensor rows = makeRows(b, list->shape, indices, extents);
  values = transpose(b, broadcast(b, values, shape), valueOrder);
  Tensor result = scatterInto(b, transpose(b, self, order), rows, values, width,
                              accumulate);
  return b.finish(transpose(b, result, inverse));
}

void regather::nodes::addIndexingBuilders(BuilderTable &table) {
  table.add(Operator::AtenEmbedding, buildEmbedding);
  table.add(Operator::AtenEmbeddingDenseBackward, buildEmbeddingBackward);
  table.add(Operator::AtenGather, buildGather);
  table.add(Operator::AtenIndex, buildIndex);
  table.add(Operator::AtenIndexAdd, buildIndexAdd);
  table.add(Operator::AtenIndexPut, buildIndexPut);
  table.add(Operator::AtenIndexSelect, buildIndexSelect);
  table.add(Operator::AtenScatter, buildScatter<false>);
  table.add(Operator::AtenScatterAdd, buildScatter<true>);
  table.add(Operator::AtenScatterReduce, buildScatterReduce);
}
