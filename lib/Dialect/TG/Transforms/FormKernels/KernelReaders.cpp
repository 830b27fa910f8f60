//===- KernelReaders.cpp - Units that read the same values ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Backward of a gated layer computes two gradients and, for that of a weight,
// the activation again, all from the same three values, but no one from
// another:
//
//   unit of activation(gate, up) and gradient of up(gradient, gate)
//   GEMM, update of the weight
//   unit of gradient of gate(gradient, gate, up)
//
// As one unit they read each value once, and nothing keeps these for the second
// any more. What it computes lives from the first on in return, so that the two
// join if no more bytes come than go.
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::kernels;

/// How many uses of one value are looked at.
static constexpr unsigned kMaxUses = 64;

/// Where a value is read, and along which dimension its rows lie.
using RowInput = std::pair<Value, std::optional<int64_t>>;

/// What the members read from outside.
static SetVector<RowInput> getInputs(const KernelGroups &groups,
                                     unsigned number) {
  SetVector<RowInput> inputs;
  for (unsigned op : groups.getUnit(number).members)
    for (auto [value, rows] : llvm::zip_equal(groups.getOp(op)->getOperands(),
                                              groups.getSplit(op).operands)) {
      Operation *def = value.getDefiningOp();
      if (!(def && groups.isRepeated(def)) && !groups.isInUnit(value, number))
        inputs.insert({value, rows});
    }
  return inputs;
}

/// True if what `unit` reads is there once `earlier` can run, and if as many
/// bytes are needed no longer in between as are needed from there on.
bool KernelGroups::paysToJoin(unsigned unit, unsigned earlier) const {
  SetVector<RowInput> theirs = getInputs(*this, earlier);
  unsigned first = *llvm::min_element(units[earlier].members);
  int64_t freed = 0, kept = 0;
  for (auto [value, rows] : getInputs(*this, unit)) {
    bool isShared = theirs.contains({value, rows});
    std::optional<unsigned> def = getDefinition(value);
    if (!isShared && def && *def >= first)
      return false;
    // Arguments live as long as the step.
    if (!isShared || !def)
      continue;
    bool isLast =
        !value.hasNUsesOrMore(kMaxUses) &&
        llvm::all_of(value.getUsers(), [&](Operation *user) {
          auto it = numbers.find(block.findAncestorOpInBlock(*user));
          return it != numbers.end() &&
                 (unitOf[it->second] == unit || unitOf[it->second] == earlier);
        });
    if (isLast)
      freed += getBytes(value);
  }
  for (unsigned op : units[unit].members)
    for (Value result : ops[op]->getResults())
      if (isUsedOutside(result, unit))
        kept += getBytes(result);
  return freed > 0 && freed >= kept;
}

/// The first unit before `unit` that it should join.
std::optional<unsigned> KernelGroups::findEarlierReader(unsigned unit) const {
  unsigned first = *llvm::min_element(units[unit].members);
  llvm::SmallSetVector<unsigned, 8> earlier;
  for (auto [value, rows] : getInputs(*this, unit)) {
    if (!getDefinition(value) || value.hasNUsesOrMore(kMaxUses))
      continue;
    for (Operation *user : value.getUsers()) {
      auto it = numbers.find(block.findAncestorOpInBlock(*user));
      if (it == numbers.end() || it->second >= first ||
          candidates[it->second] != Candidate::Yes)
        continue;
      unsigned other = unitOf[it->second];
      if (other != unit && units[other].rows != 0 &&
          units[other].rows == units[unit].rows)
        earlier.insert(other);
    }
  }
  SmallVector<unsigned> byPlace(earlier.begin(), earlier.end());
  llvm::sort(byPlace, [&](unsigned a, unsigned b) {
    return *llvm::min_element(units[a].members) <
           *llvm::min_element(units[b].members);
  });
  for (unsigned other : byPlace)
    if (*llvm::min_element(units[other].members) < first &&
        paysToJoin(unit, other))
      return other;
  return std::nullopt;
}

void KernelGroups::mergeReaders() {
  for (unsigned op = 0, e = ops.size(); op != e; ++op) {
    unsigned unit = unitOf[op];
    if (candidates[op] != Candidate::Yes || units[unit].rows == 0 ||
        *llvm::min_element(units[unit].members) != op)
      continue;
    std::optional<unsigned> earlier = findEarlierReader(unit);
    // No path leads from a unit to one of the same or a lower level.
    if (earlier && units[*earlier].level <= units[unit].level)
      tryMerge(*earlier, unit);
    else if (earlier)
      tryMerge(unit, *earlier);
  }
}
