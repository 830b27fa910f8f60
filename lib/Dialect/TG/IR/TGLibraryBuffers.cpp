//===- TGLibraryBuffers.cpp - Buffers of library calls --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TGLibraryBuffers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather::tg;

LogicalResult regather::tg::verifySizes(EmitError emitError,
                                        ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes)
    if (size < 0)
      return emitError() << "expects non-negative sizes, got " << size;
  return success();
}

LogicalResult regather::tg::verifyRank(EmitError emitError, StringRef name,
                                       BufferViewAttr view, size_t rank) {
  if (!view || view.getStrides().size() == rank)
    return success();
  return emitError() << "expects " << rank << " strides of '" << name
                     << "', got " << view.getStrides().size();
}

RankedTensorType BufferVerifier::getTensor(BufferViewAttr view) const {
  auto number = static_cast<size_t>(view.getBuffer());
  size_t numInputs = type.getNumInputs();
  if (number >= numInputs + type.getNumResults())
    return nullptr;
  auto tensor = dyn_cast<RankedTensorType>(
      number < numInputs ? type.getInput(number)
                         : type.getResult(number - numInputs));
  return tensor && tensor.hasStaticShape() ? tensor : nullptr;
}

/// The number of the last element of a view that is not empty; nothing if it
/// does not fit into 64 bits.
static std::optional<int64_t> getLastElement(BufferViewAttr view,
                                             ArrayRef<int64_t> sizes) {
  int64_t last = view.getOffset();
  for (auto [size, stride] : llvm::zip_equal(sizes, view.getStrides())) {
    int64_t extent;
    if (llvm::MulOverflow(size - 1, stride, extent) ||
        llvm::AddOverflow(last, extent, last))
      return std::nullopt;
  }
  return last;
}

LogicalResult BufferVerifier::verifyElement(StringRef name, Type element,
                                            Elements elements) {
  bool isFloat = element.isF32() || element.isBF16() || element.isF16();
  auto fail = [&](StringRef expected) {
    return emitError() << "expects '" << name << "' to hold " << expected
                       << ", got " << element;
  };
  switch (elements) {
  case Elements::F32:
    return element.isF32() ? success() : fail("f32");
  case Elements::Integer:
    return element.isInteger(32) || element.isInteger(64) ? success()
                                                          : fail("i32 or i64");
  case Elements::FloatOrLogical:
    isFloat |= element.isInteger(1);
    break;
  case Elements::Float:
    break;
  }
  return isFloat ? success() : fail("f32, bf16 or f16");
}

LogicalResult BufferVerifier::verifyExtent(StringRef name, BufferViewAttr view,
                                           ArrayRef<int64_t> sizes,
                                           Elements elements) {
  RankedTensorType tensor = getTensor(view);
  if (!tensor)
    return emitError() << "expects '" << name
                       << "' to be a view of a tensor of static shape, got "
                       << "buffer " << view.getBuffer() << " of "
                       << type.getNumInputs() + type.getNumResults();
  if (failed(verifyElement(name, tensor.getElementType(), elements)))
    return failure();
  if (llvm::is_contained(sizes, 0))
    return success();
  std::optional<int64_t> last = getLastElement(view, sizes);
  if (last && *last < tensor.getNumElements())
    return success();
  InFlightDiagnostic diag = emitError()
                            << "expects '" << name << "' within buffer "
                            << view.getBuffer() << ", which has "
                            << tensor.getNumElements() << " elements";
  if (last)
    diag << ", got element " << *last;
  return diag;
}

LogicalResult BufferVerifier::verifyRead(StringRef name, BufferViewAttr view,
                                         ArrayRef<int64_t> sizes,
                                         Elements elements) {
  if (!view)
    return success();
  if (view.getBuffer() >= type.getNumInputs())
    return emitError() << "expects '" << name << "' to be a view of one of "
                       << type.getNumInputs() << " arguments, got buffer "
                       << view.getBuffer();
  return verifyExtent(name, view, sizes, elements);
}

/// True if each stride is at least as long as what the smaller ones span, so
/// that no element occurs twice. Every view without repeated elements that
/// reaches all of a buffer is like this.
static bool hasDistinctElements(BufferViewAttr view, ArrayRef<int64_t> sizes) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : llvm::zip_equal(sizes, view.getStrides()))
    if (size > 1)
      dims.push_back({stride, size});
  llvm::sort(dims);
  int64_t span = 1;
  for (auto [stride, size] : dims) {
    if (stride < span)
      return false;
    // Within the buffer, as verifyExtent has checked.
    span += (size - 1) * stride;
  }
  return true;
}

LogicalResult BufferVerifier::verifyWritten(StringRef name, BufferViewAttr view,
                                            ArrayRef<int64_t> sizes,
                                            Elements elements) {
  if (!view)
    return success();
  int64_t result = view.getBuffer() - type.getNumInputs();
  if (result < 0 || result >= type.getNumResults())
    return emitError() << "expects '" << name << "' to be a view of one of "
                       << type.getNumResults() << " results, got buffer "
                       << view.getBuffer() << " of "
                       << type.getNumInputs() + type.getNumResults();
  if (failed(verifyExtent(name, view, sizes, elements)))
    return failure();
  RankedTensorType tensor = getTensor(view);
  int64_t count = 1;
  bool isCountable = llvm::none_of(sizes, [&](int64_t size) {
    return llvm::MulOverflow(count, size, count);
  });
  if (!isCountable || count != tensor.getNumElements() ||
      (count > 0 && !hasDistinctElements(view, sizes)))
    return emitError() << "expects '" << name << "' to be all of result "
                       << result << ", each element once";
  if (isWritten[result])
    return emitError() << "writes result " << result << " twice";
  isWritten[result] = true;
  return success();
}

LogicalResult BufferVerifier::finish() {
  for (auto [number, written] : llvm::enumerate(isWritten))
    if (!written)
      return emitError() << "does not write result " << number;
  return success();
}
