//===- CausalMask.cpp - Masks that hide later positions -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks by position are comparisons of sums of `arange`. Such a sum is linear
// in the positions along its dimensions:
//
//   value[i, j, ...] = constant + factor_0 i + factor_1 j + ...
//
//===----------------------------------------------------------------------===//

#include "CausalMask.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::attention;

/// Masks are made of a few nodes; deeper ones are not looked at.
static constexpr unsigned kMostNodes = 24;

namespace {
/// A factor for each dimension; 0 for one of size 1.
struct Positions {
  int64_t constant = 0;
  SmallVector<int64_t> factors;

  /// With factors for the last `rank` dimensions, of which new ones are
  /// repeated.
  void extend(size_t rank) {
    if (factors.size() < rank)
      factors.insert(factors.begin(), rank - factors.size(), 0);
  }
  void add(Positions other, int64_t times) {
    extend(other.factors.size());
    other.extend(factors.size());
    constant += times * other.constant;
    for (auto [factor, more] : llvm::zip_equal(factors, other.factors))
      factor += times * more;
  }
};

class MaskReader {
public:
  bool isCausal(Value mask, MaskKind kind);

private:
  std::optional<Positions> readNumber(nodes::NodeArguments &args,
                                      StringRef name);
  std::optional<Positions> readPositions(Value value);
  std::optional<Positions> readSum(NodeOp node, NodeTarget target);
  std::optional<Positions> readView(NodeOp node);
  /// What is at most zero where the truth value is true.
  std::optional<Positions> readTruth(Value value);

  unsigned numNodes = 0;
};
} // namespace

static std::optional<Positions> readCount(NodeOp node, NodeTarget target) {
  nodes::NodeArguments args(node, target, /*isQuiet=*/true);
  Positions positions;
  int64_t step = 1;
  if (target != NodeTarget::AtenArangeDefault)
    positions.constant = args.getInt("start");
  if (target == NodeTarget::AtenArangeStartStep)
    step = args.getInt("step", 1);
  auto type = cast<RankedTensorType>(node.getResult(0).getType());
  if (args.hasFailed() || !type.getElementType().isInteger(64) ||
      type.getRank() != 1)
    return std::nullopt;
  positions.factors = {type.getDimSize(0) == 1 ? 0 : step};
  return positions;
}

/// Dimensions of size 1 come and go, and others are repeated.
std::optional<Positions> MaskReader::readView(NodeOp node) {
  std::optional<Positions> positions = readPositions(node.getInputs()[0]);
  auto from = dyn_cast<RankedTensorType>(node.getInputs()[0].getType());
  auto to = cast<RankedTensorType>(node.getResult(0).getType());
  if (!positions || !from || !from.hasStaticShape() || !to.hasStaticShape())
    return std::nullopt;
  if (isNode(node, NodeOperator::AtenExpand)) {
    positions->extend(static_cast<size_t>(to.getRank()));
    return positions;
  }
  if (!keepsElements(node))
    return std::nullopt;
  Positions viewed{positions->constant, {}};
  int64_t next = 0;
  for (int64_t size : to.getShape()) {
    while (size != 1 && next < from.getRank() && from.getDimSize(next) == 1)
      ++next;
    if (size != 1 && (next == from.getRank() || from.getDimSize(next) != size))
      return std::nullopt;
    viewed.factors.push_back(size == 1 ? 0 : positions->factors[next++]);
  }
  return viewed;
}

std::optional<Positions> MaskReader::readNumber(nodes::NodeArguments &args,
                                                StringRef name) {
  if (args.isTensor(name))
    return readPositions(args.getTensor(name));
  TypedAttr number = args.getNumber(name);
  auto integer = dyn_cast_or_null<IntegerAttr>(number);
  if (args.hasFailed() || !integer)
    return std::nullopt;
  return Positions{integer.getValue().getSExtValue(), {}};
}

std::optional<Positions> MaskReader::readSum(NodeOp node, NodeTarget target) {
  nodes::NodeArguments args(node, target, /*isQuiet=*/true);
  std::optional<Positions> self = readNumber(args, "self");
  std::optional<Positions> other = readNumber(args, "other");
  if (!self || !other || args.getFloat("alpha", 1.0) != 1 || args.hasFailed())
    return std::nullopt;
  bool isSum = getInfo(target).op == NodeOperator::AtenAdd;
  self->add(*other, isSum ? 1 : -1);
  return self;
}

std::optional<Positions> MaskReader::readPositions(Value value) {
  auto node = value.getDefiningOp<NodeOp>();
  std::optional<NodeTarget> target = getTarget(node);
  if (!target || ++numNodes > kMostNodes ||
      !getElementTypeOrSelf(value.getType()).isInteger(64))
    return std::nullopt;
  switch (getInfo(*target).op) {
  case NodeOperator::AtenArange:
    return readCount(node, *target);
  case NodeOperator::AtenAdd:
  case NodeOperator::AtenSub:
    return readSum(node, *target);
  default:
    return node.getInputs().size() == 1 ? readView(node) : std::nullopt;
  }
}

std::optional<Positions> MaskReader::readTruth(Value value) {
  auto node = value.getDefiningOp<NodeOp>();
  std::optional<NodeTarget> target = getTarget(node);
  if (!target || ++numNodes > kMostNodes)
    return std::nullopt;
  NodeOperator called = getInfo(*target).op;
  nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
  if (called == NodeOperator::AtenExpand)
    return readTruth(node.getInputs()[0]);
  if (called == NodeOperator::AtenLogicalAnd ||
      called == NodeOperator::AtenBitwiseAnd) {
    // Both parts are tensors, of which one is true everywhere.
    if (node.getInputs().size() != 2)
      return std::nullopt;
    bool isFirst = getFilling(node.getInputs()[0]).value_or(0) != 0;
    bool isSecond = getFilling(node.getInputs()[1]).value_or(0) != 0;
    if (!isFirst && !isSecond)
      return std::nullopt;
    return readTruth(node.getInputs()[isFirst ? 1 : 0]);
  }
  if (called == NodeOperator::AtenLogicalNot) {
    // Not "at most 0" is "at least 1".
    std::optional<Positions> truth = readTruth(node.getInputs()[0]);
    if (!truth)
      return std::nullopt;
    Positions negated{1, {}};
    negated.add(*truth, -1);
    return negated;
  }
  bool isLess =
      called == NodeOperator::AtenLe || called == NodeOperator::AtenLt;
  bool isMore =
      called == NodeOperator::AtenGe || called == NodeOperator::AtenGt;
  if (!isLess && !isMore)
    return std::nullopt;
  std::optional<Positions> lhs = readNumber(args, "self");
  std::optional<Positions> rhs = readNumber(args, "other");
  if (!lhs || !rhs)
    return std::nullopt;
  bool isStrict =
      called == NodeOperator::AtenLt || called == NodeOperator::AtenGt;
  Positions difference{isStrict ? 1 : 0, {}};
  difference.add(*lhs, isLess ? 1 : -1);
  difference.add(*rhs, isLess ? -1 : 1);
  return difference;
}

/// True if that is at most 0 for the columns up to the row, or for those behind
/// it.
static bool isOrder(Positions positions, bool isBehind) {
  positions.extend(2);
  ArrayRef<int64_t> factors = positions.factors;
  int64_t sign = isBehind ? 1 : -1;
  return llvm::all_of(factors.drop_back(2),
                      [](int64_t factor) { return factor == 0; }) &&
         factors[factors.size() - 2] == sign && factors.back() == -sign &&
         positions.constant == (isBehind ? 1 : 0);
}

bool MaskReader::isCausal(Value mask, MaskKind kind) {
  if (kind == MaskKind::Added) {
    while (isNode(mask.getDefiningOp(), NodeOperator::AtenExpand) ||
           keepsMatrices(mask.getDefiningOp()))
      mask = mask.getDefiningOp()->getOperand(0);
    auto node = mask.getDefiningOp<NodeOp>();
    std::optional<NodeTarget> target = getTarget(node);
    if (!target || getInfo(*target).op != NodeOperator::AtenWhere)
      return false;
    nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
    auto readFilling = [&](StringRef name) -> std::optional<double> {
      if (args.isTensor(name))
        return getFilling(args.getTensor(name));
      return args.getFloat(name);
    };
    std::optional<double> self = readFilling("self");
    std::optional<double> other = readFilling("other");
    mask = args.getTensor("condition");
    if (args.hasFailed() || !self || !other)
      return false;
    if (*self == 0 && *other <= kHiddenScore)
      kind = MaskKind::Shows;
    else if (*other == 0 && *self <= kHiddenScore)
      kind = MaskKind::Hides;
    else
      return false;
  }
  std::optional<Positions> truth = readTruth(mask);
  return truth && isOrder(*truth, kind == MaskKind::Hides);
}

bool regather::tg::attention::isCausalMask(Value mask, MaskKind kind) {
  return kind != MaskKind::None && MaskReader().isCausal(mask, kind);
}
