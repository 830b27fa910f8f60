//===- IndexingRules.cpp - Rules of nodes that read or write at indices ---===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::sharding;

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

static void buildEmbedding(NodeRuleBuilder &b) {
  ArrayRef<int64_t> weight = b.getShape("weight");
  if (weight.size() != 2)
    return;
  TensorFactors factors = addDims(b.rule, b.getShape("indices"));
  b.setOperand("indices", factors);
  DimFactors row = addDim(b.rule, weight[0], FactorKind::Whole);
  DimFactors column = addDim(b.rule, weight[1]);
  b.setOperand("weight", {row, column});
  factors.push_back(column);
  b.setResult(factors);
  b.addLinear({"weight"});
}

/// Sums the rows of the gradient that belong to one index.
static void buildEmbeddingBackward(NodeRuleBuilder &b) {
  ArrayRef<int64_t> weight = b.getResultShape();
  if (weight.size() != 2)
    return;
  // How often an index occurs is known to whom has all of them.
  bool isScaled = b.args.getBool("scale_grad_by_freq", false);
  TensorFactors factors =
      addDims(b.rule, b.getShape("indices"),
              isScaled ? FactorKind::Whole : FactorKind::Sum);
  b.setOperand("indices", factors);
  DimFactors row = addDim(b.rule, weight[0], FactorKind::Whole);
  DimFactors column = addDim(b.rule, weight[1]);
  b.setResult({row, column});
  factors.push_back(column);
  b.setOperand("grad_output", factors);
  b.addLinear({"grad_output"});
}

//===----------------------------------------------------------------------===//
// One index tensor along one dimension
//===----------------------------------------------------------------------===//

namespace {
/// Factors of tensors with the same rank as self that are aligned with it
/// except along one dimension.
struct AlignedFactors {
  /// Of the tensor that is indexed, and of the index.
  TensorFactors self, index;
};
} // namespace

/// Where index and self do not have the same size, only a part of self is
/// accessed, and which one depends on the position. Along `dim`, the index may
/// be split if it has factors of kind `alongKind`.
static AlignedFactors addAligned(NodeRuleBuilder &b, int64_t dim,
                                 FactorKind alongKind) {
  ArrayRef<int64_t> self = b.getShape("self"), index = b.getShape("index");
  AlignedFactors factors;
  if (self.size() != index.size() || self.empty()) {
    (void)b.args.fail("index", "must have the dimensions of self");
    return factors;
  }
  for (size_t d = 0; d < self.size(); ++d) {
    bool isAlong = static_cast<int64_t>(d) == dim;
    bool isShared = !isAlong && self[d] == index[d];
    factors.self.push_back(addDim(
        b.rule, self[d], isShared ? FactorKind::Parallel : FactorKind::Whole));
    factors.index.push_back(
        isShared ? factors.self.back()
                 : addDim(b.rule, index[d],
                          isAlong ? alongKind : FactorKind::Whole));
  }
  return factors;
}

static void buildGather(NodeRuleBuilder &b) {
  int64_t dim = b.args.getDim("dim", b.getShape("self").size());
  AlignedFactors factors = addAligned(b, dim, FactorKind::Parallel);
  b.setOperand("self", factors.self);
  b.setOperand("index", factors.index);
  b.setResult(factors.index);
  b.addLinear({"self"});
}

/// Every part of a sum would hold self, which counts once, unless it is zero.
static FactorKind getAccumulationKind(NodeRuleBuilder &b) {
  return b.isZeroArgument("self") ? FactorKind::Sum : FactorKind::Whole;
}

/// What is added to self, or replaces parts of it, and self are scaled
/// together.
static void addUpdateLinearity(NodeRuleBuilder &b, StringRef values) {
  b.addLinear({"self", values});
  if (b.isZeroArgument("self"))
    b.addLinear(values);
}

/// Sets the source of a scatter, which has the factors of the index. Where it
/// is larger, a part is read, which depends on the position.
static void setSource(NodeRuleBuilder &b, TensorFactors factors) {
  ArrayRef<int64_t> source = b.getShape("src"), index = b.getShape("index");
  if (source.size() != index.size()) {
    (void)b.args.fail("src", "must have the dimensions of the index");
    return;
  }
  for (size_t d = 0; d < index.size(); ++d) {
    if (source[d] == index[d])
      continue;
    for (unsigned factor : factors[d])
      b.rule.factors[factor].kind = FactorKind::Whole;
    factors[d] = addDim(b.rule, source[d], FactorKind::Whole);
  }
  b.setOperand("src", factors);
}

/// Of elements that are written to one place, the last stays: only a sum may be
/// split along `dim`.
template <bool Accumulate> static void buildScatter(NodeRuleBuilder &b) {
  int64_t dim = b.args.getDim("dim", b.getShape("self").size());
  AlignedFactors factors = addAligned(
      b, dim, Accumulate ? getAccumulationKind(b) : FactorKind::Whole);
  if (b.args.hasFailed())
    return;
  if (b.args.has("value")) {
    if (b.isZeroArgument("value"))
      b.addLinear({"self"});
  } else {
    setSource(b, factors.index);
    addUpdateLinearity(b, "src");
  }
  b.setOperand("self", factors.self);
  b.setOperand("index", factors.index);
  b.setResult(factors.self);
}

/// Along `dim`, the other tensor has the index.
static TensorFactors addRows(NodeRuleBuilder &b, const TensorFactors &self,
                             int64_t dim, FactorKind kind) {
  ArrayRef<int64_t> index = b.getShape("index");
  TensorFactors rows = self;
  if (index.size() != 1) {
    (void)b.args.fail("index", "must have one dimension");
    return rows;
  }
  rows[dim] = addDim(b.rule, index[0], kind);
  b.setOperand("index", {rows[dim]});
  return rows;
}

/// The factors of self, which is whole along `dim`.
static TensorFactors addIndexed(NodeRuleBuilder &b, int64_t dim) {
  ArrayRef<int64_t> self = b.getShape("self");
  TensorFactors factors = addDims(b.rule, self);
  if (self.empty())
    (void)b.args.fail("self", "must have dimensions");
  else
    factors[dim] = addDim(b.rule, self[dim], FactorKind::Whole);
  b.setOperand("self", factors);
  return factors;
}

static void buildIndexSelect(NodeRuleBuilder &b) {
  int64_t dim = b.args.getDim("dim", b.getShape("self").size());
  TensorFactors self = addIndexed(b, dim);
  if (b.args.hasFailed())
    return;
  b.setResult(addRows(b, self, dim, FactorKind::Parallel));
  b.addLinear({"self"});
}

static void buildIndexAdd(NodeRuleBuilder &b) {
  int64_t dim = b.args.getDim("dim", b.getShape("self").size());
  TensorFactors self = addIndexed(b, dim);
  if (b.args.hasFailed())
    return;
  b.setOperand("source", addRows(b, self, dim, getAccumulationKind(b)));
  b.setResult(self);
  addUpdateLinearity(b, "source");
}

//===----------------------------------------------------------------------===//
// Lists of index tensors
//===----------------------------------------------------------------------===//

namespace {
/// The index tensors of `index` and `index_put`, and where the dimensions that
/// they are broadcast to lie among those of self that are not indexed.
struct IndexList {
  SmallVector<nodes::Tensor> tensors;
  SmallVector<int64_t> shape;
  size_t place = 0;
};
} // namespace

/// The smallest shape that `shape` and `own` can be broadcast to.
static void extendShape(SmallVectorImpl<int64_t> &shape,
                        ArrayRef<int64_t> own) {
  if (own.size() > shape.size())
    shape.insert(shape.begin(), own.size() - shape.size(), 1);
  MutableArrayRef<int64_t> common(shape);
  for (auto [size, ownSize] : llvm::zip(common.take_back(own.size()), own))
    if (size == 1)
      size = ownSize;
}

static FailureOr<IndexList> getIndexList(NodeRuleBuilder &b) {
  IndexList list;
  list.tensors = b.args.getTensors("indices");
  if (b.args.hasFailed() || list.tensors.size() > b.getShape("self").size())
    return failure();
  list.tensors.resize(b.getShape("self").size());
  SmallVector<size_t> indexed;
  for (auto [dim, tensor] : llvm::enumerate(list.tensors)) {
    if (!tensor)
      continue;
    // A mask decides how many elements there are.
    if (tensor.getType().getElementType().isInteger(1))
      return failure();
    indexed.push_back(dim);
    extendShape(list.shape, tensor.getType().getShape());
  }
  if (indexed.empty())
    return failure();
  // Apart from each other, the indexed dimensions move to the front.
  bool isTogether = indexed.back() - indexed.front() + 1 == indexed.size();
  list.place = isTogether ? indexed.front() : 0;
  return list;
}

namespace {
/// The factors of the tensor that is indexed, and of what is read from it or
/// written to it.
struct IndexedFactors {
  TensorFactors self, values;
  SmallVector<int64_t> valueShape;
};
} // namespace

/// Sets the index tensors, whose dimensions have factors of this kind.
static IndexedFactors setIndices(NodeRuleBuilder &b, const IndexList &list,
                                 FactorKind kind) {
  ArrayRef<int64_t> self = b.getShape("self");
  TensorFactors index = addDims(b.rule, list.shape, kind);
  b.setBroadcast("indices", index, list.shape);
  IndexedFactors factors;
  for (auto [dim, size] : llvm::enumerate(self)) {
    bool isIndexed = list.tensors[dim] != nullptr;
    factors.self.push_back(addDim(
        b.rule, size, isIndexed ? FactorKind::Whole : FactorKind::Parallel));
    if (isIndexed)
      continue;
    factors.values.push_back(factors.self.back());
    factors.valueShape.push_back(size);
  }
  factors.values.insert(factors.values.begin() + list.place, index.begin(),
                        index.end());
  factors.valueShape.insert(factors.valueShape.begin() + list.place,
                            list.shape.begin(), list.shape.end());
  b.setOperand("self", factors.self);
  return factors;
}

static void buildIndex(NodeRuleBuilder &b) {
  FailureOr<IndexList> list = getIndexList(b);
  if (failed(list))
    return;
  b.setResult(setIndices(b, *list, FactorKind::Parallel).values);
  b.addLinear({"self"});
}

static void buildIndexPut(NodeRuleBuilder &b) {
  FailureOr<IndexList> list = getIndexList(b);
  if (failed(list))
    return;
  bool accumulate = b.args.getBool("accumulate", false);
  IndexedFactors factors = setIndices(
      b, *list, accumulate ? getAccumulationKind(b) : FactorKind::Whole);
  b.setBroadcast("values", factors.values, factors.valueShape);
  b.setResult(factors.self);
  addUpdateLinearity(b, "values");
}

//===----------------------------------------------------------------------===//
// Searching
//===----------------------------------------------------------------------===//

/// Sorted keys are whole; each value is searched by itself.
static void buildSearch(NodeRuleBuilder &b, StringRef keysName) {
  ArrayRef<int64_t> keys = b.getShape(keysName);
  TensorFactors factors = addDims(b.rule, b.getShape("self"));
  b.setOperand("self", factors);
  b.setResult(factors);
  // A row of keys for each row of values.
  if (keys.size() < 2 || keys.size() != factors.size())
    return;
  factors.back() = addDim(b.rule, keys.back(), FactorKind::Whole);
  b.setOperand(keysName, factors);
  b.setOperand("sorter", factors);
}

static void buildBucketize(NodeRuleBuilder &b) { buildSearch(b, "boundaries"); }

static void buildSearchSorted(NodeRuleBuilder &b) {
  buildSearch(b, "sorted_sequence");
}

void regather::tg::sharding::addIndexingRules(NodeRuleTable &table) {
  table.add(Operator::AtenBucketize, {buildBucketize});
  table.add(Operator::AtenEmbedding, {buildEmbedding});
  table.add(Operator::AtenEmbeddingDenseBackward, {buildEmbeddingBackward});
  table.add(Operator::AtenGather, {buildGather});
  table.add({Operator::AtenIndex, Operator::AtenUnsafeIndex}, {buildIndex});
  table.add(Operator::AtenIndexAdd, {buildIndexAdd});
  table.add({Operator::AtenIndexPut, Operator::AtenUnsafeIndexPut},
            {buildIndexPut});
  table.add(Operator::AtenIndexSelect, {buildIndexSelect});
  table.add(Operator::AtenScatter, {buildScatter<false>});
  table.add(Operator::AtenScatterAdd, {buildScatter<true>});
  table.add(Operator::AtenSearchsorted, {buildSearchSorted});
}
