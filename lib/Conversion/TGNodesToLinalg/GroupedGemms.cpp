//===- GroupedGemms.cpp - Expansions of grouped GEMMs ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The three products of GroupedGemmArguments.h as contractions. In those with
// w, the group of a row chooses the matrix; in the gradient of w, each matrix
// sums over all rows, of which those of other groups count as zero. Libraries
// compute all but small ones (GroupedGemmMatcher.cpp).
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "regather/Dialect/TG/Nodes/GroupedGemmArguments.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace regather::nodes;

static Tensor swapLastDims(B &b, Tensor tensor) {
  auto order =
      llvm::to_vector(llvm::seq<int64_t>(0, tensor.getType().getRank()));
  std::swap(order[order.size() - 2], order.back());
  return transpose(b, tensor, order);
}

static Tensor read(B &b, const GroupedOperand &operand) {
  return operand.isTransposed ? swapLastDims(b, operand.tensor)
                              : operand.tensor;
}

/// The group of each row: the first whose end lies behind it, or the number of
/// groups if there is none.
static Tensor makeGroups(B &b, const GroupedGemm &gemm) {
  Type index = b.getI64Type();
  Tensor candidates = pointwise(
      b, {gemm.rows, gemm.groups}, index, gemm.ends,
      [&](B &b, ValueRange v) -> Value {
        auto getPosition = [&](uint64_t dim) -> Value {
          return arith::IndexCastOp::create(b, index,
                                            linalg::IndexOp::create(b, dim));
        };
        Value end = convertElement(b, v[0], index);
        Value none = makeConstant(b, index, static_cast<double>(gemm.groups));
        return arith::SelectOp::create(
            b, compare(b, Relation::Lt, getPosition(0), end), getPosition(1),
            none);
      });
  Tensor first =
      reduce(b, candidates, 1, makeNumber(index, gemm.groups),
             [](B &b, ValueRange v) { return minimum(b, v[0], v[1]); });
  return reshape(b, first, {gemm.rows});
}

/// Computes one term of a sum from the elements of both operands and the group
/// of the row.
using TermFn = llvm::function_ref<Value(B &, ValueRange)>;

/// Sums terms over the last of the loops, in the compute type. Lists name the
/// loops of the dimensions of each operand.
static Tensor sumTerms(B &b, ArrayRef<Tensor> operands,
                       ArrayRef<SmallVector<unsigned>> loops,
                       ArrayRef<int64_t> sizes, Type compute, TermFn term) {
  auto rank = static_cast<unsigned>(sizes.size());
  SmallVector<AffineMap> maps;
  for (ArrayRef<unsigned> own : loops)
    maps.push_back(
        AffineMap::getMultiDimMapWithTargets(rank, own, b.getContext()));
  maps.push_back(AffineMap::getMultiDimIdentityMap(rank, b.getContext())
                     .dropResult(rank - 1));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  Value zero = fill(b, sizes.drop_back(), makeNumber(compute, 0.0));
  SmallVector<Value> inputs(operands.begin(), operands.end());
  auto generic = linalg::GenericOp::create(
      b, zero.getType(), inputs, zero, maps, iterators,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        B inner(loc, builder);
        Value value = term(inner, elements.drop_back());
        linalg::YieldOp::create(inner, add(inner, elements.back(), value));
      });
  return cast<Tensor>(generic.getResult(0));
}

/// Rows of `x`, [rows, K], by the matrices `w`, [groups, K, N].
static Tensor multiplyRows(B &b, const GroupedGemm &gemm, Tensor groups,
                           Tensor x, Tensor w, Type element) {
  Type compute = getComputeType(element);
  int64_t depth = w.getType().getDimSize(1), width = w.getType().getDimSize(2);
  Tensor sums =
      sumTerms(b, {x, groups}, {{0, 2}, {0}}, {gemm.rows, width, depth},
               compute, [&](B &b, ValueRange v) -> Value {
                 // Rows of no group read the last matrix, and are replaced
                 // below.
                 Value last = makeConstant(
                     b, b.getI64Type(), static_cast<double>(gemm.groups) - 1);
                 Value group = arith::IndexCastOp::create(
                     b, b.getIndexType(), minimum(b, v[1], last));
                 Value factor = tensor::ExtractOp::create(
                     b, w,
                     ValueRange{group, linalg::IndexOp::create(b, 2),
                                linalg::IndexOp::create(b, 1)});
                 return mul(b, convertElement(b, v[0], compute),
                            convertElement(b, factor, compute));
               });
  double rest =
      gemm.fillsZeros ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  return pointwise(
      b, {gemm.rows, width}, element,
      {sums, reshape(b, groups, {gemm.rows, 1})},
      [&](B &b, ValueRange v) -> Value {
        Value count =
            makeConstant(b, b.getI64Type(), static_cast<double>(gemm.groups));
        return arith::SelectOp::create(b, compare(b, Relation::Lt, v[1], count),
                                       v[0], makeConstant(b, compute, rest));
      });
}

/// The gradient of w.
static Tensor multiplyGroups(B &b, const GroupedGemm &gemm, Tensor groups,
                             Tensor x, Tensor y, Type element) {
  Type compute = getComputeType(element);
  Tensor sums = sumTerms(
      b, {x, y, groups}, {{3, 1}, {3, 2}, {3}},
      {gemm.groups, gemm.inner, gemm.outer, gemm.rows}, compute,
      [&](B &b, ValueRange v) -> Value {
        Value group = arith::IndexCastOp::create(b, b.getI64Type(),
                                                 linalg::IndexOp::create(b, 0));
        Value product = mul(b, convertElement(b, v[0], compute),
                            convertElement(b, v[1], compute));
        return arith::SelectOp::create(b, compare(b, Relation::Eq, v[2], group),
                                       product, makeConstant(b, compute, 0.0));
      });
  return convertTensor(b, sums, element);
}

static LogicalResult buildGroupedGemm(NodeArguments &args, NodeBuilder &b) {
  FailureOr<GroupedGemm> gemm = readGroupedGemm(args);
  if (failed(gemm))
    return failure();
  Tensor groups = makeGroups(b, *gemm);
  SmallVector<Value> results(args.getNode()->getNumResults());
  auto give = [&](const GroupedResult &result, Tensor tensor) {
    results[result.number] =
        result.isTransposed ? swapLastDims(b, tensor) : tensor;
  };
  if (gemm->toY)
    give(*gemm->toY,
         multiplyRows(b, *gemm, groups, read(b, gemm->x), read(b, gemm->w),
                      b.getElement(gemm->toY->number)));
  if (gemm->toX)
    give(*gemm->toX, multiplyRows(b, *gemm, groups, read(b, gemm->y),
                                  swapLastDims(b, read(b, gemm->w)),
                                  b.getElement(gemm->toX->number)));
  if (gemm->toW)
    give(*gemm->toW,
         multiplyGroups(b, *gemm, groups, read(b, gemm->x), read(b, gemm->y),
                        b.getElement(gemm->toW->number)));
  return b.finish(results);
}

/// PyTorch takes a batch of GEMMs, too.
static LogicalResult buildGroupedMm(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self"), mat2 = args.getTensor("mat2");
  if (args.hasFailed())
    return failure();
  if (self.getType().getRank() != 3 || mat2.getType().getRank() != 3)
    return buildGroupedGemm(args, b);
  if (args.has("offs") || args.has("bias"))
    return args.fail("takes neither \"offs\" nor \"bias\" with two matrices "
                     "of rank 3");
  SmallVector<int64_t> left(self.getType().getShape()),
      right(mat2.getType().getShape()), shape(left);
  shape.back() = right.back();
  right[0] = left[0];
  right[1] = left[2];
  Type element = self.getType().getElementType();
  if (failed(args.expectShape("mat2", mat2, right)))
    return failure();
  if (mat2.getType().getElementType() != element || !isa<FloatType>(element))
    return args.fail("expects matrices with the same type of floats");
  Value zero = fill(b, shape, makeNumber(getComputeType(element), 0.0));
  Value inputs[] = {self, mat2};
  Value product =
      linalg::BatchMatmulOp::create(b, zero.getType(), ValueRange(inputs), zero)
          .getResult(0);
  return b.finish(convertTensor(b, cast<Tensor>(product), b.getElement()));
}

void regather::nodes::addGroupedGemmBuilders(BuilderTable &table) {
  table.add(Operator::AtenGroupedMm, buildGroupedMm);
  table.add({Operator::TransformersGroupedMmFallback,
             Operator::TransformersGroupedMmFallbackBackward},
            buildGroupedGemm);
}
