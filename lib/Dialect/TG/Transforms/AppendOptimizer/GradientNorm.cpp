//===- GradientNorm.cpp - Clip gradients by their norm --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Squares are added in f64: one long sum in f32 would lose the small ones, and
// its rounding would depend on how the gradient is sharded.
//
//===----------------------------------------------------------------------===//

#include "GradientNorm.h"

#include "../TreeSums.h"
#include "OptimizerUpdate.h"
#include "ValidSizes.h"

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/Kernels/RowSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace regather::tg;
using B = ImplicitLocOpBuilder;

/// Axes over which a tensor is sharded, in the order of the mesh, so that equal
/// sets are equal.
static AxesAttr getShardedAxes(PlacementAttr placement, MeshOp mesh) {
  llvm::SmallDenseSet<StringAttr> sharded;
  for (AxisPlacementAttr axis : placement.getAxes())
    sharded.insert_range(axis.getAxes().getNames());
  SmallVector<StringAttr> names;
  for (StringAttr name : mesh.getAxes().getNames())
    if (sharded.contains(name))
      names.push_back(name);
  return AxesAttr::get(mesh.getContext(), names);
}

/// Adds to `init`, which has dimensions `kept` of `source`, what `fn` makes of
/// an element.
static Value buildSum(B &b, Value source, Value init, int64_t kept,
                      StringAttr module,
                      llvm::function_ref<Value(B &, Value)> fn) {
  int64_t rank = cast<RankedTensorType>(source.getType()).getRank();
  SmallVector<AffineMap> maps = {
      b.getMultiDimIdentityMap(rank),
      AffineMap::get(rank, 0,
                     llvm::map_to_vector(llvm::seq<unsigned>(0, kept),
                                         [&](unsigned dim) -> AffineExpr {
                                           return b.getAffineDimExpr(dim);
                                         }),
                     b.getContext())};
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::reduction);
  std::fill_n(loops.begin(), kept, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, init.getType(), source, init, maps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        B inner(loc, builder);
        Value total =
            arith::AddFOp::create(inner, elements[1], fn(inner, elements[0]));
        linalg::YieldOp::create(inner, total);
      });
  markOptimizer(generic, module);
  return generic.getResult(0);
}

/// Zeros for the sums of squares of rows.
static Value buildZeros(B &b, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, b.getF64Type());
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF64FloatAttr(0)));
}

/// Adds the squares of the elements that are not padding, which may be
/// anything, to `sum`, those of rows first (`RowSums.h`).
static Value buildSumOfSquares(B &b, const LocalGradient &gradient,
                               ArrayRef<ValidSize> sizes, Value sum) {
  auto square = [&](B &inner, Value element) -> Value {
    Type f64 = inner.getF64Type();
    element = selectValid(inner, sizes, convertFloat(inner, element, f64));
    return arith::MulFOp::create(inner, element, element);
  };
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(gradient.value.getType()).getShape();
  int64_t kept = getNumRowDims(shape);
  if (kept == 0)
    return buildSum(b, gradient.value, sum, 0, gradient.module, square);
  auto asIs = [](B &, Value element) { return element; };
  Value rows =
      buildSum(b, gradient.value, buildZeros(b, shape.take_front(kept)), kept,
               gradient.module, square);
  while (int64_t fewer = getNumRowDims(shape.take_front(kept))) {
    rows = buildSum(b, rows, buildZeros(b, shape.take_front(fewer)), fewer,
                    gradient.module, asIs);
    kept = fewer;
  }
  return buildSum(b, rows, sum, 0, gradient.module, asIs);
}

/// Sums `local` over the ranks of a group.
static Value buildAllReduce(B &b, Value local, FlatSymbolRefAttr mesh,
                            AxesAttr axes) {
  MLIRContext *context = b.getContext();
  auto reduce = AllReduceOp::create(
      b, FutureType::get(context, local.getType()), local, mesh, axes,
      ReductionAttr::get(context, Reduction::Sum), /*accumulate=*/nullptr,
      PhaseAttr::get(context, Phase::Optimizer), /*generation=*/nullptr);
  auto wait = WaitOp::create(b, local.getType(), reduce.getFuture());
  markOptimizer(wait);
  return wait.getResult(0);
}

/// A scalar computation on tensors of rank 0.
static Value buildScalar(B &b, ValueRange inputs, Type type,
                         llvm::function_ref<Value(B &, ValueRange)> fn) {
  Value empty = tensor::EmptyOp::create(b, ArrayRef<int64_t>(), type);
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              AffineMap::get(b.getContext()));
  auto generic = linalg::GenericOp::create(
      b, empty.getType(), inputs, empty, maps, ArrayRef<utils::IteratorType>(),
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        B inner(loc, builder);
        linalg::YieldOp::create(inner, fn(inner, elements.drop_back()));
      });
  markOptimizer(generic);
  return generic.getResult(0);
}

/// True if equal segments of all of `gradient`, whole ones on each rank, make
/// it up. It does not depend on the ranks, as long as they divide the segments.
static bool hasSegments(const LocalGradient &gradient, int64_t segments,
                        int64_t ranks) {
  auto type = cast<RankedTensorType>(gradient.value.getType());
  return segments % ranks == 0 &&
         type.getDimSize(0) % (segments / ranks) == 0 &&
         gradient.placement.getGlobalShape().empty();
}

/// Sums the squares of gradients that are sharded over `axes` as a tree over
/// equal segments of all of each.
static Value buildTreeSum(B &b, ArrayRef<LocalGradient> gradients, Value zero,
                          int64_t segments, FlatSymbolRefAttr mesh,
                          AxesAttr axes, int64_t ranks) {
  int64_t count = segments / ranks;
  TreeSums sums(b, b.getLoc(), PhaseAttr::get(b.getContext(), Phase::Optimizer),
                StringAttr());
  Value sum = combineTree<Value>(
      0, count,
      [&](int64_t number) {
        Value squares = zero;
        for (LocalGradient gradient : gradients) {
          gradient.value = sums.takeBlock(gradient.value, 0, number, count);
          squares = buildSumOfSquares(b, gradient, {}, squares);
        }
        return squares;
      },
      [&](Value low, Value high) {
        return sums.combine(low, high, Reduction::Sum);
      });
  return sums.reduce(sum, Reduction::Sum, mesh, axes, ranks).front();
}

/// The sum of squares of each row of a gradient.
static Value buildRowSums(B &b, const LocalGradient &gradient) {
  auto type = cast<RankedTensorType>(gradient.value.getType());
  return buildSum(b, gradient.value, buildZeros(b, type.getDimSize(0)), 1,
                  gradient.module, [](B &inner, Value element) -> Value {
                    element = convertFloat(inner, element, inner.getF64Type());
                    return arith::MulFOp::create(inner, element, element);
                  });
}

/// The same for gradients that no equal segments make up: ranks cut them in
/// different places, but always between two rows. All ranks have the sums of
/// all rows, and add them in one order. They receive one number for each row.
static Value buildSumOfRows(B &b, ArrayRef<LocalGradient> gradients, Value zero,
                            FlatSymbolRefAttr mesh, AxesAttr axes,
                            int64_t ranks) {
  SmallVector<Value> local;
  SmallVector<Type> types;
  for (const LocalGradient &gradient : gradients) {
    local.push_back(buildRowSums(b, gradient));
    auto type = cast<RankedTensorType>(local.back().getType());
    types.push_back(type.clone({type.getDimSize(0) * ranks}));
  }
  SmallVector<Value> rows = local;
  if (ranks > 1) {
    MLIRContext *context = b.getContext();
    auto gather = AllGatherOp::create(b, FutureType::get(context, types), local,
                                      mesh, axes, b.getI64IntegerAttr(0),
                                      PhaseAttr::get(context, Phase::Optimizer),
                                      /*generation=*/nullptr);
    auto wait = WaitOp::create(b, types, gather.getFuture());
    markOptimizer(wait);
    rows.assign(wait->result_begin(), wait->result_end());
  }
  Value sum = zero;
  for (auto [gradient, whole] : llvm::zip_equal(gradients, rows)) {
    auto type = cast<RankedTensorType>(whole.getType());
    // What lies behind the rows is padding, as much as the ranks make.
    ArrayRef<int64_t> shape = gradient.placement.getGlobalShape();
    int64_t count = shape.empty() ? type.getDimSize(0) : shape.front();
    Value valid = whole;
    if (count != type.getDimSize(0)) {
      valid = tensor::ExtractSliceOp::create(
          b, type.clone({count}), whole,
          ArrayRef<OpFoldResult>{b.getIndexAttr(0)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(count)},
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
    markOptimizer(generic, gradient.module);
    sum = generic.getResult(0);
  }
  return sum;
}

Value regather::tg::buildSquaredNorm(B &b, Operation *from,
                                     ArrayRef<LocalGradient> gradients) {
  int64_t segments = getElasticSegments(from);
  auto type = RankedTensorType::get({}, b.getF64Type());
  Value zero = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF64FloatAttr(0)));
  // The sum of this rank for each set of axes; the mesh is null if there are no
  // axes.
  llvm::MapVector<std::pair<Attribute, Attribute>, Value> sums;
  llvm::MapVector<std::pair<Attribute, Attribute>, SmallVector<LocalGradient>>
      segmented;
  for (const LocalGradient &gradient : gradients) {
    FlatSymbolRefAttr meshName;
    AxesAttr axes;
    SmallVector<ValidSize> sizes;
    if (gradient.placement && !gradient.placement.getAxes().empty()) {
      meshName = gradient.placement.getMesh();
      MeshOp mesh = lookupMesh(from, meshName);
      axes = getShardedAxes(gradient.placement, mesh);
      sizes = buildValidSizes(b, gradient.placement,
                              cast<RankedTensorType>(gradient.value.getType()),
                              mesh);
    }
    if (segments && axes) {
      segmented[{meshName, axes}].push_back(gradient);
      continue;
    }
    Value &sum = sums[{Attribute(meshName), Attribute(axes)}];
    sum = buildSumOfSquares(b, gradient, sizes, sum ? sum : zero);
  }
  Value total;
  auto addToTotal = [&](Value whole) {
    if (!total) {
      total = whole;
      return;
    }
    total =
        buildScalar(b, {total, whole}, b.getF64Type(),
                    [](B &inner, ValueRange terms) -> Value {
                      return arith::AddFOp::create(inner, terms[0], terms[1]);
                    });
  };
  for (auto [group, sum] : sums) {
    auto axes = cast_if_present<AxesAttr>(group.second);
    addToTotal(axes ? buildAllReduce(b, sum,
                                     cast<FlatSymbolRefAttr>(group.first), axes)
                    : sum);
  }
  for (const auto &[group, members] : segmented) {
    auto mesh = cast<FlatSymbolRefAttr>(group.first);
    auto axes = cast<AxesAttr>(group.second);
    int64_t ranks = lookupMesh(from, mesh).getGroupSize(axes);
    SmallVector<LocalGradient> even, uneven;
    for (const LocalGradient &gradient : members)
      if (llvm::any_of(gradient.placement.getAxes(),
                       [](auto axis) { return axis.getDim() != 0; })) {
        emitError(gradient.value.getLoc())
            << "the norm of gradients of an elastic step is a sum of rows, but "
               "this gradient is cut along another dimension: "
            << gradient.placement;
        return nullptr;
      }
    for (const LocalGradient &gradient : members)
      (hasSegments(gradient, segments, ranks) ? even : uneven)
          .push_back(gradient);
    if (!even.empty())
      addToTotal(buildTreeSum(b, even, zero, segments, mesh, axes, ranks));
    if (!uneven.empty())
      addToTotal(buildSumOfRows(b, uneven, zero, mesh, axes, ranks));
  }
  return total;
}

Value regather::tg::buildClipCoefficient(B &b, Value squaredNorm,
                                         double maxNorm, Type type) {
  return buildScalar(
      b, squaredNorm, type, [&](B &inner, ValueRange values) -> Value {
        Type f64 = inner.getF64Type();
        Value norm = math::SqrtOp::create(inner, values[0]);
        Value sum =
            arith::AddFOp::create(inner, norm, makeFloat(inner, f64, 1e-6));
        Value ratio =
            arith::DivFOp::create(inner, makeFloat(inner, f64, maxNorm), sum);
        // NaN stays NaN, so that a broken step does not look like a good one.
        Value clamped =
            arith::MinimumFOp::create(inner, ratio, makeFloat(inner, f64, 1));
        return convertFloat(inner, clamped, type);
      });
}
