//===- Reductions.cpp - Expansions that reduce dimensions -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::nodes;

static int64_t countElements(Tensor tensor, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= tensor.getType().getDimSize(dim);
  return count;
}

/// `reduced`, whose reduced dimensions have size 1, as a result.
static Tensor giveReduced(NodeBuilder &b, Tensor reduced,
                          ArrayRef<int64_t> dims, bool keepDims) {
  reduced = convertTensor(b, reduced, b.getElement());
  return keepDims ? reduced : dropDims(b, reduced, dims);
}

static LogicalResult finishReduced(NodeBuilder &b, Tensor reduced,
                                   ArrayRef<int64_t> dims, bool keepDims) {
  return b.finish(giveReduced(b, reduced, dims, keepDims));
}

namespace {
/// What reductions along several dimensions have in common.
struct Reduction {
  Tensor self;
  SmallVector<int64_t> dims;
  bool keepDims;
};
} // namespace

/// Fails, too, if an argument that was read before does not fit.
static FailureOr<Reduction> readReduction(NodeArguments &args) {
  Tensor self = args.getTensor("self");
  bool keepDims = args.getBool("keepdim", false);
  if (args.hasFailed())
    return failure();
  SmallVector<int64_t> dims =
      args.getReducedDims("dim", self.getType().getRank());
  if (args.hasFailed())
    return failure();
  return Reduction{self, dims, keepDims};
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

static LogicalResult buildSum(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Reduction> reduction = readReduction(args);
  if (failed(reduction))
    return failure();
  auto &[self, dims, keepDims] = *reduction;
  Tensor sum = reduceSum(b, self, dims, getComputeType(b.getElement()));
  return finishReduced(b, sum, dims, keepDims);
}

/// The mean along `dims`, in the compute type.
static Tensor makeMean(B &b, Tensor tensor, ArrayRef<int64_t> dims,
                       Type compute) {
  Tensor sum = reduceSum(b, tensor, dims, compute);
  auto count = static_cast<double>(countElements(tensor, dims));
  return pointwise(b, sum.getType().getShape(), compute, sum,
                   [&](B &b, ValueRange v) {
                     return div(b, v[0], makeConstant(b, compute, count));
                   });
}

static LogicalResult buildMean(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Reduction> reduction = readReduction(args);
  if (failed(reduction))
    return failure();
  auto &[self, dims, keepDims] = *reduction;
  Type compute = getComputeType(b.getElement());
  if (!isa<FloatType>(compute))
    return args.fail("expects a result that is a float");
  return finishReduced(b, makeMean(b, self, dims, compute), dims, keepDims);
}

/// Sum of squared distances from the mean over count - correction. The second
/// result, if there is one, is the mean.
template <bool GivesMean>
static LogicalResult buildVar(NodeArguments &args, NodeBuilder &b) {
  double correction = args.getFloat("correction", 1);
  FailureOr<Reduction> reduction = readReduction(args);
  if (failed(reduction))
    return failure();
  auto &[self, dims, keepDims] = *reduction;
  Type compute = getComputeType(b.getElement());
  if (!isa<FloatType>(compute))
    return args.fail("expects floats");
  Tensor mean = makeMean(b, self, dims, compute);
  ArrayRef<int64_t> shape = self.getType().getShape();
  Tensor squares =
      pointwise(b, shape, compute, {self, mean}, [&](B &b, ValueRange v) {
        Value distance = sub(b, convertElement(b, v[0], compute), v[1]);
        return mul(b, distance, distance);
      });
  Tensor sum = reduceSum(b, squares, dims, compute);
  double divisor = std::max(
      0.0, static_cast<double>(countElements(self, dims)) - correction);
  Tensor var = pointwise(
      b, sum.getType().getShape(), compute, sum, [&](B &b, ValueRange v) {
        return div(b, v[0], makeConstant(b, compute, divisor));
      });
  SmallVector<Value> results = {giveReduced(b, var, dims, keepDims)};
  if (GivesMean)
    results.push_back(giveReduced(b, mean, dims, keepDims));
  return b.finish(results);
}

static LogicalResult buildProduct(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Reduction> reduction = readReduction(args);
  if (failed(reduction))
    return failure();
  auto &[self, dims, keepDims] = *reduction;
  Type compute = getComputeType(b.getElement());
  Tensor product =
      reduce(b, self, dims, makeNumber(compute, 1.0),
             [](B &b, ValueRange v) { return mul(b, v[0], v[1]); });
  return finishReduced(b, product, dims, keepDims);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// A magnitude to the power of `exponent`; the common ones without a general
/// power.
static Value makePower(B &b, Value magnitude, double exponent) {
  if (exponent == 1)
    return magnitude;
  if (exponent == 2)
    return mul(b, magnitude, magnitude);
  if (exponent == 0.5)
    return math::SqrtOp::create(b, magnitude);
  return math::PowFOp::create(b, magnitude,
                              makeConstant(b, magnitude.getType(), exponent));
}

/// The sum of |x| to the power of `order`, to the power of 1 / order.
static Tensor makePowerNorm(B &b, Tensor tensor, ArrayRef<int64_t> dims,
                            double order, Type compute) {
  Tensor powers = pointwise(
      b, tensor.getType().getShape(), compute, tensor, [&](B &b, ValueRange v) {
        Value x = convertElement(b, v[0], compute);
        return makePower(b, math::AbsFOp::create(b, x), order);
      });
  Tensor sum = reduceSum(b, powers, dims, compute);
  return pointwise(
      b, sum.getType().getShape(), compute, sum,
      [&](B &b, ValueRange v) { return makePower(b, v[0], 1 / order); });
}

static LogicalResult buildVectorNorm(NodeArguments &args, NodeBuilder &b) {
  double order = args.getFloat("ord", 2.0);
  FailureOr<Reduction> reduction = readReduction(args);
  if (failed(reduction))
    return failure();
  auto &[self, dims, keepDims] = *reduction;
  Type compute = getComputeType(b.getElement());
  if (!isa<FloatType>(compute))
    return args.fail("expects floats");
  if (order != 0 && !std::isinf(order))
    return finishReduced(b, makePowerNorm(b, self, dims, order, compute), dims,
                         keepDims);
  // The orders 0, inf and -inf are limits: the number of elements that are not
  // zero, the largest and the smallest magnitude.
  Tensor values = pointwise(b, self.getType().getShape(), compute, self,
                            [&](B &b, ValueRange v) -> Value {
                              Value x = convertElement(b, v[0], compute);
                              if (order != 0)
                                return math::AbsFOp::create(b, x);
                              return compare(b, Relation::Ne, x,
                                             makeConstant(b, compute, 0.0));
                            });
  if (order < 0 && countElements(self, dims) == 0)
    return args.fail("self", "has no elements to choose from");
  Tensor norm;
  if (order == 0)
    norm = reduceSum(b, values, dims, compute);
  else if (order < 0)
    norm = reduce(b, values, dims, makeHighest(compute),
                  [](B &b, ValueRange v) { return minimum(b, v[0], v[1]); });
  else
    norm = reduce(b, values, dims, makeNumber(compute, 0.0),
                  [](B &b, ValueRange v) { return maximum(b, v[0], v[1]); });
  return finishReduced(b, norm, dims, keepDims);
}

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

using CombineFn = Value (*)(B &, Value, Value);

template <CombineFn Combine, TypedAttr (*MakeInit)(Type)>
static LogicalResult buildExtreme(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Reduction> reduction = readReduction(args);
  if (failed(reduction))
    return failure();
  auto &[self, dims, keepDims] = *reduction;
  if (countElements(self, dims) == 0)
    return args.fail("self", "has no elements to choose from");
  Tensor extreme =
      reduce(b, self, dims, MakeInit(self.getType().getElementType()),
             [](B &b, ValueRange v) { return Combine(b, v[0], v[1]); });
  return finishReduced(b, extreme, dims, keepDims);
}

static LogicalResult buildAny(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Reduction> reduction = readReduction(args);
  if (failed(reduction))
    return failure();
  auto &[self, dims, keepDims] = *reduction;
  Tensor any = reduce(b, self, dims, makeNumber(b.getI1Type(), 0.0),
                      [](B &b, ValueRange v) { return add(b, v[0], v[1]); });
  return finishReduced(b, any, dims, keepDims);
}

/// A scalar as one dimension, so that there is one to reduce.
static Tensor giveDimension(B &b, Tensor tensor) {
  return tensor.getType().getRank() == 0 ? reshape(b, tensor, {1}) : tensor;
}

template <Relation R>
static LogicalResult buildExtremeDim(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  bool keepDims = args.getBool("keepdim", false);
  if (args.hasFailed())
    return failure();
  int64_t rank = self.getType().getRank();
  int64_t dim = args.getDim("dim", rank);
  if (args.hasFailed())
    return failure();
  self = giveDimension(b, self);
  if (self.getType().getDimSize(dim) == 0)
    return args.fail("self", "has no elements to choose from");
  auto [values, positions] = reduceArgExtreme(b, self, dim, R);
  if (!keepDims || rank == 0) {
    values = dropDims(b, values, dim);
    positions = dropDims(b, positions, dim);
  }
  return b.finish({values, positions});
}

template <Relation R>
static LogicalResult buildArgExtreme(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  bool keepDims = args.getBool("keepdim", false);
  if (args.hasFailed())
    return failure();
  RankedTensorType type = self.getType();
  bool isFlat = !args.has("dim") || type.getRank() == 0;
  int64_t dim = isFlat ? 0 : args.getDim("dim", type.getRank());
  if (args.hasFailed())
    return failure();
  if (isFlat)
    self = reshape(b, self, {type.getNumElements()});
  if (self.getType().getDimSize(dim) == 0)
    return args.fail("self", "has no elements to choose from");
  Tensor positions = reduceArgExtreme(b, self, dim, R).second;
  SmallVector<int64_t> shape(self.getType().getShape());
  if (isFlat)
    shape.assign(keepDims ? type.getRank() : 0, 1);
  else if (keepDims)
    shape[dim] = 1;
  else
    shape.erase(shape.begin() + dim);
  return b.finish(reshape(b, positions, shape));
}

void regather::nodes::addReductionBuilders(BuilderTable &table) {
  table.add(Operator::AtenAmax, buildExtreme<maximum, makeLowest>);
  table.add(Target::AtenMaxDefault, buildExtreme<maximum, makeLowest>);
  table.add(Operator::AtenAmin, buildExtreme<minimum, makeHighest>);
  table.add(Target::AtenMinDefault, buildExtreme<minimum, makeHighest>);
  table.add(Operator::AtenAny, buildAny);
  table.add(Operator::AtenArgmax, buildArgExtreme<Relation::Gt>);
  table.add(Operator::AtenArgmin, buildArgExtreme<Relation::Lt>);
  table.add(Operator::AtenLinalgVectorNorm, buildVectorNorm);
  table.add(Target::AtenMaxDim, buildExtremeDim<Relation::Gt>);
  table.add(Operator::AtenMean, buildMean);
  table.add(Target::AtenMinDim, buildExtremeDim<Relation::Lt>);
  table.add(Operator::AtenProd, buildProduct);
  table.add(Operator::AtenSum, buildSum);
  table.add(Operator::AtenVar, buildVar<false>);
  table.add(Operator::AtenVarMean, buildVar<true>);
}
