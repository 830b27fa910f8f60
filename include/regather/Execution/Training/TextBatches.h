//===- TextBatches.h - Batches of a text for a language model ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data for a model that reads bytes and predicts the next one. With batches of
// B sequences of S bytes, a text of n bytes has (n - 1) / S windows of S bytes
// that have a byte after them, and
//
//   tokens[r] of step i = window (i * B + r) modulo the number of windows
//   labels[r] of step i = the S bytes that begin one byte later
//
// so that every byte of a window is read once before the text begins again.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_TEXTBATCHES_H
#define REGATHER_EXECUTION_TRAINING_TEXTBATCHES_H

#include "regather/Execution/Tensors/StepSignature.h"
#include "regather/Support/MappedFile.h"

#include <array>

namespace regather {

class TextBatches {
public:
  /// Reads `path` and finds the two arguments that it feeds. `names` is
  /// `TOKENS,LABELS`; if it is empty, they are the only two inputs of the step
  /// that hold integers, in this order. They have one global shape, [B, S].
  /// The step must outlive the batches.
  static Result<TextBatches> create(const StepSignature &step,
                                    const std::string &path,
                                    const std::string &names);

  /// Numbers of the arguments that hold tokens and labels.
  const std::array<unsigned, 2> &getArguments() const { return arguments; }

  /// Tokens of one step, over all ranks.
  int64_t getTokensPerStep() const { return batch * sequence; }

  /// The global tensor of tokens, or with `ahead` 1 of labels, of a step.
  HostTensor makeTensor(int64_t stepNumber, int64_t ahead) const;

  /// Puts each rank's part of the batch of a step into its arguments.
  void fill(int64_t stepNumber, std::vector<RankValues> &ranks) const;

private:
  TextBatches() = default;

  const StepSignature *step = nullptr;
  MappedFile text;
  std::array<unsigned, 2> arguments = {};
  int64_t batch = 0;
  int64_t sequence = 0;
};

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_TEXTBATCHES_H
