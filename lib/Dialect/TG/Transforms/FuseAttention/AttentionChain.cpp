//===- AttentionChain.cpp - Attention written as products -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionChain.h"

#include "CausalMask.h"
#include "ChainMatcher.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::attention;

std::string regather::tg::attention::getCalledName(Operation *op) {
  if (auto node = dyn_cast<NodeOp>(op))
    return ("'" + node.getTarget().rsplit('.').first + "'").str();
  return ("'" + op->getName().getStringRef() + "'").str();
}

std::string regather::tg::attention::describeReader(StringRef what,
                                                    Operation *reader) {
  if (reader->hasTrait<OpTrait::IsTerminator>())
    return (what + " are a result of the step").str();
  return (what + " are read by " + getCalledName(reader)).str();
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

bool ChainMatcher::matchSoftmax() {
  NodeOp softmax = chain.softmax;
  nodes::NodeArguments args(softmax, NodeTarget::AtenSoftmaxDefault,
                            /*isQuiet=*/true);
  nodes::Tensor scores = args.getTensor("self");
  if (args.hasFailed())
    return false;
  ArrayRef<int64_t> shape = getMatrixShape(scores);
  // A softmax of two dimensions is that of a classifier or a router.
  if (shape.size() < 3 || llvm::is_contained(shape, 0))
    return false;
  auto rank = static_cast<int64_t>(shape.size());
  if (args.getDim("dim", rank) != rank - 1 || args.hasFailed())
    return fail("the softmax is not along the last dimension");
  chain.rows = shape[rank - 2];
  chain.columns = shape[rank - 1];
  if (chain.rows == 1 || chain.columns == 1)
    return fail("there is one row or one column");
  auto type = cast<RankedTensorType>(softmax.getResult(0).getType());
  chain.scoreBytes = type.getNumElements() *
                     llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return true;
}

std::optional<double> regather::tg::attention::getFactor(NodeOp node,
                                                         Value operand) {
  std::optional<NodeTarget> target = getTarget(node);
  bool isProduct = target == NodeTarget::AtenMulTensor ||
                   target == NodeTarget::AtenMulScalar;
  bool isQuotient = target == NodeTarget::AtenDivTensor ||
                    target == NodeTarget::AtenDivScalar;
  if (!isProduct && !isQuotient)
    return std::nullopt;
  // Nothing is broadcast, and no type changes.
  if (node.getResult(0).getType() != operand.getType())
    return std::nullopt;
  nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
  if (!args.isTensor("self"))
    return std::nullopt;
  StringRef names[] = {"self", "other"};
  if (isProduct && args.isTensor("other") && args.getTensor("other") == operand)
    std::swap(names[0], names[1]);
  if (args.getTensor(names[0]) != operand)
    return std::nullopt;
  std::optional<double> number;
  if (!args.isTensor(names[1]))
    number = args.getFloat(names[1]);
  else
    number = getFilling(args.getTensor(names[1]));
  if (args.hasFailed() || !number || !std::isfinite(*number) || *number == 0)
    return std::nullopt;
  return isProduct ? *number : 1 / *number;
}

bool ChainMatcher::addMask(MaskKind kind, Value mask, Value scores) {
  if (chain.maskKind != MaskKind::None)
    return fail("the scores are masked twice");
  // Going up, a factor that was seen is applied to the mask as well; minus
  // infinity stays what it is.
  if (kind == MaskKind::Added ? chain.scale != 1 : chain.scale <= 0)
    return fail("the scores are multiplied behind their mask");
  ArrayRef<int64_t> shape = getMatrixShape(scores);
  int64_t sizes[] = {chain.rows, chain.columns};
  if (shape.empty() || shape.take_back(2) != ArrayRef<int64_t>(sizes))
    return fail("rows and columns are not the last dimensions of the scores "
                "that are masked");
  chain.maskKind = kind;
  chain.mask = mask;
  chain.maskedShape = llvm::to_vector(shape);
  return true;
}

/// How far from a mask the product of its scores is looked for.
static constexpr int kMostSteps = 16;

/// A mask that is added.
bool ChainMatcher::stepThroughSum(NodeOp node, NodeTarget target,
                                  Value &scores) {
  nodes::NodeArguments args(node, target, /*isQuiet=*/true);
  if (!args.isTensor("self") || !args.isTensor("other") ||
      args.getFloat("alpha", 1.0) != 1 || args.hasFailed())
    return fail("something else than a mask is added to the scores");
  Value terms[] = {args.getTensor("self"), args.getTensor("other")};
  ArrayRef<int64_t> shape = getMatrixShape(node.getResult(0));
  // The scores are the term that comes from a product, with a few steps between
  // them. Sums may go on for as long as the step is.
  auto isFromProduct = [&](Value value) {
    for (int steps = 0; steps < kMostSteps; ++steps) {
      Operation *op = value.getDefiningOp();
      if (!op)
        return false;
      if (isNode(op, NodeOperator::AtenBmm))
        return true;
      auto node = dyn_cast<NodeOp>(op);
      if (!node || node.getInputs().empty() ||
          !(keepsMatrices(op) || convertsFloats(op) ||
            isNode(op, NodeOperator::AtenAdd) ||
            getFactor(node, node.getInputs()[0])))
        return false;
      value = node.getInputs()[0];
    }
    return false;
  };
  unsigned which = isFromProduct(terms[0]) ? 0 : 1;
  // Sums of two types are of the wider one.
  if (getMatrixShape(terms[which]) != shape)
    return fail("what is added to the scores has more elements");
  // The largest number of f16 hides a whole row by rounding alone, which f32
  // does not.
  if (getElementTypeOrSelf(node.getResult(0).getType()).isF16())
    return fail("a mask is added in f16");
  scores = terms[which];
  return addMask(MaskKind::Added, terms[1 - which], scores);
}

/// A mask that replaces scores.
bool ChainMatcher::stepThroughChoice(NodeOp node, NodeTarget target,
                                     Value &scores) {
  nodes::NodeArguments args(node, target, /*isQuiet=*/true);
  bool isFill = getInfo(target).op == NodeOperator::AtenMaskedFill;
  auto getNumber = [&](StringRef name) -> std::optional<double> {
    if (args.isTensor(name))
      return getFilling(args.getTensor(name));
    return args.getFloat(name);
  };
  StringRef kept = "self", filling = isFill ? "value" : "other";
  if (!isFill && (!args.isTensor("self") || args.getTensor("self").getType() !=
                                                node.getResult(0).getType()))
    std::swap(kept, filling);
  if (!args.isTensor(kept) ||
      args.getTensor(kept).getType() != node.getResult(0).getType())
    return fail("the scores are chosen from two tensors");
  std::optional<double> number = getNumber(filling);
  Value mask = args.getTensor(isFill ? "mask" : "condition");
  if (args.hasFailed() || !number)
    return fail("the scores are chosen from two tensors");
  // Where a whole row is hidden, finite numbers make a mean of all values;
  // attention gives zeros.
  // A causal mask hides no whole row.
  MaskKind kind =
      isFill || filling == "self" ? MaskKind::Hides : MaskKind::Shows;
  if (*number != -std::numeric_limits<double>::infinity() &&
      !(*number <= kHiddenScore && isCausalMask(mask, kind)))
    return fail("hidden scores are not minus infinity");
  if (!getElementTypeOrSelf(mask.getType()).isInteger(1))
    return fail("the scores are not chosen by truth values");
  scores = args.getTensor(kept);
  return addMask(kind, mask, scores);
}

/// Goes up from the result of `node` to the scores that it reads.
bool ChainMatcher::stepToProduct(NodeOp node, Value &scores) {
  std::optional<NodeTarget> target = getTarget(node);
  if (!target)
    return fail("the scores are given by " + getCalledName(node));
  if (keepsMatrices(node) || convertsFloats(node)) {
    scores = node.getInputs()[0];
    return true;
  }
  if (*target == NodeTarget::AtenAddTensor)
    return stepThroughSum(node, *target, scores);
  NodeOperator called = getInfo(*target).op;
  if (called == NodeOperator::AtenWhere ||
      called == NodeOperator::AtenMaskedFill)
    return stepThroughChoice(node, *target, scores);
  for (Value input : node.getInputs())
    if (std::optional<double> factor = getFactor(node, input)) {
      chain.scale *= *factor;
      scores = input;
      return true;
    }
  return fail("the scores are given by " + getCalledName(node));
}

bool ChainMatcher::matchScores() {
  Value scores = chain.softmax.getInputs()[0];
  while (true) {
    values.push_back(scores);
    auto node = scores.getDefiningOp<NodeOp>();
    if (!node)
      return fail("no product gives the scores");
    if (!scores.hasOneUse()) {
      // The first reader in the program that is not of this chain.
      Operation *other = nullptr;
      Operation *own = values.size() == 1
                           ? chain.softmax.getOperation()
                           : values[values.size() - 2].getDefiningOp();
      for (Operation *user : scores.getUsers())
        if (user != own && (!other || user->isBeforeInBlock(other)))
          other = user;
      return fail(other ? describeReader("the scores", other)
                        : "the scores are read twice");
    }
    if (isNode(node, NodeOperator::AtenBmm)) {
      chain.scoreProduct = node;
      return true;
    }
    if (!stepToProduct(node, scores))
      return false;
  }
}

/// Follows all readers of `root` through views and conversions and, for a
/// gradient of scores, factors and masks.
bool ChainMatcher::collectLeaves(Value root, StringRef what, bool isGradient,
                                 SmallVectorImpl<Leaf> &leaves) {
  struct Item {
    Value value;
    bool isTransposed;
    double scale;
  };
  SmallVector<Item> worklist = {{root, false, 1}};
  while (!worklist.empty()) {
    Item item = worklist.pop_back_val();
    values.push_back(item.value);
    for (OpOperand &use : item.value.getUses()) {
      Operation *user = use.getOwner();
      auto node = dyn_cast<NodeOp>(user);
      std::optional<NodeTarget> target = getTarget(user);
      if (!target)
        return fail(describeReader(what, user));
      if (*target == NodeTarget::AtenBmmDefault ||
          (!isGradient &&
           *target == NodeTarget::AtenSoftmaxBackwardDataDefault)) {
        leaves.push_back({&use, item.isTransposed, item.scale});
        continue;
      }
      Item next = {node.getResult(0), item.isTransposed, item.scale};
      std::optional<double> factor =
          isGradient ? getFactor(node, item.value) : std::nullopt;
      if (transposesMatrices(user))
        next.isTransposed = !next.isTransposed;
      else if (factor)
        next.scale *= *factor;
      else if (!keepsMatrices(user) && !convertsFloats(user) &&
               !(isGradient && undoesMask(node, *target, item.value)))
        return fail(describeReader(what, user));
      worklist.push_back(next);
    }
  }
  return true;
}

bool ChainMatcher::matchProbabilities() {
  SmallVector<Leaf> leaves;
  if (!collectLeaves(chain.softmax.getResult(0), "the probabilities",
                     /*isGradient=*/false, leaves))
    return false;
  for (const Leaf &leaf : leaves) {
    auto node = cast<NodeOp>(leaf.use->getOwner());
    if (isNode(node, NodeOperator::AtenSoftmaxBackwardData)) {
      if (chain.softmaxBackward)
        return fail("the softmax has two gradients");
      if (leaf.isTransposed || leaf.use->getOperandNumber() != 1 ||
          leaf.use->get() != chain.softmax.getResult(0))
        return fail("the gradient of the softmax reads something else");
      chain.softmaxBackward = node;
      continue;
    }
    if (leaf.use->getOperandNumber() != 0)
      return fail("the probabilities are the right side of a product");
    NodeOp &product =
        leaf.isTransposed ? gradValueProduct : chain.outputProduct;
    if (product)
      return fail("several products read the probabilities");
    product = node;
  }
  if (!chain.outputProduct)
    return fail("no product with values reads the probabilities");
  return true;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool ChainMatcher::checkTypes() {
  ArrayRef<int64_t> query = getMatrixShape(chain.getQuery());
  ArrayRef<int64_t> key = getMatrixShape(chain.getKey());
  ArrayRef<int64_t> value = getMatrixShape(chain.getValue());
  if (query.size() != 3 || key.size() != 3 || value.size() != 3 ||
      query[1] != chain.rows || key[2] != chain.columns ||
      value[1] != chain.columns || value[0] != query[0])
    return fail("the shapes do not fit each other");
  chain.width = query[2];
  chain.valueWidth = value[2];
  if (chain.width == 1)
    return fail("query and key have one element");
  Type element = getElementTypeOrSelf(chain.getQuery().getType());
  if (!element.isF32() && !element.isBF16() && !element.isF16())
    return fail("the elements are not f32, bf16 or f16");
  SmallVector<Value> tensors = {chain.getKey(), chain.getValue(),
                                chain.getOutput()};
  for (Value gradient :
       {chain.gradOutput, chain.gradQuery, chain.gradKey, chain.gradValue})
    if (gradient)
      tensors.push_back(gradient);
  for (Value tensor : tensors)
    if (getElementTypeOrSelf(tensor.getType()) != element)
      return fail("query, key, value and gradients have several types");
  for (Value scores : values)
    if (getElementTypeOrSelf(scores.getType()).getIntOrFloatBitWidth() > 32)
      return fail("the scores have more than 32 bits");
  return true;
}

/// Takes the batch and the heads from a value of four dimensions, of which the
/// scores, the operands and the output may be views. If there is none, there
/// are no heads.
void ChainMatcher::findHeads() {
  int64_t both = getMatrixShape(chain.getQuery())[0];
  chain.batch = both;
  chain.heads = 1;
  auto isFound = [&](Value value) {
    ArrayRef<int64_t> shape = getMatrixShape(value);
    if (shape.size() != 4 || shape[0] * shape[1] != both)
      return false;
    chain.batch = shape[0];
    chain.heads = shape[1];
    return true;
  };
  if (llvm::any_of(values, isFound))
    return;
  for (Value value : {chain.getQuery(), chain.getKey(), chain.getValue()})
    for (Operation *op = value.getDefiningOp();
         op && (keepsMatrices(op) || transposesMatrices(op));
         op = op->getOperand(0).getDefiningOp())
      if (isFound(op->getOperand(0)))
        return;
  for (Operation *user : chain.getOutput().getUsers())
    if (keepsMatrices(user) && isFound(user->getResult(0)))
      return;
}

/// The mask is broadcast to batch, heads, rows and columns.
bool ChainMatcher::checkMask() {
  if (chain.maskKind == MaskKind::None)
    return true;
  auto type = dyn_cast<RankedTensorType>(chain.mask.getType());
  if (!type || !type.hasStaticShape())
    return fail("the mask is no tensor of static shape");
  Type element = type.getElementType();
  if (chain.maskKind == MaskKind::Added && !element.isF32() &&
      !element.isBF16() && !element.isF16())
    return fail("the mask is not of f32, bf16 or f16");
  if (type.getRank() <= 2)
    return true;
  ArrayRef<int64_t> shape = chain.maskedShape;
  bool areApart =
      shape.size() == 4 && shape[0] == chain.batch && shape[1] == chain.heads;
  bool areTogether = shape.size() == 3 && shape[0] == chain.batch * chain.heads;
  if (!areApart && !areTogether)
    return fail("the mask has other dimensions than batch and heads");
  return true;
}

bool ChainMatcher::match() {
  if (!matchSoftmax() || !matchScores() || !matchProbabilities() ||
      !matchBackward() || !checkTypes())
    return false;
  findHeads();
  if (isCausalMask(chain.mask, chain.maskKind)) {
    chain.maskKind = MaskKind::Causal;
    return true;
  }
  return checkMask();
}

std::optional<AttentionChain>
regather::tg::attention::matchAttentionChain(NodeOp softmax,
                                             std::string &reason) {
  ChainMatcher matcher(softmax);
  if (matcher.match())
    return std::move(matcher.chain);
  reason = std::move(matcher.reason);
  return std::nullopt;
}
