//===- AttentionNodes.cpp - Nodes in place of a chain ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionNodes.h"

#include "SharedHeads.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::attention;

namespace {
/// Makes nodes that belong to where `model` does.
class ChainNodeBuilder {
public:
  ChainNodeBuilder(Operation *model, Operation *before)
      : builder(before), model(model) {}

  NodeOp make(NodeTarget target, TypeRange types, ValueRange operands,
              ArrayRef<Attribute> args, DictionaryAttr kwargs = {});
  Value view(Value value, ArrayRef<int64_t> shape);
  /// With the last two of four dimensions exchanged.
  Value transpose(Value value);
  Value makeNot(Value value);
  /// With zeros behind the last of four dimensions, up to `width`.
  Value widen(Value value, int64_t width);
  /// The first `width` of the last of four dimensions.
  Value narrow(Value value, int64_t width);

  Attribute getOperand(unsigned i) {
    return OperandAttr::get(builder.getContext(), i);
  }
  Attribute getInt(int64_t value) { return builder.getI64IntegerAttr(value); }

  OpBuilder builder;

private:
  Operation *model;
};

class ChainReplacer {
public:
  ChainReplacer(AttentionChain &chain, NegatedMasks &negated)
      : chain(chain), negated(negated),
        forward(chain.softmax, chain.outputProduct),
        backward(chain.softmax, chain.outputProduct) {
    if (chain.gradOutput) {
      Operation *first = findFirstProduct();
      backward = ChainNodeBuilder(first, first);
    }
  }

  void run();

private:
  SmallVector<int64_t> getShape(int64_t rows, int64_t columns) const {
    return {chain.batch, chain.heads, rows, columns};
  }
  Operation *findFirstProduct() const;
  Value getApart(ChainNodeBuilder &b, Value stack, int64_t rows,
                 int64_t columns, bool isTransposed = false);
  void shareHeads(Value &key, Value &value);
  Value getMask();
  NodeOp makeAttention(ChainNodeBuilder &b, NodeTarget target, TypeRange types,
                       SmallVector<Value> operands);
  void replace(ChainNodeBuilder &b, Value old, Value apart, bool isTransposed);
  void eraseUnread();

  AttentionChain &chain;
  NegatedMasks &negated;
  ChainNodeBuilder forward, backward;
  Value mask;
  /// The gradient of the key has lost its transposition then.
  bool sharesHeads = false;
  /// What may have no readers when all is done.
  llvm::SetVector<Operation *> replaced;
};
} // namespace

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

NodeOp ChainNodeBuilder::make(NodeTarget target, TypeRange types,
                              ValueRange operands, ArrayRef<Attribute> args,
                              DictionaryAttr kwargs) {
  auto node = NodeOp::create(
      builder, model->getLoc(), types, builder.getStringAttr(getName(target)),
      operands, args.empty() ? ArrayAttr() : builder.getArrayAttr(args), kwargs,
      UnitAttr());
  for (StringRef name : {StringRef(kPhaseAttrName), StringRef(kModuleAttrName)})
    if (Attribute attr = model->getAttr(name))
      node->setAttr(name, attr);
  return node;
}

Value ChainNodeBuilder::view(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  SmallVector<Attribute> sizes;
  for (int64_t size : shape)
    sizes.push_back(getInt(size));
  return make(NodeTarget::AtenViewDefault, type.clone(shape), value,
              {getOperand(0), builder.getArrayAttr(sizes)})
      ->getResult(0);
}

Value ChainNodeBuilder::transpose(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  std::swap(shape[2], shape[3]);
  return make(NodeTarget::AtenPermuteDefault, type.clone(shape), value,
              {getOperand(0), builder.getArrayAttr({getInt(0), getInt(1),
                                                    getInt(3), getInt(2)})})
      ->getResult(0);
}

/// Right behind what it negates, so that all that can read that can read it.
Value ChainNodeBuilder::makeNot(Value value) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(value);
  return make(NodeTarget::AtenLogicalNotDefault, value.getType(), value, {})
      ->getResult(0);
}

static RankedTensorType withWidth(Value value, int64_t width) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = width;
  return type.clone(shape);
}

Value ChainNodeBuilder::widen(Value value, int64_t width) {
  RankedTensorType type = withWidth(value, width);
  if (type == value.getType())
    return value;
  int64_t missing =
      width - cast<RankedTensorType>(value.getType()).getShape().back();
  return make(NodeTarget::AtenConstantPadNdDefault, type, value,
              {getOperand(0),
               builder.getArrayAttr({getInt(0), getInt(missing)})})
      ->getResult(0);
}

Value ChainNodeBuilder::narrow(Value value, int64_t width) {
  RankedTensorType type = withWidth(value, width);
  if (type == value.getType())
    return value;
  return make(NodeTarget::AtenSliceTensor, type, value,
              {getOperand(0), getInt(3), getInt(0), getInt(width)})
      ->getResult(0);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Backward begins where the first of its products was: what all of them read
/// is there.
Operation *ChainReplacer::findFirstProduct() const {
  Operation *first = chain.backwardProducts.front();
  for (Operation *product : chain.backwardProducts)
    if (product->isBeforeInBlock(first))
      first = product;
  return first;
}

/// The matrices behind `stack`, rows x columns once they are transposed if
/// `isTransposed` says so, with batch and heads apart. As far up as there is
/// such a value: copies of it are not read then.
Value ChainReplacer::getApart(ChainNodeBuilder &b, Value stack, int64_t rows,
                              int64_t columns, bool isTransposed) {
  Value best;
  bool bestIsTransposed = isTransposed;
  SmallVector<int64_t> shape = getShape(rows, columns), swapped = shape;
  std::swap(swapped[2], swapped[3]);
  for (Value value = stack;;) {
    if (getMatrixShape(value) == ArrayRef(isTransposed ? swapped : shape)) {
      best = value;
      bestIsTransposed = isTransposed;
    }
    Operation *op = value.getDefiningOp();
    if (!op || (!keepsMatrices(op) && !transposesMatrices(op)))
      break;
    isTransposed ^= transposesMatrices(op);
    value = op->getOperand(0);
  }
  if (!best)
    best = b.view(stack, bestIsTransposed ? swapped : shape);
  return bestIsTransposed ? b.transpose(best) : best;
}

/// Reads heads that were repeated for the query as they were before. Both
/// gradients are sums over the heads of the query that share them then.
void ChainReplacer::shareHeads(Value &key, Value &value) {
  std::optional<SharedHeads> keys =
      findSharedHeads(key, chain.gradKey, /*isTransposed=*/true);
  std::optional<SharedHeads> values =
      findSharedHeads(value, chain.gradValue, /*isTransposed=*/false);
  if (!keys || !values || keys->groups != values->groups)
    return;
  SmallVector<int64_t> shape = getShape(chain.columns, chain.width);
  shape[1] /= keys->groups;
  auto getHeads = [&](Value heads) {
    for (Operation *op = heads.getDefiningOp(); op && keepsMatrices(op);
         op = op->getOperand(0).getDefiningOp())
      if (getMatrixShape(op->getOperand(0)) == ArrayRef(shape))
        return op->getOperand(0);
    return forward.view(heads, shape);
  };
  key = getHeads(keys->heads);
  shape.back() = chain.valueWidth;
  value = getHeads(values->heads);
  sharesHeads = true;
  chain.gradKey = keys->gradient;
  chain.gradValue = values->gradient;
}

/// The mask, broadcast to batch, heads, rows and columns; null without one.
Value ChainReplacer::getMask() {
  if (chain.maskKind == MaskKind::None || chain.maskKind == MaskKind::Causal)
    return {};
  Value value = chain.mask;
  SmallVector<int64_t> apart = getShape(chain.rows, chain.columns);
  // What is repeated for each head, and for each element of the batch, need not
  // be stored so.
  while (Operation *op = value.getDefiningOp()) {
    auto from = op->getNumOperands() == 1
                    ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                    : RankedTensorType();
    if (!from)
      break;
    bool splits = keepsElements(op) && chain.maskedShape.size() == 3 &&
                  cast<RankedTensorType>(value.getType()).getRank() == 3 &&
                  from.getShape() == ArrayRef(apart);
    if (!splits && !isNode(op, NodeOperator::AtenExpand))
      break;
    // The dimensions that follow are those of batch and heads apart.
    if (splits)
      chain.maskedShape = apart;
    value = op->getOperand(0);
  }
  if (chain.maskKind == MaskKind::Hides) {
    Value &shown = negated[value];
    if (!shown)
      shown = forward.makeNot(value);
    value = shown;
  }
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() != 3 || chain.maskedShape.size() != 3)
    return value;
  SmallVector<int64_t> shape(type.getShape());
  bool isWhole = shape[0] == chain.batch * chain.heads;
  shape[0] = isWhole ? chain.heads : 1;
  shape.insert(shape.begin(), isWhole ? chain.batch : 1);
  return forward.view(value, shape);
}

NodeOp ChainReplacer::makeAttention(ChainNodeBuilder &b, NodeTarget target,
                                    TypeRange types,
                                    SmallVector<Value> operands) {
  SmallVector<Attribute> args;
  for (unsigned i = 0; i != operands.size(); ++i)
    args.push_back(b.getOperand(i));
  // No dropout.
  args.push_back(b.builder.getF64FloatAttr(0));
  args.push_back(b.builder.getBoolAttr(chain.maskKind == MaskKind::Causal));
  NamedAttrList kwargs;
  kwargs.set("scale", b.builder.getF64FloatAttr(chain.scale));
  if (mask) {
    kwargs.set("attn_mask", b.getOperand(operands.size()));
    operands.push_back(mask);
  }
  return b.make(target, types, operands, args,
                kwargs.getDictionary(b.builder.getContext()));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Lets what reads `old` read `apart`, which has the same matrices, transposed
/// if `isTransposed`, with batch and heads apart.
void ChainReplacer::replace(ChainNodeBuilder &b, Value old, Value apart,
                            bool isTransposed) {
  SmallVector<std::pair<Value, bool>> worklist = {{old, isTransposed}};
  while (!worklist.empty()) {
    auto [value, isSwapped] = worklist.pop_back_val();
    for (Operation *user : llvm::to_vector(value.getUsers())) {
      bool transposes = transposesMatrices(user);
      if (!transposes && !keepsMatrices(user))
        continue;
      Value result = user->getResult(0);
      replaced.insert(user);
      if (isSwapped == transposes && result.getType() == apart.getType())
        result.replaceAllUsesWith(apart);
      else
        worklist.push_back({result, isSwapped != transposes});
    }
  }
  // Some read the heads together.
  auto isRead = [&](Operation *user) { return !replaced.contains(user); };
  SmallVector<Operation *> readers;
  for (Operation *user : old.getUsers())
    if (isRead(user))
      readers.push_back(user);
  bool hasReaders = !readers.empty();
  for (Operation *user : old.getUsers())
    if (replaced.contains(user) && !user->use_empty())
      hasReaders = true;
  if (!hasReaders)
    return;
  Value together =
      b.view(isTransposed ? b.transpose(apart) : apart, getMatrixShape(old));
  old.replaceAllUsesWith(together);
}

/// Erases what only the chain has read, the last first.
void ChainReplacer::eraseUnread() {
  SmallVector<Operation *> worklist(replaced.begin(), replaced.end());
  replaced.clear();
  llvm::DenseSet<Operation *> erased;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    auto node = erased.contains(op) ? NodeOp() : dyn_cast<NodeOp>(op);
    if (!node || node.getEffects() || !op->use_empty())
      continue;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        worklist.push_back(source);
    erased.insert(op);
    op->erase();
  }
}

static void takeName(Operation *node, Operation *from) {
  for (StringRef name : {StringRef(kIdAttrName), StringRef(kPolicyAttrName)})
    if (Attribute attr = from->getAttr(name))
      node->setAttr(name, attr);
}

void ChainReplacer::run() {
  Value query = getApart(forward, chain.getQuery(), chain.rows, chain.width);
  Value key = getApart(forward, chain.getKey(), chain.columns, chain.width,
                       /*isTransposed=*/true);
  Value value =
      getApart(forward, chain.getValue(), chain.columns, chain.valueWidth);
  shareHeads(key, value);
  mask = getMask();
  // The operators take heads of one width: zeros fill the narrower ones, which
  // add nothing to a sum.
  int64_t width = std::max(chain.width, chain.valueWidth);
  query = forward.widen(query, width);
  key = forward.widen(key, width);
  value = forward.widen(value, width);
  auto type = cast<RankedTensorType>(query.getType());
  Type output = type.clone(getShape(chain.rows, width));
  Type logs = RankedTensorType::get({chain.batch, chain.heads, chain.rows},
                                    forward.builder.getF32Type());
  NodeOp attention = makeAttention(
      forward, NodeTarget::AtenScaledDotProductFlashAttentionForCpuDefault,
      {output, logs}, {query, key, value});
  takeName(attention, chain.outputProduct);

  replaced.insert(chain.outputProduct);
  if (chain.gradOutput) {
    Value grad =
        getApart(backward, chain.gradOutput, chain.rows, chain.valueWidth);
    grad = backward.widen(grad, width);
    NodeOp gradients = makeAttention(
        backward,
        NodeTarget::AtenScaledDotProductFlashAttentionForCpuBackwardDefault,
        {query.getType(), key.getType(), value.getType()},
        {grad, query, key, value, attention.getResult(0),
         attention.getResult(1)});
    takeName(gradients, chain.softmaxBackward ? chain.softmaxBackward
                                              : chain.backwardProducts.front());
    Value gradientsOfChain[] = {chain.gradQuery, chain.gradKey,
                                chain.gradValue};
    for (auto [i, old] : llvm::enumerate(gradientsOfChain)) {
      if (!old)
        continue;
      replaced.insert(old.getDefiningOp());
      Value gradient = backward.narrow(gradients.getResult(i),
                                       i == 2 ? chain.valueWidth : chain.width);
      replace(backward, old, gradient,
              /*isTransposed=*/i == 1 && !sharesHeads);
    }
  }
  replace(forward, chain.getOutput(),
          forward.narrow(attention.getResult(0), chain.valueWidth), false);
  eraseUnread();
}

void regather::tg::attention::replaceChain(AttentionChain &chain,
                                           NegatedMasks &negated) {
  ChainReplacer(chain, negated).run();
}
