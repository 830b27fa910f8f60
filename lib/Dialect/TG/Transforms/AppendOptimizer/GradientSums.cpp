//===- GradientSums.cpp - Gradients of several batches --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientSums.h"

#include "OptimizerUpdate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace regather::tg;
using B = ImplicitLocOpBuilder;

linalg::GenericOp regather::tg::buildMeanGradient(B &b, Value gradient,
                                                  Value sum, Value batches) {
  auto tensorType = cast<RankedTensorType>(gradient.getType());
  Type element = tensorType.getElementType();
  Type type = getUpdateType(element);
  AffineMap whole = b.getMultiDimIdentityMap(tensorType.getRank());
  AffineMap scalar = AffineMap::get(tensorType.getRank(), 0, b.getContext());
  SmallVector<AffineMap> maps = {whole, whole, scalar, whole};
  SmallVector<utils::IteratorType> loops(tensorType.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
      b, tensorType, ValueRange{gradient, sum, batches}, gradient, maps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        B inner(loc, builder);
        auto convert = [&](Value value) {
          return convertFloat(inner, value, type);
        };
        Value total = arith::AddFOp::create(inner, convert(elements[1]),
                                            convert(elements[0]));
        Value mean = arith::DivFOp::create(inner, total, convert(elements[2]));
        linalg::YieldOp::create(inner, convertFloat(inner, mean, element));
      });
}
