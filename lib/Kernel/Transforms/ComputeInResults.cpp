//===- ComputeInResults.cpp - Compute results where they belong -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_COMPUTEINRESULTSPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// Gives every operation an empty or filled tensor of its own to start from.
static void separateInits(ModuleOp module) {
  auto separate = [](Operation *init) {
    if (init->use_empty())
      return;
    auto uses = llvm::to_vector(llvm::make_pointer_range(init->getUses()));
    for (OpOperand *use : ArrayRef(uses).drop_front()) {
      OpBuilder b(use->getOwner());
      use->set(b.clone(*init)->getResult(0));
    }
  };
  // Copies of a fill share what is filled.
  SmallVector<Operation *> fills, empties;
  module.walk([&](linalg::FillOp op) { fills.push_back(op); });
  llvm::for_each(fills, separate);
  module.walk([&](tensor::EmptyOp op) { empties.push_back(op); });
  llvm::for_each(empties, separate);
}

/// True if nothing but `user` and what follows it up to `end` reads or
/// overwrites the memory that `user` starts from.
static bool isOnlyPath(tensor::EmptyOp empty, Operation *user, Value end) {
  Value value = empty;
  for (;;) {
    // Paths into and out of regions are not followed.
    if (user->getBlock() != end.getParentBlock() || user->getNumResults() == 0)
      return false;
    Value next = user->getResult(0);
    if (auto op = dyn_cast<DestinationStyleOpInterface>(user)) {
      auto operand =
          llvm::find_if(op.getDpsInitsMutable(),
                        [&](OpOperand &init) { return init.get() == value; });
      if (operand == op.getDpsInitsMutable().end())
        return false;
      next = op.getTiedOpResult(&*operand);
    }
    if (next == end)
      return true;
    if (!next.hasOneUse())
      return false;
    value = next;
    user = *value.getUsers().begin();
  }
}

/// Returns the part of a result that may replace `empty`, or null.
/// Bufferization does not know that this tensor is a view of the result. If two
/// values started from it, one of them would be computed elsewhere, and copied
/// over the other one while that is still needed.
static Value getResultTensor(RewriterBase &rewriter,
                             SubsetInsertionOpInterface op,
                             tensor::EmptyOp empty, Operation *user) {
  if (isa<bufferization::MaterializeInDestinationOp>(op) &&
      !isOnlyPath(empty, user, op.getSourceOperand().get()))
    return nullptr;
  return bufferization::buildSubsetExtraction(rewriter, op, empty, user);
}

namespace {
class ComputeInResultsPass
    : public kernel::impl::ComputeInResultsPassBase<ComputeInResultsPass> {
public:
  using ComputeInResultsPassBase::ComputeInResultsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    separateInits(module);
    bufferization::OneShotBufferizationOptions options;
    options.allowReturnAllocsFromLoops = true;
    bufferization::OneShotAnalysisState state(module, options);
    IRRewriter rewriter(&getContext());
    auto replace = [&](RewriterBase &rewriter, SubsetInsertionOpInterface op,
                       tensor::EmptyOp empty, Operation *user) {
      Value tensor = getResultTensor(rewriter, op, empty, user);
      if (tensor)
        ++numReplaced;
      return tensor;
    };
    if (failed(bufferization::analyzeOp(module, state)) ||
        failed(bufferization::eliminateEmptyTensors(rewriter, module, state,
                                                    replace)))
      signalPassFailure();
  }
};
} // namespace
