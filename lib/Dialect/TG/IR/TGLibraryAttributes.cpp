//===- TGLibraryAttributes.cpp - Calls of libraries -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TGLibraryAttributes.h"
#include "TGLibraryBuffers.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace regather::tg;

#include "regather/Dialect/TG/IR/TGAttrInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

ParseResult regather::tg::parseSizeList(AsmParser &parser,
                                        SmallVector<int64_t> &sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(sizes.emplace_back());
  });
}

void regather::tg::printSizeList(AsmPrinter &printer, ArrayRef<int64_t> sizes) {
  printer << '[';
  llvm::interleaveComma(sizes, printer.getStream());
  printer << ']';
}

ParseResult regather::tg::parseViewList(AsmParser &parser,
                                        SmallVector<BufferViewAttr> &views) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        FailureOr<BufferViewAttr> view =
            FieldParser<BufferViewAttr>::parse(parser);
        if (failed(view))
          return failure();
        views.push_back(*view);
        return success();
      });
}

void regather::tg::printViewList(AsmPrinter &printer,
                                 ArrayRef<BufferViewAttr> views) {
  printer << '[';
  llvm::interleaveComma(views, printer.getStream(), [&](BufferViewAttr view) {
    printer.printStrippedAttrOrType(view);
  });
  printer << ']';
}

//===----------------------------------------------------------------------===//
// Descriptions by themselves
//===----------------------------------------------------------------------===//

LogicalResult BufferViewAttr::verify(EmitError emitError, int64_t buffer,
                                     int64_t offset,
                                     ArrayRef<int64_t> strides) {
  if (buffer < 0)
    return emitError() << "expects the number of a buffer, got " << buffer;
  if (offset < 0)
    return emitError() << "expects a non-negative offset, got " << offset;
  for (int64_t stride : strides)
    if (stride < 0)
      return emitError() << "expects non-negative strides, got " << stride;
  return success();
}

static LogicalResult verifyFactor(EmitError emitError, StringRef name,
                                  FloatAttr factor) {
  if (factor.getType().isF32())
    return success();
  return emitError() << "expects '" << name << "' to be an f32, got " << factor;
}

LogicalResult GemmAttr::verify(EmitError emitError, int64_t m, int64_t n,
                               int64_t k, ArrayRef<int64_t> batch,
                               BufferViewAttr a, BufferViewAttr b,
                               BufferViewAttr c,
                               ArrayRef<BufferViewAttr> addends, bool /*relu*/,
                               FloatAttr alpha, int64_t segments,
                               Type segmentType) {
  if (failed(verifySizes(emitError, {m, n, k})) ||
      failed(verifySizes(emitError, batch)))
    return failure();
  if (batch.size() > static_cast<size_t>(kMaxBatchRank))
    return emitError() << "expects a batch of at most " << kMaxBatchRank
                       << " dimensions, got " << batch.size();
  if (addends.size() > static_cast<size_t>(kMaxAddends))
    return emitError() << "expects at most " << kMaxAddends << " addends, got "
                       << addends.size();
  if (segments < 1 || segments > kMaxSegments || k % segments != 0)
    return emitError() << "expects 1 to " << kMaxSegments
                       << " segments that divide 'k', which is " << k
                       << ", got " << segments;
  if (segmentType &&
      (segments == 1 || !(segmentType.isBF16() || segmentType.isF16())))
    return emitError() << "expects 'segment_type' to be bf16 or f16 beside "
                          "several segments, got "
                       << segmentType << " beside " << segments;
  size_t rank = batch.size() + 2;
  for (BufferViewAttr addend : addends)
    if (failed(verifyRank(emitError, "addends", addend, rank)))
      return failure();
  return success(succeeded(verifyRank(emitError, "a", a, rank)) &&
                 succeeded(verifyRank(emitError, "b", b, rank)) &&
                 succeeded(verifyRank(emitError, "c", c, rank)) &&
                 succeeded(verifyFactor(emitError, "alpha", alpha)));
}

LogicalResult AttentionAttr::verify(
    EmitError emitError, int64_t batch, int64_t heads, int64_t groups,
    int64_t rows, int64_t columns, int64_t width, int64_t valueWidth,
    FloatAttr scale, FloatAttr softcap, bool /*causal*/, BufferViewAttr q,
    BufferViewAttr k, BufferViewAttr v, BufferViewAttr mask, BufferViewAttr o,
    BufferViewAttr l, BufferViewAttr gradO, BufferViewAttr gradQ,
    BufferViewAttr gradK, BufferViewAttr gradV, BufferViewAttr gradMask) {
  if (failed(verifySizes(emitError,
                         {batch, heads, rows, columns, width, valueWidth})))
    return failure();
  if (groups < 1 || heads % groups != 0)
    return emitError() << "expects groups that divide " << heads
                       << " heads, got " << groups;
  std::pair<StringRef, BufferViewAttr> gradients[] = {
      {"grad_q", gradQ}, {"grad_k", gradK}, {"grad_v", gradV}};
  for (auto [name, view] : gradients)
    if (static_cast<bool>(view) != static_cast<bool>(gradO))
      return emitError() << "expects " << (gradO ? "" : "no ") << "'" << name
                         << "' " << (gradO ? "beside" : "without")
                         << " 'grad_o'";
  if (gradO && !l)
    return emitError() << "expects 'l' beside 'grad_o'";
  if (gradMask && (!gradO || !mask))
    return emitError() << "expects 'mask' and 'grad_o' beside 'grad_mask'";
  if (softcap && (failed(verifyFactor(emitError, "softcap", softcap))))
    return failure();
  if (softcap &&
      !(softcap.getValue().isFinite() && softcap.getValueAsDouble() > 0))
    return emitError() << "expects a finite, positive 'softcap', got "
                       << softcap.getValueAsDouble();
  std::pair<StringRef, BufferViewAttr> views[] = {
      {"q", q},          {"k", k},
      {"v", v},          {"mask", mask},
      {"o", o},          {"grad_o", gradO},
      {"grad_q", gradQ}, {"grad_k", gradK},
      {"grad_v", gradV}, {"grad_mask", gradMask}};
  for (auto [name, view] : views)
    if (failed(verifyRank(emitError, name, view, 4)))
      return failure();
  return success(succeeded(verifyRank(emitError, "l", l, 3)) &&
                 succeeded(verifyFactor(emitError, "scale", scale)));
}

//===----------------------------------------------------------------------===//
// Descriptions and the tensors of a kernel
//===----------------------------------------------------------------------===//

LogicalResult GemmAttr::verifyBuffers(EmitError emitError,
                                      FunctionType type) const {
  auto withBatch = [&](int64_t rows, int64_t columns) {
    SmallVector<int64_t> sizes(getBatch());
    sizes.append({rows, columns});
    return sizes;
  };
  SmallVector<int64_t> result = withBatch(getM(), getN());
  BufferVerifier verifier(emitError, type);
  if (failed(verifier.verifyRead("a", getA(), withBatch(getM(), getK()))) ||
      failed(verifier.verifyRead("b", getB(), withBatch(getK(), getN()))))
    return failure();
  Type a = verifier.getTensor(getA()).getElementType();
  Type b = verifier.getTensor(getB()).getElementType();
  if (a != b)
    return emitError() << "expects one element type of 'a' and 'b', got " << a
                       << " and " << b;
  for (BufferViewAttr addend : getAddends())
    if (failed(verifier.verifyRead("addends", addend, result)))
      return failure();
  if (failed(verifier.verifyWritten("c", getC(), result)))
    return failure();
  return verifier.finish();
}

LogicalResult AttentionAttr::verifyBuffers(EmitError emitError,
                                           FunctionType type) const {
  int64_t keyHeads = getHeads() / getGroups();
  SmallVector<int64_t> q = {getBatch(), getHeads(), getRows(), getWidth()};
  SmallVector<int64_t> k = {getBatch(), keyHeads, getColumns(), getWidth()};
  SmallVector<int64_t> v = {getBatch(), keyHeads, getColumns(),
                            getValueWidth()};
  SmallVector<int64_t> o = {getBatch(), getHeads(), getRows(), getValueWidth()};
  SmallVector<int64_t> scores = {getBatch(), getHeads(), getRows(),
                                 getColumns()};
  ArrayRef<int64_t> l = ArrayRef(o).drop_back();
  SmallVector<int64_t> ofMask = scores;
  if (getGradMask() && getGradMask().getStrides()[0] == 0)
    ofMask[0] = 1;
  BufferVerifier verifier(emitError, type);
  if (failed(verifier.verifyRead("q", getQ(), q)) ||
      failed(verifier.verifyRead("k", getK(), k)) ||
      failed(verifier.verifyRead("v", getV(), v)) ||
      failed(verifier.verifyRead("mask", getMask(), scores,
                                 getGradMask() ? Elements::Float
                                               : Elements::FloatOrLogical)))
    return failure();
  if (isBackward()) {
    if (failed(verifier.verifyRead("o", getO(), o)) ||
        failed(verifier.verifyRead("l", getL(), l, Elements::F32)) ||
        failed(verifier.verifyRead("grad_o", getGradO(), o)) ||
        failed(verifier.verifyWritten("grad_q", getGradQ(), q)) ||
        failed(verifier.verifyWritten("grad_k", getGradK(), k)) ||
        failed(verifier.verifyWritten("grad_v", getGradV(), v)) ||
        failed(verifier.verifyWritten("grad_mask", getGradMask(), ofMask,
                                      Elements::F32)))
      return failure();
  } else if (failed(verifier.verifyWritten("o", getO(), o)) ||
             failed(verifier.verifyWritten("l", getL(), l, Elements::F32))) {
    return failure();
  }
  return verifier.finish();
}
