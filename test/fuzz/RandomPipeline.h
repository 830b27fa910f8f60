//===- RandomPipeline.h - Passes with options from a seed -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_RANDOMPIPELINE_H
#define REGATHER_TEST_FUZZ_RANDOMPIPELINE_H

#include "Draw.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <utility>
#include <vector>

namespace regather::fuzz {

/// A pass with options, as pipelines are written.
struct PassCall {
  std::string pass, options;

  /// `tg-schedule{mode=auto effort=10}`.
  std::string str() const {
    return options.empty() ? pass : pass + "{" + options + "}";
  }
};

/// What options may name of a step.
struct StepNames {
  std::vector<std::string> modules, parameters, ids, axes;
};

/// The passes on steps that keep them steps: all that are registered, but for
/// those that lower a step to another form. A new pass is among them, with its
/// options, as soon as its record is there.
std::vector<std::string> listStepPasses();

/// A call of `pass` with some options of its own, drawn from its record: values
/// of enumerations, numbers, and texts that name something of the step.
PassCall drawCall(Draw &draw, llvm::StringRef pass, const StepNames &names);

/// Options of the passes that make a program of a step, by pass.
std::vector<PassCall> drawProgramOptions(Draw &draw, const StepNames &names);

/// Splits what PassCall::str gives, or several of them at commas.
std::vector<PassCall> parsePipeline(llvm::StringRef text);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_RANDOMPIPELINE_H
