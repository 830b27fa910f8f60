//===- CollectiveLowering.cpp - Collectives and copies on streams ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepLowering.h"

#include "UnsupportedOps.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace regather;

Value StepLowering::getCommunicator(FlatSymbolRefAttr mesh, tg::AxesAttr axes,
                                    Location loc) {
  Value &communicator = communicators[{mesh, axes}];
  if (!communicator) {
    // At the top of the program, where every region sees it.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&program.getBody().front());
    if (communicators.size() > 1)
      builder.setInsertionPointAfterValue(
          std::prev(communicators.end(), 2)->second);
    communicator = exec::CommunicatorOp::create(builder, loc, mesh, axes);
  }
  return communicator;
}

//===----------------------------------------------------------------------===//
// Tags
//===----------------------------------------------------------------------===//

/// Notes what the results of `op` are made from: an operation with one operand
/// and no region makes a view, a cast or a gathered copy of it.
void StepLowering::follow(Operation *op) {
  bool isCopy = op->getNumOperands() == 1 && op->getNumRegions() == 0;
  for (Value result : op->getResults()) {
    if (isCopy) {
      Value operand = op->getOperand(0);
      Value root = roots.lookup(operand);
      roots[result] = root ? root : operand;
    } else if (op->getBlock() == &func.front()) {
      rootNumbers[result] = rootNumbers.size();
    }
  }
}

/// Two branches of rank-dependent control flow may hold the same collective
/// twice. Operations stand for each other if the captured graph does not tell
/// them apart and they send copies of the same values of the step.
uint64_t StepLowering::getTag(tg::CollectiveOpInterface op) {
  std::string identity;
  llvm::raw_string_ostream stream(identity);
  for (StringRef name : {tg::kIdAttrName, tg::kModuleAttrName})
    stream << op->getAttr(name) << ' ';
  stream << stringifyPhase(op.getPhase()) << ' '
         << static_cast<int64_t>(op.getGeneration().value_or(-1));
  for (Value input : op.getInputs()) {
    Value root = roots.lookup(input);
    auto number = rootNumbers.find(root ? root : input);
    stream << ' ' << (number == rootNumbers.end() ? 0 : number->second + 1);
  }
  return llvm::xxh3_64bits(identity);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Builds the operation without its buffers and attributes of the kind.
static exec::CollectiveOp
createCollective(OpBuilder &builder, tg::CollectiveOpInterface op,
                 exec::CollectiveKind kind, ValueRange inputs,
                 ValueRange outputs, Value communicator, unsigned stream) {
  OperationState state(op.getLoc(), exec::CollectiveOp::getOperationName());
  exec::CollectiveOp::Properties &properties =
      state.getOrAddProperties<exec::CollectiveOp::Properties>();
  properties.kind = exec::CollectiveKindAttr::get(builder.getContext(), kind);
  properties.stream = builder.getI64IntegerAttr(stream);
  properties.operandSegmentSizes = {static_cast<int32_t>(inputs.size()),
                                    static_cast<int32_t>(outputs.size()), 1};
  state.addOperands(inputs);
  state.addOperands(outputs);
  state.addOperands(communicator);
  return cast<exec::CollectiveOp>(builder.create(state));
}

static exec::CollectiveKind getKind(Operation *op) {
  using Kind = exec::CollectiveKind;
  return llvm::TypeSwitch<Operation *, Kind>(op)
      .Case([](tg::AllGatherOp) { return Kind::AllGather; })
      .Case([](tg::ReduceScatterOp) { return Kind::ReduceScatter; })
      .Case([](tg::AllReduceOp) { return Kind::AllReduce; })
      .Case([](tg::AllToAllOp) { return Kind::AllToAll; })
      .Case([](tg::BroadcastOp) { return Kind::Broadcast; })
      .Case([](tg::PermuteOp) { return Kind::Permute; });
}

static void setAttributes(exec::CollectiveOp collective, Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tg::AllGatherOp gather) { collective.setDim(gather.getDim()); })
      .Case([&](tg::ReduceScatterOp scatter) {
        collective.setDim(scatter.getDim());
        collective.setReductionAttr(scatter.getReductionAttr());
        collective.setAccumulateAttr(scatter.getAccumulateAttr());
      })
      .Case([&](tg::AllReduceOp reduce) {
        collective.setReductionAttr(reduce.getReductionAttr());
        collective.setAccumulateAttr(reduce.getAccumulateAttr());
      })
      .Case([&](tg::AllToAllOp exchange) {
        collective.setSplitDim(exchange.getSplitDim());
        collective.setConcatDim(exchange.getConcatDim());
      })
      .Case([&](tg::BroadcastOp broadcast) {
        collective.setRoot(broadcast.getRoot());
      })
      .Case([&](tg::PermuteOp permute) {
        collective.setSources(permute.getSources());
        collective.setTargets(permute.getTargets());
      });
}

/// The operation may write to the place of its operand if nobody reads that any
/// more.
bool StepLowering::canReduceInPlace(tg::CollectiveOpInterface op,
                                    unsigned member) {
  if (!isa<tg::AllReduceOp, tg::BroadcastOp>(op))
    return false;
  Value input = op.getInputs()[member];
  Operation *def = input.getDefiningOp();
  if (!def || def->getBlock() != op->getBlock() || !input.hasOneUse() ||
      !getBuffer(input).getDefiningOp<exec::SliceOp>())
    return false;
  // A reader of a member of a flat tensor may read its place in the flat
  // buffer.
  if (auto flatten = dyn_cast<tg::FlattenOp>(def))
    return llvm::all_of(flatten.getTensors(), [](Value tensor) {
      return skipReshapes(tensor).hasOneUse();
    });
  return isa<tg::LaunchOp, tg::WaitOp>(def);
}

void StepLowering::lowerCollective(tg::CollectiveOpInterface op) {
  Location loc = op.getLoc();
  unsigned stream = streams.lookup({op.getMeshAttr(), op.getAxesAttr()});
  tg::WaitOp wait;
  if (!op.getFuture().use_empty())
    wait = cast<tg::WaitOp>(*op.getFuture().user_begin());
  SmallVector<Value> outputs;
  for (auto [i, type] :
       llvm::enumerate(op.getFuture().getType().getTensors())) {
    Value result = wait ? wait.getTensors()[i] : Value();
    if (result && canReduceInPlace(op, i)) {
      outputs.push_back(getBuffer(op.getInputs()[i]));
      ++numInPlace;
    } else if (result) {
      outputs.push_back(createDestination(result));
    } else {
      outputs.push_back(createSlice(getBufferType(type), loc));
    }
  }
  Value communicator = getCommunicator(op.getMeshAttr(), op.getAxesAttr(), loc);
  order.beginCollective(builder, loc, stream);
  exec::CollectiveOp collective =
      createCollective(builder, op, getKind(op), getBuffers(op.getInputs()),
                       outputs, communicator, stream);
  setAttributes(collective, op);
  collective.setTag(getTag(op));
  copyAttributes(op, collective);
  collective->setAttr(tg::kPhaseAttrName,
                      tg::PhaseAttr::get(op.getContext(), op.getPhase()));
  arrivals[op.getFuture()] = order.endCollective(builder, loc, stream);
  inFlight[op.getFuture()] = std::move(outputs);
  ++numCollectives;
}

//===----------------------------------------------------------------------===//
// Copies between device and host
//===----------------------------------------------------------------------===//

void StepLowering::lowerHostCopy(tg::HostCopyOpInterface op) {
  Location loc = op.getLoc();
  unsigned stream = op.isToHost() ? toHostStream : fromHostStream;
  tg::WaitOp wait = tg::getFutureWait(op.getFuture());
  SmallVector<Value> outputs;
  for (unsigned i = 0, e = op.getInputs().size(); i != e; ++i) {
    Type type = op.getFuture().getType().getTensors()[i];
    outputs.push_back(wait ? createDestination(wait.getTensors()[i])
                           : createSlice(getPlacedBufferType(type), loc));
  }
  order.beginCollective(builder, loc, stream);
  for (auto [input, output] : llvm::zip_equal(op.getInputs(), outputs)) {
    auto transfer = exec::TransferOp::create(builder, loc, getBuffer(input),
                                             output, uint64_t(stream));
    copyAttributes(op, transfer);
  }
  arrivals[op.getFuture()] = order.endCollective(builder, loc, stream);
  inFlight[op.getFuture()] = std::move(outputs);
  numTransfers += static_cast<int64_t>(op.getInputs().size());
}
