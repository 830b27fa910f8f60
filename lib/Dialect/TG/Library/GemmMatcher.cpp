//===- GemmMatcher.cpp - Kernels that are products of matrices ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations are read in program order. Views of the inputs become strides; the
// operations behind the product are kept and then walked from the last to the
// first, which turns the dense output, and what is added on the way, into views
// in the shape of the product:
//
//   output -> transpose^-1 -> C in the shape of the product
//   addend ----------^
//
//===----------------------------------------------------------------------===//

#include "LibrarySteps.h"

#include "regather/Dialect/TG/Library/LibraryCalls.h"

#include <array>
#include <cstring>
#include <vector>

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::library;

/// Multiply-adds below which a call of the library costs more than the loops.
static constexpr double kSmallestProduct = 32 * 32 * 32 + 1;

namespace {
/// One loop of a contraction, with the steps in elements that it takes through
/// A, B, C and the addends; zero in one that does not have it.
struct Loop {
  int64_t size;
  std::array<int64_t, 3 + RG_GEMM_MAX_ADDENDS> steps;
};

class GemmMatcher {
public:
  LibraryMatch<rg_gemm_desc> match(ArrayRef<Operation *> ops, ValueRange inputs,
                                   Value output);

private:
  /// Something behind the product: views of the chain, or a tensor that is
  /// added to it.
  struct ChainItem {
    SmallVector<ViewStep, 2> steps;
    /// Of what is viewed.
    SmallVector<int64_t, 6> shape;
    std::optional<StridedView> addend;
  };

  bool fail(StringRef why) {
    reason = why;
    return false;
  }
  bool readOp(Operation *op);
  bool startChain(Operation *op, ProductReading reading);
  bool addElements(const ElementReading &reading);
  bool addElement(const ElementStep &step);
  bool viewChain(const ViewReading &reading, OpResult result);
  bool finish(ValueRange inputs, Value output);
  bool findLoops(ArrayRef<StridedView> operands, SmallVectorImpl<Loop> &loops);
  bool describeLoops(SmallVectorImpl<Loop> &loops);

  llvm::DenseMap<Value, StridedView> views;
  std::optional<ProductReading> product;
  StridedView lhs, rhs;
  /// What the product has become so far.
  Value chain;
  std::vector<ChainItem> items;
  /// What it was rounded to; null if it was not.
  Type rounded;
  rg_gemm_desc desc;
  StringRef reason;
};
} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static std::optional<int32_t> getDtype(Type type) {
  if (type.isF32())
    return RG_F32;
  if (type.isBF16())
    return RG_BF16;
  if (type.isF16())
    return RG_F16;
  return std::nullopt;
}

bool GemmMatcher::startChain(Operation *op, ProductReading reading) {
  auto left = views.find(reading.lhs), right = views.find(reading.rhs);
  if (left == views.end() || right == views.end())
    return fail("it computes what the product reads");
  lhs = left->second;
  rhs = right->second;
  Type element = getElementTypeOrSelf(reading.lhs);
  if (!getDtype(element) || getElementTypeOrSelf(reading.rhs) != element)
    return fail("the library does not multiply numbers of this type");
  double multiplyAdds = 1;
  for (const ProductLoop &loop : reading.loops)
    multiplyAdds *= static_cast<double>(loop.size);
  if (multiplyAdds < kSmallestProduct)
    return fail("the product is small");
  desc.a.dtype = desc.b.dtype = *getDtype(element);
  chain = op->getResult(0);
  product = std::move(reading);
  return addElements(product->rest);
}

bool GemmMatcher::addElement(const ElementStep &step) {
  bool isFresh = !desc.relu && !rounded;
  switch (step.kind) {
  case ElementStep::Kind::Relu:
    // Rounding keeps signs, so that the order of the two does not matter.
    desc.relu = 1;
    return true;
  case ElementStep::Kind::Scale:
    if (!isFresh || desc.addend_count > 0 || desc.alpha != 1)
      return fail("the library scales the sum of the product only");
    desc.alpha = step.factor;
    return true;
  case ElementStep::Kind::Convert:
    if (!getDtype(step.type))
      return fail("the library does not convert to this type");
    if (rounded && step.type != rounded)
      return fail("it would round less often");
    if (!step.type.isF32())
      rounded = step.type;
    return true;
  case ElementStep::Kind::Add: {
    if (rounded)
      return fail("it would round less often");
    if (!isFresh)
      return fail("the library adds before it drops negative numbers");
    if (desc.addend_count == RG_GEMM_MAX_ADDENDS)
      return fail("the library adds no more tensors");
    auto it = views.find(step.addend);
    if (it == views.end() || !getDtype(getElementTypeOrSelf(step.addend)))
      return fail("the library does not add this");
    ChainItem item;
    item.addend = it->second.apply(step.alignment);
    if (!item.addend)
      return fail(kStrides);
    rg_gemm_operand &operand = desc.addends[desc.addend_count++];
    operand.dtype = *getDtype(getElementTypeOrSelf(step.addend));
    items.push_back(std::move(item));
    return true;
  }
  }
  llvm_unreachable("unknown step");
}

bool GemmMatcher::addElements(const ElementReading &reading) {
  if (!reading.reason.empty())
    return fail(reading.reason);
  return llvm::all_of(
      reading.steps, [&](const ElementStep &step) { return addElement(step); });
}

bool GemmMatcher::viewChain(const ViewReading &reading, OpResult result) {
  ChainItem item;
  item.steps = reading.steps;
  llvm::append_range(item.shape,
                     cast<RankedTensorType>(chain.getType()).getShape());
  items.push_back(std::move(item));
  chain = result;
  return true;
}

bool GemmMatcher::readOp(Operation *op) {
  if (!product)
    if (auto reading = readProduct(op))
      return startChain(op, std::move(*reading));
  for (OpResult result : op->getResults()) {
    std::optional<ViewReading> reading = readView(result);
    if (!reading)
      continue;
    if (chain && reading->operand == chain)
      return op->getNumResults() == 1 ? viewChain(*reading, result)
                                      : fail(kStrides);
    auto it = views.find(reading->operand);
    if (it == views.end())
      return fail(kNoRoutine);
    std::optional<StridedView> view = it->second.apply(reading->steps);
    if (!view)
      return fail(kStrides);
    views[result] = std::move(*view);
  }
  if (llvm::all_of(op->getResults(),
                   [&](Value value) { return views.contains(value); }))
    return true;
  if (isConstantTensor(op))
    return true;
  if (!chain || !llvm::is_contained(op->getOperands(), chain))
    return fail(kNoRoutine);
  if (!addElements(readElements(op, chain)))
    return false;
  chain = op->getResult(0);
  return true;
}

//===----------------------------------------------------------------------===//
// The description
//===----------------------------------------------------------------------===//

/// Merges loops that run through the same tensors like one; from the outermost
/// to the innermost step.
static void mergeLoops(SmallVectorImpl<Loop> &loops) {
  llvm::sort(loops, [](const Loop &x, const Loop &y) {
    return std::tie(x.steps, x.size) > std::tie(y.steps, y.size);
  });
  SmallVector<Loop> merged;
  for (const Loop &loop : loops) {
    if (!merged.empty()) {
      Loop &outer = merged.back();
      bool follows = true;
      for (size_t i = 0; i < loop.steps.size(); ++i)
        follows &= outer.steps[i] == loop.steps[i] * loop.size;
      if (follows) {
        outer = {outer.size * loop.size, loop.steps};
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
    return {1, {}};
  auto longest = llvm::max_element(
      loops, [](const Loop &x, const Loop &y) { return x.size < y.size; });
  Loop loop = *longest;
  loops.erase(longest);
  return loop;
}

/// Sorts the loops of a contraction into rows, columns, sum and batch.
bool GemmMatcher::describeLoops(SmallVectorImpl<Loop> &loops) {
  SmallVector<Loop> batch, rows, columns, sum;
  for (auto [loop, dims] : llvm::zip_equal(loops, product->loops)) {
    if (loop.size == 1)
      continue;
    if ((!dims.result && (!dims.lhs || !dims.rhs)) || (!dims.lhs && !dims.rhs))
      return fail("the library has no such product");
    (!dims.result           ? sum
     : dims.lhs && dims.rhs ? batch
     : dims.lhs             ? rows
                            : columns)
        .push_back(loop);
  }
  for (SmallVectorImpl<Loop> *kind : {&batch, &rows, &columns, &sum})
    mergeLoops(*kind);
  if (sum.size() > 1)
    return fail("the library sums over one dimension");
  Loop m = takeLongest(rows), n = takeLongest(columns), k = takeLongest(sum);
  llvm::append_range(batch, rows);
  llvm::append_range(batch, columns);
  if (batch.size() > RG_GEMM_MAX_BATCH)
    return fail("the batch has too many dimensions");
  desc.m = m.size;
  desc.n = n.size;
  desc.k = k.size;
  desc.batch_rank = static_cast<int64_t>(batch.size());
  rg_gemm_operand *operands[] = {&desc.a, &desc.b, &desc.c, &desc.addends[0],
                                 &desc.addends[1]};
  for (auto [i, operand] : llvm::enumerate(operands)) {
    operand->strides[0] = (i == 1 ? k : m).steps[i];
    operand->strides[1] = (i == 0 ? k : n).steps[i];
    for (auto [dim, loop] : llvm::enumerate(batch)) {
      desc.batch_sizes[dim] = loop.size;
      operand->batch_strides[dim] = loop.steps[i];
    }
  }
  return true;
}

/// The steps of each loop through the tensors; fails if shapes do not fit.
bool GemmMatcher::findLoops(ArrayRef<StridedView> operands,
                            SmallVectorImpl<Loop> &loops) {
  for (const ProductLoop &dims : product->loops) {
    Loop loop = {dims.size, {}};
    for (auto [i, operand] : llvm::enumerate(operands)) {
      std::optional<unsigned> dim = i == 0   ? dims.lhs
                                    : i == 1 ? dims.rhs
                                             : dims.result;
      if (!dim)
        continue;
      if (*dim >= operand.shape.size() || operand.shape[*dim] != dims.size)
        return fail("the shapes do not fit each other");
      loop.steps[i] = operand.strides[*dim];
    }
    loops.push_back(loop);
  }
  return true;
}

bool GemmMatcher::finish(ValueRange inputs, Value output) {
  if (!product)
    return fail("there is no product");
  if (chain != output)
    return fail("another value is the result");
  // From the output back to the product.
  SmallVector<StridedView> results = {StridedView::dense(output)};
  SmallVector<StridedView> addends;
  for (ChainItem &item : llvm::reverse(items)) {
    if (item.addend) {
      addends.insert(addends.begin(), std::move(*item.addend));
      continue;
    }
    for (SmallVectorImpl<StridedView> *list : {&results, &addends})
      for (StridedView &view : *list) {
        std::optional<StridedView> viewed = view.revert(item.steps, item.shape);
        if (!viewed)
          return fail(kStrides);
        view = std::move(*viewed);
      }
  }
  SmallVector<StridedView> operands = {lhs, rhs, results.front()};
  llvm::append_range(operands, addends);
  SmallVector<Loop> loops;
  if (!findLoops(operands, loops) || !describeLoops(loops))
    return false;
  rg_gemm_operand *described[] = {&desc.a, &desc.b, &desc.c, &desc.addends[0],
                                  &desc.addends[1]};
  for (auto [view, operand] : llvm::zip(operands, described)) {
    operand->offset = view.offset;
    auto input = llvm::find(inputs, view.base);
    operand->buffer = static_cast<int32_t>(input - inputs.begin());
  }
  desc.c.dtype = *getDtype(getElementTypeOrSelf(output));
  return true;
}

LibraryMatch<rg_gemm_desc> GemmMatcher::match(ArrayRef<Operation *> ops,
                                              ValueRange inputs, Value output) {
  // Descriptions are compared as bytes, padding included.
  memset(&desc, 0, sizeof(desc));
  desc.alpha = 1;
  auto isTensor = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape();
  };
  if (!llvm::all_of(inputs, isTensor) || !isTensor(output))
    return {std::nullopt, "a shape is dynamic"};
  for (Value input : inputs)
    views.try_emplace(input, StridedView::dense(input));
  for (Operation *op : ops)
    if (!readOp(op))
      return {std::nullopt, reason};
  if (!finish(inputs, output))
    return {std::nullopt, reason};
  return {desc, ""};
}

LibraryMatch<rg_gemm_desc> regather::tg::matchGemm(ArrayRef<Operation *> ops,
                                                   ValueRange inputs,
                                                   Value output) {
  return GemmMatcher().match(ops, inputs, output);
}

std::optional<rg_gemm_desc> regather::tg::matchGemm(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *end = body.getTerminator();
  if (end->getNumOperands() != 1)
    return std::nullopt;
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  return matchGemm(ops, body.getArguments(), end->getOperand(0)).desc;
}

bool regather::tg::isProduct(Operation *op) {
  return readProduct(op).has_value();
}

Value regather::tg::getViewedOperand(OpResult result) {
  std::optional<ViewReading> reading = readView(result);
  return reading ? reading->operand : nullptr;
}
