//===- KernelGroups.cpp - Which operations run as one ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"

#include "regather/Dialect/TG/IR/MicroBatch.h"
#include "regather/Dialect/TG/IR/RowChunk.h"
#include "regather/Dialect/TG/Kernels/KernelTable.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <queue>

#define DEBUG_TYPE "tg-form-kernels"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::kernels;

/// How many uses one search may visit.
static constexpr unsigned kSearchBudget = 256;

/// Fewer rows are few, and longer ones are long.
static constexpr int64_t kFewRows = 16, kLongRowBytes = 1 << 20;

/// True if `op` must keep its order among such operations: ranks must start the
/// same collectives in the same order.
static bool isOrdered(Operation *op) {
  return !isMemoryEffectFree(op) ||
         op->walk([](Operation *inner) {
             return isa<CollectiveOpInterface, WaitOp>(inner)
                        ? WalkResult::interrupt()
                        : WalkResult::advance();
           }).wasInterrupted();
}

KernelGroups::KernelGroups(Block &block, KernelLimits limits)
    : block(block), limits(limits) {
  std::optional<unsigned> last;
  for (Operation &op : block.without_terminator()) {
    unsigned number = ops.size();
    numbers[&op] = number;
    ops.push_back(&op);
    candidates.push_back(getCandidate(
        &op, [this](Operation *other) { return isRepeated(other); }));
    if (!isOrdered(&op))
      continue;
    if (last) {
      previousOrdered[number] = *last;
      nextOrdered[*last] = number;
    }
    last = number;
  }
  splits.resize(ops.size());
  unitOf.resize(ops.size());
}

//===----------------------------------------------------------------------===//
// Dependencies
//===----------------------------------------------------------------------===//

bool KernelGroups::isRepeated(Operation *op) const {
  auto it = numbers.find(op);
  return it != numbers.end() && it->second < candidates.size() &&
         candidates[it->second] == Candidate::Repeated;
}

std::optional<unsigned> KernelGroups::getDefinition(Value value) const {
  Operation *def = value.getDefiningOp();
  auto it = def ? numbers.find(def) : numbers.end();
  if (it == numbers.end())
    return std::nullopt;
  return it->second;
}

/// Visits the operations that must come before `op`, some of them repeatedly. A
/// kernel has constants of its own.
void KernelGroups::visitDependencies(unsigned op, bool inKernel,
                                     function_ref<void(unsigned)> visit) const {
  forEachInput(ops[op], [&](Value value) {
    std::optional<unsigned> def = getDefinition(value);
    if (def && !(inKernel && candidates[*def] == Candidate::Repeated))
      visit(*def);
  });
  if (auto it = previousOrdered.find(op); it != previousOrdered.end())
    visit(it->second);
}

bool KernelGroups::visitUsers(unsigned op, unsigned &budget,
                              function_ref<void(unsigned)> visit) const {
  for (OpOperand &use : ops[op]->getUses()) {
    if (budget-- == 0)
      return false;
    auto it = numbers.find(block.findAncestorOpInBlock(*use.getOwner()));
    if (it != numbers.end() && it->second < numAdded)
      visit(it->second);
  }
  if (auto it = nextOrdered.find(op);
      it != nextOrdered.end() && it->second < numAdded)
    visit(it->second);
  return true;
}

bool KernelGroups::isUsedOutside(Value value, unsigned unit) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto it = numbers.find(block.findAncestorOpInBlock(*user));
    return it == numbers.end() || unitOf[it->second] != unit;
  });
}

void KernelGroups::visitEdges(
    unsigned producer, unsigned consumer,
    function_ref<void(OpResult, unsigned, unsigned)> visit) const {
  for (unsigned user : units[consumer].members)
    for (OpOperand &operand : ops[user]->getOpOperands())
      if (std::optional<unsigned> def = getDefinition(operand.get());
          def && unitOf[*def] == producer &&
          candidates[*def] != Candidate::Repeated)
        visit(cast<OpResult>(operand.get()), user, operand.getOperandNumber());
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// True if all that the consumer reads of the producer has its rows where the
/// producer has them.
bool KernelGroups::areRowsEqual(unsigned producer, unsigned consumer) const {
  bool equal = units[producer].rows == units[consumer].rows;
  visitEdges(producer, consumer,
             [&](OpResult value, unsigned user, unsigned operand) {
               unsigned def = *getDefinition(value);
               equal &= splits[def].results[value.getResultNumber()] ==
                        splits[user].operands[operand];
             });
  return equal;
}

int64_t kernels::getBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? getTensorBytes(type) : 0;
}

/// Of what has rows.
static int64_t getLargestBytes(Operation *op, const RowSplit &split) {
  int64_t bytes = 0;
  for (auto [value, dim] : llvm::zip_equal(op->getOperands(), split.operands))
    bytes = std::max(bytes, dim ? getBytes(value) : 0);
  for (auto [value, dim] : llvm::zip_equal(op->getResults(), split.results))
    bytes = std::max(bytes, dim ? getBytes(value) : 0);
  return bytes;
}

/// Takes over the split of the only member.
void KernelGroups::updateRows(unsigned unit) {
  unsigned op = units[unit].members.front();
  units[unit].rows = splits[op].rows;
  if (splits[op].rows == 0)
    return;
  units[unit].canDivideRows = canDivideRows(ops[op], splits[op]);
  units[unit].largestBytes = getLargestBytes(ops[op], splits[op]);
}

/// Splits a single operation as the producer is.
bool KernelGroups::adaptConsumer(unsigned producer, unsigned consumer) {
  if (units[consumer].members.size() != 1)
    return false;
  unsigned op = units[consumer].members.front();
  std::optional<RowSplit> split;
  visitEdges(
      producer, consumer, [&](OpResult value, unsigned, unsigned operand) {
        std::optional<int64_t> dim =
            splits[*getDefinition(value)].results[value.getResultNumber()];
        if (!split && dim)
          split =
              splitRowsOfOperand(ops[op], operand, *dim, units[producer].rows);
      });
  if (!split)
    return false;
  std::swap(splits[op], *split);
  updateRows(consumer);
  if (areRowsEqual(producer, consumer))
    return true;
  splits[op] = std::move(*split);
  updateRows(consumer);
  return false;
}

/// Splits a single view as the consumer wants it.
bool KernelGroups::adaptProducer(unsigned producer, unsigned consumer) {
  unsigned op = units[producer].members.front();
  if (units[producer].members.size() != 1 || !isView(ops[op]))
    return false;
  std::optional<RowSplit> split;
  visitEdges(producer, consumer,
             [&](OpResult value, unsigned user, unsigned operand) {
               std::optional<int64_t> dim = splits[user].operands[operand];
               if (!split && dim)
                 split = splitRowsOfResult(ops[op], value.getResultNumber(),
                                           *dim, units[consumer].rows);
             });
  if (!split)
    return false;
  std::swap(splits[op], *split);
  updateRows(producer);
  if (areRowsEqual(producer, consumer))
    return true;
  splits[op] = std::move(*split);
  updateRows(producer);
  return false;
}

/// A producer without rows joins if it is small and serves this consumer alone;
/// every block of rows would compute it again.
bool KernelGroups::matchWhole(unsigned producer, unsigned consumer) {
  if (units[consumer].rows == 0)
    return units[producer].isCheap || units[consumer].isCheap;
  bool matches = units[producer].isCheap;
  visitEdges(producer, consumer,
             [&](OpResult, unsigned user, unsigned operand) {
               matches &= !splits[user].operands[operand];
             });
  for (unsigned op : units[producer].members)
    for (Operation *user : ops[op]->getUsers()) {
      if (!matches)
        return false;
      auto it = numbers.find(block.findAncestorOpInBlock(*user));
      matches =
          it != numbers.end() && it->second < numAdded &&
          (unitOf[it->second] == producer || unitOf[it->second] == consumer);
    }
  return matches;
}

bool KernelGroups::matchRows(unsigned producer, unsigned consumer) {
  if (units[producer].rows == 0)
    return matchWhole(producer, consumer);
  return areRowsEqual(producer, consumer) ||
         adaptConsumer(producer, consumer) || adaptProducer(producer, consumer);
}

/// False if only one of them can divide its rows, which are few and so long
/// that a kernel of both would leave the caches, and most threads, unused.
bool KernelGroups::keepsRowsDivisible(unsigned producer,
                                      unsigned consumer) const {
  const Unit &from = units[producer], &to = units[consumer];
  int64_t bytes = std::max(from.largestBytes, to.largestBytes);
  return to.rows == 0 || to.rows >= kFewRows ||
         bytes / to.rows < kLongRowBytes ||
         from.canDivideRows == to.canDivideRows;
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

/// True if a path leads from the producer to the consumer through a third unit,
/// or if there is too much to look at.
bool KernelGroups::hasDetour(unsigned producer, unsigned consumer) const {
  unsigned budget = kSearchBudget;
  llvm::DenseSet<unsigned> seen = {producer};
  SmallVector<unsigned> worklist = {producer};
  bool found = false;
  while (!worklist.empty()) {
    unsigned unit = worklist.pop_back_val();
    for (unsigned op : units[unit].members)
      found |= !visitUsers(op, budget, [&](unsigned user) {
        unsigned next = unitOf[user];
        if (next == consumer)
          found |= unit != producer;
        else if (units[next].level < units[consumer].level &&
                 seen.insert(next).second)
          worklist.push_back(next);
      });
    if (found)
      return true;
  }
  return false;
}

/// Raises what depends on the producer above the consumer, into which it is to
/// be merged. Changes nothing if that is too much.
bool KernelGroups::raiseUsers(unsigned producer, unsigned consumer) {
  unsigned budget = kSearchBudget;
  SmallVector<std::pair<unsigned, unsigned>> old;
  SmallVector<std::pair<unsigned, unsigned>> worklist = {
      {producer, units[consumer].level}};
  bool fits = true;
  while (fits && !worklist.empty()) {
    auto [unit, level] = worklist.pop_back_val();
    for (unsigned op : units[unit].members)
      fits &= visitUsers(op, budget, [&, level = level](unsigned user) {
        unsigned next = unitOf[user];
        if (next == producer || next == consumer || units[next].level > level)
          return;
        old.push_back({next, units[next].level});
        units[next].level = level + 1;
        worklist.push_back({next, level + 1});
      });
  }
  if (!fits)
    for (auto [unit, level] : llvm::reverse(old))
      units[unit].level = level;
  return fits;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

KernelGroups::Reason KernelGroups::tryMerge(unsigned producer,
                                            unsigned consumer) {
  Unit &from = units[producer], &to = units[consumer];
  Operation *first = ops[from.members.front()];
  Operation *second = ops[to.members.front()];
  if (getPhase(first) != getPhase(second))
    return "they belong to different phases";
  // Or the one would wait for the other, with all that its batch keeps.
  if (getMicroBatch(first) != getMicroBatch(second))
    return "they belong to different micro-batches";
  // Or the large values of both would exist at a time.
  if (getRowChunk(first) != getRowChunk(second))
    return "they belong to different blocks of rows";
  if (isRecomputed(first) != isRecomputed(second))
    return "only one of them must be recomputed";
  if (from.members.size() + to.members.size() > limits.ops)
    return "the kernel would have too many operations";
  unsigned numEdges = 0;
  visitEdges(producer, consumer,
             [&](OpResult, unsigned, unsigned) { ++numEdges; });
  unsigned numInputs = from.numInputs + to.numInputs - numEdges;
  if (numInputs > limits.operands)
    return "the kernel would have too many operands";
  if (!matchRows(producer, consumer))
    return "their rows differ";
  if (!keepsRowsDivisible(producer, consumer))
    return "one of them cannot divide its few rows";
  if (hasDetour(producer, consumer) || !raiseUsers(producer, consumer))
    return "an operation outside may depend on one and be needed by the other";
  unite(producer, consumer, numInputs);

  return nullptr;
}

/// The larger unit takes in the members of the smaller.
void KernelGroups::unite(unsigned producer, unsigned consumer,
                         unsigned numInputs) {
  Unit merged;
  merged.rows = units[consumer].rows;
  merged.level = units[consumer].level;
  merged.numInputs = numInputs;
  merged.isCheap = units[producer].isCheap && units[consumer].isCheap;
  merged.largestBytes =
      std::max(units[producer].largestBytes, units[consumer].largestBytes);
  merged.canDivideRows =
      units[producer].canDivideRows && units[consumer].canDivideRows;
  auto [kept, dropped] =
      units[producer].members.size() > units[consumer].members.size()
          ? std::make_pair(producer, consumer)
          : std::make_pair(consumer, producer);
  merged.members = std::move(units[kept].members);
  for (unsigned op : units[dropped].members) {
    unitOf[op] = kept;
    merged.members.push_back(op);
  }
  units[kept] = std::move(merged);
  units[dropped] = Unit();
}

void KernelGroups::emitApart(unsigned producer, unsigned op,
                             Reason reason) const {
  remark::missed(ops[op]->getLoc(),
                 remark::RemarkOpts::name("not-fused").category(DEBUG_TYPE))
      << remark::reason("'{0}' is not fused with '{1}', which it reads: {2}",
                        getShortName(ops[op]), getShortName(ops[producer]),
                        reason);
}

/// What defines the operands of `op`, one operation for each unit; the unit
/// that gives most bytes comes first.
SmallVector<unsigned> KernelGroups::getProducers(unsigned op) const {
  llvm::MapVector<unsigned, std::pair<unsigned, int64_t>> bytes;
  for (Value operand : ops[op]->getOperands()) {
    std::optional<unsigned> def = getDefinition(operand);
    if (!def || (candidates[*def] != Candidate::Yes &&
                 candidates[*def] != Candidate::LibraryCall))
      continue;
    auto &entry = bytes[unitOf[*def]];
    entry.first = *def;
    entry.second += getBytes(operand);
  }
  SmallVector<std::tuple<int64_t, unsigned, unsigned>> entries;
  for (const auto &[unit, entry] : bytes)
    entries.push_back({-entry.second, entries.size(), entry.first});
  llvm::sort(entries);
  return llvm::map_to_vector(
      entries, [](const auto &entry) { return std::get<2>(entry); });
}

void KernelGroups::add(unsigned op) {
  Unit unit;
  unit.members = {op};
  bool mayJoin = candidates[op] == Candidate::Yes;
  bool isKernel = mayJoin || candidates[op] == Candidate::LibraryCall;
  visitDependencies(op, isKernel, [&](unsigned before) {
    unit.level = std::max(unit.level, units[unitOf[before]].level + 1);
  });
  unit.isCheap = isCheap(ops[op]);
  unit.numInputs = ops[op]->getNumOperands();
  if (isKernel)
    splits[op] = splitRows(ops[op]);
  unitOf[op] = units.size();
  units.push_back(std::move(unit));
  updateRows(unitOf[op]);
  numAdded = op + 1;
  if (!isKernel)
    return;
  for (unsigned producer : getProducers(op)) {
    Reason reason = "one of them stays alone";
    if (mayJoin && candidates[producer] == Candidate::Yes)
      reason = tryMerge(unitOf[producer], unitOf[op]);
    if (reason)
      emitApart(producer, op, reason);
  }
}

//===----------------------------------------------------------------------===//
// Views at the border of a group
//===----------------------------------------------------------------------===//

/// Makes `op` a unit of its own.
void KernelGroups::eject(unsigned op) {
  llvm::erase(units[unitOf[op]].members, op);
  unitOf[op] = units.size();
  units.emplace_back().members = {op};
}

bool KernelGroups::isMember(Operation *op, unsigned unit) const {
  auto it = numbers.find(op);
  return it != numbers.end() && unitOf[it->second] == unit;
}

bool KernelGroups::leaves(unsigned op) const {
  return llvm::any_of(ops[op]->getResults(), [&](Value value) {
    return isUsedOutside(value, unitOf[op]);
  });
}

/// A view is free outside of a kernel, while a kernel writes all of its
/// results. So a value leaves the group in one shape only, and views outside
/// give the others.
void KernelGroups::ejectLastViews(unsigned unit) {
  auto members = units[unit].members;
  // Views that, in the group, only views of this kind read.
  llvm::DenseSet<Operation *> last;
  for (unsigned op : llvm::reverse(members)) {
    if (!isMember(ops[op], unit))
      continue;
    SetVector<Operation *> views;
    bool isLast = isView(ops[op]);
    for (Operation *user : ops[op]->getUsers()) {
      if (last.contains(user) && isMember(user, unit))
        views.insert(user);
      else
        isLast &= !isMember(block.findAncestorOpInBlock(*user), unit);
    }
    if (isLast)
      last.insert(ops[op]);
    if (views.size() + leaves(op) < 2)
      continue;
    for (unsigned i = 0; i < views.size(); ++i) {
      for (Operation *user : views[i]->getUsers())
        if (isMember(user, unit))
          views.insert(user);
      eject(numbers.lookup(views[i]));
    }
  }
}

/// A view that leaves the group and reads nothing that the group computes is
/// free outside.
void KernelGroups::ejectFirstViews(unsigned unit) {
  auto members = units[unit].members;
  for (unsigned op : members) {
    if (!isView(ops[op]) || !leaves(op))
      continue;
    bool enters = llvm::none_of(ops[op]->getOperands(), [&](Value operand) {
      std::optional<unsigned> def = getDefinition(operand);
      return def && unitOf[*def] == unit;
    });
    if (enters)
      eject(op);
  }
}

void KernelGroups::form() {
  for (unsigned op = 0, e = ops.size(); op != e; ++op)
    add(op);
  mergeReaders();
  for (unsigned unit = 0, e = units.size(); unit != e; ++unit) {
    if (units[unit].members.empty())
      continue;
    Candidate candidate = candidates[units[unit].members.front()];
    units[unit].isKernel = candidate == Candidate::LibraryCall;
    if (candidate != Candidate::Yes)
      continue;
    llvm::sort(units[unit].members);
    ejectLastViews(unit);
    ejectFirstViews(unit);
    auto members = units[unit].members;
    units[unit].isKernel =
        llvm::any_of(members, [&](unsigned op) { return !isView(ops[op]); });
    if (!units[unit].isKernel)
      for (unsigned op : ArrayRef(members).drop_front(!members.empty()))
        eject(op);
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

std::vector<unsigned> KernelGroups::getOrder() const {
  std::vector<SmallVector<unsigned, 2>> users(units.size());
  std::vector<unsigned> missing(units.size());
  for (unsigned op = 0, e = ops.size(); op != e; ++op) {
    visitDependencies(op, units[unitOf[op]].isKernel, [&](unsigned before) {
      if (unitOf[before] == unitOf[op])
        return;
      users[unitOf[before]].push_back(unitOf[op]);
      ++missing[unitOf[op]];
    });
  }
  // Units are taken by their first operation, which keeps the order of the
  // program where dependences allow it.
  using Entry = std::pair<unsigned, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (unsigned unit = 0, e = units.size(); unit != e; ++unit)
    if (missing[unit] == 0 && !units[unit].members.empty())
      ready.push({units[unit].members.front(), unit});
  std::vector<unsigned> order;
  while (!ready.empty()) {
    unsigned unit = ready.top().second;
    ready.pop();
    order.push_back(unit);
    for (unsigned user : users[unit])
      if (--missing[user] == 0)
        ready.push({units[user].members.front(), user});
  }
  assert(llvm::none_of(missing, [](unsigned count) { return count > 0; }) &&
         "a group depends on itself");
  return order;
}
