//===- ChunkRows.cpp - Carry out chains of rows in blocks -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkRows/RowRegion.h"
#include "ParameterRegathers.h"
#include "TreeSums.h"

#include "regather/Dialect/TG/IR/RowChunk.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"

#define DEBUG_TYPE "tg-chunk-rows"

namespace regather::tg {
#define GEN_PASS_DEF_CHUNKROWSPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::chunks;

/// Chosen blocks are at most so many: each more saves less, and takes further
/// launches.
static constexpr int64_t kMostChunks = 16;
/// Values that a region is looked for around. Those of one region are tried
/// once.
static constexpr unsigned kMostSeeds = 8;

/// The phase of the blocks: backward of a chain that begins in forward becomes
/// a part of forward.
static Phase getBlockPhase(const RowRegion &region) {
  bool isBackward = llvm::all_of(region.ops, [](const RowOp &member) {
    return getPhase(member.op) == Phase::Backward;
  });
  return isBackward ? Phase::Backward : Phase::Forward;
}

namespace {
struct ChunkRows : public regather::tg::impl::ChunkRowsPassBase<ChunkRows> {
  using ChunkRowsPassBase::ChunkRowsPassBase;

  void runOnOperation() override {
    if (chunks < 0) {
      getOperation().emitError() << "option 'chunks' must not be negative, got "
                                 << static_cast<int64_t>(chunks);
      return signalPassFailure();
    }
    for (FunctionOpInterface func : getSteps(getOperation()))
      if (failed(run(func)))
        return signalPassFailure();
  }

private:
  LogicalResult run(FunctionOpInterface func);
  std::optional<RowRegion> find(FunctionOpInterface func);
  int64_t chooseCount(const RowRegion &region) const;
};

/// Builds the blocks of a region one behind the other.
class RegionBuilder {
public:
  RegionBuilder(RowRegion &region, int64_t count)
      : region(region), count(count), builder(region.ops.front().op),
        phase(getBlockPhase(region)) {}

  void run();

private:
  void moveSources();
  void replaceUnread();
  void buildChunk(int64_t number);
  Value castTo(Type element, Value value, Operation *op);
  void addUp(Operation *op, Value sum, Value part);
  Value getPart(Operation *op, Value operand, std::optional<int64_t> dim,
                int64_t number);
  TreeSums getSums(Operation *op) {
    return TreeSums(builder, op->getLoc(),
                    PhaseAttr::get(op->getContext(), phase),
                    op->getAttrOfType<StringAttr>(kModuleAttrName));
  }

  RowRegion &region;
  int64_t count;
  OpBuilder builder;
  Phase phase;
  /// Of the block that is being built.
  llvm::DenseMap<Value, Value> parts;
  /// By value that is read outside: its parts.
  llvm::MapVector<Value, SmallVector<Value>> wholes;
  /// By value that is summed up: what it is so far.
  llvm::MapVector<Value, Value> totals;
};
} // namespace

//===----------------------------------------------------------------------===//
// Blocks of rows
//===----------------------------------------------------------------------===//

/// What the region reads comes before it, and so belongs to its phase.
void RegionBuilder::moveSources() {
  Operation *first = region.ops.front().op;
  for (Operation *op : region.sources) {
    op->moveBefore(first);
    if (getPhase(op) == Phase::Backward && !isa<CollectiveOpInterface>(op))
      op->setAttr(kPhaseAttrName, PhaseAttr::get(op->getContext(), phase));
  }
}

/// What only lends its type to an operation is replaced by zeros of that type.
void RegionBuilder::replaceUnread() {
  for (OpOperand *use : region.unreadUses) {
    auto type = cast<RankedTensorType>(use->get().getType());
    OpBuilder before(use->getOwner());
    SmallVector<Attribute> shape;
    for (int64_t size : type.getShape())
      shape.push_back(before.getI64IntegerAttr(size));
    ArrayAttr args = before.getArrayAttr(
        {before.getArrayAttr(shape), before.getI64IntegerAttr(0)});
    NamedAttribute dtype =
        before.getNamedAttr("dtype", TypeAttr::get(type.getElementType()));
    auto zeros = NodeOp::create(
        before, use->getOwner()->getLoc(), TypeRange(type),
        before.getStringAttr(getName(NodeTarget::AtenFullDefault)),
        ValueRange(), args, before.getDictionaryAttr(dtype), UnitAttr());
    if (std::optional<Phase> phase = getPhase(use->getOwner()))
      zeros->setAttr(kPhaseAttrName,
                     PhaseAttr::get(zeros->getContext(), *phase));
    use->set(zeros->getResult(0));
    if (llvm::is_contained(region.sources, use->getOwner()))
      region.sources.insert(llvm::find(region.sources, use->getOwner()), zeros);
  }
}

Value RegionBuilder::getPart(Operation *op, Value operand,
                             std::optional<int64_t> dim, int64_t number) {
  if (!dim)
    return operand;
  Value &part = parts[operand];
  if (!part)
    part = getSums(op).takeBlock(operand, *dim, number, count);
  return part;
}

Value RegionBuilder::castTo(Type element, Value value, Operation *op) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  NamedAttribute dtype = builder.getNamedAttr("dtype", TypeAttr::get(element));
  auto copy = NodeOp::create(
      builder, op->getLoc(), TypeRange(type.clone(element)),
      builder.getStringAttr(getName(NodeTarget::AtenToCopyDefault)), value,
      ArrayAttr(), builder.getDictionaryAttr(dtype), UnitAttr());
  copy->setAttr(kPhaseAttrName, PhaseAttr::get(op->getContext(), phase));
  if (Attribute module = op->getAttr(kModuleAttrName))
    copy->setAttr(kModuleAttrName, module);
  return copy->getResult(0);
}

/// Adds the sum over one block. Types of fewer bits than f32 are summed in f32.
void RegionBuilder::addUp(Operation *op, Value sum, Value part) {
  Type element = getElementTypeOrSelf(sum.getType());
  if (element.isBF16() || element.isF16())
    part = castTo(builder.getF32Type(), part, op);
  Value &total = totals[sum];
  total = total ? getSums(op).combine(total, part, Reduction::Sum) : part;
}

void RegionBuilder::buildChunk(int64_t number) {
  parts.clear();
  for (const RowOp &member : region.ops) {
    Operation *op = member.op;
    SmallVector<Value> operands;
    for (auto [operand, dim] :
         llvm::zip_equal(op->getOperands(), member.split.operands))
      operands.push_back(getPart(op, operand, dim, number));
    SmallVector<Type> types;
    for (auto [type, dim] :
         llvm::zip_equal(op->getResultTypes(), member.split.results)) {
      auto whole = cast<RankedTensorType>(type);
      SmallVector<int64_t> shape(whole.getShape());
      if (dim)
        shape[*dim] /= count;
      types.push_back(whole.clone(shape));
    }
    Operation *part =
        cast<ShardingRuleOpInterface>(op).buildPart(builder, operands, types);
    part->setAttr(kPhaseAttrName, PhaseAttr::get(op->getContext(), phase));
    part->setAttr(kRowChunkAttrName,
                  builder.getDenseI64ArrayAttr({number, count}));
    if (auto id = op->getAttrOfType<StringAttr>(kIdAttrName))
      part->setAttr(kIdAttrName,
                    builder.getStringAttr(id.getValue() + "." + Twine(number)));
    for (auto [result, made] :
         llvm::zip_equal(op->getResults(), part->getResults())) {
      if (region.sums.contains(result)) {
        addUp(op, result, made);
        continue;
      }
      parts[result] = made;
      if (auto whole = wholes.find(result); whole != wholes.end())
        whole->second.push_back(made);
    }
  }
}

void RegionBuilder::run() {
  replaceUnread();
  moveSources();
  for (const RowOp &member : region.ops)
    for (Value result : member.op->getResults())
      if (region.contains(result) && region.isRead(result))
        wholes.insert({result, {}});
  for (int64_t number = 0; number != count; ++number)
    buildChunk(number);
  for (auto &[value, made] : wholes) {
    Value whole = getSums(value.getDefiningOp())
                      .concatenate(made, region.dims.lookup(value));
    value.replaceUsesWithIf(whole, [&](OpOperand &use) {
      return !region.contains(use.getOwner());
    });
  }
  for (auto &[value, total] : totals)
    value.replaceAllUsesWith(castTo(getElementTypeOrSelf(value.getType()),
                                    total, value.getDefiningOp()));
  for (const RowOp &member : llvm::reverse(region.ops))
    member.op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Why the region must not become a part of forward; empty if nothing keeps it
/// from that. What backward gathers again would be gathered in forward, and
/// live on to other readers in backward, although it is to be released.
static std::string getReasonAgainst(FunctionOpInterface func,
                                    const ParameterChains &chains,
                                    const RowRegion &region) {
  if (getBlockPhase(region) == Phase::Backward)
    return "";
  std::vector<Operation *> moved = region.sources;
  for (const RowOp &member : region.ops)
    moved.push_back(member.op);
  for (Operation *op : moved) {
    if (getPhase(op) != Phase::Backward)
      continue;
    for (Value result : op->getResults())
      if (isReleased(func, chains, result))
        return "the chain begins in forward, and reads \"" +
               getParameterName(func, chains.getParameter(result)) +
               "\", which backward gathers again";
  }
  return "";
}

/// Of the regions around the largest values the one with most bytes.
std::optional<RowRegion> ChunkRows::find(FunctionOpInterface func) {
  // The largest first, then in program order.
  std::vector<std::tuple<int64_t, size_t, Value>> seeds;
  for (Operation &op : func.getFunctionBody().front())
    if (isa<NodeOp>(op))
      for (Value result : op.getResults())
        if (int64_t bytes = getValueBytes(result); bytes > 0)
          seeds.push_back({-bytes, seeds.size(), result});
  llvm::sort(seeds, [](const auto &lhs, const auto &rhs) {
    return std::tie(std::get<0>(lhs), std::get<1>(lhs)) <
           std::tie(std::get<0>(rhs), std::get<1>(rhs));
  });
  StepGraph graph(func.getFunctionBody().front());
  ParameterChains chains(func, graph);
  unsigned tried = 0;
  std::optional<RowRegion> best;
  Type before;
  for (const auto &[bytes, place, seed] : seeds) {
    // Values of one type are mostly those of one region, or of equal layers.
    if (seed.getType() == before)
      continue;
    before = seed.getType();
    if (++tried > kMostSeeds)
      break;
    std::string reason;
    std::optional<RowRegion> region =
        findRowRegion(seed, sums == ChunkSums::Blocks, reason);
    if (region)
      if (std::string against = getReasonAgainst(func, chains, *region);
          !against.empty()) {
        reason = std::move(against);
        region.reset();
      }
    if (region && (!best || region->bytes > best->bytes))
      best = std::move(region);
    if (reason.empty())
      continue;
    remark::missed(seed.getLoc(),
                   remark::RemarkOpts::name("not-chunked").category(DEBUG_TYPE))
        << remark::reason("a value of {0} stays whole: {1}",
                          std::to_string(-bytes) + " bytes", reason);
  }
  return best;
}

/// The largest number of blocks that is not too large.
int64_t ChunkRows::chooseCount(const RowRegion &region) const {
  if (chunks > 0)
    return chunks;
  int64_t count = 1;
  for (int64_t i = 2; i <= kMostChunks; ++i)
    if (region.rows % i == 0)
      count = i;
  return count;
}

LogicalResult ChunkRows::run(FunctionOpInterface func) {
  StepGraph graph(func.getFunctionBody().front());
  if (chunks == 1 || !graph.hasBackward())
    return success();
  std::optional<RowRegion> region = find(func);
  if (!region)
    return success();
  int64_t count = chooseCount(*region);
  Operation *first = region->ops.front().op;
  if (region->rows % count != 0)
    return first->emitError() << "option 'chunks' asks for " << count
                              << " blocks of rows, but they must divide the "
                              << region->rows << " of this chain";
  if (count == 1)
    return success();
  remark::passed(first->getLoc(),
                 remark::RemarkOpts::name("chunked").category(DEBUG_TYPE))
      << remark::reason("{0} operations are carried out on {1} blocks of rows",
                        region->ops.size(), count)
      << remark::metric("ops", region->ops.size())
      << remark::metric("chunks", count)
      << remark::metric("bytes", region->bytes)
      << remark::metric("largest", region->largestBytes);
  numOps += static_cast<int64_t>(region->ops.size());
  numChunks += count;
  RegionBuilder(*region, count).run();
  return success();
}
