//===- ElasticNorm.cpp - The norm of gradients, whatever the ranks --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElasticNorm.h"

#include "OptimizerUpdate.h"

#include "regather/Dialect/TG/IR/Elastic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::tg;
using B = ImplicitLocOpBuilder;

//===----------------------------------------------------------------------===//
// Where gradients lie
//===----------------------------------------------------------------------===//

AxesAttr
regather::tg::getShardedAxes(PlacementAttr placement, MeshOp mesh,
                             llvm::function_ref<bool(StringAttr)> isWanted) {
  llvm::SmallDenseSet<StringAttr> sharded;
  for (AxisPlacementAttr axis : placement.getAxes())
    sharded.insert_range(axis.getAxes().getNames());
  SmallVector<StringAttr> names;
  for (StringAttr name : mesh.getAxes().getNames())
    if (sharded.contains(name) && isWanted(name))
      names.push_back(name);
  return AxesAttr::get(mesh.getContext(), names);
}

/// The rows that ranks of the batch have together of a gradient: all of it, or
/// the part that other axes leave to them.
static int64_t countRows(const LocalGradient &gradient, int64_t ranks) {
  int64_t padded =
      cast<RankedTensorType>(gradient.value.getType()).getDimSize(0) * ranks;
  ArrayRef<int64_t> global = gradient.placement.getGlobalShape();
  // What is cut along one dimension by several axes has equal parts.
  return global.empty() ? padded : std::min(padded, global.front());
}

/// Emits an error if an axis of the batch cuts anything but rows.
static LogicalResult verifyCutsRows(const LocalGradient &gradient,
                                    AxesAttr batchAxes) {
  for (AxisPlacementAttr axis : gradient.placement.getAxes())
    if (axis.getDim() != 0 &&
        llvm::any_of(axis.getAxes().getNames(), [&](StringAttr name) {
          return llvm::is_contained(batchAxes.getNames(), name);
        }))
      return emitError(gradient.value.getLoc())
             << "the norm of gradients of an elastic step is a sum of rows, "
                "but this gradient is cut along another dimension: "
             << gradient.placement;
  return success();
}

/// The axes of the placement that cuts rows over an axis of the batch, from the
/// elastic axis of the model on, if that cuts rows before: ranks then have rows
/// in the order of both.
static AxesAttr getRowAxes(PlacementAttr placement, AxesAttr batchAxes,
                           StringAttr elasticAxis) {
  for (AxisPlacementAttr axis : placement.getAxes()) {
    ArrayRef<StringAttr> names = axis.getAxes().getNames();
    auto *first = llvm::find(names, elasticAxis);
    if (elasticAxis && first != names.end() && axis.getDim() == 0)
      return AxesAttr::get(placement.getContext(),
                           ArrayRef<StringAttr>(first, names.end()));
  }
  return batchAxes;
}

FailureOr<bool> ElasticNorm::take(const LocalGradient &gradient) {
  PlacementAttr placement = gradient.placement;
  if (!placement || placement.getAxes().empty())
    return false;
  MeshOp mesh = lookupMesh(step, placement.getMesh());
  auto isOfModel = [&](StringAttr name) {
    return getModelSegments(step, name).has_value();
  };
  auto isElastic = [&](StringAttr name) {
    return getModelSegments(step, name).value_or(0) != 0;
  };
  AxesAttr batchAxes = getShardedAxes(
      placement, mesh, [&](StringAttr name) { return !isOfModel(name); });
  AxesAttr elasticAxes = getShardedAxes(placement, mesh, isElastic);
  if (batchAxes.getNames().empty() && elasticAxes.getNames().empty())
    return false;
  if (failed(verifyCutsRows(gradient, batchAxes)))
    return failure();
  Group group = {placement.getMesh(),      batchAxes, 1,
                 getElasticSegments(step), nullptr,   nullptr};
  RowGradient row = {gradient, {}, 0};
  // `tg-shard-step` makes one axis elastic.
  if (!elasticAxes.getNames().empty()) {
    group.blockAxis = elasticAxes.getNames().front();
    if (!batchAxes.getNames().empty())
      group.rowAxes = getRowAxes(placement, batchAxes, group.blockAxis);
    if (group.rowAxes != batchAxes) {
      group.segments *= *getModelSegments(step, group.blockAxis);
      group.blockAxis = nullptr;
    }
    for (AxisPlacementAttr axis : placement.getAxes())
      if (llvm::is_contained(axis.getAxes().getNames(), group.blockAxis))
        row.blockDim = axis.getDim();
  }
  group.ranks = mesh.getGroupSize(group.rowAxes);
  group.otherAxes = getShardedAxes(placement, mesh, [&](StringAttr name) {
    return isOfModel(name) && !isElastic(name);
  });
  auto local = cast<RankedTensorType>(gradient.value.getType());
  row.sizes = buildValidSizes(b, placement, local, mesh);
  // Padded rows lie behind all others.
  if (!batchAxes.getNames().empty())
    llvm::erase_if(row.sizes,
                   [](const ValidSize &valid) { return valid.dim == 0; });
  row.rows = countRows(gradient, group.ranks);
  auto &known =
      groups[{group.mesh, group.rowAxes, group.blockAxis, group.otherAxes}];
  known.first = group;
  known.second.push_back(std::move(row));
  return true;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

TreeSums ElasticNorm::getTreeSums() {
  return {b, b.getLoc(), PhaseAttr::get(b.getContext(), Phase::Optimizer),
          StringAttr()};
}

/// Sums squares as a tree over equal segments of all rows of each gradient.
Value ElasticNorm::buildTreeSum(ArrayRef<RowGradient> gradients,
                                const Group &group) {
  int64_t count = group.segments / group.ranks;
  TreeSums sums = getTreeSums();
  Value sum = combineTree<Value>(
      0, count,
      [&](int64_t number) {
        Value squares = zero;
        for (const RowGradient &gradient : gradients) {
          LocalGradient segment = gradient.local;
          segment.value = sums.takeBlock(segment.value, 0, number, count);
          squares = buildSumOfSquares(b, segment, gradient.sizes, squares);
        }
        return squares;
      },
      [&](Value low, Value high) {
        return sums.combine(low, high, Reduction::Sum);
      });
  return sums
      .reduce(sum, Reduction::Sum, group.mesh, group.rowAxes, group.ranks)
      .front();
}

/// The same for gradients that no equal segments make up: ranks cut them in
/// different places, but always between two rows. All ranks have the sums of
/// all rows, and add them in one order. They receive one number for each row.
Value ElasticNorm::buildSumOfAllRows(ArrayRef<RowGradient> gradients,
                                     const Group &group) {
  SmallVector<Value> local;
  SmallVector<Type> types;
  for (const RowGradient &gradient : gradients) {
    local.push_back(buildRowSums(b, gradient.local, gradient.sizes));
    auto type = cast<RankedTensorType>(local.back().getType());
    types.push_back(type.clone({type.getDimSize(0) * group.ranks}));
  }
  SmallVector<Value> rows = local;
  if (group.ranks > 1) {
    MLIRContext *context = b.getContext();
    auto gather = AllGatherOp::create(
        b, FutureType::get(context, types), local, group.mesh, group.rowAxes,
        b.getI64IntegerAttr(0), PhaseAttr::get(context, Phase::Optimizer),
        /*generation=*/nullptr);
    auto wait = WaitOp::create(b, types, gather.getFuture());
    markOptimizer(wait);
    rows.assign(wait->result_begin(), wait->result_end());
  }
  Value sum = zero;
  for (auto [gradient, whole] : llvm::zip_equal(gradients, rows)) {
    auto type = cast<RankedTensorType>(whole.getType());
    // What lies behind the rows is padding, as much as the ranks make.
    Value valid = whole;
    if (gradient.rows != type.getDimSize(0)) {
      valid = tensor::ExtractSliceOp::create(
          b, type.clone({gradient.rows}), whole,
          ArrayRef<OpFoldResult>{b.getIndexAttr(0)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(gradient.rows)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
      markOptimizer(valid.getDefiningOp());
    }
    SmallVector<AffineMap> maps = {b.getMultiDimIdentityMap(1),
                                   AffineMap::get(1, 0, b.getContext())};
    auto generic = linalg::GenericOp::create(
        b, zero.getType(), valid, sum, maps, utils::IteratorType::reduction,
        [&](OpBuilder &builder, Location loc, ValueRange elements) {
          B inner(loc, builder);
          Value total = arith::AddFOp::create(inner, elements[1], elements[0]);
          linalg::YieldOp::create(inner, total);
        });
    markOptimizer(generic, gradient.local.module);
    sum = generic.getResult(0);
  }
  return sum;
}

/// The sum over the rows that ranks share, or of what each of them has whole.
Value ElasticNorm::buildRowSum(ArrayRef<RowGradient> gradients,
                               const Group &group) {
  if (group.rowAxes.getNames().empty()) {
    Value sum = zero;
    for (const RowGradient &gradient : gradients)
      sum = buildSumOfSquares(b, gradient.local, gradient.sizes, sum);
    return sum;
  }
  // Whether equal segments of all rows make a gradient up does not depend on
  // the ranks, as long as they divide the segments.
  SmallVector<RowGradient> even, uneven;
  for (const RowGradient &gradient : gradients)
    (group.segments % group.ranks == 0 && gradient.rows % group.segments == 0
         ? even
         : uneven)
        .push_back(gradient);
  Value sum;
  if (!even.empty())
    sum = buildTreeSum(even, group);
  if (!uneven.empty())
    sum = addScalars(b, sum, buildSumOfAllRows(uneven, group));
  return sum;
}

/// The same for each block that an elastic axis of the model cuts, as a tree
/// over these.
Value ElasticNorm::buildBlockSum(ArrayRef<RowGradient> gradients,
                                 const Group &group) {
  if (!group.blockAxis)
    return buildRowSum(gradients, group);
  auto axes = AxesAttr::get(b.getContext(), group.blockAxis);
  int64_t ranks = lookupMesh(step, group.mesh).getGroupSize(axes);
  int64_t count = *getModelSegments(step, group.blockAxis) / ranks;
  TreeSums sums = getTreeSums();
  Value sum = combineTree<Value>(
      0, count,
      [&](int64_t number) {
        SmallVector<RowGradient> blocks(gradients);
        for (RowGradient &block : blocks)
          block.local.value =
              sums.takeBlock(block.local.value, block.blockDim, number, count);
        return buildRowSum(blocks, group);
      },
      [&](Value low, Value high) {
        return sums.combine(low, high, Reduction::Sum);
      });
  return sums.reduce(sum, Reduction::Sum, group.mesh, axes, ranks).front();
}

Value ElasticNorm::addTo(Value total) {
  for (const auto &[key, entry] : groups) {
    const auto &[group, members] = entry;
    Value sum = buildBlockSum(members, group);
    if (!group.otherAxes.getNames().empty())
      sum = buildAllReduce(b, sum, group.mesh, group.otherAxes);
    total = addScalars(b, total, sum);
  }
  return total;
}
