//===- SquareSums.cpp - Sums of squares of gradients ----------------------===//
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

#include "SquareSums.h"

#include "OptimizerUpdate.h"

#include "regather/Dialect/TG/Kernels/RowSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::tg;
using B = ImplicitLocOpBuilder;

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

Value regather::tg::buildZeros(B &b, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, b.getF64Type());
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF64FloatAttr(0)));
}

/// The square of an element in f64; zero if it is padding.
static Value buildSquare(B &inner, Value element, ArrayRef<ValidSize> sizes) {
  Type f64 = inner.getF64Type();
  element = selectValid(inner, sizes, convertFloat(inner, element, f64));
  return arith::MulFOp::create(inner, element, element);
}

Value regather::tg::buildSumOfSquares(B &b, const LocalGradient &gradient,
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

Value regather::tg::buildRowSums(B &b, const LocalGradient &gradient,
                                 ArrayRef<ValidSize> sizes) {
  auto type = cast<RankedTensorType>(gradient.value.getType());
  return buildSum(b, gradient.value, buildZeros(b, type.getDimSize(0)), 1,
                  gradient.module, [&](B &inner, Value element) {
                    return buildSquare(inner, element, sizes);
                  });
}

Value regather::tg::buildAllReduce(B &b, Value local, FlatSymbolRefAttr mesh,
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

Value regather::tg::buildScalar(B &b, ValueRange inputs, Type type,
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

Value regather::tg::addScalars(B &b, Value total, Value term) {
  return total ? buildScalar(b, {total, term}, b.getF64Type(),
                             [](B &inner, ValueRange terms) -> Value {
                               return arith::AddFOp::create(inner, terms[0],
                                                            terms[1]);
                             })
               : term;
}
