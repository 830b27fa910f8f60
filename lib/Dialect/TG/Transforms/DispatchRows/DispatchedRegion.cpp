//===- DispatchedRegion.cpp - What is computed where experts are ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DispatchedRegion.h"

#include "NarrowRows.h"

#include "../ShardParameters/FilledParts.h"
#include "../ShardParameters/IndexedRows.h"
#include "../ShardParameters/OwnExperts.h"
#include "../ShardParameters/Segments.h"

#include "regather/Dialect/TG/IR/RowShare.h"
#include "regather/Dialect/TG/Nodes/GroupedGemmArguments.h"
#include "regather/Dialect/TG/Nodes/ZeroTensors.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

using Kind = SortedForm::Kind;

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// What can be done
//===----------------------------------------------------------------------===//

DispatchPlan regather::tg::spmd::planDispatch(const SortedRows &rows,
                                              unsigned sort) {
  DispatchPlan plan;
  auto stop = [&](Operation *op, StringRef reason) {
    if (!plan.obstacle) {
      plan.obstacle = op;
      plan.reason = reason;
    }
  };
  auto agree = [&](const ExpertMatrices &matrices) {
    if (!plan.axes) {
      plan.axes = matrices.axes;
      plan.mesh = matrices.mesh;
    }
    return plan.axes == matrices.axes && plan.mesh == matrices.mesh;
  };
  const RowSort &sorted = rows.getSort(sort);
  for (Operation *op : sorted.ops) {
    FailureOr<nodes::GroupedGemm> gemm = nodes::matchGroupedGemm(op);
    if (failed(gemm))
      continue;
    plan.experts = gemm->groups;
    if (gemm->w.tensor) {
      std::optional<ExpertMatrices> gathered = findGathered(gemm->w.tensor);
      if (!gathered)
        stop(op, "reads matrices that are not gathered along the experts");
      else if (!agree(*gathered))
        stop(op, "reads matrices that are gathered over other axes");
      else
        plan.gathered[op] = std::move(*gathered);
    }
    if (gemm->toW && !op->getResult(gemm->toW->number).use_empty()) {
      std::optional<ExpertMatrices> scattered =
          findScattered(op->getResult(gemm->toW->number));
      if (!scattered)
        stop(op, "gives a gradient that is not scattered along the experts");
      else if (!agree(*scattered))
        stop(op, "gives a gradient that is scattered over other axes");
      else
        plan.scattered[op] = std::move(*scattered);
    }
  }
  if (sorted.obstacle)
    stop(sorted.obstacle, "needs the order of the rows");
  return plan;
}

ExchangeSizes regather::tg::spmd::getSizes(const DispatchPlan &plan,
                                           int64_t rows, int64_t ranks,
                                           double capacity) {
  constexpr int64_t kBlock = 8;
  ExchangeSizes sizes;
  sizes.rows = rows;
  sizes.ranks = ranks;
  sizes.own = plan.experts / ranks;
  double fair = static_cast<double>(rows) / static_cast<double>(ranks);
  // A rank cannot send more rows than it has.
  sizes.room =
      capacity * fair >= static_cast<double>(rows)
          ? rows
          : std::min<int64_t>(
                rows,
                llvm::alignTo(static_cast<uint64_t>(std::ceil(capacity * fair)),
                              kBlock));
  return sizes;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

DispatchedRegion::DispatchedRegion(const SortedRows &rows, unsigned sort,
                                   const DispatchPlan &plan,
                                   const ExchangeSizes &sizes,
                                   Communication &communication)
    : rows(rows), sort(sort), plan(plan), communication(communication),
      exchange(communication, plan.axes, sizes) {}

Type DispatchedRegion::getSentType(Value value, const SortedForm &form) const {
  SmallVector<int64_t> shape(getTensorType(value).getShape());
  shape[form.dim] = exchange.getSizes().getSlots();
  return getTensorType(value).clone(shape);
}

bool regather::tg::spmd::isRowByRow(const SortedOp &planned) {
  return planned.work == RowWork::Each &&
         llvm::all_of(planned.results, [](const SortedForm &form) {
           return form.kind == Kind::Rows;
         });
}

Value DispatchedRegion::getSent(Value value, int64_t dim) {
  if (Value known = sent.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (isCheaperThere(value)) {
    Operation *part = build(op, *rows.find(op));
    for (auto [result, local] :
         llvm::zip_equal(op->getResults(), part->getResults()))
      sent[result] = local;
    return sent[value];
  }
  Value moved = sendFromBatch(value);
  return sent[value] = moved ? moved : exchange.send(value, dim);
}

/// True if the rows that a node writes are all of its result.
static bool writesAll(const IndexedRows &indexed) {
  NodeOp node = indexed.node;
  return !indexed.accumulates || isZero(node.getOperand(indexed.self));
}

Value DispatchedRegion::sendFromBatch(Value value) {
  Operation *op = value.getDefiningOp();
  const SortedOp *planned = op ? rows.find(op) : nullptr;
  if (!planned || planned->work != RowWork::Move ||
      planned->results.front().kind != Kind::Rows)
    return nullptr;
  std::optional<IndexedRows> indexed = matchIndexedRows(op);
  if (!indexed ||
      getTensorType(op->getOperand(indexed->indices)).getRank() != 1)
    return nullptr;
  // Sums have no wider type of their own here, so that a cast can come later.
  auto sendFrom = [&](Value batch, Value numbers) {
    Value narrow = narrowRows(batch, communication);
    Value moved = exchange.sendFrom(narrow ? narrow : batch, numbers);
    return communication.castTo(moved, getElementTypeOrSelf(batch.getType()));
  };
  if (!indexed->values)
    return planned->operands[indexed->self].kind == Kind::Batch
               ? sendFrom(op->getOperand(indexed->self),
                          op->getOperand(indexed->indices))
               : Value();
  // What is written to the places of the rows is read from where the rows were.
  if (planned->operands[*indexed->values].kind != Kind::Batch ||
      !writesAll(*indexed))
    return nullptr;
  return sendFrom(op->getOperand(*indexed->values),
                  rows.getSort(sort).op->getResults().back());
}

Value DispatchedRegion::getReturned(Value value, int64_t dim) {
  Value &slots = returned[value];
  return slots ? slots : slots = exchange.returnSlots(sent.lookup(value), dim);
}

Value DispatchedRegion::getOwn(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (!isReplaced.contains(op))
    return value;
  if (Value known = own.lookup(value))
    return known;
  if (!isCheaperHere(value))
    return own[value] = exchange.readSlots(getReturned(value, dim), dim);
  SmallVector<Value> operands;
  for (auto [operand, form] :
       llvm::zip_equal(op->getOperands(), rows.find(op)->operands))
    operands.push_back(form.kind == Kind::Rows ? getOwn(operand, form.dim)
                                               : operand);
  Operation *here = cast<ShardingRuleOpInterface>(op).buildPart(
      communication.getBuilder(), operands, op->getResultTypes());
  for (auto [result, local] :
       llvm::zip_equal(op->getResults(), here->getResults()))
    own[result] = local;
  return own[value];
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// True if nothing becomes of `sum` but the sum of all ranks along `axes`, with
/// views and casts in between. Then it is the same whose rows a rank sums.
static bool isSummedOver(Value sum, AxesAttr axes) {
  while (sum.hasOneUse()) {
    Operation *op = *sum.getUsers().begin();
    AxesAttr along;
    if (auto reduce = dyn_cast<AllReduceOp>(op);
        reduce && reduce.getReduction() == Reduction::Sum)
      along = reduce.getAxes();
    else if (auto scatter = dyn_cast<ReduceScatterOp>(op);
             scatter && scatter.getReduction() == Reduction::Sum)
      along = scatter.getAxes();
    if (along)
      return llvm::all_of(axes.getNames(), [&](StringAttr axis) {
        return llvm::is_contained(along.getNames(), axis);
      });
    auto node = dyn_cast<NodeOp>(op);
    bool isKnown =
        movesElements(op) || (node && findNodeOperator(node.getTarget()) ==
                                          NodeOperator::AtenToCopy);
    if (!isKnown || op->getNumOperands() != 1 || op->getNumResults() != 1)
      return false;
    sum = op->getResult(0);
  }
  return false;
}

/// Results that are sums over rows, which rows of zeros leave as they are.
static bool hasMaskedSums(Operation *op, const SortedOp &planned,
                          AxesAttr axes) {
  bool isSum = false;
  for (auto [result, form] :
       llvm::zip_equal(op->getResults(), planned.results)) {
    if (form.kind != Kind::Reduced)
      continue;
    if (!planned.ignoresZeros || form.reduction != Reduction::Sum ||
        !isa<FloatType>(getElementTypeOrSelf(result.getType())) ||
        !isSummedOver(result, axes))
      return false;
    isSum = true;
  }
  return isSum;
}

bool DispatchedRegion::isSent(Operation *op, const SortedOp &planned) const {
  if (planned.work != RowWork::Each ||
      (!isRowByRow(planned) && !hasMaskedSums(op, planned, plan.axes)))
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return isReplaced.contains(operand.getDefiningOp());
  });
}

Operation *DispatchedRegion::build(Operation *op, const SortedOp &planned) {
  bool isMasked = !isRowByRow(planned);
  SmallVector<Value> operands;
  for (auto [operand, form] :
       llvm::zip_equal(op->getOperands(), planned.operands)) {
    if (form.kind == Kind::Filled) {
      auto filled = operand.getDefiningOp<NodeOp>();
      operands.push_back(
          buildFilled(communication, filled, filled->getOperands(),
                      cast<RankedTensorType>(getSentType(operand, form))));
      continue;
    }
    if (form.kind != Kind::Rows) {
      operands.push_back(operand);
      continue;
    }
    Value rowsThere = getSent(operand, form.dim);
    if (isMasked && isa<FloatType>(getElementTypeOrSelf(rowsThere.getType())))
      rowsThere =
          maskRows(rowsThere, form.dim, exchange.getMask(), communication);
    operands.push_back(rowsThere);
  }
  SmallVector<Type> types;
  for (auto [result, form] : llvm::zip_equal(op->getResults(), planned.results))
    types.push_back(form.kind == Kind::Rows ? getSentType(result, form)
                                            : result.getType());
  return cast<ShardingRuleOpInterface>(op).buildPart(communication.getBuilder(),
                                                     operands, types);
}

void DispatchedRegion::replace(Operation *op, Operation *part) {
  for (auto [result, local] :
       llvm::zip_equal(op->getResults(), part->getResults()))
    sent[result] = local;
  replaced.push_back(op);
  isReplaced.insert(op);
}

void DispatchedRegion::buildGemm(Operation *op, const SortedOp &planned) {
  nodes::GroupedGemm gemm = *nodes::matchGroupedGemm(op);
  int64_t count = exchange.getSizes().own;
  SmallVector<Value> operands;
  for (auto [operand, form] :
       llvm::zip_equal(op->getOperands(), planned.operands)) {
    if (form.kind == Kind::Rows) {
      operands.push_back(getSent(operand, form.dim));
    } else if (operand == gemm.ends) {
      operands.push_back(
          exchange.getEnds(getElementTypeOrSelf(operand.getType())));
    } else if (operand == gemm.w.tensor) {
      const ExpertMatrices &matrices = plan.gathered.at(op);
      Value &part = parts[operand];
      if (!part)
        part = buildChain(communication.getBuilder(), matrices.part,
                          matrices.chain, count);
      operands.push_back(part);
    } else {
      operands.push_back(operand);
    }
  }
  SmallVector<Type> types;
  for (auto [result, form] :
       llvm::zip_equal(op->getResults(), planned.results)) {
    SmallVector<int64_t> shape(getTensorType(result).getShape());
    if (form.kind == Kind::Reduced)
      shape.front() = count;
    types.push_back(form.kind == Kind::Rows
                        ? getSentType(result, form)
                        : getTensorType(result).clone(shape));
  }
  Operation *part = cast<ShardingRuleOpInterface>(op).buildPart(
      communication.getBuilder(), operands, types);
  const ExchangeSizes &sizes = exchange.getSizes();
  double share = std::min(1.0, static_cast<double>(sizes.rows) /
                                   static_cast<double>(sizes.getSlots()));
  part->setAttr(kRowShareAttrName, communication.getBuilder().getF64FloatAttr(
                                       getRowShare(op) * share));
  replace(op, part);
  auto it = plan.scattered.find(op);
  if (it == plan.scattered.end())
    return;
  Value gradient =
      buildChain(communication.getBuilder(), part->getResult(gemm.toW->number),
                 it->second.chain, count);
  Value scattered = it->second.part;
  Operation *wait = scattered.getDefiningOp();
  scattered.replaceAllUsesWith(gradient);
  llvm::append_range(replaced, it->second.chain);
  replaced.push_back(wait->getOperand(0).getDefiningOp());
  replaced.push_back(wait);
}

bool DispatchedRegion::readSlots(Operation *op, const SortedOp &planned) {
  if (planned.work != RowWork::Move)
    return false;
  std::optional<IndexedRows> indexed = matchIndexedRows(op);
  if (!indexed || indexed->values)
    return false;
  Value source = op->getOperand(indexed->self);
  Value numbers = op->getOperand(indexed->indices);
  if (planned.operands[indexed->self].kind != Kind::Rows ||
      !isReplaced.contains(source.getDefiningOp()) ||
      getTensorType(numbers).getRank() != 1 || isCheaperHere(source))
    return false;
  op->setOperand(indexed->self, getReturned(source, 0));
  op->setOperand(indexed->indices, exchange.findSlots(numbers));
  return true;
}

void DispatchedRegion::readOwn(Operation *op, const SortedOp &planned) {
  for (auto [number, form] : llvm::enumerate(planned.operands))
    if (form.kind == Kind::Rows || form.isLocal)
      op->setOperand(number, getOwn(op->getOperand(number), form.dim));
}

void DispatchedRegion::run() {
  const RowSort &sorted = rows.getSort(sort);
  Operation *start = sorted.op;
  communication.setPlace(start, getPhase(start).value_or(Phase::Forward),
                         start->getAttrOfType<StringAttr>(kModuleAttrName),
                         /*after=*/true);
  Value ids = start->getResult(0);
  if (start->getNumResults() == 1) {
    OpBuilder &builder = communication.getBuilder();
    ids = PartNodes(communication)
              .make(NodeTarget::AtenIndexSelectDefault,
                    getTensorType(start->getOperand(0)),
                    {start->getOperand(0), start->getResult(0)},
                    {OperandAttr::get(builder.getContext(), 0),
                     builder.getI64IntegerAttr(0),
                     OperandAttr::get(builder.getContext(), 1)});
  }
  exchange.start(ids);
  for (Operation *op : sorted.ops) {
    const SortedOp &planned = *rows.find(op);
    communication.setPlace(op);
    if (planned.work == RowWork::GroupedGemm)
      buildGemm(op, planned);
    else if (isSent(op, planned))
      replace(op, build(op, planned));
    else if (!readSlots(op, planned))
      readOwn(op, planned);
  }
  // Sums over rows have the same readers, and others read a type alone.
  for (Operation *op : replaced)
    for (Value result : op->getResults())
      if (Value local = sent.lookup(result))
        result.replaceUsesWithIf(local, [&](OpOperand &use) {
          return !isReplaced.contains(use.getOwner());
        });
  for (Operation *op : llvm::reverse(replaced))
    if (op->use_empty())
      op->erase();
}
