//===- ElasticSums.cpp - Order of sums over the batch ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the batch from the inputs: the dimension of each value in which it
// lies, and which segments that dimension holds. Then does the same with what
// an elastic axis of the model cuts, from the arguments that it cuts. Where a
// sharding rule does not say where that goes, it is not followed any further.
// What sums a segment gives a leaf of the tree, and what adds two nodes has to
// add siblings; nothing else may be done to a sum, but move its elements, until
// it is whole. Kernels are followed as if their operations stood where they are
// launched.
//
//===----------------------------------------------------------------------===//

#include "ElasticSums.h"

#include "SegmentTree.h"

#include "../ShardParameters/Segments.h"

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

namespace {
/// What a value has to do with what is followed. Segments are counted from the
/// first one of those ranks whose sums it may contain.
struct BatchPart {
  enum class Kind {
    /// Has rows of `count` segments along `dim`, `first` being the first.
    Rows,
    /// Is the sum over these segments, of `scope` that its ranks have.
    Sum,
    /// Has, one behind the other along `dim`, the sums of `count` groups of
    /// ranks that have `scope` segments each.
    Blocks
  };
  Kind kind;
  int64_t dim;
  int64_t first;
  int64_t count;
  int64_t scope;

  bool operator==(const BatchPart &other) const {
    return kind == other.kind && dim == other.dim && first == other.first &&
           count == other.count && scope == other.scope;
  }
};

using BatchParts = llvm::DenseMap<Value, BatchPart>;

class BatchWalk {
public:
  /// Follows what `modelAxis` cuts, or the batch if it is null.
  BatchWalk(FunctionOpInterface func, int64_t segments,
            StringAttr modelAxis = nullptr)
      : func(func), segments(segments), modelAxis(modelAxis),
        subject(modelAxis
                    ? ("what axis \"" + modelAxis.getValue() + "\" cuts").str()
                    : "the batch"),
        symbols(func->getParentOfType<ModuleOp>()) {}

  LogicalResult run();

private:
  void addArguments();
  LogicalResult walk(Block &block, BatchParts &parts);
  LogicalResult visit(Operation *op, BatchParts &parts);
  LogicalResult visitLaunch(LaunchOp launch, BatchParts &parts);
  void visitSlice(tensor::ExtractSliceOp slice, BatchPart part,
                  BatchParts &parts);
  void visitConcatenation(NodeOp node, BatchParts &parts);
  /// Follows the batch through `op`, which has it in this operand.
  LogicalResult visitRuled(Operation *op, const ShardingRule &rule,
                           unsigned operand, BatchPart part, BatchParts &parts);
  void visitOneRow(Operation *op, const BatchPart &part, BatchParts &parts);
  /// An operation some operands of which are sums.
  LogicalResult visitSums(Operation *op, BatchParts &parts);
  LogicalResult visitAddition(Operation *op, BatchParts &parts);
  bool isElementwise(linalg::GenericOp generic, const BatchParts &parts);
  LogicalResult visitElements(linalg::GenericOp generic, BatchParts &parts);
  LogicalResult visitExchange(CollectiveOpInterface op, BatchParts &parts);
  LogicalResult visitWait(WaitOp wait, BatchParts &parts);
  LogicalResult visitOther(Operation *op, const BatchParts &parts);
  void visitOtherWait(WaitOp wait, Operation *source, BatchParts &parts);
  LogicalResult visitReturn(Operation *op, const BatchParts &parts);
  /// Notes a sum, unless it is whole.
  void setSum(Value value, int64_t first, int64_t count, int64_t scope,
              BatchParts &parts);
  /// How many neighbouring ranks a group of these axes joins begin with: the
  /// segments of one of its members. Nothing for axes without the batch.
  std::optional<int64_t> getScope(AxesAttr axes);
  /// Those of `axes` over which ranks share what is followed.
  AxesAttr getOwnAxes(AxesAttr axes);
  /// True for a collective over none of them.
  bool isAlongOtherAxes(Operation *op);
  /// An error at `op`, with what the step promises.
  InFlightDiagnostic emit(Operation *op);

  FunctionOpInterface func;
  int64_t segments;
  StringAttr modelAxis;
  /// What is followed, in words.
  std::string subject;
  SymbolTable symbols;
  /// The axes over which ranks share what is followed, and their mesh.
  AxesAttr dataAxes;
  MeshOp mesh;
  BatchParts arguments;
};
} // namespace

//===----------------------------------------------------------------------===//
// What operations do
//===----------------------------------------------------------------------===//

/// The reduction of a collective that computes; nothing for others.
static std::optional<Reduction> getReduction(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return reduce.getReduction();
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return scatter.getReduction();
  return std::nullopt;
}

static bool isAttention(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  return node && getOperatorClass(node.getTarget()) == OperatorClass::Attention;
}

static bool isConcatenation(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  return node && node.getTarget() == getName(NodeTarget::AtenCatDefault) &&
         node.getNumOperands() > 0;
}

static std::string describe(const BatchPart &part) {
  if (part.count == 1)
    return "segment " + std::to_string(part.first);
  return "segments " + std::to_string(part.first) + " to " +
         std::to_string(part.first + part.count - 1);
}

InFlightDiagnostic BatchWalk::emit(Operation *op) {
  InFlightDiagnostic diag = op->emitError();
  diag.attachNote(func.getLoc())
      << "the step is elastic, so that sums are a tree over " << segments
      << " segments" << (modelAxis ? " of " + subject : "");
  return diag;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void BatchWalk::addArguments() {
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
    auto placement =
        func.getArgAttrOfType<PlacementAttr>(i, kPlacementAttrName);
    bool isStart = modelAxis || (role && role.getKind() == RoleKind::Input);
    if (!isStart || !placement)
      continue;
    MeshOp declared = lookupMesh(func, placement.getMesh());
    if (!declared)
      continue;
    for (AxisPlacementAttr axis : placement.getAxes()) {
      AxesAttr own = getOwnAxes(axis.getAxes());
      int64_t ranks = declared.getGroupSize(own);
      if (axis.getKind() != PlacementKind::Shard || own.getNames().empty() ||
          segments % ranks != 0)
        continue;
      // Of what others cut as well, a rank has no whole segments. Of a single
      // one, what is cut may be a factor of size one, such as one head: a sum
      // over the others is none over the axis.
      if (modelAxis && (own != axis.getAxes() || segments == ranks))
        continue;
      int64_t count = segments / ranks;
      arguments[func.getArgument(i)] = {BatchPart::Kind::Rows, axis.getDim(), 0,
                                        count, count};
      mesh = declared;
      dataAxes = own;
    }
  }
}

AxesAttr BatchWalk::getOwnAxes(AxesAttr axes) {
  SmallVector<StringAttr> names;
  for (StringAttr name : axes.getNames())
    if (modelAxis ? name == modelAxis : !getModelSegments(func, name))
      names.push_back(name);
  return AxesAttr::get(axes.getContext(), names);
}

bool BatchWalk::isAlongOtherAxes(Operation *op) {
  auto collective = dyn_cast_or_null<CollectiveOpInterface>(op);
  return collective && getOwnAxes(collective.getAxesAttr()).getNames().empty();
}

void BatchWalk::visitSlice(tensor::ExtractSliceOp slice, BatchPart part,
                           BatchParts &parts) {
  int64_t whole = slice.getSourceType().getDimSize(part.dim);
  RankedTensorType type = slice.getType();
  int64_t size = type.getDimSize(part.dim);
  if (type.getRank() != slice.getSourceType().getRank() ||
      size * part.count % whole != 0)
    return;
  int64_t count = size * part.count / whole;
  if (count == part.count) {
    parts[slice.getResult()] = part;
    return;
  }
  std::optional<int64_t> offset =
      getConstantIntValue(slice.getMixedOffsets()[part.dim]);
  if (count == 0 || !offset || *offset * part.count % whole != 0)
    return;
  int64_t first = *offset * part.count / whole;
  if (part.kind == BatchPart::Kind::Rows)
    parts[slice.getResult()] = {part.kind, part.dim, part.first + first, count,
                                part.scope};
  else if (count == 1)
    setSum(slice.getResult(), first * part.scope, part.scope,
           part.count * part.scope, parts);
}

/// Segments that were worked on one by one are put together.
void BatchWalk::visitConcatenation(NodeOp node, BatchParts &parts) {
  std::optional<BatchPart> whole;
  int64_t size = 0;
  for (Value operand : node.getOperands()) {
    auto it = parts.find(operand);
    if (it == parts.end() || it->second.kind != BatchPart::Kind::Rows)
      return;
    const BatchPart &part = it->second;
    if (!whole)
      whole = part;
    else if (part.dim != whole->dim ||
             part.first != whole->first + whole->count)
      return;
    else
      whole->count += part.count;
    size += cast<RankedTensorType>(operand.getType()).getDimSize(whole->dim);
  }
  Value result = node.getResult(0);
  if (cast<RankedTensorType>(result.getType()).getDimSize(whole->dim) == size)
    parts[result] = *whole;
}

/// True if what `op` reduces has size one: nobody can tell whether that is the
/// row of a segment.
static bool reducesOnes(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  return node &&
         getOperatorClass(node.getTarget()) == OperatorClass::Reduction &&
         node.getNumOperands() == 1 && node.getNumResults() == 1 &&
         llvm::equal(
             cast<RankedTensorType>(node.getOperand(0).getType()).getShape(),
             cast<RankedTensorType>(node.getResult(0).getType()).getShape());
}

/// A segment of one row: rules do not describe dimensions of size one.
void BatchWalk::visitOneRow(Operation *op, const BatchPart &part,
                            BatchParts &parts) {
  if (reducesOnes(op))
    return;
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    bool hasRow = part.dim < type.getRank() && type.getDimSize(part.dim) == 1;
    if (hasRow)
      parts[result] = part;
    else if (mayReduce(op) && !llvm::is_contained(type.getShape(), 1))
      setSum(result, part.first, 1, part.scope, parts);
  }
}

LogicalResult BatchWalk::visitRuled(Operation *op, const ShardingRule &rule,
                                    unsigned operand, BatchPart part,
                                    BatchParts &parts) {
  std::optional<unsigned> factor =
      getOutermostFactor(rule, rule.operands[operand], part.dim);
  if (!factor) {
    auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
    // Of what an axis of the model cuts, other dimensions of size one may be
    // meant.
    if (!modelAxis && part.count == 1 && type.getDimSize(part.dim) == 1 &&
        !rule.isWhole())
      visitOneRow(op, part, parts);
    return success();
  }
  // The heads of queries are those of keys and how many share one: a sum over
  // what shares the one head of a segment is none over the axis.
  if (modelAxis && isAttention(op))
    return success();
  FactorKind kind = rule.factors[*factor].kind;
  for (OpResult result : op->getResults()) {
    unsigned number = result.getResultNumber();
    if (!isDescribed(op, rule, number) || kind == FactorKind::Whole)
      continue;
    const TensorFactors &factors = rule.results[number];
    int64_t rank = factors.size();
    auto dims = llvm::seq<int64_t>(0, rank);
    auto dim = llvm::find_if(dims, [&](int64_t i) {
      return getOutermostFactor(rule, factors, i) == factor;
    });
    if (dim != dims.end()) {
      part.dim = *dim;
      parts[result] = part;
      continue;
    }
    bool sums = kind == FactorKind::Sum || kind == FactorKind::Mean;
    if (!sums || result.use_empty())
      continue;
    if (part.count != 1)
      return emit(op) << "sums " << part.count << " segments of " << subject
                      << " in an order of its own";
    setSum(result, part.first, 1, part.scope, parts);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void BatchWalk::setSum(Value value, int64_t first, int64_t count, int64_t scope,
                       BatchParts &parts) {
  if (count != segments)
    parts[value] = {BatchPart::Kind::Sum, 0, first, count, scope};
}

LogicalResult BatchWalk::visitAddition(Operation *op, BatchParts &parts) {
  SmallVector<BatchPart, 2> sums;
  for (Value operand : op->getOperands().take_front(2))
    if (auto it = parts.find(operand); it != parts.end())
      sums.push_back(it->second);
  Value result = op->getResult(0);
  // What one segment gives may become another number, as long as no other
  // segment has to do with it.
  if (sums.front().count == 1 &&
      (sums.size() == 1 || sums.front() == sums.back())) {
    parts[result] = sums.front();
    return success();
  }
  if (sums.size() == 1)
    return emit(op) << "adds something to the sum of " << describe(sums.front())
                    << " before it is that of " << subject;
  BatchPart low = sums.front(), high = sums.back();
  if (low.first > high.first)
    std::swap(low, high);
  if (low.scope != high.scope ||
      !areSiblings({low.first, low.count}, {high.first, high.count}, low.scope))
    return emit(op) << "adds the sums of " << describe(low) << " and of "
                    << describe(high) << ", which the tree does not";
  setSum(result, low.first, low.count + high.count, low.scope, parts);
  return success();
}

LogicalResult BatchWalk::visitSums(Operation *op, BatchParts &parts) {
  std::optional<BatchPart> common;
  bool isSame = true;
  for (Value operand : op->getOperands()) {
    auto it = parts.find(operand);
    if (it == parts.end() || it->second.kind == BatchPart::Kind::Rows)
      continue;
    common = common.value_or(it->second);
    isSame &= *common == it->second;
  }
  bool moves = movesSums(op);
  if (common->kind == BatchPart::Kind::Blocks) {
    if (moves)
      return success();
    return emit(op) << "takes sums of " << common->count
                    << " groups of ranks otherwise than one by one";
  }
  if (!isSame)
    return emit(op) << "combines sums of different segments, which the tree "
                       "does not";
  if (!moves && common->count != 1)
    return emit(op) << "changes the sum of " << describe(*common)
                    << " before it is that of " << subject;
  for (Value result : op->getResults())
    parts[result] = *common;
  return success();
}

/// True if each element of a result is made of those at its place, but for
/// sums, which have no place.
bool BatchWalk::isElementwise(linalg::GenericOp generic,
                              const BatchParts &parts) {
  auto isFollowed = [&](OpOperand &operand) {
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    if (map.isIdentity())
      return true;
    auto it = parts.find(operand.get());
    return !generic.isDpsInit(&operand) &&
           (it == parts.end() || (it->second.kind == BatchPart::Kind::Sum &&
                                  map.isProjectedPermutation()));
  };
  return generic.getNumReductionLoops() == 0 &&
         llvm::all_of(generic->getOpOperands(), isFollowed);
}

/// Several operations that became one do to elements what they did to values.
LogicalResult BatchWalk::visitElements(linalg::GenericOp generic,
                                       BatchParts &parts) {
  Block *body = generic.getBody();
  BatchParts elements;
  for (auto [operand, element] :
       llvm::zip_equal(generic->getOperands(), body->getArguments()))
    if (auto it = parts.find(operand); it != parts.end())
      elements[element] = it->second;
  if (failed(walk(*body, elements)))
    return failure();
  for (auto [element, result] : llvm::zip_equal(
           body->getTerminator()->getOperands(), generic.getResults()))
    if (auto it = elements.find(element); it != elements.end())
      parts[result] = it->second;
  return success();
}

std::optional<int64_t> BatchWalk::getScope(AxesAttr axes) {
  if (!dataAxes)
    return std::nullopt;
  // Inner axes come last.
  int64_t inner = 1;
  for (StringAttr name : llvm::reverse(dataAxes.getNames())) {
    if (llvm::is_contained(axes.getNames(), name))
      return segments / mesh.getGroupSize(dataAxes) * inner;
    inner *= mesh.getGroupSize(
        AxesAttr::get(axes.getContext(), ArrayRef<StringAttr>(name)));
  }
  return std::nullopt;
}

/// The ranks of a group have to hold neighbours in the tree, and all of them a
/// whole subtree.
LogicalResult BatchWalk::visitExchange(CollectiveOpInterface op,
                                       BatchParts &parts) {
  for (Value operand : op->getOperands()) {
    auto it = parts.find(operand);
    if (it == parts.end() || it->second.kind != BatchPart::Kind::Sum)
      continue;
    const BatchPart &part = it->second;
    if (part.count != part.scope)
      return emit(op) << "exchanges the sum of " << describe(part) << ", but "
                      << "its ranks have " << part.scope << " segments";
    if (getScope(op.getAxesAttr()) != part.scope)
      return emit(op) << "exchanges sums of " << part.scope
                      << " segments over axes " << op.getAxesAttr()
                      << ", whose ranks do not hold siblings in the tree";
  }
  return success();
}

LogicalResult BatchWalk::visitWait(WaitOp wait, BatchParts &parts) {
  Operation *source = wait.getFuture().getDefiningOp();
  if (isAlongOtherAxes(source)) {
    visitOtherWait(wait, source, parts);
    return success();
  }
  int64_t dim;
  if (auto gather = dyn_cast_or_null<AllGatherOp>(source))
    dim = gather.getDim();
  else if (auto exchange = dyn_cast_or_null<AllToAllOp>(source))
    dim = exchange.getConcatDim();
  else
    return success();
  auto collective = cast<CollectiveOpInterface>(source);
  MeshOp declared = lookupMesh(source, collective.getMeshAttr());
  for (auto [operand, result] :
       llvm::zip_equal(source->getOperands(), wait.getResults())) {
    auto it = parts.find(operand);
    if (it == parts.end() || it->second.kind != BatchPart::Kind::Sum)
      continue;
    parts[result] = {BatchPart::Kind::Blocks, dim, 0,
                     declared.getGroupSize(collective.getAxesAttr()),
                     it->second.scope};
  }
  return success();
}

/// A collective over axes that have nothing to do with the batch sums, or
/// moves, what belongs to the same rows. Of sums over the batch, it may only do
/// so with those of one segment, which then are another number each.
LogicalResult BatchWalk::visitOther(Operation *op, const BatchParts &parts) {
  std::optional<Reduction> reduction = getReduction(op);
  if (!reduction || *reduction == Reduction::Max)
    return success();
  for (Value operand : op->getOperands()) {
    auto it = parts.find(operand);
    if (it != parts.end() && it->second.kind != BatchPart::Kind::Rows &&
        it->second.count != 1)
      return emit(op) << "changes the sum of " << describe(it->second)
                      << " before it is that of " << subject;
  }
  return success();
}

/// The dimensions along which a collective puts blocks of ranks elsewhere.
static SmallVector<int64_t, 2> getMovedDims(Operation *op) {
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return {static_cast<int64_t>(gather.getDim())};
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return {static_cast<int64_t>(scatter.getDim())};
  if (auto exchange = dyn_cast<AllToAllOp>(op))
    return {static_cast<int64_t>(exchange.getSplitDim()),
            static_cast<int64_t>(exchange.getConcatDim())};
  return {};
}

/// Rows stay where they are, unless blocks of their dimension move.
void BatchWalk::visitOtherWait(WaitOp wait, Operation *source,
                               BatchParts &parts) {
  SmallVector<int64_t, 2> moved = getMovedDims(source);
  for (auto [operand, result] :
       llvm::zip_equal(source->getOperands(), wait.getResults()))
    if (auto it = parts.find(operand);
        it != parts.end() && (it->second.kind == BatchPart::Kind::Sum ||
                              !llvm::is_contained(moved, it->second.dim))) {
      BatchPart part = it->second;
      parts[result] = part;
    }
}

LogicalResult BatchWalk::visitReturn(Operation *op, const BatchParts &parts) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = parts.find(operand.get());
    if (it == parts.end() || it->second.kind == BatchPart::Kind::Rows)
      continue;
    return emit(op) << "result " << operand.getOperandNumber()
                    << " is a sum over a part of " << subject;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LogicalResult BatchWalk::visitLaunch(LaunchOp launch, BatchParts &parts) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  if (!kernel || !kernel.getBody().hasOneBlock())
    return success();
  Block &block = kernel.getBody().front();
  BatchParts inner;
  for (auto [operand, argument] :
       llvm::zip_equal(launch.getInputs(), block.getArguments()))
    if (auto it = parts.find(operand); it != parts.end())
      inner[argument] = it->second;
  if (inner.empty())
    return success();
  if (failed(walk(block, inner)))
    return failure();
  for (auto [inside, result] : llvm::zip_equal(
           block.getTerminator()->getOperands(), launch.getOutputs()))
    if (auto it = inner.find(inside); it != inner.end())
      parts[result] = it->second;
  return success();
}

LogicalResult BatchWalk::visit(Operation *op, BatchParts &parts) {
  if (isAlongOtherAxes(op))
    return visitOther(op, parts);
  if (std::optional<Reduction> reduction = getReduction(op);
      reduction && *reduction != Reduction::Max)
    return emit(op) << "sums in the order of the ranks";
  if (auto launch = dyn_cast<LaunchOp>(op))
    return visitLaunch(launch, parts);
  if (auto wait = dyn_cast<WaitOp>(op))
    return visitWait(wait, parts);
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return visitExchange(collective, parts);
  if (isa<func::ReturnOp>(op))
    return visitReturn(op, parts);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  bool hasRows = false, hasSums = false;
  for (Value operand : op->getOperands())
    if (auto it = parts.find(operand); it != parts.end()) {
      bool isRows = it->second.kind == BatchPart::Kind::Rows;
      hasRows |= isRows;
      hasSums |= !isRows;
    }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      slice && (hasRows || hasSums)) {
    BatchPart part = parts.lookup(slice.getSource());
    if (part.kind == BatchPart::Kind::Sum)
      return visitSums(op, parts);
    visitSlice(slice, part, parts);
    return success();
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(op);
      generic && hasSums && isElementwise(generic, parts))
    return visitElements(generic, parts);
  if (hasSums)
    return isAddition(op) ? visitAddition(op, parts) : visitSums(op, parts);
  if (!hasRows)
    return success();
  if (isConcatenation(op)) {
    visitConcatenation(cast<NodeOp>(op), parts);
    return success();
  }
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return success();
  ShardingRule rule = ruled.getShardingRule();
  for (OpOperand &operand : op->getOpOperands())
    if (auto it = parts.find(operand.get()); it != parts.end()) {
      BatchPart part = it->second;
      if (failed(visitRuled(op, rule, operand.getOperandNumber(), part, parts)))
        return failure();
    }
  return success();
}

LogicalResult BatchWalk::walk(Block &block, BatchParts &parts) {
  for (Operation &op : block)
    if (failed(visit(&op, parts)))
      return failure();
  return success();
}

LogicalResult BatchWalk::run() {
  addArguments();
  return walk(func.getFunctionBody().front(), arguments);
}

LogicalResult regather::tg::verifyElasticSums(FunctionOpInterface func) {
  int64_t segments = getElasticSegments(func);
  if (segments == 0 || !isa<func::FuncOp>(*func) ||
      !func.getFunctionBody().hasOneBlock() ||
      !func->getParentOfType<ModuleOp>())
    return success();
  if (failed(BatchWalk(func, segments).run()))
    return failure();
  auto axes = func->getAttrOfType<DictionaryAttr>(kModelSegmentsAttrName);
  if (!axes)
    return success();
  for (NamedAttribute axis : axes)
    if (int64_t own = *getModelSegments(func, axis.getName());
        own != 0 && failed(BatchWalk(func, own, axis.getName()).run()))
      return failure();
  return success();
}
