//===- OwnBatches.cpp - Steps on a batch for each rank --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnBatches.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// What `op` reads, in its regions too.
static llvm::SetVector<Value> getReadValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

BatchDependence::BatchDependence(const Step &step) {
  if (!step.hasOwnBatches)
    return;
  for (unsigned input : step.splitInputs)
    values.insert(step.block->getArgument(input));
  for (Operation *op : step.operations) {
    if (getPhase(op) == Phase::Optimizer)
      continue;
    if (isa<RandomOp>(op) || llvm::any_of(getReadValues(op), [&](Value value) {
          return contains(value);
        }))
      values.insert(op->result_begin(), op->result_end());
  }
}

ResultForm regather::tg::spmd::getResultForm(const Step &step,
                                             unsigned result) {
  RoleAttr role = step.getResultRole(result);
  auto type = dyn_cast<RankedTensorType>(
      step.getTerminator()->getOperand(result).getType());
  if (!type)
    return ResultForm::None;
  // All ranks together have one loss and one update.
  if (!role && type.getRank() > 0 && type.getDimSize(0) == step.batch)
    return ResultForm::Rows;
  return isa<FloatType>(type.getElementType()) ? ResultForm::Mean
                                               : ResultForm::None;
}

static LogicalResult verifyResults(const Step &step,
                                   const BatchDependence &dependence) {
  for (OpOperand &operand : step.getTerminator()->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (!dependence.contains(operand.get()) ||
        getResultForm(step, number) != ResultForm::None)
      continue;
    InFlightDiagnostic diag =
        func::FuncOp(step.func).emitError()
        << "result " << number << " of type " << operand.get().getType()
        << " differs from rank to rank with batch=per-rank, but has neither a "
           "mean nor the batch as dimension 0";
    diag.attachNote(operand.get().getLoc()) << "computed here";
    return diag;
  }
  return success();
}

LogicalResult regather::tg::spmd::verifyOwnBatches(const Step &step,
                                                   const GradientPlan &plan) {
  if (!step.hasOwnBatches)
    return success();
  BatchDependence dependence(step);
  for (Operation *op : step.operations) {
    if (getPhase(op) != Phase::Optimizer)
      continue;
    for (Value value : getReadValues(op)) {
      bool isReduced = plan.reduced.contains(value) &&
                       llvm::is_contained(op->getOperands(), value);
      if (isReduced || !dependence.contains(value))
        continue;
      InFlightDiagnostic diag =
          op->emitError() << "the optimizer reads a value that differs from "
                             "rank to rank with batch=per-rank, but is no "
                             "gradient";
      diag.attachNote(value.getLoc()) << "computed here";
      return diag;
    }
  }
  return verifyResults(step, dependence);
}
