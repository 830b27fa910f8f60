//===- TGLibraryAttributes.cpp - Calls of libraries -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TGLibraryAttributes.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather::tg;

#include "regather/Dialect/TG/IR/TGAttrInterfaces.cpp.inc"

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

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

static LogicalResult verifySizes(EmitError emitError, ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes)
    if (size < 0)
      return emitError() << "expects non-negative sizes, got " << size;
  return success();
}

/// Checks that a view, if it is there, has as many strides as its operand has
/// dimensions.
static LogicalResult verifyRank(EmitError emitError, StringRef name,
                                BufferViewAttr view, size_t rank) {
  if (!view || view.getStrides().size() == rank)
    return success();
  return emitError() << "expects " << rank << " strides of '" << name
                     << "', got " << view.getStrides().size();
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
                               FloatAttr alpha) {
  if (failed(verifySizes(emitError, {m, n, k})) ||
      failed(verifySizes(emitError, batch)))
    return failure();
  if (batch.size() > static_cast<size_t>(kMaxBatchRank))
    return emitError() << "expects a batch of at most " << kMaxBatchRank
                       << " dimensions, got " << batch.size();
  if (addends.size() > static_cast<size_t>(kMaxAddends))
    return emitError() << "expects at most " << kMaxAddends << " addends, got "
                       << addends.size();
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
    FloatAttr scale, bool /*causal*/, BufferViewAttr q, BufferViewAttr k,
    BufferViewAttr v, BufferViewAttr mask, BufferViewAttr o, BufferViewAttr l,
    BufferViewAttr gradO, BufferViewAttr gradQ, BufferViewAttr gradK,
    BufferViewAttr gradV) {
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
  std::pair<StringRef, BufferViewAttr> views[] = {
      {"q", q},          {"k", k},          {"v", v},
      {"mask", mask},    {"o", o},          {"grad_o", gradO},
      {"grad_q", gradQ}, {"grad_k", gradK}, {"grad_v", gradV}};
  for (auto [name, view] : views)
    if (failed(verifyRank(emitError, name, view, 4)))
      return failure();
  return success(succeeded(verifyRank(emitError, "l", l, 3)) &&
                 succeeded(verifyFactor(emitError, "scale", scale)));
}

//===----------------------------------------------------------------------===//
// Descriptions and the tensors of a kernel
//===----------------------------------------------------------------------===//

namespace {
/// Which element types an operand may have.
enum class Elements { Float, FloatOrLogical, F32 };

/// Checks the views of a call, one after the other.
class BufferVerifier {
public:
  BufferVerifier(EmitError emitError, FunctionType type)
      : emitError(emitError), type(type), isWritten(type.getNumResults()) {}

  /// Checks a view of an argument. A view that is not there is right.
  LogicalResult verifyRead(StringRef name, BufferViewAttr view,
                           ArrayRef<int64_t> sizes,
                           Elements elements = Elements::Float);
  /// Checks a view that is all of a result.
  LogicalResult verifyWritten(StringRef name, BufferViewAttr view,
                              ArrayRef<int64_t> sizes,
                              Elements elements = Elements::Float);
  /// Checks that every result was written.
  LogicalResult finish();

  /// The type of the buffer that `view` is of; null if there is none.
  RankedTensorType getTensor(BufferViewAttr view) const;

private:
  LogicalResult verifyExtent(StringRef name, BufferViewAttr view,
                             ArrayRef<int64_t> sizes, Elements elements);

  EmitError emitError;
  FunctionType type;
  SmallVector<bool> isWritten;
};
} // namespace

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

LogicalResult BufferVerifier::verifyExtent(StringRef name, BufferViewAttr view,
                                           ArrayRef<int64_t> sizes,
                                           Elements elements) {
  RankedTensorType tensor = getTensor(view);
  if (!tensor)
    return emitError() << "expects '" << name
                       << "' to be a view of a tensor of static shape, got "
                       << "buffer " << view.getBuffer() << " of "
                       << type.getNumInputs() + type.getNumResults();
  Type element = tensor.getElementType();
  bool isFloat = element.isF32() || element.isBF16() || element.isF16();
  if (elements == Elements::F32 && !element.isF32())
    return emitError() << "expects '" << name << "' to hold f32, got "
                       << element;
  if (!isFloat &&
      !(elements == Elements::FloatOrLogical && element.isInteger(1)))
    return emitError() << "expects '" << name
                       << "' to hold f32, bf16 or f16, got " << element;
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
  BufferVerifier verifier(emitError, type);
  if (failed(verifier.verifyRead("q", getQ(), q)) ||
      failed(verifier.verifyRead("k", getK(), k)) ||
      failed(verifier.verifyRead("v", getV(), v)) ||
      failed(verifier.verifyRead("mask", getMask(), scores,
                                 Elements::FloatOrLogical)))
    return failure();
  if (isBackward()) {
    if (failed(verifier.verifyRead("o", getO(), o)) ||
        failed(verifier.verifyRead("l", getL(), l, Elements::F32)) ||
        failed(verifier.verifyRead("grad_o", getGradO(), o)) ||
        failed(verifier.verifyWritten("grad_q", getGradQ(), q)) ||
        failed(verifier.verifyWritten("grad_k", getGradK(), k)) ||
        failed(verifier.verifyWritten("grad_v", getGradV(), v)))
      return failure();
  } else if (failed(verifier.verifyWritten("o", getO(), o)) ||
             failed(verifier.verifyWritten("l", getL(), l, Elements::F32))) {
    return failure();
  }
  return verifier.finish();
}
