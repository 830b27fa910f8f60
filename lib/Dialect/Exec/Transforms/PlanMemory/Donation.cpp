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
  bool mayTakeOver(Value update, BlockArgument argument) const;
  bool canTakeOver(Value update, BlockArgument argument);
  std::vector<bool>
  canTakeOverParts(ArrayRef<std::pair<unsigned, BlockArgument>> updates);
  bool isFree(const ProgramAccesses &known, const BufferLifetime &last,
              const BufferLifetime &next, Value base, BlockArgument argument);
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

/// True if `update` is a slice like the argument.
bool Donor::mayTakeOver(Value update, BlockArgument argument) const {
  BufferPlace place = getPlace(update);
  bool isSlice = isHostBuffer(argument.getType())
                     ? isa_and_nonnull<HostSliceOp>(place.base.getDefiningOp())
                     : isa_and_nonnull<SliceOp>(place.base.getDefiningOp());
  return isSlice && place.offset == 0 &&
         getPlannedBytes(place.base) == getPlannedBytes(argument);
}

/// True if nothing needs the old value, or a part of it, when the new one is
/// written: in `base`, or a part of that.
bool Donor::isFree(const ProgramAccesses &known, const BufferLifetime &last,
                   const BufferLifetime &next, Value base,
                   BlockArgument argument) {
  if (last.end <= next.begin)
    return true;
  if (last.end != next.begin + 1 || !last.endsInOneOp)
    return false;
  // Both are in use in one operation only.
  Operation *op = known.getOps()[next.begin];
  auto access = dyn_cast<StreamOpInterface>(op);
  if (!access)
    return false;
  for (Value output : access.getWrites())
    if (getPlace(output).base == base)
      return inPlace.allowsPart(op, argument, output);
  return false;
}

/// True if the slice that `update` is may lie in the memory of the argument.
bool Donor::canTakeOver(Value update, BlockArgument argument) {
  if (!mayTakeOver(update, argument))
    return false;
  Value base = getPlace(update).base;
  std::optional<uint32_t> slice = accesses.getNumber(base);
  std::optional<uint32_t> old = accesses.getNumber(argument);
  // A slice that became one just now is known under another number.
  return slice && old &&
         isFree(accesses, lifetimes[*old], lifetimes[*slice], base, argument);
}

/// The offsets between which operations write parts of each buffer.
static BufferCuts findWrittenParts(ProgramOp program,
                                   const llvm::DenseSet<Value> &buffers) {
  BufferCuts cuts;
  program.walk([&](StreamOpInterface op) {
    for (Value output : op.getWrites()) {
      BufferPlace place = getPlace(output);
      if (!buffers.contains(place.base))
        continue;
      std::vector<int64_t> &offsets = cuts[place.base];
      for (int64_t offset :
           {place.offset, place.offset + getPlannedBytes(output)})
        if (offset > 0 && offset < getPlannedBytes(place.base))
          offsets.push_back(offset);
    }
  });
  for (auto &[buffer, offsets] : cuts) {
    llvm::sort(offsets);
    offsets.erase(llvm::unique(offsets), offsets.end());
  }
  return cuts;
}

/// Of each update, true if it is written in parts, and each part may lie in the
/// memory of the same part of its argument.
std::vector<bool>
Donor::canTakeOverParts(ArrayRef<std::pair<unsigned, BlockArgument>> updates) {
  std::vector<bool> can(updates.size());
  llvm::DenseSet<Value> slices;
  for (auto [index, argument] : updates)
    if (Value update = end.getOperand(index); mayTakeOver(update, argument))
      slices.insert(getPlace(update).base);
  BufferCuts cuts = findWrittenParts(program, slices);
  cuts.remove_if([](const auto &cut) { return cut.second.empty(); });
  if (cuts.empty())
    return can;
  BufferCuts all = cuts;
  for (auto [index, argument] : updates)
    if (auto it = cuts.find(getPlace(end.getOperand(index)).base);
        it != cuts.end())
      all[argument] = it->second;
  ProgramAccesses parts(program, std::move(all));
  FailureOr<std::vector<BufferLifetime>> known = parts.computeLifetimes();
  if (failed(known))
    return can;
  for (auto [number, update] : llvm::enumerate(updates)) {
    auto [index, argument] = update;
    Value base = getPlace(end.getOperand(index)).base;
    auto it = cuts.find(base);
    if (it == cuts.end() || !mayTakeOver(end.getOperand(index), argument))
      continue;
    uint32_t next = *parts.getNumber(base), last = *parts.getNumber(argument);
    can[number] = true;
    for (uint32_t part = 0; part <= it->second.size() && can[number]; ++part)
      can[number] = isFree(parts, (*known)[last + part], (*known)[next + part],
                           base, argument);
  }
  return can;
}

void Donor::takeOver(Value update, BlockArgument argument) {
  Value slice = getPlace(update).base;
  Operation *def = slice.getDefiningOp();
  Value memory = argument;
  if (slice.getType() != argument.getType()) {
    OpBuilder builder(def);
    memory = ViewOp::create(builder, def->getLoc(), slice.getType(), argument,
                            /*offset=*/0);
  }
  slice.replaceAllUsesWith(memory);
  def->erase();
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
  SmallVector<std::pair<unsigned, BlockArgument>> inParts, copies;
  for (auto [i, argument] : updates) {
    Value update = end.getOperand(i);
    if (kept.contains(argument))
      continue;
    if (canTakeOver(update, argument)) {
      takeOver(update, argument);
      end.setOperand(i, argument);
    } else {
      inParts.emplace_back(i, argument);
    }
  }
  std::vector<bool> canTake = canTakeOverParts(inParts);
  for (auto [number, update] : llvm::enumerate(inParts)) {
    auto [i, argument] = update;
    if (canTake[number] && mayTakeOver(end.getOperand(i), argument)) {
      takeOver(end.getOperand(i), argument);
      end.setOperand(i, argument);
    } else if (!isHostBuffer(argument.getType())) {
      copies.push_back(update);
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
