//===- GemmMatcher.cpp - Kernels that are GEMMs ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations are read in program order. Views of the inputs become strides; the
// operations behind the GEMM are kept and then walked from the last to the
// first, which turns the dense output, and what is added on the way, into views
// in the shape of the GEMM:
//
//   output -> transpose^-1 -> C in the shape of the GEMM
//   addend ----------^
//
// Several GEMMs are one of segments: everything up to the last addition of
// their tree is the GEMM.
//
//===----------------------------------------------------------------------===//

#include "LibraryReadings.h"
#include "RoutineMatcher.h"
#include "SegmentedGemm.h"

#include "regather/Dialect/TG/Library/LibraryCalls.h"

#include <array>
#include <vector>

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::library;

namespace {
/// One loop of a contraction, with the steps in elements that it takes through
/// A, B, C and the addends; zero in one that does not have it.
struct Loop {
  int64_t size;
  std::array<int64_t, 3 + GemmAttr::kMaxAddends> steps;
};

/// The loops of a GEMM by their kind.
struct LoopNest {
  SmallVector<Loop> batch;
  Loop rows, columns, sum;
};

class GemmMatcher {
public:
  /// GEMMs of fewer multiply-adds do not match.
  explicit GemmMatcher(double smallest) : smallest(smallest) {}

  LibraryMatch<GemmAttr> match(ArrayRef<Operation *> ops, ValueRange inputs,
                               Value output);

private:
  /// Something behind the GEMM: views of the chain, or a tensor that is
  /// added to it.
  struct ChainItem {
    SmallVector<ViewTransform, 2> transforms;
    /// Of what is viewed.
    SmallVector<int64_t, 6> shape;
    std::optional<StridedView> addend;
  };

  bool fail(StringRef why) {
    reason = why;
    return false;
  }
  bool readOp(Operation *op);
  bool readOperands(GemmReading started, GemmSegment &operands);
  bool readSegment(Operation *op, GemmReading started);
  bool readSum(Operation *op);
  bool startChain(Value result, GemmSegment started);
  bool addEpilogue(const EpilogueReading &epilogue);
  bool addTransform(const EpilogueTransform &transform);
  bool viewChain(const ViewReading &view, OpResult result);
  bool finish(ValueRange inputs, Value output);
  bool findLoops(ArrayRef<StridedView> operands, SmallVectorImpl<Loop> &loops);
  bool sortLoops(ArrayRef<Loop> loops, LoopNest &nest);

  double smallest;
  llvm::DenseMap<Value, StridedView> views;
  int64_t numGemms = 0;
  /// While not all segments have been added up.
  std::optional<SegmentedGemm> segmented;
  /// What is summed, once all of it is known.
  std::optional<GemmReading> reading;
  StridedView lhs, rhs;
  Type segmentType;
  /// What the result has become so far.
  Value chain;
  std::vector<ChainItem> items;
  /// What it was rounded to; null if it was not.
  Type rounded;
  float alpha = 1;
  bool relu = false;
  int64_t numAddends = 0;
  GemmAttr gemm;
  StringRef reason;
};
} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// True if a library reads and writes numbers of the type.
static bool isKnownFloat(Type type) {
  return type.isF32() || type.isBF16() || type.isF16();
}

/// Finds the views that a GEMM multiplies.
bool GemmMatcher::readOperands(GemmReading started, GemmSegment &operands) {
  auto left = views.find(started.lhs), right = views.find(started.rhs);
  if (left == views.end() || right == views.end())
    return fail("it computes what the GEMM reads");
  Type element = getElementTypeOrSelf(started.lhs);
  if (!isKnownFloat(element) || getElementTypeOrSelf(started.rhs) != element)
    return fail("the library does not multiply numbers of this type");
  operands = {std::move(started), left->second, right->second, nullptr};
  return true;
}

/// `result` is the sum over all that is multiplied.
bool GemmMatcher::startChain(Value result, GemmSegment started) {
  double multiplyAdds = 1;
  for (const GemmLoop &loop : started.reading.loops)
    multiplyAdds *= static_cast<double>(loop.size);
  if (multiplyAdds < smallest)
    return fail("the GEMM is small");
  chain = result;
  lhs = std::move(started.lhs);
  rhs = std::move(started.rhs);
  segmentType = started.rounded;
  reading = std::move(started.reading);
  return addEpilogue(reading->rest);
}

/// Reads a GEMM, the only one or that of a segment.
bool GemmMatcher::readSegment(Operation *op, GemmReading started) {
  GemmSegment segment;
  if (!readOperands(std::move(started), segment))
    return false;
  if (numGemms == 1)
    return startChain(op->getResult(0), std::move(segment));
  if (!segmented)
    segmented.emplace(numGemms);
  StringRef why = segmented->addSegment(op, std::move(segment));
  return why.empty() || fail(why);
}

/// Reads an operation between the GEMMs of segments and their last addition.
bool GemmMatcher::readSum(Operation *op) {
  StringRef why = segmented->addSum(op);
  if (!why.empty())
    return fail(why);
  if (!segmented->getWhole())
    return true;
  GemmSegment joined;
  why = segmented->join(joined);
  if (!why.empty())
    return fail(why);
  segmented.reset();
  return startChain(op->getResult(0), std::move(joined));
}

bool GemmMatcher::addTransform(const EpilogueTransform &transform) {
  bool isFresh = !relu && !rounded;
  switch (transform.kind) {
  case EpilogueTransform::Kind::Relu:
    // Rounding keeps signs, so that the order of the two does not matter.
    relu = true;
    return true;
  case EpilogueTransform::Kind::Scale:
    if (!isFresh || numAddends > 0 || alpha != 1)
      return fail("the library scales the sum of the GEMM only");
    alpha = transform.factor;
    return true;
  case EpilogueTransform::Kind::Convert:
    if (!isKnownFloat(transform.type))
      return fail("the library does not convert to this type");
    if (rounded && transform.type != rounded)
      return fail("it would round less often");
    if (!transform.type.isF32())
      rounded = transform.type;
    return true;
  case EpilogueTransform::Kind::Add: {
    if (rounded)
      return fail("it would round less often");
    if (!isFresh)
      return fail("the library adds before it drops negative numbers");
    if (numAddends == GemmAttr::kMaxAddends)
      return fail("the library adds no more tensors");
    auto it = views.find(transform.addend);
    if (it == views.end() ||
        !isKnownFloat(getElementTypeOrSelf(transform.addend)))
      return fail("the library does not add this");
    ChainItem item;
    item.addend = it->second.apply(transform.alignment);
    if (!item.addend)
      return fail(kStrides);
    ++numAddends;
    items.push_back(std::move(item));
    return true;
  }
  }
  llvm_unreachable("unknown transform");
}

bool GemmMatcher::addEpilogue(const EpilogueReading &epilogue) {
  if (!epilogue.reason.empty())
    return fail(epilogue.reason);
  return llvm::all_of(epilogue.transforms,
                      [&](const EpilogueTransform &transform) {
                        return addTransform(transform);
                      });
}

bool GemmMatcher::viewChain(const ViewReading &view, OpResult result) {
  ChainItem item;
  item.transforms = view.transforms;
  llvm::append_range(item.shape,
                     cast<RankedTensorType>(chain.getType()).getShape());
  items.push_back(std::move(item));
  chain = result;
  return true;
}

bool GemmMatcher::readOp(Operation *op) {
  if (!reading)
    if (auto started = readGemm(op))
      return readSegment(op, std::move(*started));
  if (segmented && segmented->isReadBy(op))
    return readSum(op);
  for (OpResult result : op->getResults()) {
    std::optional<ViewReading> viewed = readView(result);
    if (!viewed)
      continue;
    if (chain && viewed->operand == chain)
      return op->getNumResults() == 1 ? viewChain(*viewed, result)
                                      : fail(kStrides);
    auto it = views.find(viewed->operand);
    if (it == views.end())
      return fail(kNoRoutine);
    std::optional<StridedView> view = it->second.apply(viewed->transforms);
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
  if (!addEpilogue(readEpilogue(op, chain)))
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
bool GemmMatcher::sortLoops(ArrayRef<Loop> loops, LoopNest &nest) {
  SmallVector<Loop> batch, rows, columns, sum;
  for (auto [loop, dims] : llvm::zip_equal(loops, reading->loops)) {
    if (loop.size == 1)
      continue;
    if ((!dims.result && (!dims.lhs || !dims.rhs)) || (!dims.lhs && !dims.rhs))
      return fail("the library has no such GEMM");
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
  nest.rows = takeLongest(rows);
  nest.columns = takeLongest(columns);
  nest.sum = takeLongest(sum);
  llvm::append_range(batch, rows);
  llvm::append_range(batch, columns);
  if (batch.size() > static_cast<size_t>(GemmAttr::kMaxBatchRank))
    return fail("the batch has too many dimensions");
  nest.batch = std::move(batch);
  return true;
}

/// The steps of each loop through the tensors; fails if shapes do not fit.
bool GemmMatcher::findLoops(ArrayRef<StridedView> operands,
                            SmallVectorImpl<Loop> &loops) {
  for (const GemmLoop &dims : reading->loops) {
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

/// Describes the call with operands A, B, C and the addends.
static GemmAttr describe(ArrayRef<StridedView> operands, const LoopNest &nest,
                         bool relu, float alpha, int64_t segments,
                         Type segmentType, ValueRange inputs) {
  MLIRContext *context = operands.front().base.getContext();
  SmallVector<BufferViewAttr> views;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    SmallVector<int64_t> strides;
    for (const Loop &loop : nest.batch)
      strides.push_back(loop.steps[i]);
    strides.push_back((i == 1 ? nest.sum : nest.rows).steps[i]);
    strides.push_back((i == 0 ? nest.sum : nest.columns).steps[i]);
    // The output is no input, and has the number behind theirs.
    auto input = llvm::find(inputs, operand.base);
    views.push_back(BufferViewAttr::get(context, input - inputs.begin(),
                                        operand.offset, strides));
  }
  auto batch = llvm::map_to_vector(nest.batch,
                                   [](const Loop &loop) { return loop.size; });
  return GemmAttr::get(
      context, nest.rows.size, nest.columns.size, nest.sum.size, batch,
      views[0], views[1], views[2], ArrayRef(views).drop_front(3), relu,
      FloatAttr::get(Float32Type::get(context), static_cast<double>(alpha)),
      segments, segmentType);
}

bool GemmMatcher::finish(ValueRange inputs, Value output) {
  if (!reading)
    return fail("there is no GEMM");
  if (chain != output)
    return fail("another value is the result");
  // From the output back to the GEMM.
  SmallVector<StridedView> results = {StridedView::dense(output)};
  SmallVector<StridedView> addends;
  for (ChainItem &item : llvm::reverse(items)) {
    if (item.addend) {
      addends.insert(addends.begin(), std::move(*item.addend));
      continue;
    }
    for (SmallVectorImpl<StridedView> *list : {&results, &addends})
      for (StridedView &view : *list) {
        std::optional<StridedView> viewed =
            view.revert(item.transforms, item.shape);
        if (!viewed)
          return fail(kStrides);
        view = std::move(*viewed);
      }
  }
  SmallVector<StridedView> operands = {lhs, rhs, results.front()};
  llvm::append_range(operands, addends);
  SmallVector<Loop> loops;
  LoopNest nest;
  if (!findLoops(operands, loops) || !sortLoops(loops, nest))
    return false;
  gemm = describe(operands, nest, relu, alpha, numGemms, segmentType, inputs);
  return true;
}

LibraryMatch<GemmAttr> GemmMatcher::match(ArrayRef<Operation *> ops,
                                          ValueRange inputs, Value output) {
  auto isTensor = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape();
  };
  if (!llvm::all_of(inputs, isTensor) || !isTensor(output))
    return {nullptr, "a shape is dynamic"};
  for (Value input : inputs)
    views.try_emplace(input, StridedView::dense(input));
  numGemms = llvm::count_if(
      ops, [](Operation *op) { return readGemm(op).has_value(); });
  for (Operation *op : ops)
    if (!readOp(op))
      return {nullptr, reason};
  if (!finish(inputs, output))
    return {nullptr, reason};
  return {gemm, ""};
}

LibraryMatch<GemmAttr> regather::tg::matchGemm(ArrayRef<Operation *> ops,
                                               ValueRange inputs, Value output,
                                               bool takesSmall) {
  return GemmMatcher(takesSmall ? 0 : kSmallestGemm).match(ops, inputs, output);
}

LibraryMatch<GemmAttr> regather::tg::matchGemm(KernelOp kernel) {
  KernelContents contents(kernel);
  if (contents.outputs.size() != 1)
    return {nullptr, "it has not one result"};
  return GemmMatcher(/*smallest=*/0)
      .match(contents.ops, contents.inputs, contents.outputs.front());
}
