//===- MergeElementwise.cpp - Elementwise kernels as one operation --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Conversion/Passes.h"
#include "regather/Conversion/TGNodesToLinalg/BuiltTargets.h"
#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"
#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_MERGEELEMENTWISEPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// True if the kernel has nothing but several elementwise operations and
/// constants, as far as can be said of nodes, and results of one static shape.
static bool mayMerge(tg::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  unsigned numOps = 0;
  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op))
      continue;
    ++numOps;
    if (isa<linalg::GenericOp>(op))
      continue;
    auto node = dyn_cast<tg::NodeOp>(op);
    std::optional<tg::NodeTarget> target =
        node ? tg::findNodeTarget(node.getTarget()) : std::nullopt;
    if (!target || !nodes::hasBuilder(*target) ||
        tg::getOperatorClass(node.getTarget()) !=
            tg::OperatorClass::Elementwise)
      return false;
  }
  auto getShape = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape() ? std::optional(type.getShape())
                                         : std::nullopt;
  };
  OperandRange results = body.getTerminator()->getOperands();
  return numOps > 1 && !results.empty() && getShape(results.front()) &&
         llvm::all_of(results, [&](Value result) {
           return result.getDefiningOp() &&
                  getShape(result) == getShape(results.front());
         });
}

/// True if the body reads nothing that the kernel computes but as its element:
/// what it extracts elements from is an argument, or a constant.
static bool extractsFromArguments(linalg::GenericOp op) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegion(), captured);
  return llvm::all_of(captured, [](Value value) {
    Operation *producer = value.getDefiningOp();
    return !producer || producer->hasTrait<OpTrait::ConstantLike>();
  });
}

/// True if the operation computes element i of its results from what it reads
/// for i, and nothing from what the results held before.
static bool isElementwise(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumParallelLoops() == 0 ||
      op.getNumReductionLoops() != 0 || !extractsFromArguments(op))
    return false;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!init.get().getDefiningOp<tensor::EmptyOp>() ||
        op.payloadUsesValueFromOperand(&init) ||
        !op.getMatchingIndexingMap(&init).isIdentity())
      return false;
  // What another operation computes has to be there when it is read.
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    return isa<BlockArgument>(operand->get()) ||
           op.getMatchingIndexingMap(operand).isIdentity();
  });
}

/// The elementwise operations of the kernel; empty if it has others, or if they
/// differ in shape.
static SmallVector<linalg::GenericOp> getElementwiseOps(Block &body) {
  SmallVector<linalg::GenericOp> generics;
  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op))
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || !isElementwise(generic) ||
        (!generics.empty() && generic.getStaticLoopRanges() !=
                                  generics.front().getStaticLoopRanges()))
      return {};
    generics.push_back(generic);
  }
  // A constant tensor has no elements in the body.
  bool readsElements = llvm::all_of(generics, [&](linalg::GenericOp op) {
    return llvm::all_of(op.getDpsInputs(), [](Value value) {
      return isa<BlockArgument>(value) ||
             value.getDefiningOp<linalg::GenericOp>();
    });
  });
  return readsElements ? generics : SmallVector<linalg::GenericOp>();
}

/// Makes one operation of those of the kernel; returns false, and changes
/// nothing, if they are not all elementwise ones over one shape.
static bool mergeElements(tg::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *end = body.getTerminator();
  SmallVector<linalg::GenericOp> generics = getElementwiseOps(body);
  llvm::MapVector<Value, unsigned> results;
  for (Value value : end->getOperands()) {
    if (!value.getDefiningOp<linalg::GenericOp>())
      return false;
    results.try_emplace(value, results.size());
  }
  if (generics.size() < 2)
    return false;

  // Each argument once for each way to read it.
  llvm::MapVector<std::pair<Value, AffineMap>, unsigned> inputs;
  SmallVector<Value> inputValues;
  SmallVector<AffineMap> maps;
  for (linalg::GenericOp op : generics)
    for (OpOperand *operand : op.getDpsInputOperands())
      if (isa<BlockArgument>(operand->get())) {
        AffineMap map = op.getMatchingIndexingMap(operand);
        if (inputs.try_emplace({operand->get(), map}, maps.size()).second) {
          inputValues.push_back(operand->get());
          maps.push_back(map);
        }
      }

  OpBuilder builder(end);
  SmallVector<Value> inits;
  for (auto [value, number] : results) {
    auto type = cast<RankedTensorType>(value.getType());
    inits.push_back(tensor::EmptyOp::create(
        builder, kernel.getLoc(), type.getShape(), type.getElementType()));
    maps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  }
  auto merged = linalg::GenericOp::create(
      builder, kernel.getLoc(), TypeRange(ValueRange(inits)), inputValues,
      inits, maps, generics.front().getIteratorTypesArray(),
      [&](OpBuilder &inner, Location loc, ValueRange elements) {
        // The element of each value, by the tensor that it is in.
        llvm::DenseMap<Value, Value> elementOf;
        for (linalg::GenericOp op : generics) {
          IRMapping map;
          for (OpOperand *operand : op.getDpsInputOperands()) {
            Value element =
                isa<BlockArgument>(operand->get())
                    ? elements[inputs.lookup(
                          {operand->get(), op.getMatchingIndexingMap(operand)})]
                    : elementOf.lookup(operand->get());
            map.map(op.getMatchingBlockArgument(operand), element);
          }
          for (Operation &scalar : op.getBlock()->without_terminator())
            inner.clone(scalar, map);
          for (auto [value, element] :
               llvm::zip_equal(op.getResults(),
                               op.getBlock()->getTerminator()->getOperands()))
            elementOf[value] = map.lookupOrDefault(element);
        }
        linalg::YieldOp::create(
            inner, loc, llvm::map_to_vector(results, [&](const auto &result) {
              return elementOf.lookup(result.first);
            }));
      });
  for (OpOperand &operand : end->getOpOperands())
    operand.set(merged.getResult(results.lookup(operand.get())));
  for (linalg::GenericOp op : llvm::reverse(generics))
    op.erase();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isa<tensor::EmptyOp>(op) && op.use_empty())
      op.erase();
  return true;
}

namespace {
struct MergeElementwisePass
    : kernel::impl::MergeElementwisePassBase<MergeElementwisePass> {
  void runOnOperation() override;
};
} // namespace

void MergeElementwisePass::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<tg::KernelOp> kernels;
  OwningOpRef<ModuleOp> lowered = ModuleOp::create(module.getLoc());
  for (auto kernel : module.getOps<tg::KernelOp>())
    if (mayMerge(kernel)) {
      kernels.push_back(kernel);
      lowered->push_back(kernel->clone());
    }
  if (kernels.empty())
    return;
  PassManager pm(&getContext());
  pm.addPass(createConvertTGNodesToLinalgPass());
  {
    // What cannot be lowered is reported where kernels are compiled.
    ScopedDiagnosticHandler silent(&getContext(),
                                   [](Diagnostic &) { return success(); });
    if (failed(pm.run(*lowered)))
      return;
  }
  for (auto [kernel, copy] :
       llvm::zip_equal(kernels, lowered->getOps<tg::KernelOp>()))
    if (mergeElements(copy)) {
      kernel.getBody().takeBody(copy.getBody());
      ++numMerged;
    }
}
