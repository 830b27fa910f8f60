//===- ReductionSplit.cpp - Reductions in two stages ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   r = sum x[i, j]               i < 8192, j < 4096
//
// becomes
//
//   p[k] = sum x[16 k + i, j]     k < 512, i < 16, j < 4096
//   r = sum p[k]
//
// Rows that are left where nothing divides the loop are reduced on their own,
// and combined last.
//
//===----------------------------------------------------------------------===//

#include "ReductionSplit.h"

#include "ThreadLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;
using utils::IteratorType;

/// Points up to which one block is enough.
static constexpr int64_t kMinPoints = 64 * 1024;

/// How many parts all results together should have, and the fewest steps of a
/// part, where the steps lie side by side.
static constexpr int64_t kRowParts = 1024;
static constexpr int64_t kMinRowSteps = 4096;

/// The most parts, and the fewest steps of a part, where results lie side by
/// side. With more results than the third number, there are enough threads
/// without parts.
static constexpr int64_t kMaxColumnParts = 512;
static constexpr int64_t kMinColumnSteps = 16;
static constexpr int64_t kMaxColumns = 128 * 1024;

/// The most parts, and the fewest steps of a part, where the number of results
/// does not count. Rows are as long as those of a vocabulary before they are
/// split, since there are many of them as a rule.
static constexpr int64_t kMaxElasticParts = 256;
static constexpr int64_t kMinElasticRowSteps = 128 * 1024;
static constexpr int64_t kMinElasticColumnSteps = 128;

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

namespace {
/// How the loops of a reduction are split.
struct LoopParts {
  /// For each loop the number of parts; 1 if it stays.
  SmallVector<int64_t> counts;
  /// The loop whose parts have several steps, and what they leave of it.
  std::optional<unsigned> chunked;
  int64_t steps = 0, rest = 0;
};
} // namespace

static int64_t countWantedParts(linalg::LinalgOp op, bool isElastic) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t steps = countPoints(sizes, getLoops(op, IteratorType::reduction));
  int64_t points = countPoints(sizes, getLoops(op, IteratorType::parallel));
  bool isRow = op.getIteratorTypesArray().back() == IteratorType::reduction;
  if (points == 0)
    return 1;
  if (isElastic)
    return std::min(kMaxElasticParts, steps / (isRow ? kMinElasticRowSteps
                                                     : kMinElasticColumnSteps));
  if (steps * points < kMinPoints)
    return 1;
  if (isRow)
    return std::min(int64_t(llvm::divideCeil(kRowParts, points)),
                    steps / kMinRowSteps);
  if (points > kMaxColumns)
    return 1;
  return std::min(kMaxColumnParts, steps / kMinColumnSteps);
}

/// Steps of a part of a loop: the least number from `least` on that divides the
/// loop, if one is not far away.
static int64_t roundSteps(int64_t size, int64_t least) {
  for (int64_t steps = least; steps < 2 * least; ++steps)
    if (size % steps == 0)
      return steps;
  // Parts begin at multiples of the widest access.
  return static_cast<int64_t>(llvm::alignTo(least, 8));
}

/// True if each part of `loop` is a slice of every operand.
static bool isSplittable(linalg::LinalgOp op, unsigned loop) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    unsigned uses = 0;
    for (AffineExpr expr : map.getResults()) {
      if (!expr.isFunctionOfDim(loop))
        continue;
      if (!isa<AffineDimExpr>(expr))
        return false;
      ++uses;
    }
    return uses <= 1;
  });
}

/// True if the first parts of `loop` lie at the beginning of all operands.
static bool isOutermost(linalg::LinalgOp op, unsigned loop) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    for (auto [size, expr] :
         llvm::zip(op.getShape(operand), map.getResults())) {
      if (expr.isFunctionOfDim(loop))
        return true;
      if (size != 1)
        return !map.isFunctionOfDim(loop);
    }
    return true;
  });
}

/// Cuts a loop into about `wanted` parts of several steps. What is left of an
/// elastic one would depend on the sizes of other loops, so there it has to be
/// nothing.
static void chunkLoop(linalg::LinalgOp op, unsigned loop, int64_t wanted,
                      bool isElastic, LoopParts &parts) {
  int64_t size = op.getStaticLoopRanges()[loop];
  auto least = static_cast<int64_t>(llvm::divideCeil(size, wanted));
  parts.steps = roundSteps(size, least);
  if (size % parts.steps != 0 && (isElastic || !isOutermost(op, loop)))
    return;
  parts.chunked = loop;
  parts.counts[loop] = size / parts.steps;
  parts.rest = size % parts.steps;
}

/// Splits loops from the outermost inwards, until there are enough parts.
static std::optional<LoopParts> chooseParts(linalg::LinalgOp op,
                                            bool isElastic) {
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      op.getNumReductionLoops() == 0 || op.hasIndexSemantics() ||
      !findCombiner(op) || op->hasAttr(kPartialAttrName) ||
      op->hasAttr(kCombineAttrName))
    return std::nullopt;
  int64_t wanted = countWantedParts(op, isElastic);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  LoopParts parts;
  parts.counts.assign(sizes.size(), 1);
  for (unsigned loop : getLoops(op, IteratorType::reduction)) {
    if (wanted < 2)
      break;
    if (sizes[loop] == 1)
      continue;
    if (!isSplittable(op, loop))
      return std::nullopt;
    if (sizes[loop] <= wanted) {
      parts.counts[loop] = sizes[loop];
      wanted /= sizes[loop];
      continue;
    }
    chunkLoop(op, loop, wanted, isElastic, parts);
    break;
  }
  if (llvm::all_of(parts.counts, [](int64_t count) { return count == 1; }))
    return std::nullopt;
  return parts;
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

namespace {
class ReductionSplitter {
public:
  ReductionSplitter(linalg::LinalgOp op, LoopParts parts)
      : op(op), parts(std::move(parts)), b(op.getLoc(), op),
        sizes(op.getStaticLoopRanges()), combiner(findCombiner(op)) {}

  void split();

private:
  Value emitPartial(ArrayRef<Value> inputs, const LoopParts &parts);
  Value emitCombine(Value partial, Value into);
  Value emitSlice(OpOperand &input, int64_t begin, int64_t size);
  Value emitExpanded(Value input, AffineMap map);
  Type getElementType() { return combiner->getResult(0).getType(); }

  linalg::LinalgOp op;
  LoopParts parts;
  ImplicitLocOpBuilder b;
  SmallVector<int64_t> sizes;
  Operation *combiner;
};
} // namespace

/// The part of an operand from step `begin` of the chunked loop on.
Value ReductionSplitter::emitSlice(OpOperand &input, int64_t begin,
                                   int64_t size) {
  auto type = dyn_cast<RankedTensorType>(input.get().getType());
  if (!type || parts.rest == 0)
    return input.get();
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> taken =
      getAsIndexOpFoldResult(b.getContext(), type.getShape());
  AffineMap map = op.getMatchingIndexingMap(&input);
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    if (expr.isFunctionOfDim(*parts.chunked)) {
      offsets[dim] = b.getIndexAttr(begin);
      taken[dim] = b.getIndexAttr(size);
    }
  return tensor::ExtractSliceOp::create(b, input.get(), offsets, taken,
                                        strides);
}

/// The operand with the chunked loop as two dimensions.
Value ReductionSplitter::emitExpanded(Value input, AffineMap map) {
  auto type = dyn_cast<RankedTensorType>(input.getType());
  if (!type || !parts.chunked || !map.isFunctionOfDim(*parts.chunked))
    return input;
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  for (auto [size, expr] : llvm::zip_equal(type.getShape(), map.getResults())) {
    ReassociationIndices &group = groups.emplace_back();
    group.push_back(static_cast<int64_t>(shape.size()));
    if (!expr.isFunctionOfDim(*parts.chunked)) {
      shape.push_back(size);
      continue;
    }
    group.push_back(group.front() + 1);
    shape.append({size / parts.steps, parts.steps});
  }
  return tensor::ExpandShapeOp::create(
      b, RankedTensorType::get(shape, type.getElementType()), input, groups);
}

/// Reduces each part. Its results have a dimension for each loop with parts,
/// before those of the reduction.
Value ReductionSplitter::emitPartial(ArrayRef<Value> inputs,
                                     const LoopParts &parts) {
  // A chunked loop becomes two.
  SmallVector<SmallVector<unsigned, 2>> loops;
  SmallVector<IteratorType> types;
  SmallVector<AffineExpr> resultExprs;
  SmallVector<int64_t> shape;
  unsigned next = 0;
  for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray())) {
    auto &made = loops.emplace_back();
    bool hasParts = parts.counts[loop] != 1;
    if (hasParts) {
      resultExprs.push_back(b.getAffineDimExpr(next));
      shape.push_back(parts.counts[loop]);
    }
    made.push_back(next++);
    types.push_back(hasParts ? IteratorType::parallel : type);
    if (hasParts && parts.chunked == loop) {
      made.push_back(next++);
      types.push_back(IteratorType::reduction);
    }
  }
  auto outer = llvm::map_to_vector(loops, [&](ArrayRef<unsigned> made) {
    return b.getAffineDimExpr(made.front());
  });
  auto getExprs = [&](AffineMap map) {
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : map.getResults()) {
      exprs.push_back(expr.replaceDims(outer));
      if (auto dim = dyn_cast<AffineDimExpr>(expr);
          dim && loops[dim.getPosition()].size() == 2)
        exprs.push_back(b.getAffineDimExpr(loops[dim.getPosition()].back()));
    }
    return exprs;
  };
  SmallVector<AffineMap> maps;
  SmallVector<Value> operands;
  for (auto [operand, input] :
       llvm::zip_equal(op.getDpsInputOperands(), inputs)) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    maps.push_back(AffineMap::get(next, 0, getExprs(map), b.getContext()));
    operands.push_back(parts.chunked && parts.counts[*parts.chunked] != 1
                           ? emitExpanded(input, map)
                           : input);
  }
  OpOperand &init = *op.getDpsInitOperand(0);
  llvm::append_range(resultExprs, getExprs(op.getMatchingIndexingMap(&init)));
  llvm::append_range(shape, op.getShape(&init));
  maps.push_back(AffineMap::get(next, 0, resultExprs, b.getContext()));
  Value neutral =
      arith::ConstantOp::create(b, *arith::getNeutralElement(combiner));
  Value empty = tensor::EmptyOp::create(b, shape, getElementType());
  Value filled = linalg::FillOp::create(b, neutral, empty).getResult(0);
  auto partial = linalg::GenericOp::create(b, filled.getType(), operands,
                                           filled, maps, types);
  IRMapping mapping;
  op->getRegion(0).cloneInto(&partial.getRegion(), mapping);
  partial->setAttr(kPartialAttrName, b.getUnitAttr());
  return partial.getResult(0);
}

/// Combines what the parts have become with `into`.
Value ReductionSplitter::emitCombine(Value partial, Value into) {
  auto type = cast<RankedTensorType>(partial.getType());
  auto result = cast<RankedTensorType>(into.getType());
  int64_t numParts = type.getRank() - result.getRank();
  SmallVector<IteratorType> types(numParts, IteratorType::reduction);
  types.append(result.getRank(), IteratorType::parallel);
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  AffineMap kept = AffineMap::get(
      type.getRank(), 0, all.getResults().drop_front(numParts), b.getContext());
  auto combine = linalg::GenericOp::create(
      b, result, partial, into, ArrayRef{all, kept}, types,
      [&](OpBuilder &builder, Location loc, ValueRange values) {
        OperationState state(loc, combiner->getName(), {values[1], values[0]},
                             values[1].getType(), combiner->getAttrs());
        linalg::YieldOp::create(builder, loc,
                                builder.create(state)->getResult(0));
      });
  combine->setAttr(kCombineAttrName, b.getUnitAttr());
  return combine.getResult(0);
}

void ReductionSplitter::split() {
  SmallVector<Value> head, tail;
  for (OpOperand *input : op.getDpsInputOperands()) {
    int64_t size = parts.chunked ? sizes[*parts.chunked] - parts.rest : 0;
    head.push_back(emitSlice(*input, 0, size));
    if (parts.rest != 0)
      tail.push_back(emitSlice(*input, size, parts.rest));
  }
  Value result =
      emitCombine(emitPartial(head, parts), op.getDpsInitOperand(0)->get());
  if (parts.rest != 0) {
    LoopParts rest = parts;
    rest.counts[*parts.chunked] = 1;
    Value last = emitPartial(tail, rest);
    // It is too little for a launch of its own.
    last.getDefiningOp()->removeAttr(kPartialAttrName);
    last.getDefiningOp()->setAttr(kCombineAttrName, b.getUnitAttr());
    result = emitCombine(last, result);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// True if the loops that read the dimensions which `view` splits or merges are
/// parallel: then the order of a reduction stays.
static bool keepsOrder(linalg::GenericOp op, OpOperand &operand,
                       ArrayRef<ReassociationIndices> groups) {
  SmallVector<IteratorType> types = op.getIteratorTypesArray();
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [group, expr] : llvm::zip(groups, map.getResults())) {
    if (group.size() == 1)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || types[dim.getPosition()] != IteratorType::parallel)
      return false;
  }
  return true;
}

/// Moves views to the arguments and results of the kernel, so that what is
/// computed element by element can be computed where it is reduced.
static LogicalResult moveViews(tg::KernelOp kernel) {
  RewritePatternSet patterns(kernel.getContext());
  linalg::populateFoldReshapeOpsByExpansionPatterns(
      patterns, [](OpOperand *operand) {
        Operation *user = operand->getOwner();
        if (auto view = dyn_cast<tensor::ExpandShapeOp>(user)) {
          auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
          return producer &&
                 producer.getNumLoops() == producer.getNumParallelLoops();
        }
        auto consumer = dyn_cast<linalg::GenericOp>(user);
        auto view = operand->get().getDefiningOp<tensor::CollapseShapeOp>();
        return consumer && view && !consumer->hasAttr(kPartialAttrName) &&
               !consumer->hasAttr(kCombineAttrName) &&
               keepsOrder(consumer, *operand, view.getReassociationIndices());
      });
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                       kernel.getContext());
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns,
                                                     kernel.getContext());
  return applyPatternsGreedily(kernel, std::move(patterns));
}

bool nvptx::hasLongReductions(tg::KernelOp kernel) {
  return llvm::any_of(kernel.getBody().front().getOps<linalg::LinalgOp>(),
                      [](linalg::LinalgOp op) {
                        return chooseParts(op, /*isElastic=*/true).has_value();
                      });
}

FailureOr<unsigned> nvptx::splitReductions(tg::KernelOp kernel,
                                           bool isElastic) {
  SmallVector<std::pair<linalg::LinalgOp, LoopParts>> found;
  for (auto op : kernel.getBody().front().getOps<linalg::LinalgOp>())
    if (std::optional<LoopParts> parts = chooseParts(op, isElastic))
      found.emplace_back(op, std::move(*parts));
  for (auto &[op, parts] : found)
    ReductionSplitter(op, std::move(parts)).split();
  if (!found.empty() && failed(moveViews(kernel)))
    return failure();
  return static_cast<unsigned>(found.size());
}
