//===- DefaultPlan.cpp - The plan of a step without one -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Pipelines/DefaultPlan.h"

#include "regather/Dialect/TG/IR/TG.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

bool regather::hasNodes(ModuleOp module) {
  return module.walk([](NodeOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// True if `func` is the one that passes which look for a step find.
static bool isOnlyPublic(ModuleOp module, func::FuncOp func) {
  return llvm::none_of(module.getOps<func::FuncOp>(), [&](func::FuncOp other) {
    return other != func && other.isPublic() && !other.isExternal();
  });
}

/// True if a pass has decided what lives on from forward to backward.
static bool isBoundaryDecided(ModuleOp module, func::FuncOp entry) {
  for (unsigned i = 0, e = entry.getNumArguments(); i != e; ++i)
    if (entry.getArgAttr(i, kReshardAttrName))
      return true;
  return module
      .walk([](Operation *op) {
        return op->hasAttr(kSavedResultsAttrName) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

bool regather::isOpenStep(ModuleOp module, func::FuncOp entry) {
  return hasNodes(module) && isOnlyPublic(module, entry) &&
         !isBoundaryDecided(module, entry);
}

StepPlan regather::completePlan(StepPlan plan, bool isOpen,
                                bool hasSeveralRanks, bool asCaptured) {
  bool isPlanned = isOpen && !asCaptured;
  auto complete = [](std::string &text, bool isWanted, StringRef value) {
    if (text.empty())
      text = isWanted ? value.str() : "none";
  };
  complete(plan.recompute, isPlanned, "min-cut");
  complete(plan.reshard, isPlanned && hasSeveralRanks, "default");
  complete(plan.bucket, isPlanned && hasSeveralRanks, "auto");
  complete(plan.schedule, isPlanned && hasSeveralRanks, "auto");
  return plan;
}

int64_t regather::countRanks(StringRef mesh) {
  constexpr int64_t kMost = int64_t(1) << 32;
  SmallVector<StringRef> axes;
  mesh.split(axes, ',');
  int64_t product = 1;
  for (StringRef axis : axes)
    if (uint32_t size = 0;
        !axis.split(':').second.getAsInteger(10, size) && size > 0)
      product = std::min<int64_t>(product * size, kMost);
  return product;
}
