//===- Donation.cpp - Updates in the memory of arguments ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Donation.h"

#include "ProgramEnd.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace regather;
using namespace regather::exec;

namespace {
class Donor {
public:
  Donor(ProgramOp program, const ProgramAccesses &accesses,
        ArrayRef<BufferLifetime> lifetimes, InPlaceOutputs &inPlace)
      : program(program), end(cast<ReturnOp>(program.getBody().front().back())),
        accesses(accesses), lifetimes(lifetimes), inPlace(inPlace) {}

  DonationResult run();

private:
  bool canTakeOver(Value update, BlockArgument argument);
  void takeOver(Value update, BlockArgument argument);
  void copyAtEnd(ArrayRef<std::pair<unsigned, BlockArgument>> updates);

  ProgramOp program;
  ReturnOp end;
  const ProgramAccesses &accesses;
  ArrayRef<BufferLifetime> lifetimes;
  InPlaceOutputs &inPlace;
  DonationResult result;
};
} // namespace

static int64_t getPlannedBytes(Value value) {
  return getBufferBytes(cast<MemRefType>(value.getType()));
}

/// True if the slice that `update` is may lie in the memory of the argument.
bool Donor::canTakeOver(Value update, BlockArgument argument) {
  BufferPlace place = getPlace(update);
  if (!place.base.getDefiningOp<SliceOp>() || place.offset != 0 ||
      getPlannedBytes(place.base) != getPlannedBytes(argument))
    return false;
  std::optional<uint32_t> slice = accesses.getNumber(place.base);
  std::optional<uint32_t> old = accesses.getNumber(argument);
  // A slice that became one just now is known under another number.
  if (!slice || !old)
    return false;
  const BufferLifetime &next = lifetimes[*slice], &last = lifetimes[*old];
  if (last.end <= next.begin)
    return true;
  if (last.end != next.begin + 1 || !last.endsInOneOp)
    return false;
  // Both are in use in one operation only.
  Operation *op = accesses.getOps()[next.begin];
  auto access = dyn_cast<StreamOpInterface>(op);
  if (!access)
    return false;
  for (Value output : access.getWrites())
    if (getPlace(output).base == place.base)
      return inPlace.allows(op, argument, output);
  return false;
}

void Donor::takeOver(Value update, BlockArgument argument) {
  auto slice = getPlace(update).base.getDefiningOp<SliceOp>();
  Value memory = argument;
  if (slice.getType() != argument.getType()) {
    OpBuilder builder(slice);
    memory = ViewOp::create(builder, slice.getLoc(), slice.getType(), argument,
                            /*offset=*/0);
  }
  slice.getBuffer().replaceAllUsesWith(memory);
  slice.erase();
  ++result.numDonated;
}

/// Copies updates at the end, when nothing is in flight any more.
void Donor::copyAtEnd(ArrayRef<std::pair<unsigned, BlockArgument>> updates) {
  if (updates.empty())
    return;
  OpBuilder builder = buildAtEnd(program);
  for (auto [index, argument] : updates) {
    CopyOp::create(builder, end.getLoc(), end.getOperand(index), argument,
                   uint64_t(0));
    end.setOperand(index, argument);
    ++result.numCopied;
  }
}

DonationResult Donor::run() {
  // Arguments of which the program returns the old value keep it.
  llvm::SmallDenseSet<Value> kept;
  SmallVector<std::pair<unsigned, BlockArgument>> updates;
  for (auto [i, value] : llvm::enumerate(end.getOperands())) {
    auto role = program.getResultAttrOfType<tg::RoleAttr>(i, tg::kRoleAttrName);
    bool isUpdate = role && role.getKind() == tg::RoleKind::Update;
    Value base = getPlace(value).base;
    if (isUpdate &&
        program.getArgAttr(role.getArgument(), tg::kDonatedAttrName)) {
      BlockArgument argument = program.getArgument(role.getArgument());
      // An argument that another is to hold is handed on as it is.
      if (base == argument)
        end.setOperand(i, argument);
      else if (isa<BlockArgument>(base))
        kept.insert(base);
      else
        updates.emplace_back(i, argument);
      continue;
    }
    if (isa<BlockArgument>(base))
      kept.insert(base);
  }
  SmallVector<std::pair<unsigned, BlockArgument>> copies;
  for (auto [i, argument] : updates) {
    Value update = end.getOperand(i);
    if (kept.contains(argument))
      continue;
    if (canTakeOver(update, argument)) {
      takeOver(update, argument);
      end.setOperand(i, argument);
    } else {
      copies.emplace_back(i, argument);
    }
  }
  copyAtEnd(copies);
  return result;
}

DonationResult regather::exec::donateArguments(
    ProgramOp program, const ProgramAccesses &accesses,
    ArrayRef<BufferLifetime> lifetimes, InPlaceOutputs &inPlace) {
  return Donor(program, accesses, lifetimes, inPlace).run();
}
