//===- Partitioner.cpp - Carry out a step on parts of its values ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Partitioner.h"

#include "Padding.h"
#include "Segments.h"
#include "SplitLookups.h"

#include "regather/Dialect/TG/Nodes/ZeroTensors.h"

#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

Partitioner::Partitioner(Block &block, const DataMesh &mesh, FactorGoal goal,
                         StringRef passName)
    : mesh(mesh), block(block), goal(goal), passName(passName),
      communication(mesh, block), sortedRows(block) {}

//===----------------------------------------------------------------------===//
// Forms of a value
//===----------------------------------------------------------------------===//

Partitioner::Entry &Partitioner::getEntry(Value value) {
  auto [it, inserted] = numbers.try_emplace(value, entries.size());
  if (inserted)
    entries.emplace_back().versions.push_back({ValueState::getWhole(), value});
  return entries[it->second];
}

void Partitioner::define(Value value, const ValueVersion &version) {
  define(value, ArrayRef(version));
}

void Partitioner::define(Value value, ArrayRef<ValueVersion> versions) {
  getEntry(value).versions.assign(versions.begin(), versions.end());
}

void Partitioner::addVersion(Value value, const ValueVersion &version,
                             bool outsideOptimizer, bool insideOptimizer) {
  Entry &entry = getEntry(value);
  auto it = llvm::find_if(entry.versions, [&](const ValueVersion &known) {
    return known.state == version.state;
  });
  unsigned number = it - entry.versions.begin();
  if (it == entry.versions.end())
    entry.versions.push_back(version);
  if (outsideOptimizer)
    entry.outsideOptimizer = number;
  if (insideOptimizer)
    entry.insideOptimizer = number;
}

void Partitioner::prefer(Value value, const ValueVersion &version) {
  Entry &entry = getEntry(value);
  entry.versions.insert(entry.versions.begin(), version);
  entry.outsideOptimizer = entry.insideOptimizer = 0;
}

const ValueVersion *Partitioner::findVersion(const Entry &entry,
                                             const ValueState &state) const {
  for (const ValueVersion &version : entry.versions)
    if (version.state == state)
      return &version;
  return nullptr;
}

ValueState Partitioner::getState(Value value) const {
  auto it = numbers.find(value);
  if (it == numbers.end())
    return ValueState::getWhole();
  return entries[it->second].versions.front().state;
}

ValueVersion Partitioner::seenBy(Operation *op, Value value) const {
  auto it = numbers.find(value);
  if (it == numbers.end())
    return {ValueState::getWhole(), value};
  const Entry &entry = entries[it->second];
  return entry
      .versions[getPhase(op) == Phase::Optimizer ? entry.insideOptimizer
                                                 : entry.outsideOptimizer];
}

ValueVersion Partitioner::getVersion(Value value, const ValueState &state) {
  Entry &entry = getEntry(value);
  if (const ValueVersion *version = findVersion(entry, state))
    return *version;
  ValueVersion converted = convert(value, state);
  // The conversion may have added forms, and entries.
  getEntry(value).versions.push_back(converted);
  return converted;
}

ValueVersion Partitioner::getZeroPadded(Value value, const ValueState &state) {
  ValueVersion version = getVersion(value, state);
  if (version.zeroPadding || !hasPadding(value.getType(), state, mesh))
    return version;
  int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(state.dim);
  version.local =
      PaddingMask(state, size, mesh, communication).replace(version.local, 0);
  version.zeroPadding = true;
  // Later uses read the zeros, too.
  for (ValueVersion &known : getEntry(value).versions)
    if (known.state == state)
      known = version;
  return version;
}

ValueVersion Partitioner::getPadded(Value value, const ValueState &state,
                                    double number) {
  if (number == 0)
    return getZeroPadded(value, state);
  ValueVersion version = getVersion(value, state);
  if (!hasPadding(value.getType(), state, mesh))
    return version;
  int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(state.dim);
  version.local = PaddingMask(state, size, mesh, communication)
                      .replace(version.local, number);
  version.zeroPadding = false;
  return version;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

ValueVersion Partitioner::makeWhole(const ValueVersion &from, Value value) {
  AxesAttr axes = mesh.getAxes(from.state.group);
  Value whole =
      from.state.isSplit()
          ? communication.gatherParts(from.local, from.state, value.getType())
          : communication.reduce(from.local, from.state.reduction, axes)
                .front();
  return {ValueState::getWhole(),
          communication.castTo(whole, getElementTypeOrSelf(value.getType()))};
}

/// Reduces over the ranks of a group and keeps a block. A value that is partial
/// over all data axes and wanted over the shard axis alone is scattered there
/// first; the shards are then reduced over the replicate axis.
ValueVersion Partitioner::scatterPartial(const ValueVersion &from, Value value,
                                         const ValueState &state) {
  Value part =
      communication.scatterParts(from.local, from.state.reduction, state);
  if (from.state.group != state.group && mesh.replicateAxes)
    part = communication.reduce(part, from.state.reduction, mesh.replicateAxes)
               .front();
  return {state,
          communication.castTo(part, getElementTypeOrSelf(value.getType())),
          /*zeroPadding=*/true};
}

ValueVersion Partitioner::convert(Value value, const ValueState &state) {
  Entry &entry = getEntry(value);
  ValueVersion from = entry.versions.front();
  assert(from.state.order == 0 && state.order == 0 &&
         "nobody knows where sorted rows are");
  if (const ValueVersion *whole = findVersion(entry, ValueState::getWhole()))
    from = *whole;
  if (state.isWhole()) {
    if (goal == FactorGoal::LeastCommunication)
      if (Value whole = viewWhole(value, from))
        return {state, whole};
    return makeWhole(from, value);
  }
  assert(state.isSplit() && "nothing is made partial");
  if (from.state.isPartial() &&
      (from.state.group == state.group || state.group == Group::Shard))
    return scatterPartial(from, value, state);
  // The same blocks on the same ranks.
  if (from.state.isSplit() && from.state.getCut() == state.getCut() &&
      mesh.getAxes(from.state.group) == mesh.getAxes(state.group))
    return {state, from.local, from.zeroPadding};
  if (goal == FactorGoal::LeastCommunication)
    if (Value part = exchange(from, value, state))
      return {state, part};
  if (!from.state.isWhole())
    from = getVersion(value, ValueState::getWhole());
  // One rank of an axis that cuts the model decides as several would.
  if (mesh.getRanks(state.group) == 1 &&
      (goal == FactorGoal::MostBytes || !mesh.hasSegments(state.group)))
    return {state, from.local, /*zeroPadding=*/true};
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && cutArgument && state.isContiguous())
    if (Value part = cutArgument(argument, state.dim))
      return {state, part, /*zeroPadding=*/true, /*isStationary=*/true};
  if (auto part = rebuildPart(from.local, state)) {
    // A parameter has been cut: from now on, its uses see the parts.
    if (part->isStationary)
      prefer(value, *part);
    return *part;
  }
  if (Value part = communication.drawPart(from.local, state)) {
    rebuilt.insert(from.local.getDefiningOp());
    return {state, part};
  }
  return {state, communication.slice(from.local, state), /*zeroPadding=*/true};
}

static int64_t getBytes(Value value) {
  RankedTensorType type = getRuledTensor(value.getType());
  return type ? getTensorBytes(type) : 0;
}

//===----------------------------------------------------------------------===//
// Values made from nothing
//===----------------------------------------------------------------------===//

namespace {
/// One operation to rebuild.
struct Rebuild {
  OpResult result;
  FactorSplit split;
  /// If its part is made of whole operands.
  std::optional<IndexedGradient> gradient;
  /// Its padding is zero if that of its operands is.
  bool keepsZeros;
  /// Number of the next operand to look at.
  unsigned next = 0;
};
} // namespace

/// How to compute the part of `value` that `state` describes from whole
/// operands, or from operands for which the same can be asked. `isModel` if an
/// axis cuts the model.
static std::optional<Rebuild> planRebuild(Value value, DimCut cut,
                                          const DataMesh &mesh, Group group,
                                          bool isModel) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return std::nullopt;
  Operation *op = result.getOwner();
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!interface || op->getNumResults() != 1 || !isMemoryEffectFree(op))
    return std::nullopt;
  if (std::optional<IndexedGradient> gradient =
          isModel ? matchIndexedGradient(op) : std::nullopt;
      gradient && canBuildPart(*gradient, ValueState::getSplit(group, cut))) {
    FactorSplit split{0, {}, {cut}};
    split.operands.resize(op->getNumOperands());
    return Rebuild{result, split, gradient, /*keepsZeros=*/true};
  }
  ShardingRule rule = interface.getShardingRule();
  auto factor = findCutFactor(rule, rule.results.front(), cut);
  if (!factor || rule.factors[factor->first].kind != FactorKind::Parallel)
    return std::nullopt;
  std::optional<FactorSplit> split = splitFactor(
      op, rule, factor->first, mesh.getBlocks(group),
      /*allowUneven=*/group == Group::Shard && !mesh.hasSegments(group),
      isModel ? std::optional(factor->second) : std::nullopt);
  if (split && mesh.segments && dependsOnRows(op, *split))
    return std::nullopt;
  if (!split || !split->results.front() || !(*split->results.front() == cut))
    return std::nullopt;
  return Rebuild{result, *split, std::nullopt,
                 keepsZeros(op, rule, *split) || isZero(result)};
}

std::optional<ValueVersion> Partitioner::rebuildPart(Value value,
                                                     const ValueState &state) {
  // Longer chains do real work, and slicing their result costs less than
  // computing it twice. The bound also keeps the search linear.
  constexpr unsigned maxOperations = 8;
  unsigned visited = 0;
  SmallVector<Rebuild, 1> stack;
  // By value and dimension: one value may be needed in two ways.
  llvm::DenseMap<std::tuple<Value, int64_t, int64_t>, ValueVersion> parts;
  auto getKey = [](Value wanted, DimCut cut) {
    return std::make_tuple(wanted, cut.dim, cut.outer);
  };
  SmallVector<std::pair<Value, ValueVersion>> made;
  // Something that it is made of is a parameter that has been placed, or is
  // none.
  bool isStationary = false, isMovable = false;
  auto push = [&](Value wanted, DimCut cut) {
    std::optional<Rebuild> plan = planRebuild(
        wanted, cut, mesh, state.group, goal == FactorGoal::LeastCommunication);
    if (!plan || ++visited > maxOperations)
      return false;
    stack.push_back(std::move(*plan));
    return true;
  };
  auto isKnown = [&](Value wanted, DimCut cut) {
    if (parts.count(getKey(wanted, cut)))
      return true;
    ValueState wantedState = ValueState::getSplit(state.group, cut);
    auto it = numbers.find(wanted);
    const ValueVersion *version =
        it == numbers.end() ? nullptr
                            : findVersion(entries[it->second], wantedState);
    ValueVersion part;
    if (version)
      part = *version;
    if (auto argument = dyn_cast<BlockArgument>(wanted);
        argument && !part.local && cutArgument && wantedState.isContiguous() &&
        (part.local = cutArgument(argument, cut.dim))) {
      part = {wantedState, part.local, /*zeroPadding=*/true,
              /*isStationary=*/true};
      getEntry(wanted).versions.push_back(part);
    }
    if (!part.local)
      return false;
    isStationary |= part.isStationary;
    isMovable |= !part.isStationary;
    parts[getKey(wanted, cut)] = part;
    return true;
  };
  // What is much smaller than the whole may as well be sliced.
  auto slice = [&](Value operand, DimCut cut) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (goal != FactorGoal::LeastCommunication || !type ||
        getBytes(operand) * mesh.getBlocks(state.group) > getBytes(value))
      return false;
    ValueVersion part = {ValueState::getSplit(state.group, cut), Value(),
                         /*zeroPadding=*/true};
    part.local = communication.slice(operand, part.state);
    parts[getKey(operand, cut)] = part;
    isMovable = true;
    made.push_back({operand, part});
    return true;
  };
  Operation *before = communication.getLastInserted();
  bool possible = push(value, state.getCut());
  while (possible && !stack.empty()) {
    Rebuild &top = stack.back();
    Operation *op = top.result.getOwner();
    while (top.next < op->getNumOperands() &&
           (!top.split.operands[top.next] ||
            isKnown(op->getOperand(top.next), *top.split.operands[top.next])))
      ++top.next;
    if (top.next < op->getNumOperands()) {
      Value operand = op->getOperand(top.next);
      DimCut cut = *top.split.operands[top.next];
      possible = push(operand, cut) || slice(operand, cut);
      continue;
    }
    SmallVector<Value> operands;
    bool zeroPadding = top.keepsZeros;
    for (auto [operand, cut] :
         llvm::zip_equal(op->getOperands(), top.split.operands)) {
      // Cutting an argument may have put another value in its place.
      [[maybe_unused]] bool isRebuilt = !cut || isKnown(operand, *cut);
      assert(isRebuilt && "an operand has no part");
      operands.push_back(operand);
      if (!cut)
        continue;
      const ValueVersion &part = parts.find(getKey(operand, *cut))->second;
      operands.back() = part.local;
      zeroPadding &= part.zeroPadding;
    }
    ValueState wanted =
        ValueState::getSplit(state.group, *top.split.results.front());
    Type type =
        mesh.getLocalType(cast<RankedTensorType>(top.result.getType()), wanted);
    Value part =
        top.gradient
            ? buildPart(*top.gradient, operands, wanted, mesh, communication)
            : cast<ShardingRuleOpInterface>(op)
                  .buildPart(communication.getBuilder(), operands, type)
                  ->getResult(0);
    ValueVersion version = {wanted, part, zeroPadding};
    parts[getKey(top.result, wanted.getCut())] = version;
    for (auto [operand, operandCut] :
         llvm::zip_equal(op->getOperands(), top.split.operands))
      isMovable |= !operandCut && getRuledTensor(operand.getType());
    made.push_back({top.result, version});
    stack.pop_back();
  }
  if (!possible) {
    // No form of a value is among what was inserted.
    while (Operation *last = communication.getLastInserted()) {
      if (last == before)
        break;
      last->erase();
    }
    return std::nullopt;
  }
  for (const auto &[source, version] : made) {
    if (Operation *op = source.getDefiningOp())
      rebuilt.insert(op);
    if (source != value || !(version.state == state))
      getEntry(source).versions.push_back(version);
  }
  ValueVersion part = parts.find(getKey(value, state.getCut()))->second;
  part.isStationary = isStationary && !isMovable;
  return part;
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

SmallVector<ValueState, 2>
Partitioner::listCuts(Value value, const ValueVersion &seen) const {
  SmallVector<ValueState, 2> cuts;
  if (seen.state.isSplit())
    cuts.push_back(seen.state);
  auto it = numbers.find(value);
  if (goal == FactorGoal::MostBytes || it == numbers.end())
    return cuts;
  for (const ValueVersion &version : entries[it->second].versions)
    if (version.state.isSplit() && !llvm::is_contained(cuts, version.state))
      cuts.push_back(version.state);
  return cuts;
}

std::pair<int64_t, int64_t>
Partitioner::rankSplit(Operation *op, const ShardingRule &rule,
                       const FactorSplit &split, Group group,
                       ArrayRef<ValueVersion> operands) const {
  // Bytes that stay where they are.
  int64_t bytes = 0, stationary = 0;
  for (auto [other, dim, value] :
       llvm::zip_equal(operands, split.operands, op->getOperands()))
    if (dim && other.state == ValueState::getSplit(group, *dim)) {
      bytes += getBytes(value);
      stationary += other.isStationary ? getBytes(value) : 0;
    }
  if (goal == FactorGoal::MostBytes)
    return {0, mesh.ignoresSizes ? 0 : bytes};
  return {stationary, -getCommunication(op, rule, split, group, operands)};
}

std::optional<std::pair<FactorSplit, Group>>
Partitioner::chooseFactor(Operation *op, const ShardingRule &rule,
                          ArrayRef<ValueVersion> operands) {
  std::optional<std::pair<FactorSplit, Group>> best;
  std::pair<int64_t, int64_t> bestRank;
  // A factor that is cut in several operands is tried once.
  SmallVector<std::tuple<unsigned, int64_t, Group>, 4> seen;
  auto consider = [&](unsigned operand, const ValueState &state) {
    auto cut = findCutFactor(rule, rule.operands[operand], state.getCut());
    if (!cut)
      return;
    auto [factor, outer] = *cut;
    Group group = state.group;
    if (llvm::is_contained(seen, std::make_tuple(factor, outer, group)))
      return;
    seen.push_back({factor, outer, group});
    // Shards are cut where the ranks are, not where segments are.
    FactorKind kind = rule.factors[factor].kind;
    if (mesh.segments && !mesh.hasSegments(group) &&
        kind != FactorKind::Parallel)
      return;
    // Shards of parameters, and segments of the batch, are blocks.
    bool isStrided = goal == FactorGoal::LeastCommunication ||
                     (group == Group::Data && mesh.segments == 0);
    std::optional<FactorSplit> split = splitFactor(
        op, rule, factor, mesh.getBlocks(group),
        /*allowUneven=*/group == Group::Shard && !mesh.hasSegments(group),
        isStrided ? std::optional(outer) : std::nullopt);
    if (!split || (split->uneven && kind != FactorKind::Parallel &&
                   !getIgnoredPadding(op, rule, *split)))
      return;
    std::pair<int64_t, int64_t> rank =
        rankSplit(op, rule, *split, group, operands);
    if (best && rank <= bestRank)
      return;
    best = std::make_pair(*split, group);
    bestRank = rank;
  };
  for (auto [number, version] : llvm::enumerate(operands))
    for (const ValueState &state : listCuts(op->getOperand(number), version))
      consider(number, state);
  return best;
}

static int64_t getNumElements(Value value) {
  RankedTensorType type = getRuledTensor(value.getType());
  return type ? type.getNumElements() : 0;
}

/// True if the operand that `op` is linear in is read elsewhere, too: reduced
/// here, it is reduced once, and not in each form that is made of it.
static bool isReducedOnce(Operation *op, const llvm::SmallBitVector &set) {
  return set.count() == 1 && !op->getOperand(set.find_first()).hasOneUse();
}

/// The largest set of partial operands in which `op` is linear. Results that
/// are larger than what they are made of are not worth it: the reduction that
/// is saved here would move more elements later.
std::optional<llvm::SmallBitVector>
Partitioner::choosePartial(Operation *op, const ShardingRule &rule,
                           ArrayRef<ValueVersion> operands) {
  if (!areUsedResultsDescribed(op, rule) ||
      (mesh.segments && !movesElements(op)))
    return std::nullopt;
  int64_t resultSize = 0;
  for (Value result : op->getResults())
    resultSize += getNumElements(result);
  std::optional<llvm::SmallBitVector> best;
  int64_t bestSize = 0;
  for (const llvm::SmallBitVector &set : rule.linear) {
    if (set.none())
      continue;
    const ValueState &state = operands[set.find_first()].state;
    int64_t size = 0;
    bool equal = state.isPartial() && state.reduction != Reduction::Max;
    for (unsigned i : set.set_bits()) {
      equal &= operands[i].state == state;
      size += getNumElements(op->getOperand(i));
    }
    if (!equal || size <= bestSize || size < resultSize ||
        (goal == FactorGoal::LeastCommunication && isReducedOnce(op, set)))
      continue;
    best = set;
    bestSize = size;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The state of a result that does not have the factor that is cut.
static ValueState getReducedState(FactorKind kind, Group group,
                                  bool isElastic) {
  switch (kind) {
  case FactorKind::Sum:
    return ValueState::getPartial(group, Reduction::Sum);
  case FactorKind::Mean:
    // Means of segments have been divided by their number.
    return ValueState::getPartial(group,
                                  isElastic ? Reduction::Sum : Reduction::Avg);
  case FactorKind::Max:
    return ValueState::getPartial(group, Reduction::Max);
  default:
    llvm_unreachable("cannot be cut");
  }
}

/// True if all tensors that `op` reads are stationary.
static bool isMadeOfStationary(Operation *op, ArrayRef<ValueVersion> operands) {
  bool isStationary = false;
  for (auto [value, version] : llvm::zip_equal(op->getOperands(), operands)) {
    if (!getRuledTensor(value.getType()))
      continue;
    if (!version.isStationary)
      return false;
    isStationary = true;
  }
  return isStationary;
}

void Partitioner::buildSplit(Operation *op, const ShardingRule &rule,
                             const FactorSplit &split, Group group) {
  SmallVector<ValueVersion> versions;
  SmallVector<Value> operands;
  std::optional<double> padding;
  if (split.uneven)
    padding = getIgnoredPadding(op, rule, split);
  bool zeroPadding = keepsZeros(op, rule, split);
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    std::optional<DimCut> dim = split.operands[number];
    ValueState state =
        dim ? ValueState::getSplit(group, *dim) : ValueState::getWhole();
    if (llvm::is_contained(rule.unread, number))
      versions.push_back(seenBy(op, operand.get()));
    else
      versions.push_back(padding ? getPadded(operand.get(), state, *padding)
                                 : getVersion(operand.get(), state));
    operands.push_back(versions.back().local);
    zeroPadding &= !dim || versions.back().zeroPadding;
  }
  bool isStationary = isMadeOfStationary(op, versions);
  SmallVector<ValueState> states;
  SmallVector<Type> types;
  for (auto [result, dim] : llvm::zip_equal(op->getResults(), split.results)) {
    // Nobody uses a result without a description.
    if (!isDescribed(op, rule, result.getResultNumber())) {
      states.push_back(ValueState::getWhole());
      types.push_back(result.getType());
      continue;
    }
    states.push_back(dim ? ValueState::getSplit(group, *dim)
                         : getReducedState(rule.factors[split.factor].kind,
                                           group, mesh.segments != 0));
    Type local =
        mesh.getLocalType(getRuledTensor(result.getType()), states.back());
    types.push_back(isa<FutureType>(result.getType())
                        ? FutureType::get(op->getContext(), local)
                        : local);
  }
  SmallVector<Value> locals =
      mesh.hasSegments(group)
          ? buildOnSegments(op, rule, split, operands, types, mesh,
                            communication)
          : SmallVector<Value>(
                cast<ShardingRuleOpInterface>(op)
                    .buildPart(communication.getBuilder(), operands, types)
                    ->getResults());
  for (auto [result, state, local] :
       llvm::zip_equal(op->getResults(), states, locals))
    define(result, {state, local, zeroPadding, isStationary});
  if (split.uneven && !zeroPadding)
    clearPadding(op);
  if (goal == FactorGoal::LeastCommunication)
    scatterLikeOperands(op, rule, group);
  markReplaced(op);
  ++numSplit;
}

/// Nobody knows yet whether a sum will count it. But a select joins the kernel
/// of the operation here, and is a pass over memory behind a product. What an
/// optimizer computes is cleared where it becomes an argument again.
void Partitioner::clearPadding(Operation *op) {
  if (goal != FactorGoal::LeastCommunication ||
      getPhase(op) == Phase::Optimizer)
    return;
  for (Value result : op->getResults())
    if (getState(result).isSplit() &&
        isa<FloatType>(getElementTypeOrSelf(result.getType())))
      (void)getZeroPadded(result, getState(result));
}

/// A sum that lies like an operand that was gathered for it, as the gradients
/// of keys and values of attention do, is scattered as that operand was.
void Partitioner::scatterLikeOperands(Operation *op, const ShardingRule &rule,
                                      Group group) {
  for (auto [result, factors] :
       llvm::zip_equal(op->getResults(), rule.results)) {
    if (!getState(result).isPartial() || factors.empty())
      continue;
    for (auto [operand, other] :
         llvm::zip_equal(op->getOperands(), rule.operands)) {
      ValueState state = seenBy(op, operand).state;
      if (other != factors || !state.isSplit() || state.group != group ||
          !state.isContiguous())
        continue;
      define(result, getVersion(result, state));
      break;
    }
  }
}

void Partitioner::keepPartial(Operation *op,
                              const llvm::SmallBitVector &partial,
                              ArrayRef<ValueVersion> operands) {
  unsigned first = partial.find_first();
  ValueState state = operands[first].state;
  Type element = getElementTypeOrSelf(operands[first].local);
  if (element != getElementTypeOrSelf(op->getOperand(first)))
    return keepWidePartial(op, partial, state, element);
  for (OpOperand &operand : op->getOpOperands())
    operand.set(getAs(operand.get(), partial.test(operand.getOperandNumber())
                                         ? state
                                         : ValueState::getWhole()));
  for (Value result : op->getResults())
    define(result, {state, result});
}

/// The operation moves elements of sums that have another type until they are
/// whole.
void Partitioner::keepWidePartial(Operation *op,
                                  const llvm::SmallBitVector &partial,
                                  ValueState state, Type element) {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(
        getAs(operand.get(), partial.test(operand.getOperandNumber())
                                 ? state
                                 : ValueState::getWhole()));
  SmallVector<Type> types =
      llvm::map_to_vector(op->getResultTypes(), [&](Type type) -> Type {
        return cast<RankedTensorType>(type).clone(element);
      });
  Operation *part = cast<ShardingRuleOpInterface>(op).buildPart(
      communication.getBuilder(), operands, types);
  for (auto [result, local] :
       llvm::zip_equal(op->getResults(), part->getResults()))
    define(result, {state, local});
  markReplaced(op);
}

/// That of the operator, if `op` is a node.
static StringRef getWorkName(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  return node ? node.getTarget() : op->getName().getStringRef();
}

void Partitioner::keepWhole(Operation *op, ArrayRef<ValueVersion> operands) {
  int64_t bytes = 0;
  for (auto [operand, seen] : llvm::zip_equal(op->getOpOperands(), operands)) {
    if (seen.state.isSplit())
      bytes += getBytes(operand.get());
    operand.set(getAs(operand.get(), ValueState::getWhole()));
  }
  if (bytes == 0)
    return;
  StringRef name = getWorkName(op);
  ++numKeptWhole;
  if (passName.empty())
    return;
  auto missed = remark::missed(
      op->getLoc(), remark::RemarkOpts::name("kept-whole").category(passName));
  if (Operation *obstacle = sortedRows.getObstacle(op))
    missed << remark::reason(
        "'{0}' sorts all rows, since '{1}' needs more of what it gives than "
        "rows one by one",
        name, getWorkName(obstacle));
  else
    missed << remark::reason(
        "'{0}' cannot be carried out on parts of its operands", name);
  missed << remark::metric("gathered_bytes", bytes);
}

/// What a region uses from outside is read by every iteration: all of it is
/// needed.
void Partitioner::makeCapturedWhole(Operation *op) {
  if (op->getNumRegions() == 0)
    return;
  visitUsedValuesDefinedAbove(op->getRegions(), [&](OpOperand *operand) {
    if (numbers.count(operand->get()))
      operand->set(getAs(operand->get(), ValueState::getWhole()));
  });
}

void Partitioner::process(Operation *op) {
  if (replaced.contains(op))
    return;
  communication.setPlace(op);
  if (divideSorted(op))
    return;
  makeCapturedWhole(op);
  SmallVector<ValueVersion> operands;
  bool plain = true;
  for (Value operand : op->getOperands()) {
    operands.push_back(seenBy(op, operand));
    plain &=
        operands.back().state.isWhole() && operands.back().local == operand;
  }
  if (plain)
    return;
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  // Starting a collective allocates, and waiting for one reads.
  bool isPure =
      isMemoryEffectFree(op) || isa<CollectiveOpInterface, WaitOp>(op);
  if (!interface || !isPure ||
      llvm::all_of(operands,
                   [](const ValueVersion &v) { return v.state.isWhole(); }))
    return keepWhole(op, operands);
  ShardingRule rule = interface.getShardingRule();
  assert(succeeded(rule.verify(op)) && "inconsistent sharding rule");
  // An operand whose elements are not read may have any form.
  for (unsigned unread : rule.unread) {
    op->setOperand(unread, operands[unread].local);
    operands[unread] = {ValueState::getWhole(), operands[unread].local};
  }
  bool mayDivide = goal == FactorGoal::LeastCommunication;
  if (mayDivide && buildWantedGradient(op))
    return;
  if (auto choice = chooseFactor(op, rule, operands))
    return buildSplit(op, rule, choice->first, choice->second);
  if (mesh.segments && operands.front().state.isPartial() &&
      widensSum(op, operands.front().local)) {
    define(op->getResult(0), operands.front());
    return markReplaced(op);
  }
  if (auto partial = choosePartial(op, rule, operands))
    return keepPartial(op, *partial, operands);
  if (mayDivide && (divideSoftmax(op, operands) || divideLookup(op, operands) ||
                    divideScatter(op, operands)))
    return;
  keepWhole(op, operands);
}

void Partitioner::eraseReplaced() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (replaced.contains(&op) ||
        (rebuilt.contains(&op) && isOpTriviallyDead(&op)))
      op.erase();
}
