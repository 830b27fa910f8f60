//===- ElementInlining.cpp - Compute elements where they are read ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/ElementInlining.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace regather;

/// Operations up to which computing an element again is cheaper than to keep
/// it.
static constexpr size_t kMaxCheapOps = 4;

/// Most elements that are inlined into one operation; further ones are read
/// from memory.
static constexpr size_t kMaxElements = 1024;

/// True if the value is a result of the kernel, perhaps in another shape.
static bool isResult(Value value) {
  SmallVector<Value> pending = {value};
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (isa<bufferization::MaterializeInDestinationOp>(user) ||
          user->hasTrait<OpTrait::IsTerminator>())
        return true;
      if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(user))
        pending.push_back(user->getResult(0));
    }
  return false;
}

/// Operations of a body whose results change in the innermost loop of more than
/// one iteration. What does not change there is computed before that loop.
static SmallVector<Operation *> getInnermostOps(linalg::GenericOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  unsigned loop = sizes.size();
  while (loop != 0 && sizes[loop - 1] == 1)
    --loop;
  llvm::SmallDenseSet<Value> varying;
  for (OpOperand &operand : op->getOpOperands())
    if (loop != 0 &&
        op.getMatchingIndexingMap(&operand).isFunctionOfDim(loop - 1))
      varying.insert(op.getMatchingBlockArgument(&operand));
  SmallVector<Operation *> found;
  for (Operation &inner : op.getBlock()->without_terminator()) {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    if (index ? index.getDim() + 1 != loop
              : llvm::none_of(inner.getOperands(), [&](Value value) {
                  return varying.contains(value);
                }))
      continue;
    varying.insert(inner.result_begin(), inner.result_end());
    found.push_back(&inner);
  }
  return found;
}

bool kernel::isCheapToRepeat(Value value) {
  auto producer = value.getDefiningOp<linalg::GenericOp>();
  if (!producer || producer->getNumResults() != 1 ||
      producer.hasDynamicShape() || isResult(value))
    return false;
  SmallVector<Operation *> ops = getInnermostOps(producer);
  return ops.size() <= kMaxCheapOps &&
         llvm::all_of(
             ops,
             [](Operation *op) {
               return isa<arith::AddFOp, arith::AndIOp, arith::CmpIOp,
                          arith::ExtFOp, arith::MulFOp, arith::NegFOp,
                          arith::SelectOp, arith::SubFOp, linalg::IndexOp>(op);
             }) &&
         llvm::all_of(*producer.getBlock(), [](Operation &op) {
           return op.getNumRegions() == 0 &&
                  isa<arith::ArithDialect, linalg::LinalgDialect>(
                      op.getDialect());
         });
}

namespace {
class ElementInliner {
public:
  explicit ElementInliner(Operation *op) : op(op) {}

  unsigned run();

private:
  bool isNeededElsewhere(Value tensor);
  bool inlineElement(tensor::ExtractOp op);
  Value emitGeneric(linalg::GenericOp producer, ValueRange place);
  Value emitCollapse(tensor::CollapseShapeOp view, ValueRange place);
  Value emitExpand(tensor::ExpandShapeOp view, ValueRange place);
  Value emitSlice(tensor::ExtractSliceOp view, ValueRange place);
  Value emitExtract(Value tensor, ValueRange place);
  /// The same value for the same number, so that equal places are seen.
  Value makeIndex(int64_t value) {
    Value &index = constants[value];
    if (!index) {
      OpBuilder outer(op);
      index = arith::ConstantIndexOp::create(outer, op->getLoc(), value);
    }
    return index;
  }

  Operation *op;
  std::optional<ImplicitLocOpBuilder> b;
  SmallVector<tensor::ExtractOp> pending;
  /// Of each tensor, the elements that are pending.
  llvm::DenseMap<Value, SmallVector<tensor::ExtractOp>> emitted;
  llvm::SmallDenseMap<int64_t, Value> constants;
};
} // namespace

/// True if an element of the result is computed from one of each operand.
static bool isElementwise(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || op.getNumParallelLoops() != op.getNumLoops())
    return false;
  OpOperand &init = *op.getDpsInitOperand(0);
  return op.getMatchingIndexingMap(&init).isPermutation() &&
         op.getMatchingBlockArgument(&init).use_empty() &&
         llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
           return llvm::all_of(
               op.getMatchingIndexingMap(operand).getResults(),
               llvm::IsaPred<AffineDimExpr, AffineConstantExpr>);
         });
}

/// An element that is read twice is computed once: else a chain in which each
/// value is read twice would double at each step.
Value ElementInliner::emitExtract(Value tensor, ValueRange place) {
  SmallVector<tensor::ExtractOp> &known = emitted[tensor];
  for (tensor::ExtractOp extract : known) {
    if (extract->getBlock() != b->getInsertionBlock() ||
        ValueRange(extract.getIndices()) != place)
      continue;
    Operation *next = &*b->getInsertionPoint();
    if (next->isBeforeInBlock(extract))
      extract->moveBefore(next);
    return extract;
  }
  known.push_back(tensor::ExtractOp::create(*b, tensor, place));
  pending.push_back(known.back());
  return known.back();
}

Value ElementInliner::emitGeneric(linalg::GenericOp producer,
                                  ValueRange place) {
  AffineMap results =
      producer.getMatchingIndexingMap(producer.getDpsInitOperand(0));
  SmallVector<Value> indices(producer.getNumLoops());
  for (auto [number, index] : llvm::enumerate(place))
    indices[results.getDimPosition(number)] = index;
  IRMapping map;
  for (OpOperand *operand : producer.getDpsInputOperands()) {
    Value element = operand->get();
    if (isa<RankedTensorType>(element.getType())) {
      SmallVector<Value> inner;
      for (AffineExpr expr :
           producer.getMatchingIndexingMap(operand).getResults()) {
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          inner.push_back(indices[dim.getPosition()]);
        else
          inner.push_back(makeIndex(cast<AffineConstantExpr>(expr).getValue()));
      }
      element = emitExtract(element, inner);
    }
    map.map(producer.getMatchingBlockArgument(operand), element);
  }
  for (Operation &inner : producer.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      map.map(index.getResult(), indices[index.getDim()]);
      continue;
    }
    Operation *copy = b->clone(inner, map);
    if (auto extract = dyn_cast<tensor::ExtractOp>(copy))
      pending.push_back(extract);
  }
  return map.lookupOrDefault(
      producer.getBlock()->getTerminator()->getOperand(0));
}

/// Each index becomes one for each dimension that it stands for.
Value ElementInliner::emitCollapse(tensor::CollapseShapeOp view,
                                   ValueRange place) {
  ArrayRef<int64_t> shape = view.getSrcType().getShape();
  SmallVector<Value> inner(shape.size());
  for (auto [group, index] :
       llvm::zip_equal(view.getReassociationIndices(), place)) {
    Value rest = index;
    int64_t count = 1;
    for (int64_t dim : group)
      count *= shape[dim];
    for (int64_t dim : llvm::reverse(group)) {
      count /= shape[dim];
      if (shape[dim] == 1) {
        inner[dim] = makeIndex(0);
        continue;
      }
      inner[dim] = rest;
      if (count == 1)
        continue;
      Value size = makeIndex(shape[dim]);
      inner[dim] = arith::RemUIOp::create(*b, rest, size);
      rest = arith::DivUIOp::create(*b, rest, size);
    }
  }
  // Of a tensor that has become a scalar.
  for (Value &index : inner)
    index = index ? index : makeIndex(0);
  return emitExtract(view.getSrc(), inner);
}

Value ElementInliner::emitExpand(tensor::ExpandShapeOp view, ValueRange place) {
  ArrayRef<int64_t> shape = view.getResultType().getShape();
  SmallVector<Value> inner;
  for (const ReassociationIndices &group : view.getReassociationIndices()) {
    Value number;
    for (int64_t dim : group) {
      if (shape[dim] == 1)
        continue;
      number =
          number ? arith::AddIOp::create(
                       *b,
                       arith::MulIOp::create(*b, number, makeIndex(shape[dim])),
                       place[dim])
                 : place[dim];
    }
    inner.push_back(number ? number : makeIndex(0));
  }
  return emitExtract(view.getSrc(), inner);
}

Value ElementInliner::emitSlice(tensor::ExtractSliceOp view, ValueRange place) {
  SmallVector<Value> inner;
  for (auto [index, offset, stride] : llvm::zip_equal(
           place, view.getStaticOffsets(), view.getStaticStrides())) {
    Value taken = index;
    if (stride != 1)
      taken = arith::MulIOp::create(*b, taken, makeIndex(stride));
    if (offset != 0)
      taken = arith::AddIOp::create(*b, taken, makeIndex(offset));
    inner.push_back(taken);
  }
  return emitExtract(view.getSource(), inner);
}

/// True if something else has to have all of the tensor.
bool ElementInliner::isNeededElsewhere(Value tensor) {
  bool isView = isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                    tensor::ExtractSliceOp>(tensor.getDefiningOp());
  return !isView && !kernel::isCheapToRepeat(tensor) &&
         !llvm::all_of(tensor.getUsers(), [&](Operation *user) {
           return isa<tensor::ExtractOp>(user) && op->isProperAncestor(user);
         });
}

bool ElementInliner::inlineElement(tensor::ExtractOp extract) {
  Value tensor = extract.getTensor();
  Operation *def = tensor.getDefiningOp();
  if (!def || def->getBlock() != op->getBlock() || isNeededElsewhere(tensor) ||
      !cast<RankedTensorType>(tensor.getType()).hasStaticShape())
    return false;
  b.emplace(extract.getLoc(), extract);
  Value element;
  if (auto producer = dyn_cast<linalg::GenericOp>(def)) {
    if (!isElementwise(producer))
      return false;
    element = emitGeneric(producer, extract.getIndices());
  } else if (auto fill = dyn_cast<linalg::FillOp>(def)) {
    element = fill.value();
  } else if (auto view = dyn_cast<tensor::CollapseShapeOp>(def)) {
    element = emitCollapse(view, extract.getIndices());
  } else if (auto view = dyn_cast<tensor::ExpandShapeOp>(def)) {
    element = emitExpand(view, extract.getIndices());
  } else if (auto view = dyn_cast<tensor::ExtractSliceOp>(def);
             view && !ShapedType::isDynamicShape(view.getStaticOffsets()) &&
             !ShapedType::isDynamicShape(view.getStaticStrides()) &&
             view.getType().getRank() == view.getSourceType().getRank()) {
    element = emitSlice(view, extract.getIndices());
  } else {
    return false;
  }
  llvm::erase(emitted[tensor], extract);
  extract.replaceAllUsesWith(element);
  extract.erase();
  if (def->use_empty())
    def->erase();
  return true;
}

unsigned ElementInliner::run() {
  unsigned numInlined = 0;
  op->walk([&](tensor::ExtractOp extract) { pending.push_back(extract); });
  // From reader to producer: a view goes with the last one that reads it.
  for (size_t next = 0; next != std::min(pending.size(), kMaxElements); ++next)
    numInlined += inlineElement(pending[next]);
  return numInlined;
}

unsigned kernel::inlineElements(Operation *op) {
  return ElementInliner(op).run();
}
