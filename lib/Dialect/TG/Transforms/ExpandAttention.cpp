//===- ExpandAttention.cpp - Attention as products ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With heads of the query as rows of the head of the key that they share:
//
//   scores = bounded(scale * query key^T) + mask
//   powers = exp(scores - max), output = powers value / sum, logs = max + log
//   sum
//
// and backward, from the logarithms:
//
//   powers = exp(scores - logs)
//   grad mask   = powers * (grad value^T - along)
//   grad scores = grad mask * scale * slope of the bound
//   grad query  = grad scores key, grad key = grad scores^T query
//   grad value  = powers^T grad
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/AttentionTargets.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#include <cmath>
#include <limits>

#define DEBUG_TYPE "tg-expand-attention"

namespace regather::tg {
#define GEN_PASS_DEF_EXPANDATTENTIONPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// Logarithms that are at least so large, of either sign, have lost the sum of
/// the exponentials to rounding.
static constexpr double kLargeLogarithm = 4096;
static constexpr double kLowest = -std::numeric_limits<double>::infinity();

namespace {
struct ExpandAttention
    : public regather::tg::impl::ExpandAttentionPassBase<ExpandAttention> {
  using ExpandAttentionPassBase::ExpandAttentionPassBase;

  void runOnOperation() override;
};

/// Makes nodes in front of one, in its phase and module.
class NodeMaker {
public:
  explicit NodeMaker(NodeOp model) : builder(model), model(model) {}

  Value make(NodeTarget target, ArrayRef<int64_t> shape, Type element,
             ValueRange operands, ArrayRef<Attribute> numbers = {},
             DictionaryAttr kwargs = {});
  /// Elementwise, of the shape and type of the first operand.
  Value map(NodeTarget target, ValueRange operands,
            ArrayRef<Attribute> numbers = {});
  Value multiply(Value value, double number);
  Value view(Value value, ArrayRef<int64_t> shape);
  Value transpose(Value stack);
  Value convert(Value value, Type element);
  Value multiplyMatrices(Value lhs, Value rhs);
  /// Along one dimension, which stays with size 1.
  Value reduce(NodeTarget target, Value value, int64_t dim);
  Value compare(NodeTarget target, Value value, double number);
  Value choose(Value condition, Value value, Value other);
  Value getNumber(double number, Type element);
  /// [rows, columns], true where a column is not behind its row.
  Value getVisible(int64_t rows, int64_t columns);

  Attribute getFloat(double number) { return builder.getF64FloatAttr(number); }
  Attribute getInt(int64_t number) { return builder.getI64IntegerAttr(number); }

private:
  OpBuilder builder;
  NodeOp model;
};

/// One node for attention.
class AttentionExpander {
public:
  /// Finds sizes and options; `isValid` is false for a node that is no
  /// attention of the kind.
  AttentionExpander(NodeOp node, NodeTarget target);
  bool isValid() const { return valid; }
  void expand();

private:
  void expandForward();
  void expandBackward();
  void makeScores();
  Value makePowers(Value shift);
  Value hideNothing(Value lowest);
  Value normalizeHidden(Value powers, Value logs);

  SmallVector<int64_t> getScores() const {
    return {batch, heads, rows, columns};
  }
  /// [batch * heads of the key, heads that share one * rows, elements].
  Value stackRows(Value value, int64_t elements);
  Value stackColumns(Value value, int64_t elements);
  Value stackScores(Value scores);
  void replace(unsigned result, Value value);

  NodeOp node;
  NodeMaker make;
  bool valid = false, isBackward, isCausal = false;
  Value query, key, value, mask;
  Value grad, output, logs;
  double scale = 1;
  std::optional<double> softcap;
  int64_t batch = 0, heads = 0, keyHeads = 0, rows = 0, columns = 0, width = 0,
          valueWidth = 0;
  Type element, wide;
  /// Once they are made.
  Value scores, tangents;
};
} // namespace

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Value NodeMaker::make(NodeTarget target, ArrayRef<int64_t> shape, Type element,
                      ValueRange operands, ArrayRef<Attribute> numbers,
                      DictionaryAttr kwargs) {
  SmallVector<Attribute> args;
  for (unsigned i = 0; i != operands.size(); ++i)
    args.push_back(OperandAttr::get(builder.getContext(), i));
  llvm::append_range(args, numbers);
  auto made = NodeOp::create(builder, model.getLoc(),
                             TypeRange(RankedTensorType::get(shape, element)),
                             builder.getStringAttr(getName(target)), operands,
                             builder.getArrayAttr(args), kwargs, UnitAttr());
  for (StringRef name : {StringRef(kPhaseAttrName), StringRef(kModuleAttrName)})
    if (Attribute attr = model->getAttr(name))
      made->setAttr(name, attr);
  return made.getResult(0);
}

Value NodeMaker::map(NodeTarget target, ValueRange operands,
                     ArrayRef<Attribute> numbers) {
  RankedTensorType type = getTensor(operands.front());
  return make(target, type.getShape(), type.getElementType(), operands,
              numbers);
}

Value NodeMaker::multiply(Value value, double number) {
  return map(NodeTarget::AtenMulTensor, value, getFloat(number));
}

Value NodeMaker::view(Value value, ArrayRef<int64_t> shape) {
  if (getTensor(value).getShape() == shape)
    return value;
  return make(NodeTarget::AtenViewDefault, shape,
              getTensor(value).getElementType(), value,
              Attribute(builder.getI64ArrayAttr(shape)));
}

Value NodeMaker::transpose(Value stack) {
  SmallVector<int64_t> shape(getTensor(stack).getShape());
  std::swap(shape[1], shape[2]);
  return make(NodeTarget::AtenPermuteDefault, shape,
              getTensor(stack).getElementType(), stack,
              Attribute(builder.getI64ArrayAttr({0, 2, 1})));
}

Value NodeMaker::convert(Value value, Type element) {
  RankedTensorType type = getTensor(value);
  if (type.getElementType() == element)
    return value;
  NamedAttrList kwargs;
  kwargs.set("dtype", TypeAttr::get(element));
  return make(NodeTarget::AtenToCopyDefault, type.getShape(), element, value,
              {}, kwargs.getDictionary(builder.getContext()));
}

Value NodeMaker::multiplyMatrices(Value lhs, Value rhs) {
  int64_t shape[] = {getTensor(lhs).getDimSize(0), getTensor(lhs).getDimSize(1),
                     getTensor(rhs).getDimSize(2)};
  return make(NodeTarget::AtenBmmDefault, shape,
              getTensor(lhs).getElementType(), {lhs, rhs});
}

Value NodeMaker::reduce(NodeTarget target, Value value, int64_t dim) {
  SmallVector<int64_t> shape(getTensor(value).getShape());
  shape[dim] = 1;
  return make(target, shape, getTensor(value).getElementType(), value,
              {builder.getI64ArrayAttr({dim}), builder.getBoolAttr(true)});
}

Value NodeMaker::compare(NodeTarget target, Value value, double number) {
  return make(target, getTensor(value).getShape(), builder.getI1Type(), value,
              getFloat(number));
}

Value NodeMaker::choose(Value condition, Value value, Value other) {
  // One of the two may be a number.
  RankedTensorType type = getTensor(value), given = getTensor(other);
  if (type.getRank() < given.getRank())
    type = given;
  return make(NodeTarget::AtenWhereSelf, type.getShape(), type.getElementType(),
              {condition, value, other});
}

Value NodeMaker::getNumber(double number, Type element) {
  NamedAttrList kwargs;
  kwargs.set("dtype", TypeAttr::get(element));
  return make(NodeTarget::AtenScalarTensorDefault, {}, element, {},
              getFloat(number), kwargs.getDictionary(builder.getContext()));
}

Value NodeMaker::getVisible(int64_t rows, int64_t columns) {
  Type number = builder.getI64Type();
  auto countTo = [&](int64_t size) {
    return make(NodeTarget::AtenArangeStartStep, size, number, {},
                {getInt(0), getInt(size)});
  };
  Value row = make(NodeTarget::AtenUnsqueezeDefault, {rows, 1}, number,
                   countTo(rows), getInt(1));
  return make(NodeTarget::AtenGeTensor, {rows, columns}, builder.getI1Type(),
              {row, countTo(columns)});
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

AttentionExpander::AttentionExpander(NodeOp node, NodeTarget target)
    : node(node), make(node), isBackward(isAttentionBackward(target)) {
  nodes::NodeArguments args(node, target, /*isQuiet=*/true);
  query = args.getTensor("query");
  key = args.getTensor("key");
  value = args.getTensor("value");
  mask = args.getOptionalTensor("attn_mask");
  isCausal = args.getBool("is_causal", false);
  softcap = getSoftcap(args);
  if (isBackward) {
    grad = args.getTensor("grad_out");
    output = args.getTensor("out");
    logs = args.getTensor("logsumexp");
  }
  if (args.hasFailed() || args.getFloat("dropout_p", 0) != 0)
    return;
  for (Value tensor : {query, key, value})
    if (getTensor(tensor).getRank() != 4 || !getTensor(tensor).hasStaticShape())
      return;
  batch = getTensor(query).getDimSize(0);
  heads = getTensor(query).getDimSize(1);
  rows = getTensor(query).getDimSize(2);
  width = getTensor(query).getDimSize(3);
  keyHeads = getTensor(key).getDimSize(1);
  columns = getTensor(key).getDimSize(2);
  valueWidth = getTensor(value).getDimSize(3);
  if (keyHeads == 0 || heads % keyHeads != 0)
    return;
  scale = args.getFloat("scale", 1 / std::sqrt(static_cast<double>(width)));
  element = getTensor(query).getElementType();
  wide = element.getIntOrFloatBitWidth() < 32
             ? Float32Type::get(node.getContext())
             : element;
  valid = !args.hasFailed();
}

Value AttentionExpander::stackRows(Value value, int64_t elements) {
  return make.view(value,
                   {batch * keyHeads, heads / keyHeads * rows, elements});
}

Value AttentionExpander::stackColumns(Value value, int64_t elements) {
  return make.view(value, {batch * keyHeads, columns, elements});
}

Value AttentionExpander::stackScores(Value scores) {
  return stackRows(make.convert(scores, element), columns);
}

void AttentionExpander::replace(unsigned result, Value value) {
  auto type = cast<RankedTensorType>(node.getResult(result).getType());
  value =
      make.convert(make.view(value, type.getShape()), type.getElementType());
  node.getResult(result).replaceAllUsesWith(value);
}

void AttentionExpander::makeScores() {
  Value products = make.multiplyMatrices(
      stackRows(query, width), make.transpose(stackColumns(key, width)));
  scores = make.convert(make.view(products, getScores()), wide);
  if (softcap) {
    tangents = make.map(NodeTarget::AtenTanhDefault,
                        make.multiply(scores, scale / *softcap));
    scores = make.multiply(tangents, *softcap);
  } else {
    scores = make.multiply(scores, scale);
  }
  if (mask && getTensor(mask).getElementType().isInteger(1))
    scores = make.choose(mask, scores, make.getNumber(kLowest, wide));
  else if (mask)
    scores =
        make.map(NodeTarget::AtenAddTensor, {scores, make.convert(mask, wide)});
  if (isCausal)
    scores = make.choose(make.getVisible(rows, columns), scores,
                         make.getNumber(kLowest, wide));
}

/// `lowest`, or zero for rows that see nothing: -inf - -inf would be NaN.
Value AttentionExpander::hideNothing(Value lowest) {
  return make.choose(make.compare(NodeTarget::AtenEqScalar, lowest, kLowest),
                     make.getNumber(0, wide), lowest);
}

Value AttentionExpander::makePowers(Value shift) {
  return make.map(NodeTarget::AtenExpDefault,
                  make.map(NodeTarget::AtenSubTensor, {scores, shift}));
}

void AttentionExpander::expandForward() {
  makeScores();
  Value max = hideNothing(make.reduce(NodeTarget::AtenAmaxDefault, scores, 3));
  Value powers = makePowers(max);
  Value sum = make.reduce(NodeTarget::AtenSumDimIntList, powers, 3);
  Value weighted = make.multiplyMatrices(stackScores(powers),
                                         stackColumns(value, valueWidth));
  weighted =
      make.convert(make.view(weighted, {batch, heads, rows, valueWidth}), wide);
  Value isNone = make.compare(NodeTarget::AtenEqScalar, sum, 0);
  Value divisor = make.choose(isNone, make.getNumber(1, wide), sum);
  replace(0, make.map(NodeTarget::AtenDivTensor, {weighted, divisor}));
  if (node.getNumResults() > 1)
    replace(1, make.map(NodeTarget::AtenAddTensor,
                        {make.map(NodeTarget::AtenLogDefault, sum), max}));
}

/// Divides the rows whose logarithms are large by their sums: a mask has hidden
/// all of such a row by a finite number.
Value AttentionExpander::normalizeHidden(Value powers, Value logs) {
  Value sum = make.reduce(NodeTarget::AtenSumDimIntList, powers, 3);
  Value size = make.map(NodeTarget::AtenAbsDefault, logs);
  Value isLarge = make.compare(NodeTarget::AtenGeScalar, size, kLargeLogarithm);
  Value one = make.getNumber(1, wide);
  Value divisor = make.choose(isLarge, sum, one);
  // What is hidden by minus infinity is all zero.
  divisor =
      make.choose(make.compare(NodeTarget::AtenEqScalar, sum, 0), one, divisor);
  return make.map(NodeTarget::AtenDivTensor, {powers, divisor});
}

void AttentionExpander::expandBackward() {
  makeScores();
  logs = make.convert(make.view(logs, {batch, heads, rows, 1}), wide);
  Value powers = makePowers(hideNothing(logs));
  if (mask && !getTensor(mask).getElementType().isInteger(1))
    powers = normalizeHidden(powers, logs);
  Value gradRows = stackRows(grad, valueWidth);
  Value gradPowers = make.multiplyMatrices(
      gradRows, make.transpose(stackColumns(value, valueWidth)));
  gradPowers = make.convert(make.view(gradPowers, getScores()), wide);
  Value along =
      make.map(NodeTarget::AtenMulTensor,
               {make.convert(grad, wide), make.convert(output, wide)});
  along = make.reduce(NodeTarget::AtenSumDimIntList, along, 3);
  Value gradMask = make.map(
      NodeTarget::AtenMulTensor,
      {powers, make.map(NodeTarget::AtenSubTensor, {gradPowers, along})});
  Value gradScores = make.multiply(gradMask, scale);
  if (softcap) {
    Value square = make.map(NodeTarget::AtenMulTensor, {tangents, tangents});
    Value slope = make.map(NodeTarget::AtenAddScalar,
                           make.map(NodeTarget::AtenNegDefault, square),
                           make.getFloat(1));
    gradScores = make.map(NodeTarget::AtenMulTensor, {gradScores, slope});
  }
  Value stack = stackScores(gradScores);
  replace(0, make.multiplyMatrices(stack, stackColumns(key, width)));
  replace(
      1, make.multiplyMatrices(make.transpose(stack), stackRows(query, width)));
  replace(2,
          make.multiplyMatrices(make.transpose(stackScores(powers)), gradRows));
  if (node.getNumResults() == 3)
    return;
  bool isSum = getTensor(node.getResult(3)).getDimSize(0) != batch;
  replace(3, isSum ? make.reduce(NodeTarget::AtenSumDimIntList, gradMask, 0)
                   : gradMask);
}

void AttentionExpander::expand() {
  if (isBackward)
    expandBackward();
  else
    expandForward();
  node.erase();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

void ExpandAttention::runOnOperation() {
  for (FunctionOpInterface func : getSteps(getOperation())) {
    SmallVector<NodeOp> found;
    func.walk([&](NodeOp node) { found.push_back(node); });
    for (NodeOp node : found) {
      std::optional<NodeTarget> target = findAttentionTarget(node);
      if (!target)
        continue;
      nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
      if (!getSoftcap(args) && !hasMaskGradient(*target))
        continue;
      AttentionExpander expander(node, *target);
      if (!expander.isValid())
        continue;
      expander.expand();
      ++numExpanded;
    }
  }
}
