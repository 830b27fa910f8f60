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

namespace {
/// How many elements of this rank's part along `dim`, from the first on, are
/// not padding. May be negative, or more than there are.
struct ValidSize {
  int64_t dim;
  Value size;
};
} // namespace

/// Axes over which a tensor is sharded, in the order of the mesh, so that equal
/// sets are equal. Of those, only what `isWanted`.
static AxesAttr getShardedAxes(PlacementAttr placement, MeshOp mesh,
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

/// The dimensions along which some rank has padding, which may hold anything.
static SmallVector<ValidSize> buildValidSizes(B &b, PlacementAttr placement,
                                              RankedTensorType local,
                                              MeshOp mesh) {
  SmallVector<ValidSize> sizes;
  if (placement.getGlobalShape().empty())
    return sizes;
  for (AxisPlacementAttr axis : placement.getAxes()) {
    int64_t dim = axis.getDim();
    int64_t shard = local.getDimSize(dim);
    int64_t global = placement.getGlobalShape()[dim];
    if (shard * mesh.getGroupSize(axis.getAxes()) == global)
      continue;
    Value rank = AxisIndexOp::create(b, placement.getMesh(), axis.getAxes());
    Value begin = arith::MulIOp::create(
        b, rank, arith::ConstantIndexOp::create(b, shard));
    Value size = arith::SubIOp::create(
        b, arith::ConstantIndexOp::create(b, global), begin);
    for (Value value : {rank, begin, size})
      markOptimizer(value.getDefiningOp());
    sizes.push_back({dim, size});
  }
  return sizes;
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

/// The square of an element in f64; zero if it is padding.
static Value buildSquare(B &inner, Value element, ArrayRef<ValidSize> sizes) {
  Type f64 = inner.getF64Type();
  element = convertFloat(inner, element, f64);
  for (const ValidSize &valid : sizes) {
    Value position = linalg::IndexOp::create(inner, valid.dim);
    Value isValid = arith::CmpIOp::create(inner, arith::CmpIPredicate::slt,
                                          position, valid.size);
    element = arith::SelectOp::create(inner, isValid, element,
                                      makeFloat(inner, f64, 0));
  }
  return arith::MulFOp::create(inner, element, element);
}

/// Adds the squares of the elements that are not padding to `sum`, those of
/// rows first (`RowSums.h`).
static Value buildSumOfSquares(B &b, const LocalGradient &gradient,
                               ArrayRef<ValidSize> sizes, Value sum) {
  auto square = [&](B &inner, Value element) {
    return buildSquare(inner, element, sizes);
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

/// The sum of two scalars; the second if there is no first one yet.
static Value addScalars(B &b, Value total, Value term) {
  return total ? buildScalar(b, {total, term}, b.getF64Type(),
                             [](B &inner, ValueRange terms) -> Value {
                               return arith::AddFOp::create(inner, terms[0],
                                                            terms[1]);
                             })
               : term;
}

//===----------------------------------------------------------------------===//
// Elastic steps
//===----------------------------------------------------------------------===//

namespace {
/// A gradient of an elastic step, of which the ranks of the batch have rows.
struct RowGradient {
  LocalGradient local;
  /// Of what other axes cut, where some rank has padding.
  SmallVector<ValidSize> sizes;
  /// The rows of all ranks of the batch together.
  int64_t rows;
};

/// Gradients whose squares are summed at once.
struct RowGradients {
  FlatSymbolRefAttr mesh;
  /// The axes of the batch that cut their rows, and the ranks along these.
  AxesAttr batchAxes;
  int64_t ranks;
};
} // namespace

/// The rows that ranks of the batch have together of a gradient: all of it, or
/// the part that other axes leave to them.
static int64_t countRows(const LocalGradient &gradient, int64_t ranks) {
  int64_t padded =
      cast<RankedTensorType>(gradient.value.getType()).getDimSize(0) * ranks;
  ArrayRef<int64_t> global = gradient.placement.getGlobalShape();
  // What is cut along one dimension by several axes has equal parts.
  return global.empty() ? padded : std::min(padded, global.front());
}

/// True if equal segments of all rows, whole ones on each rank, make them up.
/// It does not depend on the ranks, as long as they divide the segments.
static bool hasSegments(const RowGradient &gradient, int64_t segments,
                        int64_t ranks) {
  return segments % ranks == 0 && gradient.rows % segments == 0;
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
                "but "
                "this gradient is cut along another dimension: "
             << gradient.placement;
  return success();
}

/// Sums squares as a tree over equal segments of all rows of each gradient.
static Value buildTreeSum(B &b, ArrayRef<RowGradient> gradients, Value zero,
                          int64_t segments, const RowGradients &group) {
  int64_t count = segments / group.ranks;
  TreeSums sums(b, b.getLoc(), PhaseAttr::get(b.getContext(), Phase::Optimizer),
                StringAttr());
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
      .reduce(sum, Reduction::Sum, group.mesh, group.batchAxes, group.ranks)
      .front();
}

/// The sum of squares of each row of a gradient.
static Value buildRowSums(B &b, const RowGradient &gradient) {
  Value value = gradient.local.value;
  auto type = cast<RankedTensorType>(value.getType());
  return buildSum(b, value, buildZeros(b, type.getDimSize(0)), 1,
                  gradient.local.module, [&](B &inner, Value element) {
                    return buildSquare(inner, element, gradient.sizes);
                  });
}

/// The same for gradients that no equal segments make up: ranks cut them in
/// different places, but always between two rows. All ranks have the sums of
/// all rows, and add them in one order. They receive one number for each row.
static Value buildSumOfRows(B &b, ArrayRef<RowGradient> gradients, Value zero,
                            const RowGradients &group) {
  SmallVector<Value> local;
  SmallVector<Type> types;
  for (const RowGradient &gradient : gradients) {
    local.push_back(buildRowSums(b, gradient));
    auto type = cast<RankedTensorType>(local.back().getType());
    types.push_back(type.clone({type.getDimSize(0) * group.ranks}));
  }
  SmallVector<Value> rows = local;
  if (group.ranks > 1) {
    MLIRContext *context = b.getContext();
    auto gather = AllGatherOp::create(
        b, FutureType::get(context, types), local, group.mesh, group.batchAxes,
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

//===----------------------------------------------------------------------===//
// The norm
//===----------------------------------------------------------------------===//

/// Sums the squares of gradients that ranks of the batch share, of which other
/// axes may have left parts: those of the batch as the elastic step says, and
/// then these over `modelAxes`.
static Value buildElasticSum(B &b, ArrayRef<RowGradient> gradients, Value zero,
                             int64_t segments, const RowGradients &group,
                             AxesAttr modelAxes) {
  SmallVector<RowGradient> even, uneven;
  for (const RowGradient &gradient : gradients)
    (hasSegments(gradient, segments, group.ranks) ? even : uneven)
        .push_back(gradient);
  Value sum;
  if (!even.empty())
    sum = buildTreeSum(b, even, zero, segments, group);
  if (!uneven.empty())
    sum = addScalars(b, sum, buildSumOfRows(b, uneven, zero, group));
  return modelAxes.getNames().empty()
             ? sum
             : buildAllReduce(b, sum, group.mesh, modelAxes);
}

Value regather::tg::buildSquaredNorm(B &b, Operation *from,
                                     ArrayRef<LocalGradient> gradients) {
  int64_t segments = getElasticSegments(from);
  auto type = RankedTensorType::get({}, b.getF64Type());
  Value zero = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF64FloatAttr(0)));
  auto isModelAxis = [&](StringAttr name) {
    return getModelSegments(from, name).has_value();
  };
  // The sum of this rank for each set of axes; the mesh is null if there are no
  // axes.
  llvm::MapVector<std::pair<Attribute, Attribute>, Value> sums;
  // The same, by axes of the batch and others, of what an elastic step has.
  llvm::MapVector<std::tuple<Attribute, Attribute, Attribute>,
                  SmallVector<RowGradient>>
      elastic;
  for (const LocalGradient &gradient : gradients) {
    FlatSymbolRefAttr meshName;
    AxesAttr axes;
    SmallVector<ValidSize> sizes;
    if (gradient.placement && !gradient.placement.getAxes().empty()) {
      meshName = gradient.placement.getMesh();
      MeshOp mesh = lookupMesh(from, meshName);
      auto local = cast<RankedTensorType>(gradient.value.getType());
      axes = getShardedAxes(gradient.placement, mesh,
                            [](StringAttr) { return true; });
      AxesAttr batchAxes =
          getShardedAxes(gradient.placement, mesh,
                         [&](StringAttr name) { return !isModelAxis(name); });
      sizes = buildValidSizes(b, gradient.placement, local, mesh);
      if (segments && !batchAxes.getNames().empty()) {
        if (failed(verifyCutsRows(gradient, batchAxes)))
          return nullptr;
        // Padded rows lie behind all others.
        llvm::erase_if(sizes,
                       [](const ValidSize &valid) { return valid.dim == 0; });
        elastic[{meshName, batchAxes,
                 getShardedAxes(gradient.placement, mesh, isModelAxis)}]
            .push_back({gradient, sizes,
                        countRows(gradient, mesh.getGroupSize(batchAxes))});
        continue;
      }
    }
    Value &sum = sums[{Attribute(meshName), Attribute(axes)}];
    sum = buildSumOfSquares(b, gradient, sizes, sum ? sum : zero);
  }
  Value total;
  for (auto [group, sum] : sums) {
    auto axes = cast_if_present<AxesAttr>(group.second);
    Value whole =
        axes
            ? buildAllReduce(b, sum, cast<FlatSymbolRefAttr>(group.first), axes)
            : sum;
    total = addScalars(b, total, whole);
  }
  for (const auto &[key, members] : elastic) {
    auto [meshName, batchAxes, modelAxes] = key;
    RowGradients group = {cast<FlatSymbolRefAttr>(meshName),
                          cast<AxesAttr>(batchAxes), 1};
    group.ranks = lookupMesh(from, group.mesh).getGroupSize(group.batchAxes);
    total = addScalars(b, total,
                       buildElasticSum(b, members, zero, segments, group,
                                       cast<AxesAttr>(modelAxes)));
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
