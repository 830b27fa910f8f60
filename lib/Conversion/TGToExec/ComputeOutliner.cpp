//===- ComputeOutliner.cpp - Kernels for single operations ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComputeOutliner.h"

#include "regather/Dialect/Exec/IR/Exec.h"
#include "regather/Dialect/TG/Nodes/ContiguousViews.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// Constants with at most so many elements are repeated in kernels; others are
/// read from memory.
static constexpr int64_t kMaxRepeatedElements = 64;

bool regather::isScalarCast(Operation *op) {
  auto isScalar = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0;
  };
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return isScalar(extract.getTensor().getType());
  if (auto fromElements = dyn_cast<tensor::FromElementsOp>(op))
    return isScalar(fromElements.getType());
  return false;
}

/// True for operations without operands that make a value at no cost.
static bool isConstant(Operation *op) {
  if (isa<tensor::EmptyOp>(op))
    return op->getNumOperands() == 0;
  Attribute value;
  if (!matchPattern(op, m_Constant(&value)))
    return false;
  auto elements = dyn_cast<ElementsAttr>(value);
  return !elements || elements.isSplat() ||
         elements.getNumElements() <= kMaxRepeatedElements;
}

/// True if `op` and everything in it can be part of a kernel.
static bool isCompute(Operation *op) {
  return !op->walk([](Operation *inner) {
              if (auto node = dyn_cast<NodeOp>(inner))
                return node.getEffects() ? WalkResult::interrupt()
                                         : WalkResult::advance();
              return isa<RandomOp>(inner) ||
                             isa<arith::ArithDialect, linalg::LinalgDialect,
                                 math::MathDialect, scf::SCFDialect,
                                 tensor::TensorDialect>(inner->getDialect())
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
}

/// True for operations that only check their operands.
static bool isAssertion(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  return node && node.getNumResults() == 0 &&
         tg::getOperatorClass(node.getTarget()) == tg::OperatorClass::Assertion;
}

/// True if the result is a part of the operand that needs no copy: kernels for
/// GPUs load 16 bytes at a time, and what begins in between is copied.
static bool isFreeView(Operation *op) {
  constexpr int64_t kAlignment = 16;
  std::optional<int64_t> offset = getContiguousViewOffset(op);
  if (!offset)
    return false;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  return *offset * exec::getElementBytes(element) % kAlignment == 0;
}

/// True for operations that a program has a counterpart of, or that it does not
/// need.
static bool isLowered(Operation *op) {
  return isa<LaunchOp, CollectiveOpInterface, HostCopyOpInterface, WaitOp,
             AxisIndexOp, FlattenOp, UnflattenOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>() || isScalarCast(op) ||
         isConstant(op) || isFreeView(op);
}

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

/// A tensor of rank 0 for a scalar; other types as they are.
static Type getTensorType(Type type) {
  return isa<RankedTensorType>(type) ? type : RankedTensorType::get({}, type);
}

/// Values from outside that `op` or its regions read, in order of first use.
static SetVector<Value> getInputs(Operation *op) {
  SetVector<Value> values;
  values.insert(op->operand_begin(), op->operand_end());
  if (op->getNumRegions() > 0)
    getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

/// Adds the operations that a kernel repeats, each after what it reads.
static void cloneRepeated(ArrayRef<Value> values, OpBuilder &builder,
                          IRMapping &map) {
  SmallVector<Value> pending(llvm::reverse(values));
  while (!pending.empty()) {
    Operation *op = pending.back().getDefiningOp();
    size_t size = pending.size();
    for (Value operand : op->getOperands())
      if (!map.contains(operand))
        pending.push_back(operand);
    if (pending.size() != size)
      continue;
    pending.pop_back();
    if (!map.contains(op->getResult(0)))
      builder.clone(*op, map);
  }
}

/// A kernel of `op` alone that computes `results` of it, detached.
static OwningOpRef<KernelOp> buildKernel(Operation *op, ArrayRef<Value> inputs,
                                         ArrayRef<Value> repeated,
                                         ArrayRef<OpResult> results) {
  OpBuilder builder(op->getContext());
  Location loc = op->getLoc();
  auto getTypes = [](auto values) {
    return llvm::map_to_vector(
        values, [](Value value) { return getTensorType(value.getType()); });
  };
  OwningOpRef<KernelOp> kernel = KernelOp::create(
      builder, loc, "kernel",
      builder.getFunctionType(getTypes(inputs), getTypes(results)));
  Block &body = kernel->getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&body);
  IRMapping map;
  for (Value input : inputs) {
    Value argument =
        body.addArgument(getTensorType(input.getType()), input.getLoc());
    map.map(input, isa<RankedTensorType>(input.getType())
                       ? argument
                       : tensor::ExtractOp::create(builder, loc, argument));
  }
  cloneRepeated(repeated, builder, map);
  builder.clone(*op, map);
  SmallVector<Value> outputs;
  for (OpResult result : results) {
    Value output = map.lookup(result);
    Type type = getTensorType(output.getType());
    if (type != output.getType())
      output = tensor::FromElementsOp::create(builder, loc, type, output);
    outputs.push_back(output);
  }
  ReturnOp::create(builder, loc, outputs);
  dropOrigins(*kernel);
  return kernel;
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

ComputeOutliner::ComputeOutliner(func::FuncOp func, UnsupportedOps &unsupported)
    : func(func), unsupported(unsupported),
      kernels(func->getParentOfType<ModuleOp>()) {
  kernels.setInsertionPoint(func);
}

void ComputeOutliner::run() {
  for (BlockArgument argument : func.getArguments())
    unsupported.checkType(argument);
  runOnBlock(func.front());
}

void ComputeOutliner::outline(Operation *op) {
  SmallVector<Value> inputs, repeated;
  for (Value value : getInputs(op)) {
    bool isRepeated = repeatedOps.contains(value.getDefiningOp());
    (isRepeated ? repeated : inputs).push_back(value);
  }
  SmallVector<OpResult> results;
  for (OpResult result : op->getResults())
    if (!result.use_empty())
      results.push_back(result);
  OpBuilder builder(op);
  Location loc = op->getLoc();
  if (!results.empty()) {
    KernelOp kernel =
        kernels.findOrInsert(buildKernel(op, inputs, repeated, results), op);
    SmallVector<Value> operands;
    for (Value input : inputs) {
      Type type = getTensorType(input.getType());
      operands.push_back(
          type == input.getType()
              ? input
              : tensor::FromElementsOp::create(builder, loc, type, input));
    }
    auto launch = LaunchOp::create(
        builder, loc, kernel.getResultTypes(),
        FlatSymbolRefAttr::get(kernel.getSymNameAttr()), operands);
    for (StringRef name : {kPhaseAttrName, kModuleAttrName, kIdAttrName})
      if (Attribute value = op->getAttr(name))
        launch->setAttr(name, value);
    for (auto [old, result] : llvm::zip_equal(results, launch.getResults())) {
      Value value = result;
      if (value.getType() != old.getType())
        value = tensor::ExtractOp::create(builder, loc, value);
      old.replaceAllUsesWith(value);
    }
    ++numOutlined;
  }
  op->erase();
}

/// True for constants and what fills a tensor with one.
bool ComputeOutliner::canRepeat(Operation *op) {
  return isConstant(op) || (isa<linalg::FillOp>(op) &&
                            llvm::all_of(op->getOperands(), [&](Value v) {
                              return repeatedOps.contains(v.getDefiningOp());
                            }));
}

void ComputeOutliner::runOnBlock(Block &block) {
  SmallVector<Operation *> repeated;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (canRepeat(&op)) {
      repeatedOps.insert(&op);
      repeated.push_back(&op);
      continue;
    }
    if (isAssertion(&op)) {
      op.erase();
      continue;
    }
    bool lowered = isLowered(&op);
    // A result that the kernel does not return may have any type; it may be a
    // gradient that nobody asked for.
    auto isHeld = [&](Value result) {
      return !result.use_empty() || !isCompute(&op);
    };
    if (!isa<CollectiveOpInterface, HostCopyOpInterface>(op))
      for (Value result : llvm::make_filter_range(op.getResults(), isHeld))
        unsupported.checkType(result);
    if (lowered)
      continue;
    if (isCompute(&op)) {
      // A value of another type cannot enter or leave a kernel.
      auto hasBuffer = [](Value value) {
        return getBufferType(value.getType()) != nullptr;
      };
      if (llvm::all_of(getInputs(&op), hasBuffer) &&
          llvm::all_of(llvm::make_filter_range(op.getResults(), isHeld),
                       hasBuffer))
        outline(&op);
      continue;
    }
    if (!isa<scf::IfOp, scf::ForOp>(op)) {
      unsupported.addOp(&op);
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        for (BlockArgument argument : inner.getArguments())
          unsupported.checkType(argument);
        runOnBlock(inner);
      }
  }
  // Kernels have copies of them; other readers need them in memory.
  for (Operation *op : llvm::reverse(repeated)) {
    repeatedOps.erase(op);
    if (op->use_empty())
      op->erase();
    else if (!isConstant(op))
      outline(op);
    else
      unsupported.checkType(op->getResult(0));
  }
}
