//===- DivideStages.cpp - Kernels as several launches ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation that combines the partial results of blocks comes one level
// after them, as does the search for the bounds of sorted keys. Small
// operations that follow it have the same level, all others the next. Each
// level is divided, in program order, into stages that are as long as they can
// be cut into blocks. Cheap operations are repeated in every stage that reads
// them.
//
//===----------------------------------------------------------------------===//

#include "ReductionSplit.h"
#include "SortedScatters.h"
#include "StageCosts.h"

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/TG/IR/KernelAttributes.h"
#include "regather/Kernel/NVPTX/CompileGpuKernels.h"
#include "regather/Kernel/NVPTX/Passes.h"
#include "regather/Kernel/Transforms/TilePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

namespace regather::nvptx {
#define GEN_PASS_DEF_DIVIDESTAGESPASS
#include "regather/Kernel/NVPTX/Passes.h.inc"
} // namespace regather::nvptx

namespace {
/// What one launch of a kernel computes.
struct KernelStage {
  OwningOpRef<ModuleOp> module;
  /// In the module.
  tg::KernelOp kernel;
  /// The buffers that its arguments and results are. Those of the whole kernel
  /// come first, arguments before results, and then the temporaries. An
  /// argument may be the beginning of a buffer.
  SmallVector<unsigned> arguments, results;
  kernel::TilePlan plan;
  /// About how many bytes a tile of it touches.
  int64_t tileBytes = 0;
};

/// A kernel as stages that follow each other.
struct KernelStages {
  std::vector<KernelStage> stages;
  /// Types of the values that stages hand on and that are no results of the
  /// kernel.
  SmallVector<RankedTensorType> temporaries;
};
} // namespace

/// An operation with at least so many points is wide; one with fewer may be
/// repeated by every block.
static constexpr int64_t kMinWidePoints = 16 * 1024;
static constexpr int64_t kMaxTinyPoints = 256;

/// How many times as much as necessary all blocks together may compute.
static constexpr int64_t kMaxRepetition = 4;

/// So many blocks are enough for any amount of work.
static constexpr int64_t kManyBlocks = 64;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// True if stages can hand on values of the type.
static bool canHandOn(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isIntOrFloat();
}

/// What an operation and those in its regions read from outside.
static SmallVector<Value> getInputs(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::append_range(inputs, captured);
  return inputs;
}

/// The tensor of which `value` is the beginning, as it lies in memory; null if
/// it is no such slice.
static Value getBeginningOf(Value value) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getType().getRank() != slice.getSourceType().getRank() ||
      !llvm::all_equal(slice.getStaticStrides()) ||
      (slice.getType().getRank() != 0 && slice.getStaticStrides()[0] != 1))
    return nullptr;
  bool isOuter = true;
  for (auto [offset, taken, size] :
       llvm::zip_equal(slice.getStaticOffsets(), slice.getType().getShape(),
                       slice.getSourceType().getShape())) {
    if (offset != 0 || (taken != size && !isOuter))
      return nullptr;
    isOuter &= taken == 1;
  }
  return slice.getSource();
}

namespace {
enum class Kind { Repeated, Combine, Narrow, Wide };

class StagePlanner {
public:
  StagePlanner(tg::KernelOp kernel, const kernel::TileLimits &limits)
      : kernel(kernel), limits(limits),
        terminator(kernel.getBody().front().getTerminator()) {}

  KernelStages plan();

private:
  /// Operations of one stage, in program order.
  using Members = SmallVector<Operation *>;

  Kind getKind(Operation *op);
  void findLevels();
  bool isReadElsewhere(Value value, const llvm::DenseSet<Operation *> &inside);
  unsigned getBuffer(Value value);
  /// A stage with the tensors that it reads and makes.
  struct Draft {
    KernelStage stage;
    SmallVector<Value> arguments, results;
  };

  /// The stage that computes `group`.
  Draft build(ArrayRef<Operation *> group);
  /// Makes a stage of as many operations as blocks can share, at least of one,
  /// and gives their number.
  size_t addStage(ArrayRef<Operation *> group);
  /// True if blocks share the work, or if it is too little to be shared.
  static bool isSpread(const KernelStage &stage, ArrayRef<Operation *> group);
  SmallVector<Operation *> collectOps(ArrayRef<Operation *> group,
                                      llvm::SetVector<Value> &arguments);

  tg::KernelOp kernel;
  const kernel::TileLimits &limits;
  Operation *terminator;
  /// Operations that are no members are repeated.
  std::map<int64_t, Members> levels;
  llvm::DenseSet<Operation *> members;
  llvm::DenseMap<Operation *, size_t> positions;
  llvm::DenseMap<Value, unsigned> buffers;
  KernelStages found;
};
} // namespace

Kind StagePlanner::getKind(Operation *op) {
  if (op->hasAttr(kCombineAttrName) || op->hasAttr(kBoundsAttrName))
    return Kind::Combine;
  bool isReturned = llvm::is_contained(op->getUsers(), terminator);
  bool isView = isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                    tensor::ExtractSliceOp>(op);
  if (!isReturned && !llvm::all_of(op->getResultTypes(), canHandOn))
    return Kind::Repeated;
  if (!isReturned && (isView || isa<tensor::EmptyOp, linalg::FillOp>(op) ||
                      op->hasTrait<OpTrait::ConstantLike>() ||
                      countSteps(op) <= kMaxTinyPoints))
    return Kind::Repeated;
  return countSteps(op) < kMinWidePoints ? Kind::Narrow : Kind::Wide;
}

void StagePlanner::findLevels() {
  // Operations that combine have odd levels.
  llvm::DenseMap<Value, int64_t> ready;
  for (auto [position, op] :
       llvm::enumerate(kernel.getBody().front().without_terminator())) {
    positions[&op] = position;
    int64_t level = 0;
    for (Value input : getInputs(&op))
      level = std::max(level, ready.lookup(input));
    Kind kind = getKind(&op);
    if ((kind == Kind::Combine && level % 2 == 0) ||
        (kind == Kind::Wide && level % 2 == 1))
      ++level;
    if (kind != Kind::Repeated) {
      levels[level].push_back(&op);
      members.insert(&op);
    }
    for (Value result : op.getResults())
      ready[result] = level;
  }
}

/// True if the kernel returns the value or another stage reads it, itself or by
/// way of repeated operations.
bool StagePlanner::isReadElsewhere(Value value,
                                   const llvm::DenseSet<Operation *> &inside) {
  SmallVector<Value> pending = {value};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    for (Operation *user : next.getUsers()) {
      user = kernel.getBody().front().findAncestorOpInBlock(*user);
      if (user == terminator) {
        // The result of a repeated operation is returned by the stage that has
        // it as a member.
        if (next == value)
          return true;
        continue;
      }
      if (members.contains(user)) {
        if (!inside.contains(user))
          return true;
      } else if (seen.insert(user).second) {
        llvm::append_range(pending, user->getResults());
      }
    }
  }
  return false;
}

/// The buffer of an argument, a result or a value that stages hand on.
unsigned StagePlanner::getBuffer(Value value) {
  // A slice at the beginning of a tensor that is no member has the buffer of
  // that tensor.
  if (Operation *def = value.getDefiningOp(); def && !members.contains(def))
    value = getBeginningOf(value);
  auto it = buffers.find(value);
  if (it != buffers.end())
    return it->second;
  unsigned number = kernel.getNumArguments() + kernel.getNumResults() +
                    found.temporaries.size();
  found.temporaries.push_back(cast<RankedTensorType>(value.getType()));
  buffers[value] = number;
  return number;
}

/// The operations that a stage consists of, with those that it repeats, in
/// program order, and the tensors that it reads.
SmallVector<Operation *>
StagePlanner::collectOps(ArrayRef<Operation *> group,
                         llvm::SetVector<Value> &arguments) {
  llvm::DenseSet<Operation *> inside(group.begin(), group.end());
  SmallVector<Operation *> ops(group), pending(group);
  while (!pending.empty())
    for (Value input : getInputs(pending.pop_back_val())) {
      Operation *def = input.getDefiningOp();
      if (def && inside.contains(def))
        continue;
      Value source = def ? getBeginningOf(input) : Value();
      bool isBeginning = source && (!source.getDefiningOp() ||
                                    (members.contains(source.getDefiningOp()) &&
                                     !inside.contains(source.getDefiningOp())));
      if (!def || members.contains(def) || isBeginning) {
        arguments.insert(input);
        continue;
      }
      inside.insert(def);
      ops.push_back(def);
      pending.push_back(def);
    }
  llvm::sort(ops, [&](Operation *a, Operation *b) {
    return positions.at(a) < positions.at(b);
  });
  return ops;
}

StagePlanner::Draft StagePlanner::build(ArrayRef<Operation *> group) {
  Draft draft;
  KernelStage &stage = draft.stage;
  SmallVector<Value> &results = draft.results;
  llvm::SetVector<Value> arguments;
  SmallVector<Operation *> ops = collectOps(group, arguments);
  llvm::DenseSet<Operation *> inside(group.begin(), group.end());
  // If the stage has parts of a reduction, these decide where the rows are.
  for (bool isPartial : {true, false})
    for (Operation *op : group)
      if (op->hasAttr(kPartialAttrName) == isPartial)
        for (Value result : op->getResults())
          if (isReadElsewhere(result, inside))
            results.push_back(result);
  auto order = arguments.takeVector();
  auto getNumber = [&](Value value) -> std::pair<size_t, size_t> {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return {0, argument.getArgNumber()};
    auto result = cast<OpResult>(value);
    return {1 + positions.at(result.getOwner()), result.getResultNumber()};
  };
  llvm::sort(order,
             [&](Value a, Value b) { return getNumber(a) < getNumber(b); });

  stage.module = ModuleOp::create(kernel.getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(stage.module->getBody());
  stage.kernel =
      tg::KernelOp::create(b, kernel.getLoc(), kernel.getSymName(),
                           b.getFunctionType(TypeRange(ValueRange(order)),
                                             TypeRange(ValueRange(results))));
  Block &body = stage.kernel.getBody().emplaceBlock();
  IRMapping map;
  for (Value value : order)
    map.map(value, body.addArgument(value.getType(), value.getLoc()));
  b.setInsertionPointToEnd(&body);
  for (Operation *op : ops)
    b.clone(*op, map);
  tg::ReturnOp::create(b, kernel.getLoc(),
                       llvm::map_to_vector(results, [&](Value value) {
                         return map.lookup(value);
                       }));
  kernel::TileLimits scaled = scaleLimits(group, limits);
  stage.plan = kernel::planTiles(stage.kernel, scaled);
  stage.tileBytes = scaled.bytes;
  draft.arguments.assign(order.begin(), order.end());
  return draft;
}

/// True if what blocks have in common is most of what they compute.
static bool repeatsWork(const KernelStage &stage) {
  auto count = [](tg::KernelOp kernel) {
    int64_t points = 0;
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (isa<linalg::LinalgOp>(op))
        points += countSteps(&op);
    return points;
  };
  return count(*stage.plan.tile) >
         kMaxRepetition *
             (count(stage.kernel) / stage.plan.getNumTiles() + kMaxTinyPoints);
}

bool StagePlanner::isSpread(const KernelStage &stage,
                            ArrayRef<Operation *> group) {
  int64_t points = 0;
  for (Operation *op : group)
    points += countSteps(op);
  return stage.plan.getNumTiles() >=
             std::min(kManyBlocks, points / kMinWidePoints) &&
         !repeatsWork(stage);
}

size_t StagePlanner::addStage(ArrayRef<Operation *> group) {
  Draft best = build(group);
  size_t length = group.size();
  if (!isSpread(best.stage, group)) {
    // If a prefix of the operations cannot be cut, a longer one cannot either.
    size_t below = length;
    length = 0;
    while (below - length > 1) {
      size_t middle = length + (below - length) / 2;
      Draft draft = build(group.take_front(middle));
      if (!isSpread(draft.stage, group.take_front(middle))) {
        below = middle;
        continue;
      }
      length = middle;
      best = std::move(draft);
    }
    if (length == 0) {
      bool isShared =
          !best.stage.plan.levels.empty() && !repeatsWork(best.stage);
      length = isShared ? group.size() : 1;
      best = build(group.take_front(length));
    }
  }
  if (best.results.empty())
    return length;
  auto getBuffers = [&](ArrayRef<Value> values) {
    return llvm::map_to_vector<6>(
        values, [&](Value value) { return getBuffer(value); });
  };
  best.stage.arguments = getBuffers(best.arguments);
  best.stage.results = getBuffers(best.results);
  found.stages.push_back(std::move(best.stage));
  return length;
}

KernelStages StagePlanner::plan() {
  findLevels();
  Block &body = kernel.getBody().front();
  for (BlockArgument argument : body.getArguments())
    buffers[argument] = argument.getArgNumber();
  for (OpOperand &operand : terminator->getOpOperands())
    buffers.try_emplace(operand.get(),
                        kernel.getNumArguments() + operand.getOperandNumber());
  for (auto &[level, group] : levels)
    for (ArrayRef<Operation *> rest = group; !rest.empty();)
      rest = rest.drop_front(addStage(rest));
  return std::move(found);
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// A kernel as one stage.
static KernelStage makeWhole(tg::KernelOp kernel, kernel::TilePlan plan,
                             int64_t tileBytes) {
  KernelStage stage;
  stage.tileBytes = tileBytes;
  stage.kernel = kernel;
  unsigned numArguments = kernel.getNumArguments();
  llvm::append_range(stage.arguments, llvm::seq(0u, numArguments));
  llvm::append_range(
      stage.results,
      llvm::seq(numArguments, numArguments + kernel.getNumResults()));
  stage.plan = std::move(plan);
  return stage;
}

/// True if each result of the kernel is computed in it and returned once.
static bool hasOwnResults(tg::KernelOp kernel) {
  llvm::SmallDenseSet<Value> seen;
  return llvm::all_of(
      kernel.getBody().front().getTerminator()->getOperands(),
      [&](Value value) {
        return value.getDefiningOp() && seen.insert(value).second &&
               cast<RankedTensorType>(value.getType()).getNumElements() != 0;
      });
}

/// The kernel, in a module, with linalg operations for its nodes.
static FailureOr<OwningOpRef<ModuleOp>> lowerNodes(tg::KernelOp kernel) {
  OwningOpRef<ModuleOp> lowered = ModuleOp::create(kernel.getLoc());
  lowered->getBody()->push_back(kernel->clone());
  PassManager pm(kernel.getContext());
  pm.addPass(createConvertTGNodesToLinalgPass());
  if (failed(pm.run(*lowered)))
    return failure();
  return lowered;
}

static tg::KernelOp getKernel(ModuleOp module) {
  return *module.getOps<tg::KernelOp>().begin();
}

/// True if a block of the plan has to write many rows one after the other. A
/// block with few rows, or with parts of rows, is quick enough.
static FailureOr<bool> hasLongScatters(const kernel::TilePlan &plan) {
  auto block = lowerNodes(*plan.tile);
  if (failed(block))
    return failure();
  return nvptx::hasLongScatters(getKernel(**block));
}

static FailureOr<KernelStages> planStages(tg::KernelOp kernel,
                                          const kernel::TileLimits &limits,
                                          bool isElastic) {
  kernel::TilePlan nodePlan = kernel::planTiles(kernel, limits);
  // Some nodes can be cut only after they have been lowered to linalg.
  auto lowered = lowerNodes(kernel);
  if (failed(lowered))
    return failure();
  tg::KernelOp loops = getKernel(**lowered);
  bool canDivide = hasOwnResults(loops);
  if (isElastic && !canDivide && hasLongReductions(loops))
    return kernel.emitError()
           << "has a long reduction, which an elastic step divides whatever is "
              "in the kernel beside it, but its results cannot be divided: "
              "each "
              "has to be computed in the kernel and returned once";
  unsigned numDivided = 0;
  if (canDivide) {
    if (hasLongScatters(loops)) {
      FailureOr<bool> isLong = ::hasLongScatters(nodePlan);
      if (failed(isLong))
        return failure();
      if (*isLong)
        numDivided += sortScatters(loops);
    }
    FailureOr<unsigned> split = splitReductions(loops, isElastic);
    if (failed(split))
      return failure();
    numDivided += *split;
  }
  KernelStages found;
  if (numDivided == 0) {
    kernel::TilePlan plan = kernel::planTiles(loops, limits);
    bool isOfNodes = nodePlan.getNumTiles() > plan.getNumTiles();
    int64_t points = 0;
    for (Operation &op : loops.getBody().front().without_terminator())
      points += countSteps(&op);
    if (isOfNodes || !plan.levels.empty() || !canDivide ||
        points < kMinWidePoints) {
      found.stages.push_back(makeWhole(isOfNodes ? kernel : loops,
                                       std::move(isOfNodes ? nodePlan : plan),
                                       limits.bytes));
      if (!isOfNodes)
        found.stages.back().module = std::move(*lowered);
      return found;
    }
  }
  return StagePlanner(loops, limits).plan();
}

/// Appends the stages of a kernel, and returns their number.
static FailureOr<unsigned> appendStages(tg::KernelOp original,
                                        gpu::GPUModuleOp target,
                                        const kernel::TileLimits &limits,
                                        bool isElastic) {
  // Planning copies constants, so it works on a copy of the kernel.
  OwningOpRef<ModuleOp> source = ModuleOp::create(original.getLoc());
  source->push_back(original.clone());
  tg::KernelOp kernel = getKernel(*source);
  FailureOr<KernelStages> planned = planStages(kernel, limits, isElastic);
  if (failed(planned))
    return failure();
  OpBuilder b = OpBuilder::atBlockEnd(target.getBody());
  auto stages = ModuleOp::create(b, kernel.getLoc(), kernel.getSymName());
  stages->setAttr(tg::kSignatureAttrName,
                  TypeAttr::get(kernel.getFunctionType()));
  if (!planned->temporaries.empty())
    stages->setAttr(
        tg::kTemporariesAttrName,
        b.getTypeArrayAttr(SmallVector<Type>(planned->temporaries.begin(),
                                             planned->temporaries.end())));
  for (auto [number, stage] : llvm::enumerate(planned->stages)) {
    b.setInsertionPointToEnd(stages.getBody());
    auto module =
        ModuleOp::create(b, kernel.getLoc(), "stage_" + std::to_string(number));
    b.setInsertionPointToEnd(module.getBody());
    Operation *part = b.clone(*stage.kernel);
    part->setAttr(tg::kTileBytesAttrName, b.getI64IntegerAttr(stage.tileBytes));
    SmallVector<int64_t> buffers(stage.arguments.begin(),
                                 stage.arguments.end());
    buffers.append(stage.results.begin(), stage.results.end());
    part->setAttr(tg::kBuffersAttrName, b.getDenseI64ArrayAttr(buffers));
  }
  return planned->stages.size();
}

/// Name of the module that holds the stages, and then the functions.
static constexpr llvm::StringLiteral kModuleName = "kernels";

namespace {
class DivideStagesPass
    : public nvptx::impl::DivideStagesPassBase<DivideStagesPass> {
public:
  using DivideStagesPassBase::DivideStagesPassBase;

  void runOnOperation() override {
    SmallVector<tg::KernelOp> kernels = nvptx::collectKernels(getOperation());
    if (kernels.empty())
      return;
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    auto target =
        gpu::GPUModuleOp::create(b, getOperation().getLoc(), kModuleName);
    bool hasFailed = false;
    for (tg::KernelOp kernel : kernels) {
      FailureOr<unsigned> appended =
          appendStages(kernel, target, {tileBytes, minPieceBytes}, elastic);
      hasFailed |= failed(appended);
      numStages += succeeded(appended) ? *appended : 0;
    }
    numKernels += kernels.size();
    if (hasFailed)
      signalPassFailure();
  }
};
} // namespace
