//===- MachineLimits.cpp - What a run needs of the machine ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/StepAnalysis/AnalyzeStep.h"

#include "llvm/Support/MathExtras.h"

#include <unistd.h>

using namespace mlir;
using namespace regather;

/// Each rank is a thread, and the runtime keeps the order of each pair.
static constexpr int64_t kMaxRanks = 4096;

static int64_t getPhysicalMemory() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<int64_t>(sysconf(_SC_PAGE_SIZE));
}

/// Size of a value on one rank; the largest number if it has more bytes than
/// that. Zero for what is no tensor of a type that can be run.
static int64_t getSaturatedBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  FailureOr<ElementType> element = getElementType(tensor.getElementType());
  if (failed(element))
    return 0;
  int64_t bytes = getElementSize(*element);
  for (int64_t size : tensor.getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::numeric_limits<int64_t>::max();
  return bytes;
}

static LogicalResult verifyValueFits(Value value, Location loc,
                                     int64_t memory) {
  int64_t bytes = getSaturatedBytes(value.getType());
  if (bytes <= memory)
    return success();
  std::string name;
  llvm::raw_string_ostream stream(name);
  value.printAsOperand(stream, OpPrintingFlags());
  return emitError(loc) << "value '" << name << "' of type " << value.getType()
                        << " needs " << bytes << " bytes, but this machine has "
                        << memory;
}

LogicalResult regather::verifyFitsMachine(const AnalyzedStep &step) {
  func::FuncOp entry = step.entry;
  if (step.signature.ranks > kMaxRanks) {
    Location loc = step.mesh ? tg::MeshOp(step.mesh).getLoc() : entry.getLoc();
    return emitError(loc) << "cannot run " << step.signature.ranks
                          << " ranks on one machine, at most " << kMaxRanks;
  }
  int64_t memory = getPhysicalMemory();
  WalkResult walk = entry->getParentOfType<ModuleOp>().walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (failed(verifyValueFits(result, op->getLoc(), memory)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  uint64_t bytes = 0;
  // Backward takes what forward saves as well.
  func::FuncOp last = step.backward ? step.backward->func : entry;
  for (Type type : last.getArgumentTypes())
    bytes = llvm::SaturatingAdd<uint64_t>(bytes, getSaturatedBytes(type));
  if (bytes > static_cast<uint64_t>(memory / step.signature.ranks))
    return entry.emitError()
           << "arguments need " << bytes << " bytes on each of "
           << step.signature.ranks << " ranks, but this machine has " << memory;
  return success();
}
