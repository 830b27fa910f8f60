//===- MicroBatches.cpp - Several batches in one step ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroBatches.h"

#include "regather/Dialect/TG/IR/MicroBatch.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// How the results of several batches make up one.
enum class Combination { Mean, Last, None };

static Combination getCombination(const Step &step, unsigned result) {
  RoleAttr role = step.getResultRole(result);
  auto type = dyn_cast<RankedTensorType>(
      step.getTerminator()->getOperand(result).getType());
  if (!role || !type)
    return Combination::None;
  if (role.getKind() == RoleKind::Update)
    return Combination::Last;
  return isa<FloatType>(type.getElementType()) ? Combination::Mean
                                               : Combination::None;
}

static LogicalResult checkRepeatable(const Step &step) {
  func::FuncOp func = step.func;
  if (step.splitInputs.empty())
    return func.emitError()
           << "option 'micro-batches' needs an input with a batch";
  for (Operation *op : step.operations)
    if (getPhase(op) == Phase::Optimizer)
      return op->emitError() << "option 'micro-batches' needs a step without "
                                "an optimizer, which would run once for each";
  for (const Parameter &parameter : step.parameters)
    if (parameter.update)
      return func.emitError()
             << "option 'micro-batches' needs a step without an optimizer, but "
                "it updates parameter \""
             << parameter.name << '"';
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i)
    if (getCombination(step, i) == Combination::None)
      return func.emitError()
             << "option 'micro-batches' cannot combine result " << i
             << ", which is neither a loss, a gradient nor an update";
  return success();
}

namespace {
/// Repeats the operations of a step in place.
class Repeater {
public:
  Repeater(const Step &step, int64_t count)
      : step(step), count(count),
        builder(step.block->getParent()->getContext()),
        results(step.getTerminator()->getNumOperands()) {}

  SmallVector<Operation *> run();

private:
  void cutInputs();
  void repeat(int64_t number);
  void mark(Operation *op, int64_t number);
  Value makeMean(ArrayRef<Value> values);
  Value addNode(NodeTarget target, ValueRange operands, ArrayAttr args,
                Operation *like);

  const Step &step;
  int64_t count;
  OpBuilder builder;
  /// The operations that cut batches out, input by input.
  SmallVector<Operation *> slices;
  /// By result, its values of all batches so far.
  std::vector<SmallVector<Value>> results;
};
} // namespace

void Repeater::cutInputs() {
  builder.setInsertionPointToStart(step.block);
  for (unsigned input : step.splitInputs) {
    BlockArgument argument = step.block->getArgument(input);
    auto type = cast<RankedTensorType>(argument.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] *= count;
    SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(shape.size(), builder.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes;
    for (int64_t size : type.getShape())
      sizes.push_back(builder.getIndexAttr(size));
    argument.setType(RankedTensorType::get(shape, type.getElementType()));
    Operation *first = nullptr;
    for (int64_t i = 0; i != count; ++i) {
      offsets[0] = builder.getIndexAttr(i * type.getDimSize(0));
      Operation *slice = tensor::ExtractSliceOp::create(
          builder, argument.getLoc(), type, argument, offsets, sizes, strides);
      slice->setAttr(kPhaseAttrName,
                     PhaseAttr::get(builder.getContext(), Phase::Forward));
      slices.push_back(slice);
      first = first ? first : slice;
    }
    argument.replaceUsesWithIf(first->getResult(0), [&](OpOperand &use) {
      return !llvm::is_contained(slices, use.getOwner());
    });
  }
}

void Repeater::mark(Operation *op, int64_t number) {
  op->setAttr(kMicroBatchAttrName, builder.getI64IntegerAttr(number));
}

void Repeater::repeat(int64_t number) {
  IRMapping mapping;
  for (size_t input = 0; input != step.splitInputs.size(); ++input)
    mapping.map(slices[input * count]->getResult(0),
                slices[input * count + number]->getResult(0));
  // Buffers, and the state of random numbers, continue from the previous batch.
  for (unsigned i = 0, e = results.size(); i != e; ++i)
    if (RoleAttr role = step.getResultRole(i);
        role.getKind() == RoleKind::Update)
      mapping.map(step.block->getArgument(role.getArgument()),
                  results[i].back());
  builder.setInsertionPoint(step.getTerminator());
  for (Operation *op : step.operations)
    mark(builder.clone(*op, mapping), number);
  for (OpOperand &operand : step.getTerminator()->getOpOperands())
    results[operand.getOperandNumber()].push_back(
        mapping.lookupOrDefault(operand.get()));
}

Value Repeater::addNode(NodeTarget target, ValueRange operands, ArrayAttr args,
                        Operation *like) {
  auto node = NodeOp::create(builder, operands.front().getLoc(),
                             TypeRange(operands.front().getType()),
                             builder.getStringAttr(getName(target)), operands,
                             args, DictionaryAttr(), UnitAttr());
  if (like)
    for (StringRef name :
         {kPhaseAttrName, kModuleAttrName, kMicroBatchAttrName})
      if (Attribute attr = like->getAttr(name))
        node->setAttr(name, attr);
  return node.getResult(0);
}

Value Repeater::makeMean(ArrayRef<Value> values) {
  Operation *like = values.back().getDefiningOp();
  Value sum = values.front();
  builder.setInsertionPoint(step.getTerminator());
  for (Value value : values.drop_front()) {
    // Gradients are added at once, so that only one of each parameter is live
    // at a time.
    if (Operation *source = value.getDefiningOp())
      builder.setInsertionPointAfter(source);
    sum = addNode(NodeTarget::AtenAddTensor, {sum, value}, ArrayAttr(),
                  value.getDefiningOp());
  }
  auto args = builder.getArrayAttr({OperandAttr::get(builder.getContext(), 0),
                                    builder.getI64IntegerAttr(count)});
  return addNode(NodeTarget::AtenDivScalar, sum, args, like);
}

SmallVector<Operation *> Repeater::run() {
  Operation *terminator = step.getTerminator();
  cutInputs();
  for (OpOperand &operand : terminator->getOpOperands())
    results[operand.getOperandNumber()].push_back(operand.get());
  for (int64_t i = 1; i != count; ++i)
    repeat(i);
  for (Operation *op : step.operations)
    mark(op, 0);
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    operand.set(getCombination(step, number) == Combination::Mean
                    ? makeMean(results[number])
                    : results[number].back());
  }
  func::FuncOp func = step.func;
  func.setType(FunctionType::get(func.getContext(),
                                 step.block->getArgumentTypes(),
                                 func.getResultTypes()));
  return slices;
}

FailureOr<SmallVector<Operation *>>
regather::tg::spmd::expandMicroBatches(const Step &step, int64_t count) {
  if (failed(checkRepeatable(step)))
    return failure();
  return Repeater(step, count).run();
}
