//===- TGFlatOps.cpp - Tensors inside a flat one --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks that the members lie in `flat`, one after the other.
static LogicalResult verifyMembers(Operation *op, RankedTensorType flat,
                                   TypeRange members, ArrayRef<int64_t> offsets,
                                   StringRef what) {
  if (offsets.size() != members.size())
    return op->emitOpError()
           << "expects one offset for each of " << members.size() << " " << what
           << "s, got " << offsets.size();
  if (!flat.hasStaticShape())
    return op->emitOpError()
           << "flat tensor must have a static shape, got " << flat;
  int64_t size = flat.getNumElements();
  int64_t end = 0;
  for (auto [i, member, offset] : llvm::enumerate(members, offsets)) {
    auto type = cast<RankedTensorType>(member);
    if (!type.hasStaticShape())
      return op->emitOpError()
             << what << " " << i << " must have a static shape, got " << type;
    if (type.getElementType() != flat.getElementType())
      return op->emitOpError()
             << what << " " << i << " must have the element type "
             << flat.getElementType() << " of the flat tensor, got " << type;
    if (isOnHost(type) != isOnHost(flat))
      return op->emitOpError()
             << what << " " << i << " must lie where the flat tensor " << flat
             << " lies, got " << type;
    if (offset < 0)
      return op->emitOpError() << "offset of " << what << " " << i
                               << " must not be negative, got " << offset;
    if (offset < end)
      return op->emitOpError()
             << what << " " << i << " begins at element " << offset
             << ", but the one before it ends at element " << end;
    if (offset > size || type.getNumElements() > size - offset)
      return op->emitOpError()
             << what << " " << i << " has " << type.getNumElements()
             << " elements from " << offset << " on, but the flat tensor has "
             << size;
    end = offset + type.getNumElements();
  }
  return success();
}

LogicalResult UnflattenOp::verify() {
  return verifyMembers(*this, getFlat().getType(), getTensors().getTypes(),
                       getOffsets(), "result");
}

LogicalResult FlattenOp::verify() {
  return verifyMembers(*this, getFlat().getType(), getTensors().getTypes(),
                       getOffsets(), "operand");
}

SmallVector<std::pair<int64_t, int64_t>> FlattenOp::getGaps() {
  SmallVector<std::pair<int64_t, int64_t>> gaps;
  int64_t end = 0;
  auto closeGap = [&](int64_t begin) {
    if (begin > end)
      gaps.push_back({end, begin});
  };
  for (auto [tensor, offset] : llvm::zip_equal(getTensors(), getOffsets())) {
    closeGap(offset);
    end = offset + cast<RankedTensorType>(tensor.getType()).getNumElements();
  }
  closeGap(getFlat().getType().getNumElements());
  return gaps;
}

//===----------------------------------------------------------------------===//
// Canonical form
//===----------------------------------------------------------------------===//

/// Reads what was flattened from where it came from. True if anything changed.
static bool forwardMembers(UnflattenOp op, PatternRewriter &rewriter) {
  auto flatten = op.getFlat().getDefiningOp<FlattenOp>();
  if (!flatten)
    return false;
  // Empty tensors share offsets, so the place alone does not say which it is.
  llvm::DenseMap<std::pair<int64_t, Type>, Value> members;
  for (auto [tensor, offset] :
       llvm::zip_equal(flatten.getTensors(), flatten.getOffsets()))
    members[{offset, tensor.getType()}] = tensor;
  bool changed = false;
  for (auto [result, offset] :
       llvm::zip_equal(op.getTensors(), op.getOffsets())) {
    Value member = members.lookup({offset, result.getType()});
    if (!member || result.use_empty())
      continue;
    rewriter.replaceAllUsesWith(result, member);
    changed = true;
  }
  return changed;
}

LogicalResult UnflattenOp::canonicalize(UnflattenOp op,
                                        PatternRewriter &rewriter) {
  bool changed = forwardMembers(op, rewriter);
  // A recorded decision numbers the results.
  if (op->hasAttr(kSavedResultsAttrName))
    return success(changed);
  SmallVector<Value> used;
  SmallVector<int64_t> offsets;
  for (auto [result, offset] :
       llvm::zip_equal(op.getTensors(), op.getOffsets())) {
    if (result.use_empty())
      continue;
    used.push_back(result);
    offsets.push_back(offset);
  }
  if (used.size() == op.getNumResults())
    return success(changed);
  auto pruned =
      UnflattenOp::create(rewriter, op.getLoc(), TypeRange(ValueRange(used)),
                          op.getFlat(), offsets);
  pruned->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [old, result] : llvm::zip_equal(used, pruned.getTensors()))
    rewriter.replaceAllUsesWith(old, result);
  rewriter.eraseOp(op);
  return success();
}

/// A flat tensor that is taken apart and put together again, without gaps that
/// may hold anything, is itself.
LogicalResult FlattenOp::canonicalize(FlattenOp op, PatternRewriter &rewriter) {
  auto unflatten = op.getTensors().empty()
                       ? UnflattenOp()
                       : op.getTensors().front().getDefiningOp<UnflattenOp>();
  if (!unflatten || unflatten.getFlat().getType() != op.getFlat().getType() ||
      unflatten.getOffsets() != op.getOffsets() ||
      !llvm::equal(unflatten.getTensors(), op.getTensors()))
    return rewriter.notifyMatchFailure(op, "not what was taken apart");
  if (!op.getGaps().empty())
    return rewriter.notifyMatchFailure(op, "gaps become zero");
  rewriter.replaceOp(op, unflatten.getFlat());
  return success();
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

double UnflattenOp::getFlops() { return 0; }
int64_t UnflattenOp::getReadBytes() { return 0; }
int64_t UnflattenOp::getWrittenBytes() { return 0; }
bool UnflattenOp::isView() { return true; }

double FlattenOp::getFlops() { return 0; }
int64_t FlattenOp::getReadBytes() {
  if (isView())
    return 0;
  int64_t bytes = 0;
  for (Type type : getTensors().getTypes())
    bytes += getTensorBytes(cast<RankedTensorType>(type));
  return bytes;
}
int64_t FlattenOp::getWrittenBytes() {
  return isView() ? 0 : getTensorBytes(getFlat().getType());
}
/// On the host, all operands are copied to their places.
bool FlattenOp::isView() { return isOnHost(getFlat().getType()); }
