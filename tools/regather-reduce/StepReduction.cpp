//===- StepReduction.cpp - Reduce a step that shows a fault ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A step gets simpler piece by piece, as long as the test finds it interesting:
//
//   for pieces of 1/2, 1/4, ... of the operations, down to one:
//     each operation of the piece becomes one of its operands, or a constant
//     drop what is dead then: operations, results, arguments
//     keep that if it verifies and is interesting
//
// and again while single operations still go.
//
//===----------------------------------------------------------------------===//

#include "StepReduction.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Reducer/Tester.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// All ones; null for a type that has no constants.
static Value makeConstant(RewriterBase &rewriter, Location loc, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isIntOrFloat() ||
      tensor.getElementType().isUnsignedInteger())
    return nullptr;
  TypedAttr one = rewriter.getOneAttr(tensor.getElementType());
  return arith::ConstantOp::create(rewriter, loc,
                                   DenseElementsAttr::get(tensor, one));
}

/// Lets an operand, or a constant, stand for each result. A wait takes the
/// operands of its collective.
static void simplify(RewriterBase &rewriter, Operation *op) {
  if (!isa<NodeOp, WaitOp>(op) && !isMemoryEffectFree(op))
    return;
  if (op->hasTrait<OpTrait::ConstantLike>() || op->getNumResults() == 0)
    return;
  Operation *source = op;
  if (isa<WaitOp>(op))
    source = op->getOperand(0).getDefiningOp();
  rewriter.setInsertionPoint(op);
  SmallVector<Value> values;
  for (Type type : op->getResultTypes()) {
    auto it = llvm::find_if(source->getOperands(), [&](Value operand) {
      return operand.getType() == type;
    });
    values.push_back(it != source->operand_end()
                         ? *it
                         : makeConstant(rewriter, op->getLoc(), type));
    if (!values.back())
      return;
  }
  rewriter.replaceOp(op, values);
}

/// A collective without a wait is dead, whatever its effects.
static bool isDead(Operation *op) {
  return op->use_empty() && !op->hasTrait<OpTrait::IsTerminator>() &&
         (isa<CollectiveOpInterface, NodeOp, WaitOp>(op) ||
          isMemoryEffectFree(op));
}

static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isDead(&op))
      op.erase();
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// Drops results that are arguments or constants, but for the last one.
static void dropResults(func::FuncOp func) {
  Operation *end = func.getBody().front().getTerminator();
  for (unsigned i = func.getNumResults(); i-- != 0;) {
    Operation *source = end->getOperand(i).getDefiningOp();
    if (func.getNumResults() < 2 ||
        (source && !source->hasTrait<OpTrait::ConstantLike>()))
      continue;
    end->eraseOperand(i);
    (void)func.eraseResult(i);
  }
}

static bool isReferred(func::FuncOp func, unsigned argument) {
  for (unsigned i = 0; i != func.getNumResults(); ++i)
    if (auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
        role && role.namesArgument() && role.getArgument() == argument)
      return true;
  return false;
}

/// Drops arguments that nobody reads and no role names, and corrects the
/// numbers of those behind them.
static void dropArguments(func::FuncOp func) {
  for (unsigned i = func.getNumArguments(); i-- != 0;) {
    if (!func.getArgument(i).use_empty() || isReferred(func, i))
      continue;
    for (unsigned k = 0; k != func.getNumResults(); ++k)
      if (auto role = func.getResultAttrOfType<RoleAttr>(k, kRoleAttrName);
          role && role.namesArgument() && role.getArgument() > i)
        func.setResultAttr(k, kRoleAttrName,
                           RoleAttr::get(func.getContext(), role.getKind(),
                                         role.getArgument() - 1));
    (void)func.eraseArgument(i);
  }
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// The operations of all steps, last ones first.
static std::vector<Operation *> listOps(ModuleOp module) {
  std::vector<Operation *> ops;
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && func.getBody().hasOneBlock())
      for (Operation &op :
           llvm::reverse(func.getBody().front().without_terminator()))
        if (!op.hasTrait<OpTrait::ConstantLike>() &&
            !isa<CollectiveOpInterface>(op))
          ops.push_back(&op);
  return ops;
}

namespace {
struct ReduceStepPass
    : public PassWrapper<ReduceStepPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReduceStepPass)

  ReduceStepPass() = default;
  ReduceStepPass(const ReduceStepPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "step-reduction"; }
  StringRef getDescription() const override {
    return "Simplify operations of a step while it is interesting";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override;

  Option<std::string> test{*this, "test",
                           llvm::cl::desc("Program that exits with 1 if the "
                                          "file it is given is interesting")};

private:
  bool isInteresting(ModuleOp module);
  /// Tries to simplify operations `first` to `first + count`.
  bool reduce(size_t first, size_t count);
  bool reducePieces(size_t size);
};
} // namespace

bool ReduceStepPass::isInteresting(ModuleOp module) {
  ScopedDiagnosticHandler quiet(&getContext(),
                                [](Diagnostic &) { return success(); });
  return succeeded(verify(module)) &&
         Tester(test, {}).isInteresting(module).first ==
             Tester::Interestingness::True;
}

bool ReduceStepPass::reduce(size_t first, size_t count) {
  ModuleOp module = getOperation();
  OwningOpRef<ModuleOp> smaller = module.clone();
  IRRewriter rewriter(&getContext());
  std::vector<Operation *> ops = listOps(*smaller);
  size_t last = std::min(first + count, ops.size());
  for (size_t i = first; i < last; ++i)
    simplify(rewriter, ops[i]);
  for (auto func : smaller->getOps<func::FuncOp>()) {
    if (func.isExternal() || !func.getBody().hasOneBlock())
      continue;
    dropResults(func);
    eraseDead(func.getBody().front());
    dropArguments(func);
  }
  if (listOps(*smaller).size() >= ops.size() || !isInteresting(*smaller))
    return false;
  module.getBodyRegion().takeBody(smaller->getBodyRegion());
  return true;
}

bool ReduceStepPass::reducePieces(size_t size) {
  bool anyReduced = false;
  for (size_t first = 0; first < listOps(getOperation()).size();) {
    // What is left has moved up.
    if (reduce(first, size))
      anyReduced = true;
    else
      first += size;
  }
  return anyReduced;
}

void ReduceStepPass::runOnOperation() {
  if (!llvm::sys::fs::can_execute(test)) {
    emitError(getOperation().getLoc())
        << "option 'test' must be the path of a program, got \"" << test << '"';
    return signalPassFailure();
  }
  if (!isInteresting(getOperation())) {
    emitError(getOperation().getLoc()) << "the module is not interesting: '"
                                       << test << "' does not exit with 1";
    return signalPassFailure();
  }
  for (size_t size = listOps(getOperation()).size() / 2; size > 1; size /= 2)
    reducePieces(size);
  while (reducePieces(1))
    ;
}

void regather::registerStepReduction() { PassRegistration<ReduceStepPass>(); }
