//===- OwnExperts.cpp - Rows of the experts that a rank has ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnExperts.h"

#include "IndexedRows.h"

#include "regather/Dialect/TG/Nodes/GroupedGemmArguments.h"
#include "regather/Dialect/TG/Nodes/ZeroTensors.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

using Kind = SortedForm::Kind;

static RankedTensorType getRowType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// What can be done
//===----------------------------------------------------------------------===//

/// The number of ids if each is counted on its own, from zero; else nothing.
static std::optional<int64_t> countIds(NodeOp node) {
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  if (!target || getInfo(*target).op != NodeOperator::AtenHistc)
    return std::nullopt;
  nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
  int64_t bins = args.getInt("bins");
  double min = args.getFloat("min", 0), max = args.getFloat("max", 0);
  // Both ways of writing it put each id into its own bin.
  bool isOwn = min == 0 && (max == static_cast<double>(bins) - 1 ||
                            max == static_cast<double>(bins));
  return args.hasFailed() || !isOwn || bins < 1 || max == 0
             ? std::nullopt
             : std::optional(bins);
}

std::optional<unsigned>
regather::tg::spmd::findAddedTo(Operation *op, const SortedOp &planned) {
  std::optional<IndexedRows> indexed =
      planned.work == RowWork::Move ? matchIndexedRows(op) : std::nullopt;
  bool adds =
      indexed && indexed->accumulates && !isZero(op->getOperand(indexed->self));
  return adds ? std::optional(indexed->self) : std::nullopt;
}

/// True if rows of zeros, of others, leave what the operation reduces or puts
/// back as it is.
static bool leavesOutRows(Operation *op, const SortedOp &planned) {
  for (auto [result, form] :
       llvm::zip_equal(op->getResults(), planned.results)) {
    if (form.kind == Kind::Whole || form.kind == Kind::Rows || form.isLocal)
      continue;
    // Counts, and gradients of matrices, are those of the rank's experts.
    if (planned.work == RowWork::Count || planned.work == RowWork::GroupedGemm)
      continue;
    // Only rows of floats are masked.
    if (!isa<FloatType>(getElementTypeOrSelf(result.getType())))
      return false;
    if (form.kind == Kind::Reduced &&
        (!planned.ignoresZeros || form.reduction != Reduction::Sum))
      return false;
  }
  return true;
}

std::optional<int64_t> regather::tg::spmd::countExperts(const SortedRows &rows,
                                                        unsigned sort) {
  std::optional<int64_t> experts;
  auto agree = [&](int64_t count) {
    return experts.value_or(count) == count && (experts = count, true);
  };
  for (Operation *op : rows.getSort(sort).ops) {
    const SortedOp *planned = rows.find(op);
    if (!planned || !leavesOutRows(op, *planned))
      return std::nullopt;
    if (planned->work == RowWork::GroupedGemm) {
      FailureOr<nodes::GroupedGemm> gemm = nodes::matchGroupedGemm(op);
      if (failed(gemm) || !agree(gemm->groups))
        return std::nullopt;
    } else if (planned->work == RowWork::Count) {
      if (getRowType(op->getResult(0)).getRank() != 1 ||
          !agree(getRowType(op->getResult(0)).getDimSize(0)))
        return std::nullopt;
      auto node = cast<NodeOp>(op);
      bool counts =
          findNodeOperator(node.getTarget()) == NodeOperator::AtenHistc;
      if (counts && countIds(node) != experts)
        return std::nullopt;
    }
  }
  return experts;
}

//===----------------------------------------------------------------------===//
// What is computed
//===----------------------------------------------------------------------===//

/// The number of the rank's first expert, without dimensions.
static Value getFirst(const OwnRows &rows, const DataMesh &mesh,
                      Communication &communication) {
  PartNodes nodes(communication);
  Value firsts = nodes.countBy(rows.own, mesh.getRanks(rows.group));
  return nodes.reshape(
      communication.slice(firsts, ValueState::getSplit(rows.group, 0)), {});
}

static Value wrap(Value ids, int64_t experts, Communication &communication) {
  OpBuilder &builder = communication.getBuilder();
  return PartNodes(communication)
      .make(NodeTarget::AtenRemainderScalar, getRowType(ids), ids,
            {OperandAttr::get(builder.getContext(), 0),
             builder.getI64IntegerAttr(experts)});
}

Value regather::tg::spmd::buildOwnIds(Value ids, const OwnRows &rows,
                                      const DataMesh &mesh,
                                      Communication &communication) {
  PartNodes nodes(communication);
  Type i64 = IntegerType::get(ids.getContext(), 64);
  ids = communication.castTo(ids, i64);
  Value exists = nodes.makeBinary(
      NodeTarget::AtenLogicalAndDefault,
      nodes.compare(NodeTarget::AtenGeScalar, ids, int64_t(0)),
      nodes.compare(NodeTarget::AtenLtScalar, ids, rows.experts));
  Value relative = nodes.makeBinary(NodeTarget::AtenSubTensor, ids,
                                    getFirst(rows, mesh, communication));
  return nodes.select(exists, wrap(relative, rows.experts, communication),
                      static_cast<double>(rows.experts));
}

Value regather::tg::spmd::buildAllIds(Value ownIds, Type element,
                                      const OwnRows &rows, const DataMesh &mesh,
                                      Communication &communication) {
  PartNodes nodes(communication);
  Value exists = nodes.compare(NodeTarget::AtenLtScalar, ownIds, rows.experts);
  Value shifted = nodes.makeBinary(NodeTarget::AtenAddTensor, ownIds,
                                   getFirst(rows, mesh, communication));
  return communication.castTo(
      nodes.select(exists, wrap(shifted, rows.experts, communication),
                   static_cast<double>(rows.experts)),
      element);
}

Value regather::tg::spmd::buildOwnCounts(NodeOp node, Value ownIds,
                                         const OwnRows &rows,
                                         Communication &communication) {
  OpBuilder &builder = communication.getBuilder();
  Type counted = getElementTypeOrSelf(node.getOperand(0));
  Type result = getElementTypeOrSelf(node.getResult(0));
  // Half of a bin behind the last id, so that one bin has bounds as well.
  return PartNodes(communication)
      .make(NodeTarget::AtenHistcDefault,
            RankedTensorType::get({rows.own}, result),
            communication.castTo(ownIds, counted),
            {OperandAttr::get(builder.getContext(), 0),
             builder.getI64IntegerAttr(rows.own), builder.getI64IntegerAttr(0),
             builder.getF64FloatAttr(static_cast<double>(rows.own) - 0.5)});
}

Value regather::tg::spmd::maskRows(Value value, int64_t dim, Value mask,
                                   Communication &communication) {
  PartNodes nodes(communication);
  SmallVector<int64_t> shape(getRowType(value).getRank(), 1);
  shape[dim] = getRowType(mask).getDimSize(0);
  return nodes.select(nodes.reshape(mask, shape), value, 0);
}
