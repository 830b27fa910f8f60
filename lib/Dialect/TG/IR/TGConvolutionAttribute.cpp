//===- TGConvolutionAttribute.cpp - Convolutions of libraries -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TGLibraryBuffers.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace regather::tg;

/// Checks what windows need in each dimension.
static LogicalResult
verifyWindows(EmitError emitError, ArrayRef<int64_t> extents,
              ArrayRef<int64_t> counts, ArrayRef<int64_t> sizes,
              ArrayRef<int64_t> strides, ArrayRef<int64_t> padding,
              ArrayRef<int64_t> dilation) {
  size_t rank = extents.size();
  if (rank < 1 || rank > ConvolutionAttr::kMaxRank)
    return emitError() << "expects windows of 1 to "
                       << ConvolutionAttr::kMaxRank << " dimensions, got "
                       << rank;
  std::pair<StringRef, ArrayRef<int64_t>> lists[] = {{"counts", counts},
                                                     {"sizes", sizes},
                                                     {"strides", strides},
                                                     {"padding", padding},
                                                     {"dilation", dilation}};
  for (auto [name, values] : lists)
    if (values.size() != rank)
      return emitError() << "expects " << rank << " numbers of '" << name
                         << "', got " << values.size();
  for (auto [name, values] : {lists[1], lists[2], lists[4]})
    for (int64_t value : values)
      if (value < 1)
        return emitError() << "expects positive '" << name << "', got "
                           << value;
  return success(succeeded(verifySizes(emitError, extents)) &&
                 succeeded(verifySizes(emitError, counts)) &&
                 succeeded(verifySizes(emitError, padding)));
}

LogicalResult ConvolutionAttr::verify(
    EmitError emitError, int64_t batch, int64_t groups, int64_t inner,
    int64_t outer, ArrayRef<int64_t> extents, ArrayRef<int64_t> counts,
    ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
    ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool transposed,
    BufferViewAttr x, BufferViewAttr w, BufferViewAttr y, BufferViewAttr bias,
    BufferViewAttr toX, BufferViewAttr toW, BufferViewAttr toY,
    BufferViewAttr toBias) {
  if (failed(verifySizes(emitError, {batch, inner, outer})) ||
      failed(verifyWindows(emitError, extents, counts, sizes, strides, padding,
                           dilation)))
    return failure();
  if (groups < 1)
    return emitError() << "expects at least one group, got " << groups;
  std::tuple<StringRef, BufferViewAttr, StringRef, BufferViewAttr> needs[] = {
      {"to_y", toY, "x", x},
      {"to_y", toY, "w", w},
      {"to_x", toX, "y", y},
      {"to_x", toX, "w", w},
      {"to_w", toW, "x", x},
      {"to_w", toW, "y", y},
      {"to_bias", toBias, transposed ? "x" : "y", transposed ? x : y},
      {"bias", bias, transposed ? "to_x" : "to_y", transposed ? toX : toY}};
  for (auto [name, view, needed, other] : needs)
    if (view && !other)
      return emitError() << "expects '" << needed << "' beside '" << name
                         << "'";
  std::pair<StringRef, BufferViewAttr> views[] = {{"x", x},      {"w", w},
                                                  {"y", y},      {"to_x", toX},
                                                  {"to_w", toW}, {"to_y", toY}};
  for (auto [name, view] : views)
    if (failed(verifyRank(emitError, name, view, 3 + extents.size())))
      return failure();
  return success(succeeded(verifyRank(emitError, "bias", bias, 2)) &&
                 succeeded(verifyRank(emitError, "to_bias", toBias, 2)));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> join(ArrayRef<int64_t> leading,
                                 ArrayRef<int64_t> trailing) {
  SmallVector<int64_t> sizes(leading);
  llvm::append_range(sizes, trailing);
  return sizes;
}

SmallVector<int64_t> ConvolutionAttr::getXShape() const {
  return join({getBatch(), getGroups(), getInner()}, getExtents());
}
SmallVector<int64_t> ConvolutionAttr::getWShape() const {
  return join({getGroups(), getOuter(), getInner()}, getSizes());
}
SmallVector<int64_t> ConvolutionAttr::getYShape() const {
  return join({getBatch(), getGroups(), getOuter()}, getCounts());
}
SmallVector<int64_t> ConvolutionAttr::getBiasShape() const {
  return {getGroups(), getTransposed() ? getInner() : getOuter()};
}

LogicalResult ConvolutionAttr::verifyBuffers(EmitError emitError,
                                             FunctionType type) const {
  SmallVector<int64_t> x = getXShape(), w = getWShape(), y = getYShape(),
                       bias = getBiasShape();
  BufferVerifier verifier(emitError, type);
  if (failed(verifier.verifyRead("x", getX(), x)) ||
      failed(verifier.verifyRead("w", getW(), w)) ||
      failed(verifier.verifyRead("y", getY(), y)) ||
      failed(verifier.verifyRead("bias", getBias(), bias)) ||
      failed(verifier.verifyWritten("to_x", getToX(), x)) ||
      failed(verifier.verifyWritten("to_w", getToW(), w)) ||
      failed(verifier.verifyWritten("to_y", getToY(), y)) ||
      failed(verifier.verifyWritten("to_bias", getToBias(), bias)))
    return failure();
  return verifier.finish();
}
