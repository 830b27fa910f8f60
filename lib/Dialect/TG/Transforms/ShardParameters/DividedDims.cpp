//===- DividedDims.cpp - Parts of dimensions that are needed whole --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the partitioner that knows operations which another order of
// work, or another index, divides along a dimension that their rule needs
// whole.
//
//===----------------------------------------------------------------------===//

#include "Partitioner.h"

#include "Padding.h"
#include "SplitLookups.h"
#include "SplitSoftmax.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

static int64_t getBytes(Value value) {
  return getTensorBytes(cast<RankedTensorType>(value.getType()));
}

void Partitioner::remarkDivided(Operation *op, StringRef how) {
  ++numSplit;
  if (passName.empty())
    return;
  remark::passed(op->getLoc(),
                 remark::RemarkOpts::name("divided").category(passName))
      << remark::reason("'{0}' {1}", cast<NodeOp>(op).getTarget(), how);
}

bool Partitioner::divideSoftmax(Operation *op,
                                ArrayRef<ValueVersion> operands) {
  std::optional<Softmax> softmax = matchSoftmax(op);
  if (!softmax)
    return false;
  std::optional<ValueState> state;
  for (unsigned number : softmax->operands)
    if (const ValueState &own = operands[number].state;
        own.isSplit() && own.dim == softmax->dim)
      state = own;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  // Segments are equal parts.
  if (!state ||
      (mesh.hasSegments(state->group) &&
       type.getDimSize(softmax->dim) % mesh.getBlocks(state->group) != 0))
    return false;
  SmallVector<Value> parts;
  for (auto [position, number] : llvm::enumerate(softmax->operands)) {
    Value operand = op->getOperand(number);
    parts.push_back(needsZeroPadding(*softmax, position)
                        ? getZeroPadded(operand, *state).local
                        : getAs(operand, *state));
  }
  PaddingMask padding(*state, type.getDimSize(softmax->dim), mesh,
                      communication);
  define(op->getResult(0),
         {*state,
          buildSoftmax(*softmax, parts, padding, mesh.getAxes(state->group),
                       mesh.getSegmentsPerRank(), communication),
          hasZeroPadding(*softmax)});
  markReplaced(op);
  remarkDivided(op, "reduces what its rows share over the ranks");
  return true;
}

bool Partitioner::divideLookup(Operation *op, ArrayRef<ValueVersion> operands) {
  std::optional<Lookup> lookup = matchLookup(op);
  if (!lookup)
    return false;
  const ValueVersion table = operands[lookup->table];
  if (!table.state.isSplit() || !table.state.isContiguous() ||
      table.state.dim != lookup->dim)
    return false;
  // Gathering a small table that is no parameter sends less.
  if (!table.isStationary &&
      getBytes(op->getOperand(lookup->table)) < getBytes(op->getResult(0)))
    return false;
  Value indices =
      getAs(op->getOperand(lookup->indices), ValueState::getWhole());
  define(op->getResult(0),
         {ValueState::getPartial(table.state.group, Reduction::Sum),
          buildLookup(*lookup, table.local, indices, table.state, mesh,
                      communication)});
  markReplaced(op);
  remarkDivided(op, "reads the rows that a rank has; results are added up");
  return true;
}

bool Partitioner::divideScatter(Operation *op,
                                ArrayRef<ValueVersion> operands) {
  std::optional<IndexedGradient> gradient = matchIndexedGradient(op);
  if (!gradient)
    return false;
  // Of the zeros, only the shape matters.
  SmallVector<Value> parts;
  std::optional<ValueState> state;
  for (auto [number, version] : llvm::enumerate(operands)) {
    parts.push_back(version.local);
    if (number == gradient->indices)
      parts.back() = getAs(op->getOperand(number), ValueState::getWhole());
    else if (canBuildPart(*gradient, version.state) &&
             cast<RankedTensorType>(op->getOperand(number).getType())
                     .getShape() ==
                 cast<RankedTensorType>(op->getResult(0).getType()).getShape())
      state = version.state;
    else
      return false;
  }
  if (!state)
    return false;
  define(op->getResult(0),
         {*state, buildPart(*gradient, parts, *state, mesh, communication),
          /*zeroPadding=*/true});
  markReplaced(op);
  remarkDivided(op, "writes the elements that a rank has");
  return true;
}

bool Partitioner::buildWantedGradient(Operation *op) {
  std::optional<IndexedGradient> gradient = matchIndexedGradient(op);
  if (!gradient || !wantedState)
    return false;
  std::optional<ValueState> state = wantedState(op->getResult(0));
  if (!state || !canBuildPart(*gradient, *state))
    return false;
  // Else it costs less to reduce the table than to make what it is made of
  // whole.
  int64_t bytes = 0;
  for (Value operand : op->getOperands())
    bytes += getBytes(operand);
  if (bytes > getBytes(op->getResult(0)))
    return false;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getAs(operand, ValueState::getWhole()));
  define(op->getResult(0),
         {*state, buildPart(*gradient, operands, *state, mesh, communication),
          /*zeroPadding=*/true});
  markReplaced(op);
  remarkDivided(op, "adds up the rows that a rank has");
  return true;
}
