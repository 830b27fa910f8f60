//===- Destinations.cpp - Results in memory of the caller -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Destinations.h"

#include "ProgramEnd.h"

using namespace mlir;
using namespace regather;
using namespace regather::exec;

/// True for an update that lies in the argument which it replaces, and for what
/// lies on the host.
static bool liesInDonated(ProgramOp program, unsigned result, Value value) {
  if (isHostBuffer(value.getType()))
    return true;
  auto role =
      program.getResultAttrOfType<tg::RoleAttr>(result, tg::kRoleAttrName);
  return role && role.getKind() == tg::RoleKind::Update &&
         program.getArgAttr(role.getArgument(), tg::kDonatedAttrName) &&
         value == program.getArgument(role.getArgument());
}

static Value createDestination(ProgramOp program, unsigned result, Type type,
                               Location loc) {
  auto builder = OpBuilder::atBlockBegin(&program.getBody().front());
  return DestinationOp::create(builder, loc, type, uint64_t(result));
}

/// The slice that holds the result and nothing else; null if there is none.
static SliceOp getOwnSlice(Value value) {
  BufferPlace place = getPlace(value);
  auto slice = place.base.getDefiningOp<SliceOp>();
  auto getBytes = [](Value buffer) {
    return getBufferBytes(cast<MemRefType>(buffer.getType()));
  };
  return slice && place.offset == 0 && getBytes(slice) == getBytes(value)
             ? slice
             : SliceOp();
}

static void replaceSlice(SliceOp slice, Value destination) {
  Value memory = destination;
  if (slice.getType() != destination.getType()) {
    OpBuilder builder(slice);
    memory = ViewOp::create(builder, slice.getLoc(), slice.getType(),
                            destination, /*offset=*/0);
  }
  slice.getBuffer().replaceAllUsesWith(memory);
  slice.erase();
}

DestinationResult regather::exec::placeResultsAtCaller(ProgramOp program) {
  DestinationResult result;
  auto end = cast<ReturnOp>(program.getBody().front().back());
  SmallVector<unsigned> copied;
  for (unsigned i = 0, e = end.getNumOperands(); i != e; ++i) {
    Value value = end.getOperand(i);
    auto known = value.getDefiningOp<DestinationOp>();
    if (liesInDonated(program, i, value) || (known && known.getNumber() == i))
      continue;
    SliceOp slice = getOwnSlice(value);
    if (!slice) {
      copied.push_back(i);
      continue;
    }
    Value destination =
        createDestination(program, i, value.getType(), slice.getLoc());
    replaceSlice(slice, destination);
    end.setOperand(i, destination);
    ++result.numComputed;
  }
  if (copied.empty())
    return result;
  OpBuilder builder = buildAtEnd(program);
  for (unsigned i : copied) {
    Value value = end.getOperand(i);
    Value destination =
        createDestination(program, i, value.getType(), end.getLoc());
    CopyOp::create(builder, end.getLoc(), value, destination, uint64_t(0));
    end.setOperand(i, destination);
    ++result.numCopied;
  }
  return result;
}
