//===- UnsignedNodes.cpp - Unsigned bytes as wider integers ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node computes with i16, and what it gives is cut to eight bits: sums,
// differences, products, comparisons, quotients and conversions of numbers from
// 0 to 255 come out as those of bytes. What only moves elements, as between the
// parts of ranks, moves the wider ones.
//
//===----------------------------------------------------------------------===//

#include "NodeExpansion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather;
using namespace regather::nodes;

static bool isByte(Type type) {
  if (auto future = dyn_cast<tg::FutureType>(type))
    return llvm::any_of(future.getTensors(), isByte);
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isUnsignedInteger(8);
}

static bool hasByte(TypeRange types) { return llvm::any_of(types, isByte); }

static Type widen(Type type) {
  if (!isByte(type))
    return type;
  if (auto future = dyn_cast<tg::FutureType>(type))
    return tg::FutureType::get(type.getContext(),
                               llvm::map_to_vector(future.getTensors(), widen));
  return withElement(type, IntegerType::get(type.getContext(), 16));
}

/// The type that files and callers see.
static Type getStorageType(Type type) {
  if (!isByte(type))
    return type;
  return withElement(type, IntegerType::get(type.getContext(), 8));
}

static Value cut(NodeMaker &b, Value value) {
  return b.make(Target::AtenBitwiseAndScalar,
                {value, Attribute(b.getI64IntegerAttr(255))}, value.getType());
}

static void expandNode(tg::NodeOp node) {
  NodeMaker b(node);
  SmallVector<Type> types = llvm::map_to_vector(node.getResultTypes(), widen);
  tg::NodeOp wide = b.copy(node, node.getInputs(), types);
  for (auto [before, after] :
       llvm::zip_equal(node.getResults(), wide.getResults()))
    before.replaceAllUsesWith(isByte(before.getType()) ? cut(b, after) : after);
  node.erase();
}

/// True for what puts elements elsewhere and computes nothing.
static bool onlyMoves(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::InsertSliceOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ConcatOp,
             tensor::EmptyOp, tg::AllGatherOp, tg::AllToAllOp, tg::BroadcastOp,
             tg::PermuteOp, tg::WaitOp>(op);
}

static LogicalResult expandFunction(func::FuncOp function) {
  FunctionType type = function.getFunctionType();
  SmallVector<tg::NodeOp> nodes;
  SmallVector<Operation *> moves;
  WalkResult result = function.walk([&](Operation *op) {
    if (!hasByte(op->getOperandTypes()) && !hasByte(op->getResultTypes()))
      return WalkResult::advance();
    if (auto node = dyn_cast<tg::NodeOp>(op)) {
      if (hasByte(op->getResultTypes()))
        nodes.push_back(node);
      return WalkResult::advance();
    }
    if (isa<func::ReturnOp>(op))
      return WalkResult::advance();
    if (onlyMoves(op)) {
      moves.push_back(op);
      return WalkResult::advance();
    }
    op->emitError() << "uses unsigned bytes, which only nodes may, and what "
                       "moves elements";
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  Block &entry = function.front();
  for (BlockArgument argument : entry.getArguments()) {
    if (!isByte(argument.getType()))
      continue;
    Type wide = widen(argument.getType());
    argument.setType(getStorageType(argument.getType()));
    NodeMaker b(argument.getLoc(), entry.begin(), &entry);
    // Extended as signed numbers, then cut to the bits that there were.
    Value extended =
        b.make(Target::AtenToCopyDefault, NodeOperand(Value(argument)), wide);
    Value bytes = cut(b, extended);
    argument.replaceAllUsesExcept(bytes, extended.getDefiningOp());
  }
  for (Operation *move : moves)
    for (Value result : move->getResults())
      result.setType(widen(result.getType()));
  for (tg::NodeOp node : nodes)
    expandNode(node);
  function.walk([&](func::ReturnOp op) {
    NodeMaker b(op.getLoc(), op->getIterator(), op->getBlock());
    for (auto [operand, wanted] :
         llvm::zip_equal(op->getOpOperands(), type.getResults()))
      if (isByte(wanted))
        operand.set(b.make(Target::AtenToCopyDefault,
                           NodeOperand(operand.get()), getStorageType(wanted)));
  });
  if (hasByte(type.getInputs()) || hasByte(type.getResults()))
    function.setType(FunctionType::get(
        function.getContext(), entry.getArgumentTypes(),
        llvm::map_to_vector(type.getResults(), getStorageType)));
  return success();
}

LogicalResult regather::nodes::expandUnsignedNodes(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && failed(expandFunction(function)))
      return failure();
  return success();
}
