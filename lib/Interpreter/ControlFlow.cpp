//===- ControlFlow.cpp - Steps for scf and func ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Values enter and leave a region by moves: a tensor that a loop carries has
// one owner, and the body can write to it in place. Recursion in the program is
// recursion here, hence the limit on its depth.
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather;
using namespace regather::interp;

/// Calls nested deeper than this are reported before they exhaust the stack.
static constexpr unsigned kMaxCallDepth = 256;

static void setAll(Frame &frame, ArrayRef<unsigned> slots,
                   RuntimeValues &values) {
  for (auto [slot, value] : llvm::zip_equal(slots, values))
    frame.values[slot] = std::move(value);
}

static RuntimeValues takeAll(Frame &frame, ArrayRef<Use> uses) {
  RuntimeValues values;
  for (Use use : uses)
    values.push_back(take(frame, use));
  return values;
}

static std::shared_ptr<CompiledBlock> compileRegion(Region &region,
                                                    Compiler &compiler) {
  if (region.empty())
    return std::make_shared<CompiledBlock>();
  return std::make_shared<CompiledBlock>(compiler.compileBlock(region.front()));
}

static StepFunction build(scf::IfOp op, Compiler &compiler) {
  return [condition = compiler.getSlot(op.getCondition()),
          then = compileRegion(op.getThenRegion(), compiler),
          otherwise = compileRegion(op.getElseRegion(), compiler),
          results = compiler.getSlots(op.getResults())](RankRun &rank,
                                                        Frame &frame) {
    RuntimeValues values;
    const CompiledBlock &chosen =
        frame.values[condition].bits ? *then : *otherwise;
    if (failed(chosen.run(rank, frame, values)))
      return failure();
    setAll(frame, results, values);
    return success();
  };
}

static StepFunction build(scf::IndexSwitchOp op, Compiler &compiler) {
  SmallVector<std::shared_ptr<CompiledBlock>> cases;
  for (Region &region : op.getCaseRegions())
    cases.push_back(compileRegion(region, compiler));
  return [cases, otherwise = compileRegion(op.getDefaultRegion(), compiler),
          numbers = SmallVector<int64_t>(op.getCases()),
          argument = compiler.getSlot(op.getArg()),
          results = compiler.getSlots(op.getResults())](RankRun &rank,
                                                        Frame &frame) {
    auto number = static_cast<int64_t>(frame.values[argument].bits);
    const CompiledBlock *chosen = otherwise.get();
    for (auto [i, candidate] : llvm::enumerate(numbers))
      if (candidate == number)
        chosen = cases[i].get();
    RuntimeValues values;
    if (failed(chosen->run(rank, frame, values)))
      return failure();
    setAll(frame, results, values);
    return success();
  };
}

static StepFunction build(scf::ExecuteRegionOp op, Compiler &compiler) {
  if (!op.getRegion().hasOneBlock())
    return nullptr;
  return [body = compileRegion(op.getRegion(), compiler),
          results = compiler.getSlots(op.getResults())](RankRun &rank,
                                                        Frame &frame) {
    RuntimeValues values;
    if (failed(body->run(rank, frame, values)))
      return failure();
    setAll(frame, results, values);
    return success();
  };
}

static StepFunction build(scf::ForOp op, Compiler &compiler) {
  unsigned width = getScalarType(op.getInductionVar().getType())->width;
  return [op = op.getOperation(), width, isUnsigned = op.getUnsignedCmp(),
          lower = compiler.getSlot(op.getLowerBound()),
          upper = compiler.getSlot(op.getUpperBound()),
          stepSlot = compiler.getSlot(op.getStep()),
          inits = compiler.getUses(op.getInitArgsMutable()),
          body = compileRegion(op.getRegion(), compiler),
          results = compiler.getSlots(op.getResults())](RankRun &rank,
                                                        Frame &frame) {
    uint64_t mask = ScalarType{ScalarKind::Int, uint8_t(width)}.getMask();
    uint64_t end = frame.values[upper].bits;
    uint64_t step = frame.values[stepSlot].bits;
    if (step == 0 || (!isUnsigned && signExtend(step, width) < 0))
      return rank.fail(op, "step of a loop must be positive, got " +
                               Twine(signExtend(step, width)));
    RuntimeValues values = takeAll(frame, inits);
    auto isBelow = [&](uint64_t a, uint64_t b) {
      return isUnsigned ? a < b : signExtend(a, width) < signExtend(b, width);
    };
    for (uint64_t i = frame.values[lower].bits; isBelow(i, end);) {
      values.insert(values.begin(), RuntimeValue{i, nullptr, {}});
      if (failed(body->run(rank, frame, values)))
        return failure();
      // A step past the largest number ends the loop.
      uint64_t next = (i + step) & mask;
      if (!isBelow(i, next))
        break;
      i = next;
    }
    setAll(frame, results, values);
    return success();
  };
}

static StepFunction build(scf::WhileOp op, Compiler &compiler) {
  return [inits = compiler.getUses(op.getInitsMutable()),
          before = compileRegion(op.getBefore(), compiler),
          after = compileRegion(op.getAfter(), compiler),
          results = compiler.getSlots(op.getResults())](RankRun &rank,
                                                        Frame &frame) {
    RuntimeValues values = takeAll(frame, inits);
    while (true) {
      if (failed(before->run(rank, frame, values)))
        return failure();
      // The operands of scf.condition: whether to go on, then what with.
      bool more = values.front().bits != 0;
      values.erase(values.begin());
      if (!more)
        break;
      if (failed(after->run(rank, frame, values)))
        return failure();
    }
    setAll(frame, results, values);
    return success();
  };
}

/// A call of a function, or the launch of a kernel.
static StepFunction buildCall(Operation *op, SymbolRefAttr symbol,
                              Compiler &compiler) {
  auto callee =
      SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(op, symbol);
  if (!callee)
    return nullptr;
  const CompiledFunction *program = compiler.getFunction(callee);
  return [op, program, operands = compiler.getUses(op->getOpOperands()),
          results = compiler.getSlots(op->getResults())](RankRun &rank,
                                                         Frame &frame) {
    if (rank.callDepth == kMaxCallDepth)
      return rank.fail(op,
                       "calls are nested deeper than " + Twine(kMaxCallDepth));
    RuntimeValues values = takeAll(frame, operands);
    ++rank.callDepth;
    if (failed(program->run(rank, values)))
      return failure();
    --rank.callDepth;
    setAll(frame, results, values);
    return success();
  };
}

static StepFunction build(func::CallOp op, Compiler &compiler) {
  return buildCall(op, op.getCalleeAttr(), compiler);
}

static StepFunction build(tg::LaunchOp op, Compiler &compiler) {
  return buildCall(op, op.getKernelAttr(), compiler);
}

StepFunction regather::interp::buildControlFlowStep(Operation *op,
                                                    Compiler &compiler) {
  return llvm::TypeSwitch<Operation *, StepFunction>(op)
      .Case<scf::IfOp, scf::IndexSwitchOp, scf::ExecuteRegionOp, scf::ForOp,
            scf::WhileOp, func::CallOp, tg::LaunchOp>(
          [&](auto typed) { return build(typed, compiler); })
      .Default(StepFunction());
}
