//===- Histograms.cpp - Expansions that count elements --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace regather::nodes;

/// Counts elements in `bins` bins of equal width from `min` to `max`, both of
/// which belong to them. An element is in the bin that PyTorch's arithmetic
/// gives, in the type of the elements.
static LogicalResult buildHistc(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  int64_t bins = args.getInt("bins", 100);
  double min = args.getFloat("min", 0), max = args.getFloat("max", 0);
  if (args.hasFailed())
    return failure();
  Type element = self.getType().getElementType();
  if (!isa<FloatType>(element) && !element.isInteger(32) &&
      !element.isInteger(64))
    return args.fail("self", "must hold floats or integers");
  if (bins < 1)
    return args.fail("bins", "must be positive, got " + Twine(bins));
  if (!(min < max))
    return args.fail("min", "must be below \"max\": limits that the elements "
                            "decide are not supported");
  if (b.getShape() != ArrayRef(bins))
    return args.fail("gives a tensor with one element for each bin");
  Type compute =
      isa<FloatType>(element) ? getComputeType(element) : Type(b.getF64Type());
  Type index = b.getI64Type();
  int64_t count = self.getType().getNumElements();
  Tensor hits = pointwise(
      b, {bins, count}, index, reshape(b, self, {count}),
      [&](B &b, ValueRange v) -> Value {
        Value value = convertElement(b, v[0], compute);
        Value low = makeConstant(b, compute, min);
        Value high = makeConstant(b, compute, max);
        Value number = makeConstant(b, compute, static_cast<double>(bins));
        Value isInside = mul(b, compare(b, Relation::Ge, value, low),
                             compare(b, Relation::Le, value, high));
        // What lies outside, and NaN, would be no integer.
        value = arith::SelectOp::create(b, isInside, value, low);
        Value place =
            div(b, mul(b, sub(b, value, low), number), sub(b, high, low));
        Value last = makeConstant(b, index, static_cast<double>(bins) - 1);
        Value bin = minimum(b, convertElement(b, place, index), last);
        Value own =
            arith::IndexCastOp::create(b, index, linalg::IndexOp::create(b, 0));
        return arith::ExtUIOp::create(
            b, index, mul(b, isInside, compare(b, Relation::Eq, bin, own)));
      });
  Tensor counts = reshape(b, reduceSum(b, hits, 1), bins);
  return b.finish(convertTensor(b, counts, b.getElement()));
}

void regather::nodes::addHistogramBuilders(BuilderTable &table) {
  table.add(Operator::AtenHistc, buildHistc);
}
