//===- ValidSizes.cpp - Which elements of a part are not padding ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValidSizes.h"

#include "OptimizerUpdate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace regather::tg;

SmallVector<ValidSize> regather::tg::buildValidSizes(ImplicitLocOpBuilder &b,
                                                     PlacementAttr placement,
                                                     RankedTensorType local,
                                                     MeshOp mesh) {
  SmallVector<ValidSize> sizes;
  if (!placement || placement.getGlobalShape().empty())
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

Value regather::tg::selectValid(ImplicitLocOpBuilder &b,
                                ArrayRef<ValidSize> sizes, Value element) {
  for (const ValidSize &valid : sizes) {
    Value position = linalg::IndexOp::create(b, valid.dim);
    Value isValid = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                          position, valid.size);
    element = arith::SelectOp::create(b, isValid, element,
                                      makeFloat(b, element.getType(), 0));
  }
  return element;
}
