//===- StepLowering.cpp - From tensors to buffers, streams and events -----===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepLowering.h"

#include "UnsupportedOps.h"

#include "regather/Dialect/TG/Nodes/ContiguousViews.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather;

/// Constants of equal elements with more elements are filled, not stored.
static constexpr int64_t kMaxStoredSplat = 64;

static bool hasHostCopies(func::FuncOp func, bool toHost) {
  return func
      .walk([&](tg::HostCopyOpInterface op) {
        return op.isToHost() == toHost ? WalkResult::interrupt()
                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Of computation, of communication, and of copies in either direction.
static unsigned countStreams(func::FuncOp func, unsigned maxCommStreams) {
  SetVector<std::pair<Attribute, Attribute>> groups;
  func.walk([&](tg::CollectiveOpInterface op) {
    groups.insert({op.getMeshAttr(), op.getAxesAttr()});
  });
  return 1 + std::min<unsigned>(groups.size(), maxCommStreams) +
         hasHostCopies(func, true) + hasHostCopies(func, false);
}

StepLowering::StepLowering(func::FuncOp func, unsigned maxCommStreams)
    : func(func), maxCommStreams(maxCommStreams), builder(func),
      order(countStreams(func, maxCommStreams)) {}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

exec::ProgramOp StepLowering::run() {
  auto getTypes = [](TypeRange types) {
    return llvm::map_to_vector(
        types, [](Type type) -> Type { return getPlacedBufferType(type); });
  };
  program = exec::ProgramOp::create(
      builder, func.getLoc(), func.getSymNameAttr(),
      TypeAttr::get(builder.getFunctionType(getTypes(func.getArgumentTypes()),
                                            getTypes(func.getResultTypes()))),
      builder.getI64IntegerAttr(countStreams(func, maxCommStreams)),
      /*arena=*/nullptr, /*lower_bound=*/nullptr, /*host_arena=*/nullptr,
      /*host_lower_bound=*/nullptr, builder.getI64IntegerAttr(64),
      func.getArgAttrsAttr(), func.getResAttrsAttr());
  for (NamedAttribute attr : func->getDiscardableAttrs())
    program->setDiscardableAttr(attr.getName(), attr.getValue());
  assignStreams();
  Block &body = program.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&body);
  for (BlockArgument argument : func.getArguments()) {
    buffers[argument] = body.addArgument(
        getPlacedBufferType(argument.getType()), argument.getLoc());
    rootNumbers[argument] = rootNumbers.size();
  }
  lowerBlock(func.front());
  Operation *end = func.front().getTerminator();
  exec::ReturnOp::create(builder, end->getLoc(),
                         getBuffers(end->getOperands()));
  return program;
}

/// Groups of ranks take the streams in turn, in the order of their first
/// collective. Copies have the last ones.
void StepLowering::assignStreams() {
  func.walk([&](tg::CollectiveOpInterface op) {
    unsigned next = streams.size() % maxCommStreams;
    streams.try_emplace({op.getMeshAttr(), op.getAxesAttr()}, 1 + next);
  });
  unsigned last = countStreams(func, maxCommStreams);
  if (hasHostCopies(func, false))
    fromHostStream = --last;
  if (hasHostCopies(func, true))
    toHostStream = --last;
}

void StepLowering::lowerBlock(Block &block) {
  placeFlatMembers(block);
  for (Operation &op : block.without_terminator()) {
    lowerOp(&op);
    follow(&op);
  }
}

void StepLowering::lowerOp(Operation *op) {
  if (auto collective = dyn_cast<tg::CollectiveOpInterface>(op))
    return lowerCollective(collective);
  if (auto copy = dyn_cast<tg::HostCopyOpInterface>(op))
    return lowerHostCopy(copy);
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op))
    return lowerConstant(op);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tg::LaunchOp launch) { lowerLaunch(launch); })
      .Case([&](tg::AxisIndexOp index) { lowerAxisIndex(index); })
      .Case([&](tg::FlattenOp flatten) { lowerFlatten(flatten); })
      .Case([&](tg::UnflattenOp unflatten) { lowerUnflatten(unflatten); })
      .Case([&](scf::IfOp branch) { lowerIf(branch); })
      .Case([&](scf::ForOp loop) { lowerFor(loop); })
      .Case([&](tg::WaitOp wait) {
        order.waitFor(builder, wait.getLoc(),
                      arrivals.lookup(wait.getFuture()));
        for (auto [tensor, buffer] :
             llvm::zip_equal(wait.getTensors(), inFlight[wait.getFuture()]))
          buffers[tensor] = buffer;
      })
      .Default([&](Operation *view) {
        // A scalar and a tensor of rank 0 have the same buffer.
        Value result = view->getResult(0);
        Type type = getBufferType(result.getType());
        int64_t offset = tg::getContiguousViewOffset(view).value_or(0);
        Type element = cast<MemRefType>(type).getElementType();
        buffers[result] = createView(getBuffer(view->getOperand(0)),
                                     offset * exec::getElementBytes(element),
                                     type, view->getLoc());
      });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

SmallVector<Value> StepLowering::getBuffers(ValueRange values) {
  return llvm::map_to_vector(values,
                             [&](Value value) { return getBuffer(value); });
}

Value StepLowering::createSlice(Type type, Location loc) {
  if (exec::isHostBuffer(type))
    return exec::HostSliceOp::create(builder, loc, type, /*offset=*/nullptr);
  return exec::SliceOp::create(builder, loc, type, /*offset=*/nullptr);
}

Value StepLowering::createView(Value source, int64_t offset, Type type,
                               Location loc) {
  if (offset == 0 && source.getType() == type)
    return source;
  return exec::ViewOp::create(builder, loc, type, source, offset);
}

Value StepLowering::createDestination(Value value) {
  Type type = getPlacedBufferType(value.getType());
  Location loc = value.getLoc();
  Value buffer;
  if (auto it = flatPlaces.find(value); it != flatPlaces.end()) {
    FlatPlace place = it->second;
    Value flat = getBuffer(place.flat);
    if (!flat)
      flat = createDestination(place.flat);
    buffer = createView(flat, place.offset, type, loc);
  } else {
    buffer = createSlice(type, loc);
  }
  buffers[value] = buffer;
  return buffer;
}

void StepLowering::createCopy(Value source, Value target, Location loc) {
  exec::CopyOp::create(builder, loc, source, target, /*stream=*/0);
  order.addCompute();
}

/// Copies as if all sources were read before any target is written, because a
/// loop may swap the values that it carries.
void StepLowering::copyInParallel(ArrayRef<Value> sources,
                                  ArrayRef<Value> targets, Location loc) {
  llvm::SmallDenseSet<Value> written;
  for (auto [source, target] : llvm::zip_equal(sources, targets))
    if (source != target)
      written.insert(target);
  SmallVector<Value> stable(sources);
  for (auto [source, target] : llvm::zip_equal(stable, targets)) {
    if (source == target || !written.contains(exec::getPlace(source).base))
      continue;
    Value copy = createSlice(source.getType(), loc);
    createCopy(source, copy, loc);
    source = copy;
  }
  for (auto [source, target] : llvm::zip_equal(stable, targets))
    if (source != target)
      createCopy(source, target, loc);
}

//===----------------------------------------------------------------------===//
// Flat tensors
//===----------------------------------------------------------------------===//

Value StepLowering::skipReshapes(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!value.hasOneUse() || tg::getContiguousViewOffset(def) != 0 ||
        cast<RankedTensorType>(def->getOperand(0).getType()).getNumElements() !=
            cast<RankedTensorType>(value.getType()).getNumElements())
      break;
    value = def->getOperand(0);
  }
  return value;
}

/// True if the operation can write its result anywhere. Collectives cannot: all
/// parts of a flat buffer are written on stream 0, and a collective would have
/// to wait for the first of them. Parts of one on the host are all written on
/// the stream that copies there.
static bool hasFreeDestination(Value value, Block &block) {
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != &block)
    return false;
  return isa<tg::LaunchOp, tg::FlattenOp>(def) || tg::isOnHost(value.getType());
}

/// Decides which values are computed in their places in flat tensors.
void StepLowering::placeFlatMembers(Block &block) {
  for (auto flatten : block.getOps<tg::FlattenOp>()) {
    Type element = flatten.getFlat().getType().getElementType();
    for (auto [member, offset] :
         llvm::zip_equal(flatten.getTensors(), flatten.getOffsets())) {
      Value source = skipReshapes(member);
      if (hasFreeDestination(source, block))
        flatPlaces.try_emplace(
            source, FlatPlace{flatten.getFlat(),
                              offset * exec::getElementBytes(element)});
    }
  }
}

void StepLowering::lowerFlatten(tg::FlattenOp op) {
  Value flat = getBuffer(op.getFlat());
  if (!flat)
    flat = createDestination(op.getFlat());
  Location loc = op.getLoc();
  Type element = op.getFlat().getType().getElementType();
  int64_t bytes = exec::getElementBytes(element);
  for (auto [member, offset] :
       llvm::zip_equal(op.getTensors(), op.getOffsets())) {
    Value source = getBuffer(member);
    exec::BufferPlace from = exec::getPlace(source), to = exec::getPlace(flat);
    if (from.base == to.base && from.offset == to.offset + offset * bytes)
      continue;
    createCopy(source, createView(flat, offset * bytes, source.getType(), loc),
               loc);
  }
  for (auto [begin, end] : op.getGaps()) {
    Value gap = createView(flat, begin * bytes,
                           MemRefType::get({end - begin}, element), loc);
    exec::FillOp::create(builder, loc,
                         cast<TypedAttr>(builder.getZeroAttr(element)), gap,
                         /*stream=*/0);
    order.addCompute();
  }
}

void StepLowering::lowerUnflatten(tg::UnflattenOp op) {
  Value flat = getBuffer(op.getFlat());
  int64_t bytes =
      exec::getElementBytes(op.getFlat().getType().getElementType());
  for (auto [tensor, offset] :
       llvm::zip_equal(op.getTensors(), op.getOffsets()))
    buffers[tensor] =
        createView(flat, offset * bytes, getPlacedBufferType(tensor.getType()),
                   op.getLoc());
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

void StepLowering::copyAttributes(Operation *from, Operation *to) {
  NamedAttrList attributes(from->getDiscardableAttrDictionary());
  attributes.erase(tg::kSavedResultsAttrName);
  to->setDiscardableAttrs(attributes.getDictionary(from->getContext()));
}

void StepLowering::lowerLaunch(tg::LaunchOp op) {
  SmallVector<Value> outputs;
  for (Value result : op.getOutputs())
    outputs.push_back(createDestination(result));
  auto launch = exec::LaunchOp::create(builder, op.getLoc(), op.getKernel(),
                                       getBuffers(op.getInputs()), outputs,
                                       /*stream=*/0);
  copyAttributes(op, launch);
  order.addCompute();
}

void StepLowering::lowerAxisIndex(tg::AxisIndexOp op) {
  Value communicator =
      getCommunicator(op.getMeshAttr(), op.getAxes(), op.getLoc());
  exec::AxisIndexOp::create(builder, op.getLoc(), communicator,
                            createDestination(op.getIndex()), /*stream=*/0);
  order.addCompute();
}

void StepLowering::lowerConstant(Operation *op) {
  Value result = op->getResult(0);
  Location loc = op->getLoc();
  // Kernels that read it have copies of it.
  if (result.use_empty())
    return;
  Attribute value;
  if (!matchPattern(op, m_Constant(&value)))
    // The elements of `tensor.empty` may be anything, but runs are to be equal.
    value = builder.getZeroAttr(result.getType());
  if (auto scalar = dyn_cast<TypedAttr>(value);
      scalar && !isa<ElementsAttr>(value))
    value = DenseElementsAttr::get(RankedTensorType::get({}, scalar.getType()),
                                   Attribute(scalar));
  auto elements = cast<ElementsAttr>(value);
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (dense && dense.isSplat() && dense.getNumElements() > kMaxStoredSplat) {
    exec::FillOp::create(builder, loc,
                         cast<TypedAttr>(dense.getSplatValue<Attribute>()),
                         createDestination(result), /*stream=*/0);
    order.addCompute();
    return;
  }
  buffers[result] = exec::ConstantOp::create(builder, loc, elements);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Lowers a region; `finish` adds what it does with the values it yields.
void StepLowering::lowerRegion(Region &from, Region &to,
                               function_ref<void()> finish) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&to.emplaceBlock());
  exec::StreamOrder outer = order;
  order = outer.enterRegion();
  lowerBlock(from.front());
  order.leaveRegion(builder, from.getLoc());
  finish();
  exec::YieldOp::create(builder, from.getLoc());
  order = outer;
}

void StepLowering::lowerIf(scf::IfOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> results;
  for (Value result : op.getResults())
    results.push_back(createDestination(result));
  auto branch = exec::IfOp::create(builder, loc, getBuffer(op.getCondition()));
  copyAttributes(op, branch);
  for (auto [from, to] : llvm::zip(op->getRegions(), branch->getRegions())) {
    if (from.empty())
      continue;
    lowerRegion(from, to, [&, yield = from.front().getTerminator()] {
      copyInParallel(getBuffers(yield->getOperands()), results, loc);
    });
  }
  order.addCompute();
}

void StepLowering::lowerFor(scf::ForOp op) {
  Location loc = op.getLoc();
  Value lower = getBuffer(op.getLowerBound());
  Value upper = getBuffer(op.getUpperBound());
  Value step = getBuffer(op.getStep());
  Value index = createSlice(lower.getType(), loc);
  buffers[op.getInductionVar()] = index;
  SmallVector<Value> carried;
  for (auto [init, argument, result] : llvm::zip_equal(
           op.getInitArgs(), op.getRegionIterArgs(), op.getResults())) {
    Value buffer = createDestination(result);
    createCopy(getBuffer(init), buffer, loc);
    buffers[argument] = buffer;
    carried.push_back(buffer);
  }
  auto loop = exec::ForOp::create(builder, loc, index, lower, upper, step);
  copyAttributes(op, loop);
  lowerRegion(op.getRegion(), loop.getBody(), [&] {
    copyInParallel(getBuffers(op.getYieldedValues()), carried, loc);
  });
  order.addCompute();
}
