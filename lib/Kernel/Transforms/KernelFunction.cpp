//===- KernelFunction.cpp - The function that a kernel becomes ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/KernelFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace regather;
using namespace regather::kernel;

static bool isEmpty(Type type) {
  return cast<RankedTensorType>(type).getNumElements() == 0;
}

MemRefType kernel::getBufferType(RankedTensorType tensor) {
  // Not every type without elements can be handed over as a pointer.
  if (isEmpty(tensor))
    return MemRefType::get(0, tensor.getElementType());
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

namespace {
/// Where the tile that is computed lies in the rows of each level.
using Position = SmallVector<Value, 2>;

class FunctionBuilder {
public:
  FunctionBuilder(OpBuilder &builder, tg::KernelOp kernel, const TilePlan &plan)
      : kernel(kernel), plan(plan), b(kernel.getLoc(), builder) {}

  func::FuncOp build();

private:
  void buildBlocks(Value number);
  void buildBlock(tg::KernelOp block, const Position &position);
  Value getView(Value buffer, RankedTensorType type, const Position &position,
                function_ref<std::optional<int64_t>(const RowTiling &)> getDim);
  Value makeIndex(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  tg::KernelOp kernel;
  const TilePlan &plan;
  ImplicitLocOpBuilder b;
  SmallVector<Value> arguments, results;
};
} // namespace

/// The part of `buffer`, an argument or result of the kernel, that a tile of
/// type `type` works on.
Value FunctionBuilder::getView(
    Value buffer, RankedTensorType type, const Position &position,
    function_ref<std::optional<int64_t>(const RowTiling &)> getDim) {
  SmallVector<int64_t> shape(cast<MemRefType>(buffer.getType()).getShape());
  SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(shape.size(), b.getIndexAttr(1));
  bool isTiled = false;
  for (auto [level, row] : llvm::zip_equal(plan.levels, position)) {
    std::optional<int64_t> dim = getDim(level.tiling);
    if (!dim)
      continue;
    isTiled = true;
    // Rows may hold other dimensions.
    int64_t width = shape[*dim] / level.tiling.rows;
    Value offset = arith::MulIOp::create(b, row, makeIndex(width));
    if (auto outer = dyn_cast<Value>(offsets[*dim]))
      offset = arith::AddIOp::create(b, outer, offset);
    offsets[*dim] = offset;
    shape[*dim] = width * level.size;
  }
  if (!isTiled)
    return buffer;
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(b.getContext(), type.getShape());
  return memref::SubViewOp::create(b, buffer, offsets, sizes, strides);
}

void FunctionBuilder::buildBlock(tg::KernelOp block, const Position &position) {
  IRMapping map;
  for (auto [number, argument] : llvm::enumerate(block.getArguments())) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (isEmpty(type)) {
      map.map(argument, tensor::EmptyOp::create(b, type.getShape(),
                                                type.getElementType()));
      continue;
    }
    Value view = getView(arguments[number], type, position,
                         [&, i = number](const RowTiling &tiling) {
                           return tiling.arguments[i];
                         });
    // Nothing else is written while the kernel runs.
    map.map(argument,
            bufferization::ToTensorOp::create(b, type, view, /*restrict=*/true,
                                              /*writable=*/false));
  }
  Block &body = block.getBody().front();
  for (Operation &op : body.without_terminator())
    b.clone(op, map);
  for (auto [number, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    if (isEmpty(value.getType()))
      continue;
    Value view = getView(
        results[number], cast<RankedTensorType>(value.getType()), position,
        [&, i = number](const RowTiling &tiling) { return tiling.results[i]; });
    bufferization::MaterializeInDestinationOp::create(
        b, TypeRange(), map.lookup(value), view, /*restrict=*/true,
        /*writable=*/true);
  }
}

/// Finds out where tile `number` lies, and computes it.
void FunctionBuilder::buildBlocks(Value number) {
  Position position(plan.levels.size());
  for (size_t i = plan.levels.size(); i-- != 0;) {
    position[i] = number;
    if (i != 0) {
      Value count = makeIndex(plan.levels[i].getNumTiles());
      position[i] = arith::RemUIOp::create(b, number, count);
      number = arith::DivUIOp::create(b, number, count);
    }
  }
  if (plan.levels.empty())
    return buildBlock(*plan.tile, position);
  const TileLevel &level = plan.levels.back();
  Value block = position.back();
  position.back() = arith::MulIOp::create(b, block, makeIndex(level.size));
  if (!plan.lastTile)
    return buildBlock(*plan.tile, position);
  Value last = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, block,
                                     makeIndex(level.getNumTiles() - 1));
  auto choice = scf::IfOp::create(b, last, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  buildBlock(*plan.lastTile, position);
  b.setInsertionPointToStart(choice.elseBlock());
  buildBlock(*plan.tile, position);
}

func::FuncOp FunctionBuilder::build() {
  SmallVector<Type> types;
  for (Type type : kernel.getArgumentTypes())
    types.push_back(getBufferType(cast<RankedTensorType>(type)));
  for (Type type : kernel.getResultTypes())
    types.push_back(getBufferType(cast<RankedTensorType>(type)));
  types.append(2, b.getIndexType());
  auto func = func::FuncOp::create(b, kernel.getSymName(),
                                   b.getFunctionType(types, TypeRange()));
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  llvm::append_range(
      arguments, entry->getArguments().take_front(kernel.getNumArguments()));
  llvm::append_range(
      results,
      entry->getArguments().drop_front(kernel.getNumArguments()).drop_back(2));
  Value begin = entry->getArguments().take_back(2)[0];
  Value end = entry->getArguments().take_back(2)[1];
  auto loop = scf::ForOp::create(b, begin, end, makeIndex(1));
  func::ReturnOp::create(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  buildBlocks(loop.getInductionVar());
  return func;
}

func::FuncOp kernel::buildKernelFunction(OpBuilder &builder,
                                         tg::KernelOp kernel,
                                         const TilePlan &plan) {
  return FunctionBuilder(builder, kernel, plan).build();
}
