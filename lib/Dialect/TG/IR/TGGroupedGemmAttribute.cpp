//===- TGGroupedGemmAttribute.cpp - Grouped GEMMs of libraries ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TGLibraryBuffers.h"

using namespace mlir;
using namespace regather::tg;

LogicalResult GroupedGemmAttr::verify(EmitError emitError, int64_t groups,
                                      int64_t rows, int64_t inner,
                                      int64_t outer, bool fillsZeros,
                                      BufferViewAttr x, BufferViewAttr w,
                                      BufferViewAttr y, BufferViewAttr ends,
                                      BufferViewAttr toX, BufferViewAttr toW,
                                      BufferViewAttr toY) {
  if (failed(verifySizes(emitError, {rows, inner, outer})))
    return failure();
  if (groups < 1)
    return emitError() << "expects at least one group, got " << groups;
  std::tuple<StringRef, BufferViewAttr, StringRef, BufferViewAttr> needs[] = {
      {"to_y", toY, "x", x}, {"to_y", toY, "w", w}, {"to_x", toX, "y", y},
      {"to_x", toX, "w", w}, {"to_w", toW, "x", x}, {"to_w", toW, "y", y}};
  for (auto [name, view, needed, other] : needs)
    if (view && !other)
      return emitError() << "expects '" << needed << "' beside '" << name
                         << "'";
  std::tuple<StringRef, BufferViewAttr, size_t> views[] = {
      {"x", x, 2},      {"w", w, 3},      {"y", y, 2},     {"ends", ends, 1},
      {"to_x", toX, 2}, {"to_w", toW, 3}, {"to_y", toY, 2}};
  for (auto [name, view, rank] : views)
    if (failed(verifyRank(emitError, name, view, rank)))
      return failure();
  return success();
}

SmallVector<int64_t> GroupedGemmAttr::getXShape() const {
  return {getRows(), getInner()};
}
SmallVector<int64_t> GroupedGemmAttr::getWShape() const {
  return {getGroups(), getInner(), getOuter()};
}
SmallVector<int64_t> GroupedGemmAttr::getYShape() const {
  return {getRows(), getOuter()};
}

LogicalResult GroupedGemmAttr::verifyBuffers(EmitError emitError,
                                             FunctionType type) const {
  SmallVector<int64_t> x = getXShape(), w = getWShape(), y = getYShape();
  BufferVerifier verifier(emitError, type);
  if (failed(verifier.verifyRead("x", getX(), x)) ||
      failed(verifier.verifyRead("w", getW(), w)) ||
      failed(verifier.verifyRead("y", getY(), y)) ||
      failed(verifier.verifyRead("ends", getEnds(), getGroups(),
                                 Elements::Integer)) ||
      failed(verifier.verifyWritten("to_x", getToX(), x)) ||
      failed(verifier.verifyWritten("to_w", getToW(), w)) ||
      failed(verifier.verifyWritten("to_y", getToY(), y)))
    return failure();
  return verifier.finish();
}
