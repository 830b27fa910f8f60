//===- TextBatches.cpp - Batches of a text for a language model -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/TextBatches.h"

#include "../Tensors/StepText.h"

#include <algorithm>
#include <sstream>

using namespace regather;

/// True if every byte is a value of `type`.
static bool holdsBytes(ElementType type) {
  return !isFloat(type) && getElementSize(type) > 1;
}

static std::string describe(const StepValue &value) {
  return quote(value.name) + " " + formatShape(value.globalShape) +
         (isFloat(value.elementType)       ? " of floats"
          : !holdsBytes(value.elementType) ? " of integers too narrow for bytes"
                                           : " of integers");
}

static std::string describeInputs(const StepSignature &step) {
  std::vector<std::string> inputs;
  for (const StepValue &value : step.arguments)
    if (value.role == Role::Input)
      inputs.push_back(describe(value));
  return inputs.empty() ? "none" : join(inputs);
}

static Result<std::vector<unsigned>> findNamed(const StepSignature &step,
                                               const std::string &names) {
  std::vector<std::string> parts;
  std::istringstream stream(names + ",");
  for (std::string part; std::getline(stream, part, ',');)
    parts.push_back(part);
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty() ||
      parts[0] == parts[1])
    return Failure("--text-inputs expects two names, as in \"tokens,labels\", "
                   "got " +
                   quote(names));
  std::vector<unsigned> found;
  for (const std::string &part : parts) {
    auto it = std::find_if(step.arguments.begin(), step.arguments.end(),
                           [&](const StepValue &v) { return v.name == part; });
    if (it == step.arguments.end())
      return Failure("--text-inputs names " + quote(part) +
                     ", but the inputs of the step are " +
                     describeInputs(step));
    found.push_back(static_cast<unsigned>(it - step.arguments.begin()));
  }
  return found;
}

static std::vector<unsigned> findByRole(const StepSignature &step) {
  std::vector<unsigned> found;
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    const StepValue &value = step.arguments[i];
    if (value.role == Role::Input && holdsBytes(value.elementType) &&
        !value.globalShape.empty())
      found.push_back(static_cast<unsigned>(i));
  }
  return found;
}

Result<TextBatches> TextBatches::create(const StepSignature &step,
                                        const std::string &path,
                                        const std::string &names) {
  std::vector<unsigned> found = findByRole(step);
  if (!names.empty()) {
    Result<std::vector<unsigned>> named = findNamed(step, names);
    if (!named)
      return named.getFailure();
    found = std::move(*named);
  }
  auto fits = [&](unsigned i) {
    const StepValue &value = step.arguments[i];
    return holdsBytes(value.elementType) && value.globalShape.size() == 2 &&
           value.globalShape[0] > 0 && value.globalShape[1] > 0;
  };
  if (found.size() != 2 || !fits(found[0]) || !fits(found[1]) ||
      step.arguments[found[0]].globalShape !=
          step.arguments[found[1]].globalShape)
    return Failure(
        "--text feeds two integer inputs of one shape [batch, sequence], "
        "tokens and labels, which --text-inputs can name; the inputs of the "
        "step are " +
        describeInputs(step));

  TextBatches batches;
  batches.step = &step;
  batches.arguments = {found[0], found[1]};
  batches.batch = step.arguments[found[0]].globalShape[0];
  batches.sequence = step.arguments[found[0]].globalShape[1];
  Result<MappedFile> text = MappedFile::open(path);
  if (!text)
    return Failure("cannot read text '" + path + "': " + text.getMessage());
  batches.text = std::move(*text);
  auto size = static_cast<int64_t>(batches.text.getBytes().size());
  // The label of the last token is one byte further.
  int64_t needed = batches.batch * batches.sequence + 1;
  if (size < needed)
    return Failure("text '" + path + "' has " + std::to_string(size) +
                   " bytes, but one batch of " + std::to_string(batches.batch) +
                   " sequences of " + std::to_string(batches.sequence) +
                   " bytes needs " + std::to_string(needed));
  return batches;
}

HostTensor TextBatches::makeTensor(int64_t stepNumber, int64_t ahead) const {
  HostTensor tensor = HostTensor::zeros(
      step->arguments[arguments[ahead]].elementType, {batch, sequence});
  std::string_view bytes = text.getBytes();
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
    // Ranks of other processes have no arguments.
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (!ranks[rank].empty())
        ranks[rank][argument] = shardTensor(global, step->arguments[argument],
                                            *step, static_cast<int64_t>(rank));
  }
}
