//===- MatrixProducts.cpp - Contractions as library calls -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

#include <cstring>

using namespace mlir;
using namespace regather::native;

namespace {
/// One loop of a contraction, with the steps in elements that it takes through
/// each tensor; zero in one that does not have it.
struct Loop {
  int64_t size;
  int64_t a, b, c;
};
} // namespace

/// Multiply-adds below which a call of the library costs more than the loops.
/// A loop sums in the order of the program, so that small products have the
/// bits that the interpreter computes.
static constexpr int64_t kSmallestProduct = 32 * 32 * 32 + 1;

/// The argument that `value` is, or is widened from.
static BlockArgument getArgument(Value value) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = extend.getIn();
  return dyn_cast<BlockArgument>(value);
}

/// True if the body adds the product of its inputs to what is there.
static bool isMultiplyAdd(Block &body) {
  auto add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  for (bool swapped : {false, true}) {
    auto sum = dyn_cast<BlockArgument>(swapped ? add.getRhs() : add.getLhs());
    auto product =
        (swapped ? add.getLhs() : add.getRhs()).getDefiningOp<arith::MulFOp>();
    if (!sum || !product || sum.getArgNumber() != 2)
      continue;
    BlockArgument lhs = getArgument(product.getLhs());
    BlockArgument rhs = getArgument(product.getRhs());
    return lhs && rhs && lhs.getArgNumber() + rhs.getArgNumber() == 1;
  }
  return false;
}

/// True if the product takes tensors of these element types.
static bool hasElementTypes(linalg::LinalgOp op) {
  auto getElement = [&](unsigned i) {
    return getElementTypeOrSelf(op->getOperand(i).getType());
  };
  Type a = getElement(0), b = getElement(1);
  return (a.isF32() || a.isBF16()) && a == b && getElement(2).isF32();
}

/// The step of each loop through a contiguous tensor; nothing if a dimension is
/// not a loop, or two are the same one.
static std::optional<SmallVector<int64_t>> getSteps(AffineMap map,
                                                    RankedTensorType type) {
  if (!map.isProjectedPermutation())
    return std::nullopt;
  SmallVector<int64_t> steps(map.getNumDims(), 0);
  int64_t step = 1;
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    steps[map.getDimPosition(d)] = step;
    step *= type.getDimSize(d);
  }
  return steps;
}

/// Merges loops that run through the same tensors like one; from the outermost
/// to the innermost step.
static void mergeLoops(SmallVectorImpl<Loop> &loops) {
  llvm::sort(loops, [](const Loop &x, const Loop &y) {
    return std::tie(x.a, x.b, x.c, x.size) > std::tie(y.a, y.b, y.c, y.size);
  });
  SmallVector<Loop> merged;
  for (const Loop &loop : loops) {
    if (!merged.empty()) {
      Loop &outer = merged.back();
      if (outer.a == loop.a * loop.size && outer.b == loop.b * loop.size &&
          outer.c == loop.c * loop.size) {
        outer = {outer.size * loop.size, loop.a, loop.b, loop.c};
        continue;
      }
    }
    merged.push_back(loop);
  }
  loops = std::move(merged);
}

/// Takes the longest of the loops out; a loop of one step if there is none.
static Loop takeLongest(SmallVectorImpl<Loop> &loops) {
  if (loops.empty())
    return {1, 0, 0, 0};
  auto longest = llvm::max_element(
      loops, [](const Loop &x, const Loop &y) { return x.size < y.size; });
  Loop loop = *longest;
  loops.erase(longest);
  return loop;
}

/// Sorts the loops of a contraction into rows, columns, sum and batch.
static std::optional<rg_gemm_desc> makeDesc(ArrayRef<Loop> loops, bool isBF16) {
  SmallVector<Loop> batch, rows, columns, sum;
  for (const Loop &loop : loops) {
    if (loop.size == 1)
      continue;
    if (!loop.c && (!loop.a || !loop.b))
      return std::nullopt;
    if (!loop.a && !loop.b)
      return std::nullopt;
    (!loop.c            ? sum
     : loop.a && loop.b ? batch
     : loop.a           ? rows
                        : columns)
        .push_back(loop);
  }
  for (SmallVectorImpl<Loop> *kind : {&batch, &rows, &columns, &sum})
    mergeLoops(*kind);
  if (sum.size() > 1)
    return std::nullopt;
  Loop m = takeLongest(rows), n = takeLongest(columns), k = takeLongest(sum);
  llvm::append_range(batch, rows);
  llvm::append_range(batch, columns);
  if (batch.size() > RG_GEMM_MAX_BATCH)
    return std::nullopt;

  rg_gemm_desc desc;
  // Descriptions are compared as bytes, padding included.
  memset(&desc, 0, sizeof(desc));
  desc.input_dtype = isBF16 ? RG_BF16 : RG_F32;
  desc.m = m.size;
  desc.n = n.size;
  desc.k = k.size;
  desc.a_strides[0] = m.a;
  desc.a_strides[1] = k.a;
  desc.b_strides[0] = k.b;
  desc.b_strides[1] = n.b;
  desc.c_strides[0] = m.c;
  desc.c_strides[1] = n.c;
  desc.batch_rank = static_cast<int64_t>(batch.size());
  for (auto [i, loop] : llvm::enumerate(batch)) {
    desc.batch_sizes[i] = loop.size;
    desc.a_batch_strides[i] = loop.a;
    desc.b_batch_strides[i] = loop.b;
    desc.c_batch_strides[i] = loop.c;
  }
  return desc;
}

/// The product with the operands exchanged, which computes the transpose.
static void exchange(MatrixProductMatch &match) {
  rg_gemm_desc &desc = match.desc;
  std::swap(match.a, match.b);
  std::swap(desc.m, desc.n);
  std::swap(desc.a_strides, desc.b_strides);
  std::swap(desc.a_strides[0], desc.a_strides[1]);
  std::swap(desc.b_strides[0], desc.b_strides[1]);
  std::swap(desc.c_strides[0], desc.c_strides[1]);
  std::swap(desc.a_batch_strides, desc.b_batch_strides);
}

/// True if `value` is a tensor of zeros.
static bool isZeroFill(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.getInputs().front(), m_PosZeroFloat());
}

std::optional<MatrixProductMatch>
regather::native::matchMatrixProduct(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumDpsInputs() != 2 ||
      linalgOp.getNumDpsInits() != 1 || op->getNumResults() != 1 ||
      op->getNumOperands() != 3 || !hasElementTypes(linalgOp) ||
      !isMultiplyAdd(*linalgOp.getBlock()))
    return std::nullopt;
  SmallVector<int64_t> sizes = linalgOp.getStaticLoopRanges();
  SmallVector<SmallVector<int64_t>, 3> steps;
  for (auto [map, operand] :
       llvm::zip(linalgOp.getIndexingMapsArray(), op->getOperands())) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !type.hasStaticShape())
      return std::nullopt;
    std::optional<SmallVector<int64_t>> taken = getSteps(map, type);
    if (!taken)
      return std::nullopt;
    steps.push_back(std::move(*taken));
  }
  SmallVector<Loop> loops;
  // In doubles, where no product of sizes overflows.
  double multiplyAdds = 1;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    multiplyAdds *= static_cast<double>(size);
    loops.push_back({size, steps[0][i], steps[1][i], steps[2][i]});
  }
  if (multiplyAdds < kSmallestProduct)
    return std::nullopt;
  bool isBF16 = getElementTypeOrSelf(op->getOperand(0).getType()).isBF16();
  std::optional<rg_gemm_desc> desc = makeDesc(loops, isBF16);
  if (!desc)
    return std::nullopt;
  MatrixProductMatch match = {*desc, op->getOperand(0), op->getOperand(1),
                              op->getOperand(2)};
  if (isZeroFill(match.init))
    match.init = nullptr;
  match.desc.accumulate = match.init != nullptr;
  // The library wants the rows of the result to be contiguous.
  if (match.desc.n > 1 && match.desc.c_strides[1] != 1 &&
      match.desc.c_strides[0] == 1)
    exchange(match);
  return match;
}

bool regather::native::isInitOfProductsOnly(Operation *op) {
  return op->getNumResults() == 1 && isZeroFill(op->getResult(0)) &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           std::optional<MatrixProductMatch> match = matchMatrixProduct(user);
           return match && !match->init && match->a != op->getResult(0) &&
                  match->b != op->getResult(0);
         });
}

unsigned MatrixProductSet::add(const rg_gemm_desc &desc) {
  StringRef key(reinterpret_cast<const char *>(&desc), sizeof(desc));
  auto [it, inserted] = numbers.try_emplace(key, products.size());
  if (inserted) {
    rg_gemm *gemm = nullptr;
    [[maybe_unused]] rg_status status = rg_gemm_create(&desc, &gemm);
    assert(status == RG_OK && "a match gives a valid description");
    products.emplace_back(gemm);
  }
  return it->second;
}
