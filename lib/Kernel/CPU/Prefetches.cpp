//===- Prefetches.cpp - Load what is read next ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prefetches.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace regather;

/// An attribute marks the arguments, since optimisation may renumber them.
static constexpr StringLiteral kPrefetchedAttr = "regather-prefetched";

/// How far ahead, in bytes: some 100 ns at the bandwidth of one core.
static constexpr int64_t kDistance = 2048;

void cpu::markPrefetched(Function &function, ArrayRef<unsigned> numbers) {
  for (unsigned number : numbers)
    function.getArg(number)->addAttr(
        Attribute::get(function.getContext(), kPrefetchedAttr));
}

namespace {
/// The loads of one function that move on through memory.
class LoadStreams {
public:
  explicit LoadStreams(Function &function)
      : libraryNames(function.getParent()->getTargetTriple()),
        assumptions(function), libraries(libraryNames), dominance(function),
        loops(dominance),
        evolution(function, libraries, assumptions, dominance, loops) {}

  /// True if the loop around a vector load from a marked argument moves it on
  /// without gaps that are larger than the distance.
  bool contains(LoadInst &load) {
    Value *pointer = load.getPointerOperand();
    auto *argument =
        dyn_cast<Argument>(getUnderlyingObject(pointer, /*MaxLookup=*/0));
    if (!argument || !load.getType()->isVectorTy() ||
        !argument->hasAttribute(kPrefetchedAttr))
      return false;
    auto *address = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(pointer));
    if (!address || address->getLoop() != loops.getLoopFor(load.getParent()))
      return false;
    auto *step = dyn_cast<SCEVConstant>(address->getStepRecurrence(evolution));
    return step && step->getAPInt().isStrictlyPositive() &&
           step->getAPInt().sle(kDistance);
  }

private:
  TargetLibraryInfoImpl libraryNames;
  AssumptionCache assumptions;
  TargetLibraryInfo libraries;
  DominatorTree dominance;
  LoopInfo loops;
  ScalarEvolution evolution;
};
} // namespace

static void prefetchLoads(Function &function) {
  LoadStreams streams(function);
  SmallVector<LoadInst *> loads;
  for (Instruction &inst : instructions(function))
    if (auto *load = dyn_cast<LoadInst>(&inst); load && streams.contains(*load))
      loads.push_back(load);
  for (LoadInst *load : loads) {
    IRBuilder<> builder(load);
    Value *address = builder.CreateConstGEP1_64(
        builder.getInt8Ty(), load->getPointerOperand(), kDistance);
    // The operands say: for reading, into all caches, data.
    builder.CreateIntrinsic(Intrinsic::prefetch, builder.getPtrTy(),
                            {address, builder.getInt32(0), builder.getInt32(3),
                             builder.getInt32(1)});
  }
}

void cpu::prefetchLoads(Module &module) {
  for (Function &function : module)
    if (llvm::any_of(function.args(), [](const Argument &argument) {
          return argument.hasAttribute(kPrefetchedAttr);
        }))
      ::prefetchLoads(function);
}
