//===- ViewRules.cpp - Rules of nodes that move elements ------------------===//
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
// Shapes
//===----------------------------------------------------------------------===//

static void buildView(NodeRuleBuilder &b) {
  ViewFactors view = addView(b.rule, b.getShape("self"), b.getResultShape());
  b.setOperand("self", view.from);
  b.setResult(view.to);
  b.addLinear({"self"});
}

/// Names the dimensions of the whole that go: on a part, others may have size 1
/// as well.
static void adaptSqueeze(nodes::NodeArguments &whole, NodeOp part) {
  nodes::Tensor self = whole.getTensor("self");
  if (!self)
    return;
  RankedTensorType type = self.getType();
  SmallVector<int64_t> dims =
      whole.has("dim") ? whole.getDims("dim", type.getRank())
                       : llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  if (whole.hasFailed())
    return;
  llvm::erase_if(dims, [&](int64_t dim) {
    return type.getRank() == 0 || type.getDimSize(dim) != 1;
  });
  Builder builder(part.getContext());
  part.setTarget(getName(Target::AtenSqueezeDims));
  part.setArgsAttr(builder.getArrayAttr(
      {OperandAttr::get(part.getContext(), 0), builder.getI64ArrayAttr(dims)}));
  part.removeKwargsAttr();
}

static void buildExpand(NodeRuleBuilder &b) {
  TensorFactors factors = addDims(b.rule, b.getResultShape());
  b.setBroadcast("self", factors, b.getResultShape());
  b.setResult(factors);
  b.addLinear({"self"});
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

/// Dimension i of the result is dimension permutation[i] of the operand.
static void setPermutation(NodeRuleBuilder &b, ArrayRef<int64_t> permutation) {
  TensorFactors factors = addDims(b.rule, b.getShape("self"));
  if (permutation.size() != factors.size())
    return;
  TensorFactors permuted;
  for (int64_t dim : permutation)
    permuted.push_back(factors[dim]);
  b.setOperand("self", factors);
  b.setResult(permuted);
  b.addLinear({"self"});
}

static void buildPermute(NodeRuleBuilder &b) {
  setPermutation(b, b.args.getDims("dims", b.getShape("self").size()));
}

static void buildTranspose(NodeRuleBuilder &b) {
  int64_t rank = b.getShape("self").size();
  int64_t first = b.args.getDim("dim0", rank);
  int64_t second = b.args.getDim("dim1", rank);
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (rank > 0)
    std::swap(permutation[first], permutation[second]);
  setPermutation(b, permutation);
}

static void buildT(NodeRuleBuilder &b) {
  int64_t rank = b.getShape("self").size();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::reverse(permutation.begin(), permutation.end());
  setPermutation(b, permutation);
}

//===----------------------------------------------------------------------===//
// Dimensions that are touched, and others
//===----------------------------------------------------------------------===//

/// Factors for the dimensions of a tensor, those in `touched` being whole.
static TensorFactors addTouched(NodeRuleBuilder &b, ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> touched) {
  TensorFactors factors = addDims(b.rule, shape);
  for (int64_t dim : touched)
    if (dim < static_cast<int64_t>(factors.size()))
      factors[dim] = addDim(b.rule, shape[dim], FactorKind::Whole);
  return factors;
}

/// The factors of a tensor that differs from one with `factors` along `dim`,
/// where it has this size and is whole.
static TensorFactors replaceDim(NodeRuleBuilder &b, TensorFactors factors,
                                int64_t dim, int64_t size) {
  factors[dim] = addDim(b.rule, size, FactorKind::Whole);
  return factors;
}

/// Self and result have the same shape.
static void setInPlace(NodeRuleBuilder &b, ArrayRef<int64_t> touched) {
  TensorFactors factors = addTouched(b, b.getResultShape(), touched);
  b.setOperand("self", factors);
  b.setResult(factors);
  b.addLinear({"self"});
}

static void buildFlip(NodeRuleBuilder &b) {
  setInPlace(b, b.args.getDims("dims", b.getShape("self").size()));
}

static void buildRoll(NodeRuleBuilder &b) {
  int64_t rank = b.getShape("self").size();
  SmallVector<int64_t> dims;
  if (b.args.has("dims"))
    dims = b.args.getInts("dims");
  // Without dimensions, the elements roll in their flat order.
  setInPlace(b, dims.empty() ? llvm::to_vector(llvm::seq<int64_t>(0, rank))
                             : b.args.getDims("dims", rank));
}

/// Triangles, which depend on positions in the last two dimensions.
static void buildTriangle(NodeRuleBuilder &b) {
  int64_t rank = b.getShape("self").size();
  setInPlace(b, {std::max<int64_t>(rank - 2, 0), rank - 1});
}

/// Sets the smaller of two tensors that agree outside of `dim`, where one lies
/// in the other: that called `part`, or the result if `part` is empty. Returns
/// the factors of the larger one.
static TensorFactors addSlice(NodeRuleBuilder &b, ArrayRef<int64_t> whole,
                              int64_t dim, StringRef part) {
  ArrayRef<int64_t> own = part.empty() ? b.getResultShape() : b.getShape(part);
  if (own.size() != whole.size()) {
    (void)b.args.fail("self", "has another number of dimensions");
    return {};
  }
  bool isFull = own[dim] == whole[dim];
  TensorFactors factors =
      isFull ? addDims(b.rule, whole) : addTouched(b, whole, dim);
  TensorFactors partFactors =
      isFull ? factors : replaceDim(b, factors, dim, own[dim]);
  if (part.empty())
    b.setResult(partFactors);
  else
    b.setOperand(part, partFactors);
  return factors;
}

/// The same for a part that has no dimension `dim`, being at one position.
static TensorFactors addSelection(NodeRuleBuilder &b, ArrayRef<int64_t> whole,
                                  int64_t dim, StringRef part) {
  TensorFactors factors = addTouched(b, whole, dim);
  TensorFactors partFactors = factors;
  if (!partFactors.empty())
    partFactors.erase(partFactors.begin() + dim);
  if (part.empty())
    b.setResult(partFactors);
  else
    b.setOperand(part, partFactors);
  return factors;
}

/// Reads "dim" of a tensor; fails for a scalar, so that there is a dimension.
static int64_t getDim(NodeRuleBuilder &b, ArrayRef<int64_t> shape) {
  if (shape.empty())
    (void)b.args.fail("dim", "needs a tensor with dimensions");
  return b.args.getDim("dim", shape.size(), 0);
}

static void buildSlice(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getShape("self");
  int64_t dim = getDim(b, shape);
  if (b.args.hasFailed())
    return;
  b.setOperand("self", addSlice(b, shape, dim, ""));
  b.addLinear({"self"});
}

static void buildSelect(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getShape("self");
  int64_t dim = getDim(b, shape);
  if (b.args.hasFailed())
    return;
  b.setOperand("self", addSelection(b, shape, dim, ""));
  b.addLinear({"self"});
}

using AddPartFn = TensorFactors (*)(NodeRuleBuilder &, ArrayRef<int64_t>,
                                    int64_t, StringRef);

/// A part of zeros: the gradient of a slice or selection.
template <AddPartFn AddPart> static void buildPartBackward(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getResultShape();
  int64_t dim = getDim(b, shape);
  if (b.args.hasFailed())
    return;
  b.setResult(AddPart(b, shape, dim, "grad_output"));
  b.addLinear({"grad_output"});
}

/// A part of self is replaced by src.
template <AddPartFn AddPart> static void buildPartScatter(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getResultShape();
  int64_t dim = getDim(b, shape);
  if (b.args.hasFailed())
    return;
  TensorFactors factors = AddPart(b, shape, dim, "src");
  b.setOperand("self", factors);
  b.setResult(factors);
  b.addLinear({"self", "src"});
  if (b.isZeroArgument("self"))
    b.addLinear({"src"});
}

/// `pad` lists amounts before and after each dimension, the last one first.
static void buildPad(NodeRuleBuilder &b) {
  SmallVector<int64_t> pad = b.args.getInts("pad");
  ArrayRef<int64_t> shape = b.getShape("self"), padded = b.getResultShape();
  if (pad.size() % 2 != 0 || pad.size() > 2 * shape.size() ||
      shape.size() != padded.size())
    return;
  SmallVector<int64_t> touched;
  for (size_t i = 0; i < pad.size(); i += 2)
    if (pad[i] != 0 || pad[i + 1] != 0)
      touched.push_back(static_cast<int64_t>(shape.size() - 1 - i / 2));
  TensorFactors factors = addTouched(b, shape, touched);
  b.setOperand("self", factors);
  for (int64_t dim : touched)
    factors = replaceDim(b, factors, dim, padded[dim]);
  b.setResult(factors);
  if (b.args.getFloat("value", 0) == 0)
    b.addLinear({"self"});
}

/// New dimensions are in front, and how often self repeats along them is an
/// argument: they are whole, as are dimensions that repeat.
static void buildRepeat(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getShape("self"), repeated = b.getResultShape();
  if (repeated.size() < shape.size())
    return;
  size_t added = repeated.size() - shape.size();
  TensorFactors own, result;
  for (auto [dim, size] : llvm::enumerate(repeated)) {
    bool isOwn = dim >= added;
    bool isSame = isOwn && shape[dim - added] == size;
    result.push_back(addDim(b.rule, size,
                            isSame ? FactorKind::Parallel : FactorKind::Whole));
    if (isOwn)
      own.push_back(
          isSame ? result.back()
                 : addDim(b.rule, shape[dim - added], FactorKind::Whole));
  }
  b.setOperand("self", own);
  b.setResult(result);
  b.addLinear({"self"});
}

/// Elements move between the last three dimensions.
static void buildPixelShuffle(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getShape("self"), shuffled = b.getResultShape();
  if (shape.size() != shuffled.size() || shape.size() < 3)
    return;
  TensorFactors factors = addDims(b.rule, shape);
  TensorFactors own = factors, result = factors;
  for (size_t dim = shape.size() - 3; dim < shape.size(); ++dim) {
    own[dim] = addDim(b.rule, shape[dim], FactorKind::Whole);
    result[dim] = addDim(b.rule, shuffled[dim], FactorKind::Whole);
  }
  b.setOperand("self", own);
  b.setResult(result);
  b.addLinear({"self"});
}

//===----------------------------------------------------------------------===//
// Splitting and joining
//===----------------------------------------------------------------------===//

/// Every result is a slice of self along `dim`.
static void buildSplit(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getShape("self");
  int64_t dim = getDim(b, shape);
  if (b.args.hasFailed())
    return;
  TensorFactors factors = addTouched(b, shape, dim);
  b.setOperand("self", factors);
  for (unsigned i = 0; i < b.rule.results.size(); ++i) {
    ArrayRef<int64_t> part = b.getResultShape(i);
    if (part.size() == shape.size())
      b.setResult(replaceDim(b, factors, dim, part[dim]), i);
  }
  b.addLinear({"self"});
}

static void buildUnbind(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getShape("self");
  int64_t dim = getDim(b, shape);
  if (b.args.hasFailed())
    return;
  TensorFactors factors = addTouched(b, shape, dim);
  b.setOperand("self", factors);
  factors.erase(factors.begin() + dim);
  for (unsigned i = 0; i < b.rule.results.size(); ++i)
    b.setResult(factors, i);
  b.addLinear({"self"});
}

static void buildCat(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getResultShape();
  int64_t dim = getDim(b, shape);
  SmallVector<nodes::Tensor> tensors = b.args.getTensors("tensors");
  SmallVector<unsigned, 1> operands = b.args.getOperandNumbers("tensors");
  if (b.args.hasFailed() || tensors.size() != operands.size())
    return;
  TensorFactors factors = addTouched(b, shape, dim);
  for (auto [operand, tensor] : llvm::zip(operands, tensors)) {
    RankedTensorType type = tensor.getType();
    // An empty vector may be joined with anything, and stays as it is.
    if (type.getRank() == static_cast<int64_t>(shape.size()))
      b.setOperand(operand, replaceDim(b, factors, dim, type.getDimSize(dim)));
  }
  b.setResult(factors);
  b.addLinear({"tensors"});
}

static void buildStack(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getResultShape();
  int64_t dim = getDim(b, shape);
  if (b.args.hasFailed())
    return;
  TensorFactors factors = addTouched(b, shape, dim);
  b.setResult(factors);
  factors.erase(factors.begin() + dim);
  b.setOperand("tensors", factors);
  b.addLinear({"tensors"});
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

void regather::tg::sharding::addViewRules(NodeRuleTable &table) {
  table.add(Operator::AtenCat, {buildCat});
  table.add(
      {Operator::AtenChunk, Operator::AtenSplit, Operator::AtenSplitWithSizes},
      {buildSplit});
  table.add(Operator::AtenConstantPadNd, {buildPad});
  table.add(Operator::AtenExpand, {buildExpand});
  table.add(Operator::AtenFlip, {buildFlip});
  table.add(Operator::AtenPermute, {buildPermute});
  table.add({Operator::AtenPixelShuffle, Operator::AtenPixelUnshuffle},
            {buildPixelShuffle});
  table.add(Operator::AtenRepeat, {buildRepeat});
  table.add({Operator::AtenReshape, Operator::AtenUnsafeView,
             Operator::AtenUnsqueeze, Operator::AtenView,
             Operator::AtenViewCopy},
            {buildView});
  table.add(Operator::AtenRoll, {buildRoll});
  table.add(Operator::AtenSelect, {buildSelect});
  table.add(Operator::AtenSelectBackward, {buildPartBackward<addSelection>});
  table.add(Operator::AtenSelectScatter, {buildPartScatter<addSelection>});
  table.add(Operator::AtenSlice, {buildSlice});
  table.add(Operator::AtenSliceBackward, {buildPartBackward<addSlice>});
  table.add(Operator::AtenSliceScatter, {buildPartScatter<addSlice>});
  table.add(Operator::AtenSqueeze, {buildView, adaptSqueeze});
  table.add(Operator::AtenStack, {buildStack});
  table.add(Operator::AtenT, {buildT});
  table.add(Operator::AtenTranspose, {buildTranspose});
  table.add({Operator::AtenTril, Operator::AtenTriu}, {buildTriangle});
  table.add(Operator::AtenUnbind, {buildUnbind});
}
