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
                                           int64_t allRows, int64_t chunks,
                                           int64_t ranks, double capacity) {
  constexpr int64_t kBlock = 8;
  int64_t rows = allRows / chunks;
  ExchangeSizes sizes;
  sizes.rows = rows;
  sizes.chunks = chunks;
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
                                   Communication &communication,
                                   CountedNumbers &counted)
    : rows(rows), sort(sort), plan(plan), communication(communication),
      exchange(communication, counted, plan.axes, sizes),
      sent(exchange.getAll() + 1) {}

Type DispatchedRegion::getSentType(Value value, const SortedForm &form,
                                   unsigned chunk) const {
  SmallVector<int64_t> shape(getTensorType(value).getShape());
  shape[form.dim] = exchange.countSlots(chunk);
  return getTensorType(value).clone(shape);
}

bool regather::tg::spmd::isRowByRow(const SortedOp &planned) {
  return planned.work == RowWork::Each &&
         llvm::all_of(planned.results, [](const SortedForm &form) {
           return form.kind == Kind::Rows;
         });
}

Value DispatchedRegion::getSent(Value value, int64_t dim, unsigned chunk) {
  if (Value known = sent[chunk].lookup(value))
    return known;
  if (chunk == exchange.getNumChunks())
    return merge(value, dim);
  Operation *op = value.getDefiningOp();
  if (isCheaperThere(value, chunk)) {
    Operation *part = build(op, *rows.find(op), chunk);
    for (auto [result, local] :
         llvm::zip_equal(op->getResults(), part->getResults()))
      sent[chunk][result] = local;
    return sent[chunk][value];
  }
  Value moved = sendFromBatch(value, chunk);
  if (!moved)
    moved = exchange.send(value, dim, chunk);
  return sent[chunk][value] = moved;
}

Value DispatchedRegion::merge(Value value, int64_t dim) {
  unsigned all = exchange.getAll();
  Operation *op = value.getDefiningOp();
  const SortedOp *planned = op ? rows.find(op) : nullptr;
  // Rows are put together once, and views made of them.
  if (planned && planned->sort == sort && isRowByRow(*planned) &&
      movesElements(op) && op->getNumOperands() == 1 &&
      op->getNumResults() == 1)
    return sent[all][value] = build(op, *planned, all)->getResult(0);
  SmallVector<Value> chunks;
  for (unsigned chunk = 0; chunk != exchange.getNumChunks(); ++chunk)
    chunks.push_back(getSent(value, dim, chunk));
  return sent[all][value] = exchange.merge(chunks, dim);
}

/// True if the rows that a node writes are all of its result.
static bool writesAll(const IndexedRows &indexed) {
  NodeOp node = indexed.node;
  return !indexed.accumulates || isZero(node.getOperand(indexed.self));
}

Value DispatchedRegion::getNarrow(Value batch) {
  // Chunks read one tensor, but backward none that forward would have to keep.
  Value &narrow = narrowed[batch];
  Operation *maker = narrow ? narrow.getDefiningOp() : nullptr;
  if (maker && getPhase(maker) == communication.getPlace().phase.getValue())
    return narrow;
  narrow = narrowRows(batch, communication);
  return narrow ? narrow : batch;
}

Value DispatchedRegion::sendFromBatch(Value value, unsigned chunk) {
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
    Value moved = exchange.sendFrom(getNarrow(batch), numbers, chunk);
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
  if (Value known = returned.lookup(value))
    return known;
  SmallVector<Value> chunks;
  for (unsigned chunk = 0; chunk != exchange.getNumChunks(); ++chunk)
    chunks.push_back(sent[chunk].lookup(value));
  return returned[value] = exchange.returnSlots(chunks, dim);
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

Operation *DispatchedRegion::build(Operation *op, const SortedOp &planned,
                                   unsigned chunk) {
  bool isMasked = !isRowByRow(planned);
  SmallVector<Value> operands;
  for (auto [operand, form] :
       llvm::zip_equal(op->getOperands(), planned.operands)) {
    if (form.kind == Kind::Filled) {
      auto filled = operand.getDefiningOp<NodeOp>();
      operands.push_back(buildFilled(
          communication, filled, filled->getOperands(),
          cast<RankedTensorType>(getSentType(operand, form, chunk))));
      continue;
    }
    if (form.kind != Kind::Rows) {
      operands.push_back(operand);
      continue;
    }
    Value rowsThere = getSent(operand, form.dim, chunk);
    if (isMasked && isa<FloatType>(getElementTypeOrSelf(rowsThere.getType())))
      rowsThere =
          maskRows(rowsThere, form.dim, exchange.getMask(chunk), communication);
    operands.push_back(rowsThere);
  }
  SmallVector<Type> types;
  for (auto [result, form] : llvm::zip_equal(op->getResults(), planned.results))
    types.push_back(form.kind == Kind::Rows ? getSentType(result, form, chunk)
                                            : result.getType());
  return cast<ShardingRuleOpInterface>(op).buildPart(communication.getBuilder(),
                                                     operands, types);
}

void DispatchedRegion::markReplaced(Operation *op) {
  replaced.push_back(op);
  isReplaced.insert(op);
}

void DispatchedRegion::replaceEach(Operation *op, const SortedOp &planned) {
  // Rows chunk by chunk, and sums over the rows of all.
  auto replaceResults = [&](unsigned chunk, Kind kind) {
    if (llvm::none_of(planned.results, [&](const SortedForm &form) {
          return form.kind == kind;
        }))
      return;
    Operation *part = build(op, planned, chunk);
    for (auto [result, local, form] :
         llvm::zip_equal(op->getResults(), part->getResults(), planned.results))
      if (form.kind == kind || exchange.getNumChunks() == 1)
        sent[chunk][result] = local;
  };
  if (exchange.getNumChunks() == 1) {
    replaceResults(0, planned.results.front().kind);
  } else {
    for (unsigned chunk = 0; chunk != exchange.getNumChunks(); ++chunk)
      replaceResults(chunk, Kind::Rows);
    replaceResults(exchange.getAll(), Kind::Reduced);
  }
  markReplaced(op);
}

//===----------------------------------------------------------------------===//
// The way back
//===----------------------------------------------------------------------===//

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
  exchange.start(ids, start->getResults().back());
  for (Operation *op : sorted.ops) {
    const SortedOp &planned = *rows.find(op);
    communication.setPlace(op);
    if (planned.work == RowWork::GroupedGemm)
      replaceGemm(op, planned);
    else if (isSent(op, planned))
      replaceEach(op, planned);
    else if (!readSlots(op, planned))
      readOwn(op, planned);
  }
  // Sums over rows have the same readers, and others read a type alone: that
  // of a chunk will do.
  auto findLocal = [&](Value value) {
    Value first = sent.front().lookup(value);
    return first ? first : sent.back().lookup(value);
  };
  for (Operation *op : replaced)
    for (Value result : op->getResults())
      if (Value local = findLocal(result))
        result.replaceUsesWithIf(local, [&](OpOperand &use) {
          return !isReplaced.contains(use.getOwner());
        });
  for (Operation *op : llvm::reverse(replaced))
    if (op->use_empty())
      op->erase();
}
