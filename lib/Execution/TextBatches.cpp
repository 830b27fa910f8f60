//===- TextBatches.cpp - Batches of a text for a language model -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/TextBatches.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// True if every byte is a value of `type`.
static bool holdsBytes(ElementType type) {
  return !isFloat(type) && getElementSize(type) > 1;
}

static std::string describe(const StepValue &value) {
  std::string text = llvm::formatv(
      "\"{0}\" [{1}]", value.name,
      llvm::make_range(value.globalShape.begin(), value.globalShape.end()));
  return text + (isFloat(value.elementType) ? " of floats"
                 : !holdsBytes(value.elementType)
                     ? " of integers too narrow for bytes"
                     : " of integers");
}

static std::string describeInputs(const StepSignature &step) {
  std::vector<std::string> inputs;
  for (const StepValue &value : step.arguments)
    if (value.role == RoleKind::Input)
      inputs.push_back(describe(value));
  return inputs.empty() ? "none" : llvm::join(inputs, ", ");
}

/// The arguments called `TOKENS,LABELS`.
static llvm::Expected<SmallVector<unsigned>>
findNamed(const StepSignature &step, StringRef names) {
  SmallVector<StringRef> parts;
  names.split(parts, ',');
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty() ||
      parts[0] == parts[1])
    return llvm::createStringError(
        "--text-inputs expects two names, as in \"tokens,labels\", got \"" +
        names + "\"");
  SmallVector<unsigned> found;
  for (StringRef part : parts) {
    auto it = llvm::find_if(step.arguments,
                            [&](const StepValue &v) { return v.name == part; });
    if (it == step.arguments.end())
      return llvm::createStringError("--text-inputs names \"" + part +
                                     "\", but the inputs of the step are " +
                                     describeInputs(step));
    found.push_back(it - step.arguments.begin());
  }
  return found;
}

/// All inputs that can hold the bytes of a text.
static SmallVector<unsigned> findByRole(const StepSignature &step) {
  SmallVector<unsigned> found;
  for (auto [i, value] : llvm::enumerate(step.arguments))
    if (value.role == RoleKind::Input && holdsBytes(value.elementType) &&
        !value.globalShape.empty())
      found.push_back(i);
  return found;
}

llvm::Expected<TextBatches> TextBatches::create(const StepSignature &step,
                                                StringRef path,
                                                StringRef names) {
  SmallVector<unsigned> found = findByRole(step);
  if (!names.empty()) {
    llvm::Expected<SmallVector<unsigned>> named = findNamed(step, names);
    if (!named)
      return named.takeError();
    found = std::move(*named);
  }
  auto fits = [&](unsigned i) {
    const StepValue &value = step.arguments[i];
    return holdsBytes(value.elementType) && value.globalShape.size() == 2 &&
           llvm::all_of(value.globalShape, [](int64_t d) { return d > 0; });
  };
  if (found.size() != 2 || !llvm::all_of(found, fits) ||
      step.arguments[found[0]].globalShape !=
          step.arguments[found[1]].globalShape)
    return llvm::createStringError(
        "--text feeds two integer inputs of one shape [batch, sequence], "
        "tokens and labels, which --text-inputs can name; the inputs of the "
        "step are " +
        describeInputs(step));

  TextBatches batches;
  batches.step = &step;
  batches.arguments = {found[0], found[1]};
  batches.batch = step.arguments[found[0]].globalShape[0];
  batches.sequence = step.arguments[found[0]].globalShape[1];
  auto text = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!text)
    return llvm::createStringError("cannot read text '" + path +
                                   "': " + text.getError().message());
  batches.text = std::move(*text);
  auto size = static_cast<int64_t>(batches.text->getBufferSize());
  // The label of the last token is one byte further.
  int64_t needed = batches.batch * batches.sequence + 1;
  if (size < needed)
    return llvm::createStringError(llvm::formatv(
        "text '{0}' has {1} bytes, but one batch of {2} sequences of {3} bytes "
        "needs {4}",
        path, size, batches.batch, batches.sequence, needed));
  return batches;
}

HostTensor TextBatches::makeTensor(int64_t stepNumber, int64_t ahead) const {
  HostTensor tensor = HostTensor::zeros(
      step->arguments[arguments[ahead]].elementType, {batch, sequence});
  StringRef bytes = text->getBuffer();
  int64_t windows = (static_cast<int64_t>(bytes.size()) - 1) / sequence;
  for (int64_t row = 0; row != batch; ++row) {
    // Reduced first: the number of a step may be too large to multiply.
    int64_t window = (stepNumber % windows * batch + row) % windows;
    int64_t start = window * sequence + ahead;
    for (int64_t i = 0; i != sequence; ++i)
      tensor.setFromDouble(row * sequence + i,
                           static_cast<uint8_t>(bytes[start + i]));
  }
  return tensor;
}

void TextBatches::fill(int64_t stepNumber,
                       std::vector<RankValues> &ranks) const {
  for (int64_t ahead : {0, 1}) {
    unsigned argument = arguments[ahead];
    HostTensor global = makeTensor(stepNumber, ahead);
    for (auto [rank, values] : llvm::enumerate(ranks))
      values[argument] = shardTensor(global, step->arguments[argument],
                                     step->mesh, static_cast<int64_t>(rank));
  }
}
