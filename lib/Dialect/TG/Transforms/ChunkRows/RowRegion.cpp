//===- RowRegion.cpp - Operations on independent rows ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowRegion.h"

#include "regather/Dialect/TG/Steps/StepGraph.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include <numeric>

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::chunks;
using namespace regather::tg::spmd;

/// What moves elements only, or copies none.
static bool isRearrangement(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  if (!node)
    return false;
  std::optional<OperatorClass> kind = getOperatorClass(node.getTarget());
  return kind == OperatorClass::Reshape || kind == OperatorClass::View ||
         kind == OperatorClass::Rearrangement;
}

/// True if the order of a sum may depend on the number of rows: what is summed
/// in lanes is the innermost dimension of more than one element.
static bool sumsByRows(Operation *op, const FactorSplit &split) {
  std::optional<OperatorClass> kind =
      getOperatorClass(cast<NodeOp>(op).getTarget());
  if (kind != OperatorClass::Reduction && kind != OperatorClass::Normalization)
    return false;
  return llvm::any_of(split.operands, [](std::optional<int64_t> dim) {
    return dim.value_or(0) > 0;
  });
}

static int64_t getNumElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type.getNumElements() : 0;
}

static std::string getName(Operation *op) {
  auto id = op->getAttrOfType<StringAttr>(kIdAttrName);
  return "'" + (id ? id.str() : op->getName().getStringRef().str()) + "'";
}

bool RowRegion::isRead(Value value) const {
  return llvm::any_of(value.getUsers(),
                      [&](Operation *user) { return !contains(user); });
}

namespace {
class RegionFinder {
public:
  RegionFinder(Value seed, bool cutsSums)
      : seed(seed), cutsSums(cutsSums), block(*seed.getParentBlock()),
        leastElements((getNumElements(seed) + 1) / 2) {}

  std::optional<RowRegion> find(int64_t dim, std::string &reason);

private:
  bool isLarge(Value value) const {
    return getNumElements(value) >= leastElements;
  }
  bool grow(int64_t dim);
  bool addOp(Operation *op, bool isOperand, unsigned number, int64_t dim);
  bool noteDim(Value value, int64_t dim);
  void dropTrailingViews();
  bool checkReads();
  bool findSources();
  void measure();
  bool fail(const Twine &why) {
    reason = why.str();
    return false;
  }

  Value seed;
  bool cutsSums;
  Block &block;
  int64_t leastElements;
  std::string reason;
  RowRegion region;
  llvm::MapVector<Operation *, RowOp> members;
  /// Large values that are to be cut, with the dimension.
  std::vector<std::pair<Value, int64_t>> pending;
};
} // namespace

bool RegionFinder::noteDim(Value value, int64_t dim) {
  auto [it, isNew] = region.dims.insert({value, dim});
  return isNew || it->second == dim;
}

/// Adds the operation that has rows in dimension `dim` of an operand or a
/// result. False if it cannot be carried out row by row.
bool RegionFinder::addOp(Operation *op, bool isOperand, unsigned number,
                         int64_t dim) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  std::optional<Phase> phase = getPhase(op);
  if (!isa<NodeOp>(op) || !ruled || !isMemoryEffectFree(op) ||
      phase == Phase::Optimizer)
    return false;
  ShardingRule rule = ruled.getShardingRule();
  const TensorFactors &tensor =
      isOperand ? rule.operands[number] : rule.results[number];
  if (dim >= static_cast<int64_t>(tensor.size()))
    return false;
  std::optional<unsigned> factor = getOutermostFactor(rule, tensor, dim);
  if (!factor)
    return false;
  FactorKind kind = rule.factors[*factor].kind;
  bool isSum = kind == FactorKind::Sum && cutsSums;
  if (kind != FactorKind::Parallel && !isSum)
    return false;
  std::optional<FactorSplit> split =
      splitFactor(op, rule, *factor, /*ranks=*/1, /*allowUneven=*/false);
  if (!split || (!isSum && (sumsByRows(op, *split) ||
                            llvm::is_contained(split->results, std::nullopt))))
    return false;
  for (auto [result, at] : llvm::zip_equal(op->getResults(), split->results)) {
    if (!at && !isDescribed(op, rule, result.getResultNumber()))
      return false;
    auto known = region.dims.find(result);
    if (known != region.dims.end() && known->second != at)
      return false;
  }
  region.rows = std::gcd(region.rows, rule.factors[*factor].size);
  for (auto [result, at] : llvm::zip_equal(op->getResults(), split->results)) {
    if (!at) {
      region.sums.insert(result);
      continue;
    }
    noteDim(result, *at);
    if (isLarge(result))
      pending.push_back({result, *at});
  }
  for (auto [operand, at] : llvm::zip_equal(op->getOperands(), split->operands))
    if (at && isLarge(operand))
      pending.push_back({operand, *at});
  members.insert({op, {op, std::move(rule), std::move(*split)}});
  return true;
}

/// Takes what computes and what reads large values. A reader that needs the
/// value whole stays outside.
bool RegionFinder::grow(int64_t dim) {
  pending.push_back({seed, dim});
  llvm::DenseMap<Value, int64_t> visited;
  while (!pending.empty()) {
    auto [value, at] = pending.back();
    pending.pop_back();
    auto [it, isNew] = visited.insert({value, at});
    if (!isNew && it->second != at)
      return fail("a value would be cut along two dimensions");
    if (!isNew)
      continue;
    if (auto result = dyn_cast<OpResult>(value))
      if (Operation *def = result.getOwner(); !members.contains(def))
        (void)addOp(def, /*isOperand=*/false, result.getResultNumber(), at);
    for (OpOperand &use : value.getUses())
      if (Operation *user = use.getOwner();
          user->getBlock() == &block && !members.contains(user))
        (void)addOp(user, /*isOperand=*/true, use.getOperandNumber(), at);
  }
  if (members.empty())
    return fail("nothing that computes or reads it works row by row");
  return true;
}

/// A view of a value that is put together again can be taken of it then.
void RegionFinder::dropTrailingViews() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[op, member] : llvm::reverse(members)) {
      if (!isRearrangement(op) ||
          llvm::any_of(op->getUsers(),
                       [&](Operation *user) { return members.contains(user); }))
        continue;
      for (Value result : op->getResults())
        region.dims.erase(result);
      members.erase(op);
      changed = true;
      break;
    }
  }
}

/// Members see the rows of what other members compute, and only those.
bool RegionFinder::checkReads() {
  for (const auto &[op, member] : members)
    for (auto [operand, at] :
         llvm::zip_equal(op->getOperands(), member.split.operands)) {
      auto dim = region.dims.find(operand);
      if (dim != region.dims.end() && (!at || *at != dim->second))
        return fail(getName(op) + " needs more than a row at a time");
    }
  return true;
}

/// True for a scalar that lends its type to a constant, as in `full_like(x,
/// 1)`.
static bool isUnread(OpOperand &use) {
  auto node = dyn_cast<NodeOp>(use.getOwner());
  auto type = dyn_cast<RankedTensorType>(use.get().getType());
  return node && type && type.getRank() == 0 && use.getOperandNumber() == 0 &&
         getOperatorClass(node.getTarget()) == OperatorClass::Constant;
}

/// Finds the operations outside that members read, none of which may read what
/// members compute.
bool RegionFinder::findSources() {
  Operation *first = region.ops.front().op;
  // What is computed from the region, outside of it.
  llvm::DenseSet<Value> later;
  for (const auto &[value, dim] : region.dims)
    later.insert(value);
  later.insert(region.sums.begin(), region.sums.end());
  for (Operation *op = first; op; op = op->getNextNode()) {
    bool isMember = members.contains(op);
    bool readsLater = false;
    for (OpOperand &use : op->getOpOperands()) {
      if (!later.contains(use.get()) ||
          (isMember && region.contains(use.get())))
        continue;
      if (isUnread(use)) {
        region.unreadUses.push_back(&use);
        continue;
      }
      readsLater = true;
    }
    if (op->getNumRegions())
      forEachInput(op,
                   [&](Value value) { readsLater |= later.contains(value); });
    if (isMember && readsLater)
      return fail(getName(op) + " reads what is made of all rows");
    if (!isMember && readsLater)
      later.insert(op->result_begin(), op->result_end());
  }
  llvm::DenseSet<Operation *> needed;
  for (Operation *op = block.getTerminator(); op != first;
       op = op->getPrevNode()) {
    if (!members.contains(op) && !needed.contains(op))
      continue;
    forEachInput(op, [&](Value value) {
      Operation *def = value.getDefiningOp();
      if (def && def->getBlock() == &block && !members.contains(def) &&
          !later.contains(value))
        needed.insert(def);
    });
    if (members.contains(op))
      continue;
    region.sources.push_back(op);
    if (!isMemoryEffectFree(op) && !isa<CollectiveOpInterface, WaitOp>(op))
      return fail(getName(op) + " cannot be moved before it");
  }
  std::reverse(region.sources.begin(), region.sources.end());
  return true;
}

void RegionFinder::measure() {
  for (const auto &[value, dim] : region.dims) {
    if (!isLarge(value) || region.isRead(value))
      continue;
    region.bytes += getValueBytes(value);
    region.largestBytes = std::max(region.largestBytes, getValueBytes(value));
  }
}

std::optional<RowRegion> RegionFinder::find(int64_t dim, std::string &why) {
  auto run = [&] {
    if (!grow(dim))
      return false;
    dropTrailingViews();
    if (!region.contains(seed) || members.size() < 2)
      return fail("nothing that computes or reads it works row by row");
    if (!checkReads())
      return false;
    for (Operation &op : block)
      if (auto it = members.find(&op); it != members.end())
        region.ops.push_back(it->second);
    if (!findSources())
      return false;
    measure();
    return region.bytes > 0 || fail("all that is large is read elsewhere");
  };
  if (run())
    return std::move(region);
  why = reason;
  return std::nullopt;
}

std::optional<RowRegion>
regather::tg::chunks::findRowRegion(Value seed, bool cutsSums,
                                    std::string &reason) {
  auto type = dyn_cast<RankedTensorType>(seed.getType());
  if (!type || !type.hasStaticShape() || !seed.getDefiningOp())
    return std::nullopt;
  std::optional<RowRegion> best;
  for (int64_t dim = 0; dim != type.getRank(); ++dim) {
    std::string why;
    std::optional<RowRegion> region =
        RegionFinder(seed, cutsSums).find(dim, why);
    if (region && region->rows > 1 && (!best || region->bytes > best->bytes))
      best = std::move(region);
    if (dim == 0)
      reason = why;
  }
  return best;
}
