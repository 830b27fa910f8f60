//===- CutBatch.cpp - Cut the batch of a step into micro-batches ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutBatch/BatchParts.h"
#include "ShardParameters/Partitioner.h"
#include "ShardParameters/Step.h"

#include "regather/Dialect/TG/Steps/StepEntry.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#define DEBUG_TYPE "tg-cut-batch"

namespace regather::tg {
#define GEN_PASS_DEF_CUTBATCHPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// Micro-batches in the place of ranks that share the batch: what would be
/// communication between them becomes arithmetic.
static DataMesh makeMesh(MLIRContext *context) {
  StringAttr axis = StringAttr::get(context, "micro_batch");
  DataMesh mesh;
  mesh.symbol = FlatSymbolRefAttr::get(context, "tg.micro_batches");
  mesh.axes = mesh.dataAxes = AxesAttr::get(context, ArrayRef(axis));
  mesh.sizes = {1};
  return mesh;
}

/// A scalar that only lends its type to a constant, as the loss does in
/// `full_like(%loss, 1)`, becomes a zero, which no rows decide.
static void replaceUnread(const Step &step) {
  for (Operation *op : step.operations) {
    auto node = dyn_cast<NodeOp>(op);
    if (!node || node.getNumOperands() == 0 ||
        getOperatorClass(node.getTarget()) != OperatorClass::Constant)
      continue;
    auto type = dyn_cast<RankedTensorType>(node.getOperand(0).getType());
    if (!type || type.getRank() != 0)
      continue;
    OpBuilder before(op);
    ArrayAttr args = before.getArrayAttr(
        {before.getArrayAttr({}), before.getI64IntegerAttr(0)});
    NamedAttribute dtype =
        before.getNamedAttr("dtype", TypeAttr::get(type.getElementType()));
    auto zero = NodeOp::create(
        before, op->getLoc(), TypeRange(type),
        before.getStringAttr(getName(NodeTarget::AtenFullDefault)),
        ValueRange(), args, before.getDictionaryAttr(dtype), UnitAttr());
    if (Attribute phase = op->getAttr(kPhaseAttrName))
      zero->setAttr(kPhaseAttrName, phase);
    op->setOperand(0, zero->getResult(0));
  }
}

/// Leaves a step that computes one micro-batch, of further arguments behind the
/// old ones, with collectives over all of them.
static void computePart(Step &step, const DataMesh &mesh) {
  Partitioner partitioner(*step.block, mesh, FactorGoal::MostBytes,
                          /*passName=*/"");
  for (unsigned input : step.splitInputs) {
    BlockArgument whole = step.block->getArgument(input);
    ValueState state = ValueState::getSplit(Group::Data, 0);
    BlockArgument part = step.block->addArgument(
        mesh.getLocalType(cast<RankedTensorType>(whole.getType()), state),
        whole.getLoc());
    partitioner.define(whole, {state, part});
  }
  for (Operation *op : step.operations)
    partitioner.process(op);
  Operation *terminator = step.getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    Operation *source = operand.get().getDefiningOp();
    partitioner.getCommunication().setPlace(
        terminator,
        source ? getPhase(source).value_or(Phase::Forward) : Phase::Forward,
        source ? source->getAttrOfType<StringAttr>(kModuleAttrName)
               : StringAttr());
    operand.set(partitioner.getAs(operand.get(), ValueState::getWhole()));
  }
  partitioner.eraseReplaced();
}

namespace {
struct CutBatch : public regather::tg::impl::CutBatchPassBase<CutBatch> {
  using CutBatchPassBase::CutBatchPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (parts < 1) {
      module.emitError() << "option 'parts' must be at least one, got "
                         << static_cast<int64_t>(parts);
      return signalPassFailure();
    }
    FailureOr<func::FuncOp> entry =
        findStep(module, "make all but the step private");
    if (failed(entry))
      return signalPassFailure();
    if (parts == 1 || !*entry)
      return;
    DataMesh mesh = makeMesh(&getContext());
    FailureOr<Step> step =
        analyzeStep(*entry, mesh, ElementTypes(), {}, BatchMode::Global);
    if (failed(step) || failed(verifyBatch(*step)))
      return signalPassFailure();
    mesh.sizes = {parts};
    mesh.dataRanks = parts;
    unsigned numArguments = step->block->getNumArguments();
    replaceUnread(*step);
    computePart(*step, mesh);
    BatchParts unrolled(*entry, step->splitInputs, numArguments, parts, mesh);
    if (failed(unrolled.run()))
      return signalPassFailure();
    numParts += parts;
    numCombined += unrolled.getNumCombined();
  }

private:
  LogicalResult verifyBatch(Step &step) {
    if (!step.batch)
      return step.func.emitError()
             << "expects an input with a batch to cut into "
             << static_cast<int64_t>(parts) << " micro-batches";
    if (*step.batch % parts == 0)
      return success();
    return step.func.emitError()
           << "batch of " << *step.batch << " (dimension 0 of argument "
           << step.splitInputs.front() << ") cannot be divided into "
           << static_cast<int64_t>(parts) << " micro-batches";
  }
};
} // namespace
