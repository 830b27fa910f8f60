//===- RowTiling.cpp - Kernels on blocks of rows --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/RowTiling.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace regather;
using namespace regather::kernel;
using tg::kernels::RowSplit;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// True for what costs nothing to compute once more.
static bool isConstant(Operation *op) {
  return op->getNumResults() == 1 &&
         (op->getNumOperands() == 0 || isa<linalg::FillOp>(op));
}

void kernel::separateConstants(tg::KernelOp kernel) {
  // Backwards: what a constant reads is then repeated for its copies, too.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(kernel.getBody().front()))) {
    if (!isConstant(&op) || op.use_empty())
      continue;
    OpBuilder builder(&op);
    auto uses = llvm::to_vector(llvm::make_pointer_range(op.getUses()));
    for (OpOperand *use : ArrayRef(uses).drop_front())
      use->set(builder.clone(op)->getResult(0));
  }
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

namespace {
/// Finds out where all values have their rows from where some have them.
class TilingFinder {
public:
  TilingFinder(tg::KernelOp kernel, int64_t rows) : kernel(kernel) {
    tiling.rows = rows;
  }

  /// False if the value cannot have its rows there.
  bool assign(Value value, int64_t dim);
  /// Gives rows to results that nothing connects with the others, where they
  /// have as many. False if the rest cannot follow.
  bool assignResults();
  std::optional<RowTiling> finish();

private:
  /// Follows what has been assigned.
  bool follow();
  bool visit(Operation *op);
  bool split(Operation *op);
  bool propagate(ValueRange values, ArrayRef<std::optional<int64_t>> found);

  tg::KernelOp kernel;
  RowTiling tiling;
  llvm::DenseMap<Value, int64_t> dims;
  SmallVector<Operation *> pending;
};
} // namespace

bool TilingFinder::assign(Value value, int64_t dim) {
  auto [it, inserted] = dims.try_emplace(value, dim);
  if (!inserted)
    return it->second == dim;
  llvm::append_range(pending, value.getUsers());
  if (Operation *def = value.getDefiningOp())
    pending.push_back(def);
  return true;
}

/// Takes over what a split says about the operands or the results.
bool TilingFinder::propagate(ValueRange values,
                             ArrayRef<std::optional<int64_t>> found) {
  for (auto [value, dim] : llvm::zip_equal(values, found)) {
    if (dim ? !assign(value, *dim) : dims.contains(value))
      return false;
  }
  return true;
}

/// How a parallel loop is split that runs over dimension `dim` of `operand`.
/// Unlike a rank, a block has all of what a body reads from outside.
static std::optional<RowSplit>
splitLoop(linalg::LinalgOp op, OpOperand &operand, int64_t dim, int64_t rows) {
  auto expr = dyn_cast<AffineDimExpr>(
      op.getMatchingIndexingMap(&operand).getResult(dim));
  if (!expr || !op.hasPureTensorSemantics() || op.hasDynamicShape())
    return std::nullopt;
  unsigned loop = expr.getPosition();
  // A position of a part is not one of the whole.
  if (op.getIteratorTypesArray()[loop] != utils::IteratorType::parallel ||
      op.getStaticLoopRanges()[loop] != rows ||
      llvm::any_of(
          op.getBlock()->getOps<linalg::IndexOp>(),
          [&](linalg::IndexOp index) { return index.getDim() == loop; }))
    return std::nullopt;
  RowSplit split;
  split.rows = rows;
  for (OpOperand &other : op->getOpOperands()) {
    std::optional<int64_t> &place = split.operands.emplace_back();
    for (auto [number, part] :
         llvm::enumerate(op.getMatchingIndexingMap(&other).getResults())) {
      if (!part.isFunctionOfDim(loop))
        continue;
      if (place || part != expr)
        return std::nullopt;
      place = number;
    }
  }
  for (OpOperand &init : op.getDpsInitsMutable())
    split.results.push_back(split.operands[init.getOperandNumber()]);
  return split;
}

bool TilingFinder::split(Operation *op) {
  std::optional<RowSplit> found;
  auto loops = dyn_cast<linalg::LinalgOp>(op);
  for (auto [number, value] : llvm::enumerate(op->getOperands()))
    if (auto it = dims.find(value); !found && it != dims.end()) {
      found =
          tg::kernels::splitRowsOfOperand(op, number, it->second, tiling.rows);
      if (!found && loops)
        found =
            splitLoop(loops, op->getOpOperand(number), it->second, tiling.rows);
    }
  for (auto [number, value] : llvm::enumerate(op->getResults()))
    if (auto it = dims.find(value); !found && it != dims.end()) {
      found =
          tg::kernels::splitRowsOfResult(op, number, it->second, tiling.rows);
      if (!found && loops && loops.hasPureTensorSemantics())
        found = splitLoop(loops, *loops.getDpsInitOperand(number), it->second,
                          tiling.rows);
    }
  if (!found)
    return false;
  tiling.splits.try_emplace(op, std::move(*found));
  return true;
}

bool TilingFinder::visit(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return true;
  // What a region reads from outside, it reads as a whole.
  Operation *top = kernel.getBody().front().findAncestorOpInBlock(*op);
  if (top != op || (!tiling.splits.contains(op) && !split(op)))
    return false;
  RowSplit split = tiling.splits.at(op);
  return propagate(op->getOperands(), split.operands) &&
         propagate(op->getResults(), split.results);
}

bool TilingFinder::follow() {
  while (!pending.empty())
    if (!visit(pending.pop_back_val()))
      return false;
  return true;
}

bool TilingFinder::assignResults() {
  if (!follow())
    return false;
  for (Value value : kernel.getBody().front().getTerminator()->getOperands()) {
    if (dims.contains(value))
      continue;
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(value.getType()).getShape();
    auto it = llvm::find(shape, tiling.rows);
    if (it == shape.end() || !assign(value, it - shape.begin()) || !follow())
      return false;
  }
  return true;
}

std::optional<RowTiling> TilingFinder::finish() {
  if (!follow())
    return std::nullopt;
  auto find = [&](Value value) -> std::optional<int64_t> {
    auto it = dims.find(value);
    return it == dims.end() ? std::nullopt : std::optional(it->second);
  };
  Block &body = kernel.getBody().front();
  tiling.arguments = llvm::map_to_vector(
      body.getArguments(), [&](Value value) { return find(value); });
  tiling.results =
      llvm::map_to_vector(body.getTerminator()->getOperands(),
                          [&](Value value) { return find(value); });
  if (tiling.results.empty() ||
      llvm::is_contained(tiling.results, std::nullopt))
    return std::nullopt;
  return std::move(tiling);
}

/// The tiling along one dimension of the first result.
static std::optional<RowTiling> findTilingOfResult(tg::KernelOp kernel) {
  Operation *end = kernel.getBody().front().getTerminator();
  if (end->getNumOperands() == 0)
    return std::nullopt;
  Value result = end->getOperand(0);
  auto type = cast<RankedTensorType>(result.getType());
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (size <= 1)
      continue;
    TilingFinder finder(kernel, size);
    finder.assign(result, dim);
    if (!finder.assignResults())
      continue;
    if (std::optional<RowTiling> tiling = finder.finish())
      return tiling;
  }
  return std::nullopt;
}

std::optional<RowTiling> kernel::findRowTiling(tg::KernelOp kernel) {
  auto isEmpty = [](Type type) {
    return cast<RankedTensorType>(type).getNumElements() == 0;
  };
  if (llvm::any_of(kernel.getArgumentTypes(), isEmpty) ||
      llvm::any_of(kernel.getResultTypes(), isEmpty))
    return std::nullopt;
  // Where the attribute says that rows are, with the value that has them.
  SmallVector<std::pair<Value, int64_t>> known;
  Block &body = kernel.getBody().front();
  for (BlockArgument argument : body.getArguments())
    if (auto dim = kernel.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                        tg::kRowsAttrName))
      known.push_back({argument, dim.getInt()});
  int64_t rows = 0;
  for (OpOperand &operand : body.getTerminator()->getOpOperands())
    if (auto dim = kernel.getResultAttrOfType<IntegerAttr>(
            operand.getOperandNumber(), tg::kRowsAttrName))
      known.push_back({operand.get(), dim.getInt()});
  // A dimension may hold other dimensions inside of the rows: the smallest one
  // has rows only.
  for (auto [value, dim] : known) {
    int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    rows = rows == 0 ? size : std::min(rows, size);
  }
  if (known.empty() || rows <= 1)
    return findTilingOfResult(kernel);
  TilingFinder finder(kernel, rows);
  for (auto [value, dim] : known)
    if (!finder.assign(value, dim))
      return std::nullopt;
  return finder.finish();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The type of `size` of the rows of a tensor.
static Type getTileType(Type type, std::optional<int64_t> dim, int64_t rows,
                        int64_t size) {
  if (!dim)
    return type;
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[*dim] = shape[*dim] / rows * size;
  return tensor.clone(shape);
}

OwningOpRef<tg::KernelOp> kernel::buildRowTile(tg::KernelOp kernel,
                                               const RowTiling &tiling,
                                               int64_t size) {
  auto getTypes = [&](TypeRange types, ArrayRef<std::optional<int64_t>> dims) {
    SmallVector<Type> blocks;
    for (auto [type, dim] : llvm::zip_equal(types, dims))
      blocks.push_back(getTileType(type, dim, tiling.rows, size));
    return blocks;
  };
  OpBuilder builder(kernel.getContext());
  Block &body = kernel.getBody().front();
  auto type = builder.getFunctionType(
      getTypes(kernel.getArgumentTypes(), tiling.arguments),
      getTypes(kernel.getResultTypes(), tiling.results));
  OwningOpRef<tg::KernelOp> block =
      tg::KernelOp::create(builder, kernel.getLoc(), kernel.getSymName(), type);
  Block &target = block->getBody().emplaceBlock();
  IRMapping map;
  for (auto [argument, part] : llvm::zip(body.getArguments(), type.getInputs()))
    map.map(argument, target.addArgument(part, argument.getLoc()));
  builder.setInsertionPointToEnd(&target);
  for (Operation &op : body) {
    auto it = tiling.splits.find(&op);
    if (it == tiling.splits.end()) {
      builder.clone(op, map);
      continue;
    }
    auto operands = llvm::map_to_vector(
        op.getOperands(), [&](Value value) { return map.lookup(value); });
    Operation *part = cast<tg::ShardingRuleOpInterface>(op).buildPart(
        builder, operands, getTypes(op.getResultTypes(), it->second.results));
    // What a region reads from outside.
    for (Region &region : part->getRegions())
      region.walk([&](Operation *inner) {
        for (OpOperand &operand : inner->getOpOperands())
          operand.set(map.lookupOrDefault(operand.get()));
      });
    map.map(op.getResults(), part->getResults());
  }
  return block;
}
