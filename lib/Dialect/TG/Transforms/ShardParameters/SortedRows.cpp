//===- SortedRows.cpp - Rows that are sorted, each rank its own -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SortedRows.h"

#include "FactorSplit.h"
#include "IndexedRows.h"
#include "Segments.h"

#include "regather/Dialect/TG/Nodes/GroupedGemmArguments.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

using Kind = SortedForm::Kind;

namespace {
/// What the elements of a value stand for.
enum class Elements {
  /// For themselves.
  Plain,
  /// What was sorted.
  Ids,
  /// Rows of the batch, counted from the first that a rank has.
  BatchRows,
  /// Places in the order of a rank's sort.
  Places,
  /// How many rows have each id, and where those of an id end.
  Counts,
  Ends,
};

/// A value that the ranks have in forms of their own.
struct Tracked {
  unsigned sort;
  SortedForm form;
  Elements elements = Elements::Plain;
  /// Of rows of the batch, how many there are. Each occurs once if as many are
  /// sorted.
  int64_t extent = 0;
};
} // namespace

static RankedTensorType getSortedType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// True if `op` reads and gives tensors of static shapes alone, at least one of
/// each. A node that does not may be malformed, and is no concern of sorts.
static bool hasOnlyTensors(Operation *op) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  return op->getNumOperands() > 0 && op->getNumResults() > 0 &&
         llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

/// True if all elements of `value` are equal or undefined.
static bool isFilled(Value value) {
  auto node = value.getDefiningOp<NodeOp>();
  if (!node)
    return false;
  switch (
      findNodeOperator(node.getTarget()).value_or(NodeOperator::AtenArange)) {
  case NodeOperator::AtenEmpty:
  case NodeOperator::AtenEmptyLike:
  case NodeOperator::AtenEmptyPermuted:
  case NodeOperator::AtenFull:
  case NodeOperator::AtenFullLike:
  case NodeOperator::AtenNewEmpty:
  case NodeOperator::AtenNewFull:
  case NodeOperator::AtenNewOnes:
  case NodeOperator::AtenNewZeros:
  case NodeOperator::AtenOnes:
  case NodeOperator::AtenOnesLike:
  case NodeOperator::AtenZeros:
  case NodeOperator::AtenZerosLike:
    return true;
  default:
    return false;
  }
}

bool regather::tg::spmd::isCount(Value value, int64_t count) {
  auto node = value.getDefiningOp<NodeOp>();
  std::optional<NodeTarget> target =
      node ? findNodeTarget(node.getTarget()) : std::nullopt;
  if (!target || getInfo(*target).op != NodeOperator::AtenArange)
    return false;
  nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
  bool hasStart = *target != NodeTarget::AtenArangeDefault;
  bool hasStep = *target == NodeTarget::AtenArangeStartStep;
  double start = hasStart ? args.getFloat("start") : 0;
  double step = hasStep ? args.getFloat("step", 1) : 1;
  double end = args.getFloat("end");
  return !args.hasFailed() && start == 0 && step == 1 &&
         end == static_cast<double>(count) &&
         getSortedType(value).getShape() == ArrayRef(count);
}

namespace regather::tg::spmd {
/// Follows what sorts give through a step.
class SortedRowsFinder {
public:
  SortedRowsFinder(Block &block, SortedRows &rows) : rows(rows) {
    numberSorts(block);
    if (rows.sorts.empty())
      return;
    for (Operation &op : block)
      visit(&op);
    checkReaders(block);
  }

private:
  /// Sorts have numbers in advance: rows may be counted before they are sorted.
  void numberSorts(Block &block);
  void visit(Operation *op);
  /// Plans `op` for one sort; false if that is not known.
  bool plan(Operation *op, unsigned sort);
  bool planSort(NodeOp node, NodeTarget target, unsigned sort);
  bool planDivision(NodeOp node, NodeTarget target, unsigned sort);
  bool planCounts(NodeOp node, NodeTarget target, unsigned sort);
  bool planRead(const IndexedRows &indexed, unsigned sort);
  bool planWrite(const IndexedRows &indexed, unsigned sort);
  bool planGroupedGemm(Operation *op, unsigned sort);
  bool planFactor(Operation *op, unsigned sort);
  /// A sort of what nothing has sorted before.
  void startSort(NodeOp node);

  const Tracked *find(Value value, unsigned sort) const {
    auto it = tracked.find(value);
    return it != tracked.end() && it->second.sort == sort ? &it->second
                                                          : nullptr;
  }
  bool isRows(const Tracked *value, int64_t dim) const {
    return value && value->form.kind == Kind::Rows && value->form.dim == dim;
  }
  /// Operands that have forms of their own have them, all others are whole.
  SortedOp start(Operation *op, unsigned sort, RowWork work) const;
  void track(Value value, unsigned sort, SortedForm form,
             Elements elements = Elements::Plain, int64_t extent = 0) {
    tracked[value] = {sort, form, elements, extent};
  }
  void finish(Operation *op, SortedOp planned) {
    rows.sorts[planned.sort].ops.push_back(op);
    rows.ops[op] = std::move(planned);
  }
  void setObstacle(unsigned sort, Operation *op) {
    if (!rows.sorts[sort].obstacle)
      rows.sorts[sort].obstacle = op;
  }
  /// Who reads a value in a region, or where nothing was planned.
  void checkReaders(Block &block);

  SortedRows &rows;
  llvm::DenseMap<Value, Tracked> tracked;
  /// The sort by what its ids are casts and views of.
  llvm::DenseMap<Value, unsigned> sortOfIds;
};
} // namespace regather::tg::spmd

SortedOp SortedRowsFinder::start(Operation *op, unsigned sort,
                                 RowWork work) const {
  SortedOp planned{sort, work, {}, {}, false};
  for (Value operand : op->getOperands()) {
    const Tracked *own = find(operand, sort);
    planned.operands.push_back(own ? own->form : SortedForm());
  }
  planned.results.resize(op->getNumResults());
  return planned;
}

//===----------------------------------------------------------------------===//
// Sorts and counts
//===----------------------------------------------------------------------===//

/// The values that a sort in ascending order along the only dimension reads.
static Value getSorted(NodeOp node, NodeTarget target) {
  nodes::NodeArguments args(node, target, /*isQuiet=*/true);
  Value self = args.getTensor("self");
  bool isDescending = args.getBool("descending", false);
  if (args.hasFailed() || isDescending || getSortedType(self).getRank() != 1)
    return nullptr;
  return self;
}

static bool isSort(NodeTarget target) {
  NodeOperator op = getInfo(target).op;
  return op == NodeOperator::AtenSort || op == NodeOperator::AtenArgsort;
}

/// True if a node is a cast or a view of one tensor, with the same elements in
/// the same order.
static bool isSameElements(NodeOp node) {
  bool isKnown = getOperatorClass(node.getTarget()) == OperatorClass::Reshape ||
                 findNodeOperator(node.getTarget()) == NodeOperator::AtenToCopy;
  return isKnown && hasOnlyTensors(node) && node->getNumOperands() == 1 &&
         node->getNumResults() == 1 &&
         getSortedType(node.getOperand(0)).getNumElements() ==
             getSortedType(node.getResult(0)).getNumElements();
}

Value SortedRows::getBase(Value value) {
  while (auto node = value.getDefiningOp<NodeOp>()) {
    if (!isSameElements(node))
      break;
    value = node.getOperand(0);
  }
  return value;
}

void SortedRowsFinder::numberSorts(Block &block) {
  for (NodeOp node : block.getOps<NodeOp>()) {
    // Most nodes are no sorts of one dimension by their types.
    if (node->getNumOperands() != 1 || !hasOnlyTensors(node) ||
        getSortedType(node.getOperand(0)).getRank() != 1)
      continue;
    std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
    Value self = target && isSort(*target) ? getSorted(node, *target) : Value();
    if (!self)
      continue;
    int64_t count = getSortedType(self).getDimSize(0);
    sortOfIds.try_emplace(SortedRows::getBase(self), rows.sorts.size());
    rows.numbers[node] = rows.sorts.size();
    rows.sorts.push_back({node, count, {count}, {}, nullptr});
  }
}

void SortedRowsFinder::startSort(NodeOp node) {
  auto it = rows.numbers.find(node);
  if (it == rows.numbers.end())
    return;
  unsigned sort = it->second;
  int64_t count = rows.sorts[sort].rows;
  Operation *op = node;
  SortedOp planned = start(op, sort, RowWork::Sort);
  planned.operands[0] = {Kind::Batch};
  SortedForm sorted{Kind::Rows};
  for (SortedForm &form : planned.results)
    form = sorted;
  if (op->getNumResults() == 2)
    track(op->getResult(0), sort, sorted, Elements::Ids);
  track(op->getResult(op->getNumResults() - 1), sort, sorted,
        Elements::BatchRows, count);
  finish(op, std::move(planned));
}

/// Sorting the places in the batch gives where each of its rows went.
bool SortedRowsFinder::planSort(NodeOp node, NodeTarget target, unsigned sort) {
  Value self = getSorted(node, target);
  const Tracked *own = self ? find(self, sort) : nullptr;
  if (!isRows(own, 0) || own->elements != Elements::BatchRows ||
      own->extent != rows.sorts[sort].rows)
    return false;
  SortedOp planned = start(node, sort, RowWork::Move);
  SortedForm batch{Kind::Batch, 0, Reduction::Sum, /*isLocal=*/true};
  for (SortedForm &form : planned.results)
    form = batch;
  Operation *op = node;
  if (op->getNumResults() == 2)
    track(op->getResult(0), sort, batch, Elements::BatchRows, own->extent);
  track(op->getResult(op->getNumResults() - 1), sort, batch, Elements::Places);
  finish(op, std::move(planned));
  return true;
}

/// The number by which a node divides its tensor, rounding down.
static std::optional<int64_t> getDivisor(NodeOp node, NodeTarget target) {
  NodeOperator op = getInfo(target).op;
  if ((op != NodeOperator::AtenDiv && op != NodeOperator::AtenFloorDivide) ||
      node->getNumOperands() != 1)
    return std::nullopt;
  nodes::NodeArguments args(node, target, /*isQuiet=*/true);
  // Places are not negative: both ways of rounding are one.
  bool isInteger = op == NodeOperator::AtenFloorDivide ||
                   args.getString("rounding_mode", "") != "";
  if (args.hasFailed() || !isInteger || args.isTensor("other"))
    return std::nullopt;
  int64_t divisor = args.getInt("other");
  return args.hasFailed() || divisor < 1 ? std::nullopt
                                         : std::optional(divisor);
}

/// The rows of the batch of which each is sorted several times.
bool SortedRowsFinder::planDivision(NodeOp node, NodeTarget target,
                                    unsigned sort) {
  std::optional<int64_t> divisor = getDivisor(node, target);
  const Tracked *own = divisor ? find(node.getOperand(0), sort) : nullptr;
  if (!own || own->elements != Elements::BatchRows ||
      own->extent % *divisor != 0 ||
      !isa<IntegerType>(getSortedType(node.getResult(0)).getElementType()))
    return false;
  int64_t extent = own->extent / *divisor;
  rows.sorts[sort].sizes.push_back(extent);
  SortedOp planned = start(node, sort, RowWork::Each);
  planned.results[0] = own->form;
  track(node.getResult(0), sort, own->form, Elements::BatchRows, extent);
  finish(node, std::move(planned));
  return true;
}

/// Counts of ids, casts of them, and where the rows of each end. Ids are
/// sorted, or as they are in the batch.
bool SortedRowsFinder::planCounts(NodeOp node, NodeTarget target,
                                  unsigned sort) {
  NodeOperator op = getInfo(target).op;
  if (node->getNumOperands() != 1 || node->getNumResults() != 1)
    return false;
  Value self = node.getOperand(0), result = node.getResult(0);
  const Tracked *own = find(self, sort);
  bool isIds = !own || own->elements == Elements::Ids;
  Elements elements = Elements::Counts;
  if (own && own->elements == Elements::Counts) {
    if (op == NodeOperator::AtenCumsum && getSortedType(result).getRank() == 1)
      elements = Elements::Ends;
    else if (!isSameElements(node))
      return false;
  } else if (own && own->elements == Elements::Ends) {
    if (!isSameElements(node))
      return false;
    elements = Elements::Ends;
  } else if (op != NodeOperator::AtenHistc || !isIds ||
             getSortedType(self).getNumElements() != rows.sorts[sort].rows) {
    // Each row counts once.
    return false;
  }
  SortedOp planned = start(node, sort, RowWork::Count);
  if (!own) {
    planned.operands[0] = {Kind::Batch};
    rows.sorts[sort].sizes.push_back(getSortedType(self).getDimSize(0));
  }
  planned.results[0] = {Kind::Reduced};
  track(result, sort, planned.results[0], elements);
  finish(node, std::move(planned));
  return true;
}

//===----------------------------------------------------------------------===//
// Rows that are read and written
//===----------------------------------------------------------------------===//

bool SortedRowsFinder::planRead(const IndexedRows &indexed, unsigned sort) {
  NodeOp node = indexed.node;
  Value self = node.getOperand(indexed.self);
  Value indices = node.getOperand(indexed.indices);
  const Tracked *source = find(self, sort), *index = find(indices, sort);
  if (!index || index->form.dim != 0)
    return false;
  SortedOp planned = start(node, sort, RowWork::Move);
  SortedForm result = index->form;
  Elements elements = Elements::Plain;
  int64_t extent = 0;
  if (index->elements == Elements::BatchRows && !source &&
      getSortedType(self).getDimSize(0) == index->extent) {
    planned.operands[indexed.self] = {Kind::Batch};
  } else if (index->elements == Elements::Places && isRows(source, 0) &&
             getSortedType(self).getDimSize(0) == rows.sorts[sort].rows) {
    elements = source->elements;
    extent = source->extent;
  } else {
    return false;
  }
  result.isLocal = elements != Elements::Plain && elements != Elements::Ids;
  planned.results[0] = result;
  if (result.kind == Kind::Rows || elements != Elements::Plain)
    track(node.getResult(0), sort, result, elements, extent);
  finish(node, std::move(planned));
  return true;
}

bool SortedRowsFinder::planWrite(const IndexedRows &indexed, unsigned sort) {
  NodeOp node = indexed.node;
  Value self = node.getOperand(indexed.self);
  Value indices = node.getOperand(indexed.indices);
  Value values = node.getOperand(*indexed.values);
  const Tracked *index = find(indices, sort), *source = find(values, sort);
  int64_t count = rows.sorts[sort].rows;
  // Rows may be added to what the batch has already.
  bool isAdded = indexed.accumulates && !isFilled(self) && !find(self, sort);
  if (!index || index->form.dim != 0 || (!isFilled(self) && !isAdded) ||
      getSortedType(values).getRank() != getSortedType(self).getRank() ||
      getSortedType(values).getDimSize(0) != count)
    return false;
  SortedOp planned = start(node, sort, RowWork::Move);
  planned.operands[indexed.self] = {isAdded ? Kind::Batch : Kind::Filled};
  Elements elements = Elements::Plain;
  if (index->elements == Elements::BatchRows &&
      index->form.kind == Kind::Rows &&
      getSortedType(self).getDimSize(0) == index->extent &&
      (indexed.accumulates || index->extent == count)) {
    if (isRows(source, 0) && source->elements == Elements::Plain) {
      // Back to where they come from.
    } else if (!isAdded && !source && isCount(values, count) &&
               index->extent == count) {
      planned.operands[*indexed.values] = {Kind::Counted};
      elements = Elements::Places;
    } else {
      return false;
    }
    planned.results[0] = {Kind::Batch};
  } else if (!isAdded && index->elements == Elements::Places &&
             index->form.kind == Kind::Batch && !source &&
             getSortedType(self).getDimSize(0) == count) {
    planned.operands[*indexed.values] = {Kind::Batch};
    planned.results[0] = {Kind::Rows};
  } else {
    return false;
  }
  planned.results[0].isLocal = elements == Elements::Places;
  if (planned.results[0].kind == Kind::Rows || elements != Elements::Plain)
    track(node.getResult(0), sort, planned.results[0], elements);
  finish(node, std::move(planned));
  return true;
}

//===----------------------------------------------------------------------===//
// Computation on rows
//===----------------------------------------------------------------------===//

bool SortedRowsFinder::planGroupedGemm(Operation *op, unsigned sort) {
  FailureOr<nodes::GroupedGemm> gemm = nodes::matchGroupedGemm(op);
  if (failed(gemm) || !gemm->ends || gemm->rows != rows.sorts[sort].rows)
    return false;
  const Tracked *ends = find(gemm->ends, sort);
  if (!ends || ends->elements != Elements::Ends)
    return false;
  for (const nodes::GroupedOperand &operand : {gemm->x, gemm->y})
    if (operand.tensor &&
        !isRows(find(operand.tensor, sort), operand.isTransposed ? 1 : 0))
      return false;
  if (gemm->w.tensor && find(gemm->w.tensor, sort))
    return false;
  SortedOp planned = start(op, sort, RowWork::GroupedGemm);
  for (const auto &result : {gemm->toX, gemm->toY}) {
    if (!result)
      continue;
    SortedForm form{Kind::Rows, result->isTransposed ? 1 : 0};
    planned.results[result->number] = form;
    track(op->getResult(result->number), sort, form);
  }
  if (gemm->toW)
    planned.results[gemm->toW->number] = {Kind::Reduced};
  finish(op, std::move(planned));
  return true;
}

/// An operation that does the same to each row, or sums over them.
bool SortedRowsFinder::planFactor(Operation *op, unsigned sort) {
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  auto node = dyn_cast<NodeOp>(op);
  if (!interface || !isMemoryEffectFree(op) || op->getNumRegions() != 0 ||
      isa<RandomOp>(op) ||
      (node && getOperatorClass(node.getTarget()) == OperatorClass::Random))
    return false;
  ShardingRule rule = interface.getShardingRule();
  std::optional<unsigned> factor;
  std::optional<Elements> elements;
  int64_t extent = 0;
  for (auto [operand, factors] :
       llvm::zip_equal(op->getOperands(), rule.operands)) {
    const Tracked *own = find(operand, sort);
    if (!own)
      continue;
    if (own->form.kind != Kind::Rows || factors.empty() ||
        factors[own->form.dim].size() != 1 ||
        (factor && factors[own->form.dim].front() != *factor))
      return false;
    factor = factors[own->form.dim].front();
    if (elements && own->elements != *elements)
      elements = Elements::Plain;
    elements = elements.value_or(own->elements);
    extent = own->extent;
  }
  if (!factor || rule.factors[*factor].size != rows.sorts[sort].rows)
    return false;
  bool isCast =
      node && findNodeOperator(node.getTarget()) == NodeOperator::AtenToCopy;
  // What is computed with places in the batch counts from elsewhere on parts.
  bool isMade = op->getNumResults() == 1 && isFilled(op->getResult(0));
  if (*elements == Elements::BatchRows && !isCast && !movesElements(op) &&
      !isMade)
    return false;
  if (!isCast && !movesElements(op))
    elements = Elements::Plain;
  std::optional<FactorSplit> split =
      splitFactor(op, rule, *factor, /*ranks=*/1, /*allowUneven=*/false);
  if (!split)
    return false;
  SortedOp planned = start(op, sort, RowWork::Each);
  for (auto [value, cut, form] :
       llvm::zip_equal(op->getOperands(), split->operands, planned.operands)) {
    if (form.kind == Kind::Rows && (!cut || cut->dim != form.dim))
      return false;
    if (!cut || form.kind == Kind::Rows)
      continue;
    if (!isFilled(value))
      return false;
    form = {Kind::Filled, cut->dim};
  }
  for (auto [number, cut] : llvm::enumerate(split->results)) {
    SortedForm &form = planned.results[number];
    if (!isDescribed(op, rule, number))
      continue;
    if (cut) {
      form = {Kind::Rows, cut->dim};
      track(op->getResult(number), sort, form, *elements, extent);
      continue;
    }
    switch (rule.factors[*factor].kind) {
    case FactorKind::Sum:
      form = {Kind::Reduced, 0, Reduction::Sum};
      break;
    case FactorKind::Mean:
      form = {Kind::Reduced, 0, Reduction::Avg};
      break;
    case FactorKind::Max:
      form = {Kind::Reduced, 0, Reduction::Max};
      break;
    default:
      return false;
    }
  }
  planned.ignoresZeros =
      llvm::any_of(rule.linear, [&](const llvm::SmallBitVector &set) {
        return set.any() && llvm::all_of(set.set_bits(), [&](unsigned i) {
                 return planned.operands[i].kind == Kind::Rows;
               });
      });
  finish(op, std::move(planned));
  return true;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

bool SortedRowsFinder::plan(Operation *op, unsigned sort) {
  if (auto node = dyn_cast<NodeOp>(op)) {
    std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
    if (!target)
      return false;
    if (isSort(*target))
      return planSort(node, *target, sort);
    if (getDivisor(node, *target))
      return planDivision(node, *target, sort) || planFactor(op, sort);
    if (planCounts(node, *target, sort))
      return true;
    if (nodes::findGroupedGemmTarget(op))
      return planGroupedGemm(op, sort);
    if (std::optional<IndexedRows> indexed = matchIndexedRows(op)) {
      const Tracked *index = find(node.getOperand(indexed->indices), sort);
      if (index && index->elements != Elements::Plain &&
          index->elements != Elements::Ids)
        return indexed->values ? planWrite(*indexed, sort)
                               : planRead(*indexed, sort);
    }
  }
  return planFactor(op, sort);
}

void SortedRowsFinder::visit(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  std::optional<NodeTarget> target =
      node ? findNodeTarget(node.getTarget()) : std::nullopt;
  // Counts and ends are sums as well, and may be read as such.
  auto mayBeWhole = [](const Tracked &own) {
    return own.form.kind == Kind::Reduced;
  };
  std::optional<unsigned> sort;
  bool isNeeded = false;
  SmallVector<unsigned, 1> unread;
  if (auto interface = dyn_cast<ShardingRuleOpInterface>(op);
      interface && llvm::any_of(op->getOperands(), [&](Value operand) {
        return tracked.count(operand);
      }))
    unread = interface.getShardingRule().unread;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    auto it = tracked.find(operand);
    if (it == tracked.end() || llvm::is_contained(unread, number))
      continue;
    isNeeded |= !mayBeWhole(it->second);
    if (sort && *sort != it->second.sort && isNeeded) {
      setObstacle(*sort, op);
      setObstacle(it->second.sort, op);
      return;
    }
    sort = it->second.sort;
  }
  if (sort) {
    bool isPlanned = hasOnlyTensors(op) && plan(op, *sort);
    if (!isPlanned && isNeeded)
      setObstacle(*sort, op);
    return;
  }
  if (!target || !hasOnlyTensors(op))
    return;
  if (isSort(*target))
    return startSort(node);
  if (getInfo(*target).op != NodeOperator::AtenHistc ||
      getSortedType(node.getOperand(0)).getRank() == 0)
    return;
  if (auto it = sortOfIds.find(SortedRows::getBase(node.getOperand(0)));
      it != sortOfIds.end())
    (void)planCounts(node, *target, it->second);
}

void SortedRowsFinder::checkReaders(Block &block) {
  for (Operation &op : block)
    for (Value value : op.getResults()) {
      auto it = tracked.find(value);
      if (it == tracked.end() || it->second.form.kind == Kind::Reduced)
        continue;
      for (Operation *user : value.getUsers())
        if (user->getBlock() != &block ||
            user->hasTrait<OpTrait::IsTerminator>())
          setObstacle(it->second.sort, user);
    }
}

SortedRows::SortedRows(Block &block) { SortedRowsFinder(block, *this); }

const SortedOp *SortedRows::find(Operation *op) const {
  auto it = ops.find(op);
  return it == ops.end() || sorts[it->second.sort].obstacle ? nullptr
                                                            : &it->second;
}

Operation *SortedRows::getObstacle(Operation *op) const {
  auto it = numbers.find(op);
  return it == numbers.end() ? nullptr : sorts[it->second].obstacle;
}
