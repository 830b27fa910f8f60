//===- RandomTargets.cpp - Nodes that draw random numbers -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/RandomTargets.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace regather;

namespace {
/// How many random bits an element takes.
enum class Draw {
  /// The target is not random.
  Nothing,
  /// It is, but no numbers are defined for it.
  Undefined,
  /// 32 bits.
  Word,
  /// 64 bits.
  Long,
  /// As many as the significand of the result can use.
  Significand
};
} // namespace

/// By operator: overloads differ in how they name shape and distribution.
static Draw getDraw(StringRef target) {
  if (!target.consume_front("aten."))
    return Draw::Nothing;
  return llvm::StringSwitch<Draw>(target.split('.').first)
      .Cases({"native_dropout", "bernoulli"}, Draw::Word)
      .Cases({"rand", "rand_like", "uniform", "exponential",
              "rrelu_with_noise_functional"},
             Draw::Significand)
      .Cases({"randn", "randn_like", "normal", "normal_functional", "randint",
              "randint_like"},
             Draw::Long)
      .Cases({"binomial", "cauchy", "geometric", "log_normal", "multinomial",
              "poisson", "random", "randperm", "rrelu_with_noise",
              "_sample_dirichlet", "_standard_gamma", "_fused_dropout"},
             Draw::Undefined)
      .Default(Draw::Nothing);
}

bool regather::nodes::isRandomTarget(StringRef target) {
  return getDraw(target) != Draw::Nothing;
}

RankedTensorType regather::nodes::getBitsType(StringRef target,
                                              RankedTensorType result) {
  MLIRContext *context = result.getContext();
  unsigned width = 0;
  switch (getDraw(target)) {
  case Draw::Nothing:
  case Draw::Undefined:
    return nullptr;
  case Draw::Word:
    width = 32;
    break;
  case Draw::Long:
    width = 64;
    break;
  case Draw::Significand:
    width = result.getElementType().isF64() ? 64 : 32;
    break;
  }
  return RankedTensorType::get(result.getShape(),
                               IntegerType::get(context, width));
}
