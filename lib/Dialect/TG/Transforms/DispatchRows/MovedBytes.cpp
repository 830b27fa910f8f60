//===- MovedBytes.cpp - What is sent, and what is computed again ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are sent to their experts and back. Of what is computed row by row,
// either the result is sent or what it is made of, where that is less: a
// product with a number for each row has elements of a wider type, of which
// only the factor needs to travel. A bit of a row depends on neither.
//
//===----------------------------------------------------------------------===//

#include "../ShardParameters/Segments.h"
#include "DispatchedRegion.h"
#include "NarrowRows.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

using Kind = SortedForm::Kind;

namespace {
/// Bytes that have to be moved for a value to be somewhere.
class MovedBytes {
public:
  /// `isThere`: nothing has to be moved for a value.
  MovedBytes(const SortedRows &rows, unsigned sort,
             llvm::function_ref<bool(Value)> isThere)
      : rows(rows), sort(sort), isThere(isThere) {}

  /// True if that is less where the value is computed again.
  bool isLessAgain(Value value) const { return count(value, maxDepth).second; }

private:
  /// Longer chains do real work. The bound keeps the search constant.
  static constexpr unsigned maxDepth = 4;
  /// More than all bytes of a step: for what cannot be sent.
  static constexpr int64_t never = std::numeric_limits<int64_t>::max() / 4;

  /// The least bytes for `value`, and whether it is computed again for them.
  std::pair<int64_t, bool> count(Value value, unsigned depth) const;

  const SortedRows &rows;
  unsigned sort;
  llvm::function_ref<bool(Value)> isThere;
};
} // namespace

std::pair<int64_t, bool> MovedBytes::count(Value value, unsigned depth) const {
  if (isThere(value))
    return {0, false};
  int64_t bytes = canTravel(getElementTypeOrSelf(value.getType()))
                      ? getTensorBytes(value.getType())
                      : never;
  Operation *op = value.getDefiningOp();
  const SortedOp *planned = op && depth ? rows.find(op) : nullptr;
  if (!planned || planned->sort != sort || !isRowByRow(*planned))
    return {bytes, false};
  int64_t again = 0;
  for (auto [operand, form] :
       llvm::zip_equal(op->getOperands(), planned->operands))
    if (form.kind == Kind::Rows)
      again = std::min(never, again + count(operand, depth - 1).first);
  // What views of one value are made of is moved once.
  bool isLess = again < bytes || (again == bytes && movesElements(op));
  return {std::min(again, bytes), isLess};
}

bool DispatchedRegion::isCheaperThere(Value value, unsigned chunk) const {
  auto isThere = [&](Value operand) { return sent[chunk].contains(operand); };
  return MovedBytes(rows, sort, isThere).isLessAgain(value);
}

bool DispatchedRegion::isCheaperHere(Value value) const {
  // What came back in forward has to be kept for backward, or to come again.
  Phase phase = communication.getPlace().phase.getValue();
  auto cameBack = [&](Value local) {
    return local && getPhase(local.getDefiningOp()) == phase;
  };
  auto isHere = [&](Value operand) {
    return !isReplaced.contains(operand.getDefiningOp()) ||
           cameBack(own.lookup(operand)) || cameBack(returned.lookup(operand));
  };
  return MovedBytes(rows, sort, isHere).isLessAgain(value);
}
