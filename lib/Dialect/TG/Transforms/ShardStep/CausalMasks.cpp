//===- CausalMasks.cpp - Attention whose rows can be cut ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CausalMasks.h"

#include "regather/Dialect/TG/Nodes/AttentionTargets.h"

#include "mlir/IR/Builders.h"

#include <limits>

using namespace mlir;
using namespace regather::tg;

namespace {
/// The attention that a node is, if a mask can take the place of its flag.
struct CausalNode {
  NodeOp node;
  unsigned query;
  /// Where the flag is among the positional arguments.
  unsigned flag;
};

/// Makes the nodes of masks at the start of a block.
class MaskBuilder {
public:
  explicit MaskBuilder(Block &block)
      : builder(OpBuilder::atBlockBegin(&block)) {}

  Value getMask(NodeOp node, int64_t rows, int64_t columns, Type element);
  void replaceFlag(const CausalNode &causal);

private:
  Value make(NodeOp node, NodeTarget target, RankedTensorType type,
             ValueRange operands, ArrayRef<Attribute> args);

  OpBuilder builder;
  llvm::DenseMap<std::tuple<int64_t, int64_t, Type>, Value> masks;
};
} // namespace

Value MaskBuilder::make(NodeOp node, NodeTarget target, RankedTensorType type,
                        ValueRange operands, ArrayRef<Attribute> args) {
  auto made =
      NodeOp::create(builder, node.getLoc(), TypeRange(type),
                     builder.getStringAttr(getName(target)), operands,
                     args.empty() ? ArrayAttr() : builder.getArrayAttr(args),
                     DictionaryAttr(), UnitAttr());
  made->setAttr(kPhaseAttrName,
                PhaseAttr::get(builder.getContext(), Phase::Forward));
  return made->getResult(0);
}

/// Zero where the column is not behind the row, minus infinity elsewhere.
Value MaskBuilder::getMask(NodeOp node, int64_t rows, int64_t columns,
                           Type element) {
  Value &mask = masks[{rows, columns, element}];
  if (mask)
    return mask;
  Type i64 = builder.getI64Type();
  auto countTo = [&](int64_t size) {
    return make(
        node, NodeTarget::AtenArangeStartStep,
        RankedTensorType::get({size}, i64), {},
        {builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(size)});
  };
  auto makeNumber = [&](double value) {
    return make(node, NodeTarget::AtenScalarTensorDefault,
                RankedTensorType::get({}, element), {},
                {builder.getF64FloatAttr(value)});
  };
  Value row = make(node, NodeTarget::AtenUnsqueezeDefault,
                   RankedTensorType::get({rows, 1}, i64), countTo(rows),
                   {OperandAttr::get(builder.getContext(), 0),
                    builder.getI64IntegerAttr(1)});
  Value isSeen =
      make(node, NodeTarget::AtenGeTensor,
           RankedTensorType::get({rows, columns}, builder.getI1Type()),
           {row, countTo(columns)}, {});
  Value zero = makeNumber(0);
  Value hidden = makeNumber(-std::numeric_limits<double>::infinity());
  return mask = make(node, NodeTarget::AtenWhereSelf,
                     RankedTensorType::get({rows, columns}, element),
                     {isSeen, zero, hidden}, {});
}

void MaskBuilder::replaceFlag(const CausalNode &causal) {
  NodeOp node = causal.node;
  auto query = cast<RankedTensorType>(node.getOperand(causal.query).getType());
  auto key =
      cast<RankedTensorType>(node.getOperand(causal.query + 1).getType());
  Value mask = getMask(node, query.getDimSize(2), key.getDimSize(2),
                       query.getElementType());
  SmallVector<Attribute> args(node.getArgsAttr().getValue());
  args[causal.flag] = builder.getBoolAttr(false);
  NamedAttrList kwargs;
  if (DictionaryAttr given = node.getKwargsAttr())
    kwargs = given;
  kwargs.set("attn_mask",
             OperandAttr::get(builder.getContext(), node.getNumOperands()));
  node->insertOperands(node.getNumOperands(), mask);
  node.setArgsAttr(builder.getArrayAttr(args));
  node.setKwargsAttr(kwargs.getDictionary(builder.getContext()));
}

/// Recognizes attention that says by a flag that it masks by position.
static std::optional<CausalNode> matchCausal(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  std::optional<NodeTarget> target = findAttentionTarget(op);
  // Of the public operator the mask is positional.
  if (!target || !node.getArgsAttr() ||
      *target == NodeTarget::AtenScaledDotProductAttentionDefault)
    return std::nullopt;
  CausalNode causal{node, 0, 4};
  if (isAttentionBackward(*target))
    causal = {node, 1, 7};
  ArrayAttr args = node.getArgsAttr();
  DictionaryAttr kwargs = node.getKwargsAttr();
  if (args.size() <= causal.flag || (kwargs && kwargs.get("attn_mask")) ||
      args[causal.flag] != BoolAttr::get(op->getContext(), true))
    return std::nullopt;
  // Operands are in the order of the arguments.
  for (unsigned i = 0; i < causal.query + 2; ++i) {
    auto operand = dyn_cast<OperandAttr>(args[i]);
    if (!operand || operand.getIndex() != i)
      return std::nullopt;
  }
  for (unsigned i : {causal.query, causal.query + 1}) {
    auto type = dyn_cast<RankedTensorType>(node.getOperand(i).getType());
    if (!type || type.getRank() != 4 || !type.hasStaticShape())
      return std::nullopt;
  }
  return causal;
}

void regather::tg::spmd::makeCausalMasks(Block &block) {
  SmallVector<CausalNode> nodes;
  for (Operation &op : block)
    if (std::optional<CausalNode> causal = matchCausal(&op))
      nodes.push_back(*causal);
  MaskBuilder masks(block);
  for (const CausalNode &causal : nodes)
    masks.replaceFlag(causal);
}
