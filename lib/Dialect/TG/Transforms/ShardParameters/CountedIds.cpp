//===- CountedIds.cpp - Counts that are written as comparisons ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CountedIds.h"

#include "SortedRows.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

static NodeOp findNode(Value value, NodeOperator op) {
  auto node = value.getDefiningOp<NodeOp>();
  return node && findNodeOperator(node.getTarget()) == op ? node : NodeOp();
}

/// What sorts of one dimension read, but for casts and views.
static llvm::DenseSet<Value> findSortedValues(Block &block) {
  llvm::DenseSet<Value> sorted;
  for (NodeOp node : block.getOps<NodeOp>()) {
    std::optional<NodeOperator> op = findNodeOperator(node.getTarget());
    if ((op == NodeOperator::AtenSort || op == NodeOperator::AtenArgsort) &&
        node->getNumOperands() == 1)
      sorted.insert(SortedRows::getBase(node->getOperand(0)));
  }
  return sorted;
}

/// The ids whose rows `sum` counts, as a column; null if it counts none.
static Value findCounted(NodeOp sum) {
  auto result = dyn_cast<RankedTensorType>(sum.getResult(0).getType());
  if (!result || !result.hasStaticShape() || result.getRank() != 1 ||
      !isa<IntegerType, FloatType>(result.getElementType()))
    return nullptr;
  nodes::NodeArguments args(sum, NodeTarget::AtenSumDimIntList,
                            /*isQuiet=*/true);
  SmallVector<int64_t> dims = args.getInts("dim");
  if (args.hasFailed() || args.getBool("keepdim", false) || dims.size() != 1 ||
      (dims[0] != 0 && dims[0] != -2))
    return nullptr;
  // Truth values may be numbers by then.
  NodeOp equal =
      findNode(SortedRows::getBase(sum->getOperand(0)), NodeOperator::AtenEq);
  auto table = equal ? dyn_cast<RankedTensorType>(equal.getResult(0).getType())
                     : RankedTensorType();
  if (!table || !table.hasStaticShape() || table.getRank() != 2 ||
      equal->getNumOperands() != 2)
    return nullptr;
  for (unsigned column : {0, 1}) {
    Value ids = equal->getOperand(column), numbers = equal->getOperand(!column);
    auto type = dyn_cast<RankedTensorType>(ids.getType());
    if (type &&
        type.getShape() == ArrayRef({table.getDimSize(0), int64_t(1)}) &&
        type.getElementType().isSignlessInteger(64) &&
        isCount(SortedRows::getBase(numbers), table.getDimSize(1)))
      return ids;
  }
  return nullptr;
}

/// Counts in f64, which is exact.
static Value buildCounts(NodeOp sum, Value ids) {
  OpBuilder builder(sum);
  MLIRContext *context = builder.getContext();
  auto result = cast<RankedTensorType>(sum.getResult(0).getType());
  int64_t rows = cast<RankedTensorType>(ids.getType()).getDimSize(0);
  int64_t count = result.getDimSize(0);
  Attribute self = OperandAttr::get(context, 0);
  Type f64 = builder.getF64Type();
  auto make = [&](NodeTarget target, RankedTensorType type, Value operand,
                  ArrayRef<Attribute> args, DictionaryAttr kwargs) {
    auto node =
        NodeOp::create(builder, sum.getLoc(), TypeRange(type),
                       builder.getStringAttr(getName(target)), operand,
                       args.empty() ? ArrayAttr() : builder.getArrayAttr(args),
                       kwargs, UnitAttr());
    for (StringRef name :
         {StringRef(kPhaseAttrName), StringRef(kModuleAttrName)})
      if (Attribute attr = sum->getAttr(name))
        node->setAttr(name, attr);
    return node.getResult(0);
  };
  auto cast = [&](Value value, RankedTensorType type) {
    return make(NodeTarget::AtenToCopyDefault, type, value, {},
                builder.getDictionaryAttr(builder.getNamedAttr(
                    "dtype", TypeAttr::get(type.getElementType()))));
  };
  auto flat = RankedTensorType::get({rows}, builder.getI64Type());
  Value values = make(NodeTarget::AtenViewDefault, flat, ids,
                      {self, builder.getI64ArrayAttr(rows)}, DictionaryAttr());
  Value counts =
      make(NodeTarget::AtenHistcDefault, result.clone(f64),
           cast(values, flat.clone(f64)),
           {self, builder.getI64IntegerAttr(count),
            builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(count - 1)},
           DictionaryAttr());
  return result.getElementType() == f64 ? counts : cast(counts, result);
}

/// Erases an operation, and those before it that nothing else reads.
static void eraseCounting(Operation *op) {
  llvm::SmallSetVector<Operation *, 4> worklist;
  worklist.insert(op);
  while (!worklist.empty()) {
    Operation *unread = worklist.pop_back_val();
    if (!isOpTriviallyDead(unread))
      continue;
    for (Value operand : unread->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        worklist.insert(maker);
    unread->erase();
  }
}

void regather::tg::spmd::rewriteCounts(Block &block) {
  llvm::DenseSet<Value> sorted = findSortedValues(block);
  if (sorted.empty())
    return;
  SmallVector<NodeOp> sums;
  for (NodeOp node : block.getOps<NodeOp>()) {
    if (findNodeTarget(node.getTarget()) != NodeTarget::AtenSumDimIntList)
      continue;
    Value ids = findCounted(node);
    // A histogram of one bin would need bounds.
    if (!ids ||
        cast<RankedTensorType>(node.getResult(0).getType()).getDimSize(0) < 2 ||
        !sorted.contains(SortedRows::getBase(ids)))
      continue;
    sums.push_back(node);
  }
  for (NodeOp sum : sums) {
    sum.getResult(0).replaceAllUsesWith(buildCounts(sum, findCounted(sum)));
    eraseCounting(sum);
  }
}
