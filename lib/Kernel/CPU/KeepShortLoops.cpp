//===- KeepShortLoops.cpp - Short loops that become vectors ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/CPU/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace regather;

namespace regather::cpu {
#define GEN_PASS_DEF_KEEPSHORTLOOPSPASS
#include "regather/Kernel/CPU/Passes.h.inc"
} // namespace regather::cpu

/// Fewer steps fill no vector; more are never unrolled as a whole.
static constexpr int64_t kMinSteps = 8, kMaxSteps = 64;

/// What LLVM's operations on branches call the annotation of a loop. A loop
/// hands it to its branch.
static constexpr llvm::StringLiteral kAnnotationName = "loop_annotation";

static std::optional<int64_t> getNumSteps(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || step != 1)
    return std::nullopt;
  return *upper - *lower;
}

/// True if consecutive steps of the loop access consecutive elements.
static bool isContiguous(scf::ForOp loop, Value buffer, ValueRange indices) {
  if (indices.empty() || indices.back() != loop.getInductionVar() ||
      !llvm::all_of(indices.drop_back(), [&](Value index) {
        return loop.isDefinedOutsideOfLoop(index);
      }))
    return false;
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

/// True if the loop carries nothing from step to step, computes without loops
/// of its own, and accesses consecutive elements or the same one in all steps,
/// and if it writes the first kind only.
static bool isVectorLoop(scf::ForOp loop) {
  bool hasStore = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (op.getNumRegions() != 0)
      return false;
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      bool isSame = llvm::all_of(load.getIndices(), [&](Value index) {
        return loop.isDefinedOutsideOfLoop(index);
      });
      if (!isSame && !isContiguous(loop, load.getMemRef(), load.getIndices()))
        return false;
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      if (!isContiguous(loop, store.getMemRef(), store.getIndices()))
        return false;
      hasStore = true;
    } else if (!isPure(&op)) {
      return false;
    }
  }
  return hasStore && loop.getNumResults() == 0;
}

namespace {
class KeepShortLoopsPass
    : public cpu::impl::KeepShortLoopsPassBase<KeepShortLoopsPass> {
public:
  using KeepShortLoopsPassBase::KeepShortLoopsPassBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    auto unroll = LLVM::LoopUnrollAttr::get(
        context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {},
        {});
    auto annotation =
        LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                      {}, {}, {}, {}, {}, {}, {}, {});
    getOperation().walk([&](scf::ForOp loop) {
      std::optional<int64_t> steps = getNumSteps(loop);
      if (!steps || *steps < kMinSteps || *steps > kMaxSteps ||
          !isVectorLoop(loop))
        return;
      loop->setAttr(kAnnotationName, annotation);
      ++numKept;
    });
  }
};
} // namespace
