//===- RecordPlacements.cpp - Shardings at the boundary of functions ------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardGrids.h"

#include "regather/Conversion/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather {
#define GEN_PASS_DEF_SHARDRECORDPLACEMENTSPASS
#include "regather/Conversion/Passes.h.inc"
} // namespace regather

#define DEBUG_TYPE "shard-record-placements"

using namespace mlir;
using namespace regather;
using namespace regather::shardtotg;

/// True for what shard-partition cuts; scalars stay as they are.
static bool isPartitioned(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() > 0;
}

/// Upstream verifies that axes are not negative and occur once.
static LogicalResult checkAxes(shard::ShardOp annotation, shard::GridOp grid,
                               const shard::Sharding &sharding) {
  for (shard::GridAxesAttr split : sharding.getSplitAxes())
    for (shard::GridAxis axis : split.asArrayRef()) {
      if (axis >= grid.getRank()) {
        InFlightDiagnostic diag = annotation.emitOpError()
                                  << "splits along axis " << axis
                                  << ", but the grid has " << grid.getRank()
                                  << " axes";
        diag.attachNote(grid.getLoc()) << "grid declared here";
        return diag;
      }
    }
  return success();
}

/// The placement that a sharding stands for, with default axis names.
static FailureOr<tg::PlacementAttr>
getPlacement(shard::ShardOp annotation, SymbolTableCollection &tables) {
  if (!annotation.getSharding().getDefiningOp<shard::ShardingOp>())
    return annotation.emitOpError()
           << "must get its sharding from a 'shard.sharding'";
  shard::Sharding sharding(annotation.getSharding());
  auto type = cast<RankedTensorType>(annotation.getSrc().getType());
  shard::GridOp grid = shard::getGrid(annotation, tables);
  if (!sharding.getStaticHaloSizes().empty())
    return annotation.emitOpError() << "has halos, which a placement has not";
  if (!sharding.getStaticShardedDimsOffsets().empty())
    return annotation.emitOpError()
           << "has shards of given sizes, but a placement has equal ones";
  if (failed(checkAxes(annotation, grid, sharding)))
    return failure();
  AxisNames names(annotation.getContext());
  SmallVector<tg::AxisPlacementAttr> axes;
  for (auto [dim, split] : llvm::enumerate(sharding.getSplitAxes())) {
    if (split.empty())
      continue;
    if (static_cast<int64_t>(dim) >= type.getRank())
      return annotation.emitOpError()
             << "splits dimension " << dim << ", but the tensor is " << type;
    int64_t size = type.getDimSize(dim);
    int64_t ranks = getGroupSize(grid, split.asArrayRef());
    if (ShapedType::isDynamic(size) || ranks < 1 || size % ranks != 0) {
      InFlightDiagnostic diag = annotation.emitOpError()
                                << "must split dimension " << dim << " of "
                                << type << " into equal parts";
      diag.attachNote(grid.getLoc()) << "grid declared here";
      return diag;
    }
    axes.push_back(tg::AxisPlacementAttr::get(
        annotation.getContext(), names.getAxes(split.asArrayRef()),
        tg::PlacementKind::Shard, dim, tg::Reduction::Sum));
  }
  auto emit = [&]() { return annotation.emitOpError(); };
  auto placement = tg::PlacementAttr::getChecked(
      emit, annotation.getContext(), sharding.getGridAttr(),
      ArrayRef<tg::AxisPlacementAttr>(axes), ArrayRef<int64_t>());
  if (!placement)
    return failure();
  return placement;
}

/// The annotation of an argument: that of its value, not those for users.
static FailureOr<shard::ShardOp> findAnnotation(FunctionOpInterface func,
                                                BlockArgument argument) {
  if (argument.hasOneUse())
    if (auto annotation = dyn_cast<shard::ShardOp>(*argument.user_begin()))
      return annotation;
  InFlightDiagnostic diag = func.emitError()
                            << "argument " << argument.getArgNumber()
                            << " must be used once, by a 'shard.shard'; run "
                               "--sharding-propagation first";
  for (Operation *user : argument.getUsers())
    diag.attachNote(user->getLoc()) << "used here";
  return diag;
}

namespace {
/// Null where there is none.
struct FunctionPlacements {
  FunctionOpInterface func;
  SmallVector<tg::PlacementAttr> arguments, results;
};

/// Reads the placements of all functions, without changing anything.
class PlacementRecorder {
public:
  LogicalResult visit(FunctionOpInterface func) {
    placements.push_back(
        {func, SmallVector<tg::PlacementAttr>(func.getNumArguments()),
         SmallVector<tg::PlacementAttr>(func.getNumResults())});
    bool failed = recordArguments(func).failed();
    return failure(recordResults(func).failed() || failed);
  }

  SmallVector<FunctionPlacements> placements;

private:
  LogicalResult recordArguments(FunctionOpInterface func);
  LogicalResult recordResults(FunctionOpInterface func);

  SymbolTableCollection tables;
};

struct ShardRecordPlacementsPass
    : regather::impl::ShardRecordPlacementsPassBase<ShardRecordPlacementsPass> {
  using ShardRecordPlacementsPassBase::ShardRecordPlacementsPassBase;

  void runOnOperation() override {
    PlacementRecorder recorder;
    bool failed = false;
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (!func.isExternal())
        failed |= recorder.visit(func).failed();
    if (failed)
      return signalPassFailure();
    for (const FunctionPlacements &placements : recorder.placements)
      write(placements);
  }

private:
  void write(FunctionPlacements placements);
};
} // namespace

/// All attributes at once: each change of one builds the list of all anew.
void ShardRecordPlacementsPass::write(FunctionPlacements placements) {
  FunctionOpInterface func = placements.func;
  auto writeAll = [&](SmallVectorImpl<DictionaryAttr> &all,
                      ArrayRef<tg::PlacementAttr> planned) {
    for (auto [attrs, placement] : llvm::zip_equal(all, planned)) {
      if (!placement)
        continue;
      NamedAttrList list(attrs);
      list.set(tg::kPlannedPlacementAttrName, placement);
      attrs = list.getDictionary(func.getContext());
      ++numRecorded;
    }
  };
  SmallVector<DictionaryAttr> arguments, results;
  func.getAllArgAttrs(arguments);
  func.getAllResultAttrs(results);
  writeAll(arguments, placements.arguments);
  writeAll(results, placements.results);
  func.setAllArgAttrs(arguments);
  func.setAllResultAttrs(results);
}

LogicalResult PlacementRecorder::recordArguments(FunctionOpInterface func) {
  bool failed = false;
  for (BlockArgument argument : func.getArguments()) {
    if (!isPartitioned(argument.getType()))
      continue;
    FailureOr<tg::PlacementAttr> placement = failure();
    if (auto annotation = findAnnotation(func, argument); succeeded(annotation))
      placement = getPlacement(*annotation, tables);
    failed |= mlir::failed(placement);
    if (succeeded(placement))
      placements.back().arguments[argument.getArgNumber()] = *placement;
  }
  return failure(failed);
}

/// All returns must place a result alike.
LogicalResult PlacementRecorder::recordResults(FunctionOpInterface func) {
  bool failed = false;
  MutableArrayRef<tg::PlacementAttr> found = placements.back().results;
  for (Block &block : func.getFunctionBody()) {
    Operation *terminator = block.getTerminator();
    if (!terminator->hasTrait<OpTrait::ReturnLike>())
      continue;
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      if (!isPartitioned(value.getType()))
        continue;
      auto annotation = value.getDefiningOp<shard::ShardOp>();
      FailureOr<tg::PlacementAttr> placement = failure();
      if (annotation)
        placement = getPlacement(annotation, tables);
      else
        terminator->emitOpError()
            << "operand " << index
            << " must be the result of a 'shard.shard'; run "
               "--sharding-propagation first";
      if (mlir::failed(placement)) {
        failed = true;
      } else if (!found[index]) {
        found[index] = *placement;
      } else if (found[index] != *placement) {
        failed = true;
        terminator->emitOpError()
            << "operand " << index << " is placed as " << *placement
            << ", but another return places it as " << found[index];
      }
    }
  }
  return failure(failed);
}
