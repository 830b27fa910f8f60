//===- GradientNorm.cpp - Clip gradients by their norm --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientNorm.h"

#include "ElasticNorm.h"
#include "OptimizerUpdate.h"
#include "ValidSizes.h"

#include "regather/Dialect/TG/IR/Elastic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace regather::tg;
using B = ImplicitLocOpBuilder;

Value regather::tg::buildSquaredNorm(B &b, Operation *from,
                                     ArrayRef<LocalGradient> gradients) {
  auto type = RankedTensorType::get({}, b.getF64Type());
  Value zero = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF64FloatAttr(0)));
  ElasticNorm elastic(b, from, zero);
  // The sum of this rank for each set of axes; the mesh is null if there are no
  // axes.
  llvm::MapVector<std::pair<Attribute, Attribute>, Value> sums;
  for (const LocalGradient &gradient : gradients) {
    if (getElasticSegments(from)) {
      FailureOr<bool> isTaken = elastic.take(gradient);
      if (failed(isTaken))
        return nullptr;
      if (*isTaken)
        continue;
    }
    FlatSymbolRefAttr meshName;
    AxesAttr axes;
    SmallVector<ValidSize> sizes;
    if (gradient.placement && !gradient.placement.getAxes().empty()) {
      meshName = gradient.placement.getMesh();
      MeshOp mesh = lookupMesh(from, meshName);
      axes = getShardedAxes(gradient.placement, mesh,
                            [](StringAttr) { return true; });
      sizes = buildValidSizes(b, gradient.placement,
                              cast<RankedTensorType>(gradient.value.getType()),
                              mesh);
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
  return elastic.addTo(total);
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
