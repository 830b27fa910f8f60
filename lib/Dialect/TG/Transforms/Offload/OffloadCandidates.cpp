//===- OffloadCandidates.cpp - What can live on the host ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OffloadCandidates.h"

#include "regather/Dialect/TG/Steps/TimedStep.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::offload;

Views::Views(const StepGraph &graph) {
  for (Operation *op : graph.getOps())
    if (op->getNumOperands() > 0 && isFixedView(op))
      for (Value result : op->getResults())
        roots[result] = getRoot(op->getOperand(0));
}

/// True if `op` computes tensors: other operations receive or arrange them.
static bool computes(Operation *op) {
  return !isa<CollectiveOpInterface, HostCopyOpInterface, WaitOp, FlattenOp,
              UnflattenOp>(op) &&
         !op->hasTrait<OpTrait::ConstantLike>();
}

namespace {
/// The readers of a value and its views.
struct Readers {
  unsigned lastForward = 0;
  std::optional<unsigned> firstBackward;
  /// It has to stay where it is.
  bool isBound = false;
};
} // namespace

std::vector<OffloadCandidate> offload::findCandidates(const StepGraph &graph,
                                                      const Views &views,
                                                      int64_t minBytes) {
  llvm::MapVector<Value, Readers> readers;
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    forEachInput(
        op, [&, number = static_cast<unsigned>(number), op = op](Value input) {
          auto it = readers.find(views.getRoot(input));
          if (it == readers.end())
            return;
          Readers &known = it->second;
          // Members of a flat tensor are computed in their places in it.
          known.isBound |= isa<FlattenOp>(op);
          if (!graph.isBackward(number))
            known.lastForward = number;
          else if (!known.firstBackward)
            known.firstBackward = number;
        });
    if (graph.isBackward(number) || !computes(op) || isFixedView(op))
      continue;
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()) &&
          getValueBytes(result) >= minBytes)
        readers[result].lastForward = number;
  }
  if (graph.getBlock().mightHaveTerminator())
    for (Value result : graph.getBlock().getTerminator()->getOperands()) {
      auto it = readers.find(views.getRoot(result));
      if (it != readers.end())
        it->second.isBound = true;
    }
  std::vector<OffloadCandidate> candidates;
  for (const auto &[value, known] : readers)
    if (known.firstBackward && !known.isBound &&
        *known.firstBackward > known.lastForward + 1)
      candidates.push_back({cast<OpResult>(value), getValueBytes(value),
                            known.lastForward, *known.firstBackward});
  return candidates;
}
