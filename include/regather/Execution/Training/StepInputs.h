//===- StepInputs.h - Where the arguments of a run come from ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_STEPINPUTS_H
#define REGATHER_EXECUTION_TRAINING_STEPINPUTS_H

#include "regather/Execution/Tensors/StepSignature.h"

#include <set>

namespace regather {

struct InputOptions {
  /// A safetensors file with global tensors, or a folder of shards; empty for
  /// none.
  std::string file;
  /// Seed of random inputs for what the file does not hold.
  std::optional<uint64_t> randomSeed;
  /// Random inputs are small integers, so that sums are exact.
  bool integers = false;
  /// Seed of the random numbers that the step itself draws; none leaves it to
  /// the file, or else 0.
  std::optional<int64_t> rngSeed;
  /// For the argument of role learning_rate; the file's if absent.
  std::optional<double> learningRate;
  /// For the argument of role step: the number of the first step, from 1 up.
  int64_t firstStep = 1;
  /// Numbers of arguments that get their values before each step, and so need
  /// none here: they start as zeros.
  std::set<unsigned> fed;
  /// The one rank that arguments are made for; all ranks if absent. Of flat
  /// arguments, only the members that the rank has a part of are read.
  std::optional<int64_t> onlyRank;
};

/// Parses `SEED` or `SEED,integers`, the value of --random-inputs.
Failure parseRandomInputs(const std::string &text, InputOptions &options);

/// A random global tensor for `value`. Depends on the seed, the name and the
/// global shape alone: not on the rank count, the placement or the order of
/// arguments.
///
/// Floats: parameters are uniform in +-sqrt(6 / (first + last dimension))
/// (Glorot and Bengio, 2010), vectors in +-0.1, inputs in +-1, scalar inputs
/// in (0, 0.01]. With `integers`: parameters are -1, 0 or 1, so sparse that
/// sums stay small, inputs -2 to 2, scalar inputs 1/128. Integer tensors are 0
/// to 3. Optimizer states are zero.
HostTensor makeRandomTensor(const StepValue &value, uint64_t seed,
                            bool integers);

/// The argument of role step: an i64 of rank 0.
HostTensor makeStepNumber(int64_t number);

/// The arguments of all ranks, or of one, and warnings for people: tensors of
/// the file that are not used, inputs that hold NaN (once), and a seed for a
/// step that has none.
///
/// An argument with role `rng` is a seed if the step does not update it, else
/// an offset, which counts steps. Without a value, both are 0. Optimizer states
/// are zero unless the file holds them, all or none. The learning rate and the
/// number of the step are never drawn.
Result<std::vector<RankValues>> makeInputs(const StepSignature &step,
                                           const InputOptions &options,
                                           std::vector<std::string> &warnings);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_STEPINPUTS_H
