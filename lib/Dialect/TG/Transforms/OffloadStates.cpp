//===- OffloadStates.cpp - States of the optimizer on the host ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OffloadStates/UpdatePieces.h"
#include "Partition/BudgetPlan.h"

#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Support/LLVM/ParseBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-offload-states"

namespace regather::tg {
#define GEN_PASS_DEF_OFFLOADSTATESPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::states;

namespace {
struct OffloadStates
    : public regather::tg::impl::OffloadStatesPassBase<OffloadStates> {
  using OffloadStatesPassBase::OffloadStatesPassBase;

  void runOnOperation() override {
    if (failed(readBytes()))
      return signalPassFailure();
    for (FunctionOpInterface func : getSteps(getOperation()))
      if (failed(offloadFrom(func)))
        return signalPassFailure();
  }

private:
  LogicalResult readBytes();
  LogicalResult offloadFrom(FunctionOpInterface func);
  LogicalResult checkHost(FunctionOpInterface func,
                          ArrayRef<StateUpdate> updates);
  void move(FunctionOpInterface func, ArrayRef<StateUpdate> updates);

  /// How much is wanted on the host.
  int64_t wanted = 0;
};
} // namespace

LogicalResult OffloadStates::readBytes() {
  if (piece.getValue().bytes < 1)
    return emitError(getOperation().getLoc())
           << "'piece' must be at least one byte, got "
           << piece.getValue().bytes;
  if (std::optional<int64_t> bytes = readStateBytes(states)) {
    wanted = *bytes;
    return success();
  }
  return emitError(getOperation().getLoc())
         << "'states' must be none, all or a number of bytes, such as 10GB, "
            "got \""
         << states << '"';
}

std::optional<int64_t> regather::tg::readStateBytes(StringRef text) {
  if (text == "all")
    return std::numeric_limits<int64_t>::max();
  return text == "none" ? 0 : parseBytes(text);
}

LogicalResult OffloadStates::checkHost(FunctionOpInterface func,
                                       ArrayRef<StateUpdate> updates) {
  FailureOr<CostModel> model = partition::loadCostModel(func, cluster);
  if (failed(model))
    return failure();
  const Cluster &known = model->getCluster();
  if (known.device.hostBandwidth <= 0)
    return func.emitError() << "cluster \"" << known.name
                            << "\" says nothing of a host ('device.host'), on "
                               "which states of the optimizer are to lie";
  double sum = 0;
  for (const StateUpdate &update : updates)
    sum += static_cast<double>(update.bytes);
  if (sum <= known.device.hostMemoryBytes)
    return success();
  return func.emitError() << "keeps " << static_cast<int64_t>(sum)
                          << " bytes of states on the host, but a device of "
                             "cluster \""
                          << known.name << "\" has "
                          << static_cast<int64_t>(known.device.hostMemoryBytes)
                          << " bytes of its host";
}

void OffloadStates::move(FunctionOpInterface func,
                         ArrayRef<StateUpdate> updates) {
  int64_t bytes = 0, count = 0, pieces = 0;
  for (const StateUpdate &update : updates) {
    int64_t own = countPieces(update, piece.getValue().bytes);
    moveToHost(update, own);
    bytes += update.bytes;
    count += static_cast<int64_t>(update.states.size());
    pieces += own;
  }
  Block &block = func.getFunctionBody().front();
  func.setType(
      FunctionType::get(func.getContext(), block.getArgumentTypes(),
                        TypeRange(block.getTerminator()->getOperandTypes())));
  numStates += count;
  stateBytes += bytes;
  numPieces += pieces;
  remark::passed(func.getLoc(),
                 remark::RemarkOpts::name("total").category(DEBUG_TYPE))
      << remark::reason("{0} states of the optimizer are kept on the host",
                        count)
      << remark::metric("bytes", bytes) << remark::metric("pieces", pieces);
}

LogicalResult OffloadStates::offloadFrom(FunctionOpInterface func) {
  if (wanted == 0)
    return success();
  StepGraph graph(func.getFunctionBody().front());
  std::vector<StateUpdate> updates =
      findUpdates(func, graph, minBytes.getValue().bytes);
  int64_t left = wanted;
  size_t count = 0;
  for (; count < updates.size() && left > 0; ++count)
    left -= updates[count].bytes;
  updates.resize(count);
  if (updates.empty()) {
    func.emitWarning() << "no state of an optimizer is kept on the host: the "
                          "step updates none of at least "
                       << minBytes.getValue().bytes
                       << " bytes element by element";
    return success();
  }
  if (failed(checkHost(func, updates)))
    return failure();
  move(func, updates);
  return success();
}
