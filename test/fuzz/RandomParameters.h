//===- RandomParameters.h - Parameters of a random step ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_RANDOMPARAMETERS_H
#define REGATHER_TEST_FUZZ_RANDOMPARAMETERS_H

#include "StepText.h"

#include <optional>

namespace regather::fuzz {

/// How the parameters of a step are stored, gathered and reduced.
struct ParameterPlan {
  /// Axes over which a parameter may be cut, and those of tensor parallelism.
  AxisSet dataAxes = 0;
  /// In which it is computed.
  std::string element = "f32";
  /// Backward gathers again.
  bool gathersAgain = false;
  /// Each use gathers, so that one phase gathers a parameter several times.
  bool gathersPerUse = false;
  /// Members of one module are gathered together.
  bool gathersTogether = false;
};

/// The parameters of a step: arguments that are whole, or shards that are
/// gathered behind a chain of casts and views; frozen ones; gradients that are
/// added up over all uses and reduced behind the last one.
class RandomParameters {
public:
  RandomParameters(StepText &text, Draw &draw, ParameterPlan plan)
      : text(text), draw(draw), plan(std::move(plan)) {}

  /// A parameter that is used in the shape `used`. Those of tensor parallelism
  /// hold this rank's part of dimension `tensorDim`, which `used` says.
  unsigned add(const Dims &used, llvm::StringRef name, AxisSet tensorAxes = 0,
               int64_t tensorDim = 0);

  /// The whole parameter, in the element type of the computation. Starts what
  /// is needed to have it; its gradient is awaited once more.
  TextValue use(unsigned parameter);
  /// The same for several of one module.
  void useTogether(llvm::ArrayRef<unsigned> parameters);
  /// The value that backward reads.
  TextValue useAgain(unsigned parameter);

  /// Adds to the gradient.
  void addGradient(unsigned parameter, const TextValue &gradient);
  /// Reduces and returns the gradients that no use is awaited for any more.
  void reduceComplete();

  /// An earlier parameter of this shape that is no part, for a tied weight.
  std::optional<unsigned> findTied(const Dims &used) const;

private:
  struct Parameter {
    TextValue argument;
    unsigned number = 0;
    std::string name, module;
    Dims used;
    AxisSet shardAxes = 0, tensorAxes = 0;
    int64_t shardDim = 0;
    bool isFrozen = false, isTransposed = false, castsFirst = false;
    unsigned uses = 0;
    std::optional<TextValue> gradient;
  };

  TextValue cast(const TextValue &value, const std::string &element);
  TextValue turn(const TextValue &value);
  /// What comes before the gather, and behind it.
  TextValue beforeGather(const Parameter &parameter);
  TextValue afterGather(const Parameter &parameter, const TextValue &whole);
  TextType wholeType(const Parameter &parameter, const TextValue &shard) const;
  /// Another data axis of as many ranks; none if there is none.
  AxisSet findTwin(AxisSet axes) const;
  TextValue addTwin(const Parameter &parameter, const TextValue &whole,
                    AxisSet axes);
  TextValue gather(const Parameter &parameter);
  void reduce(Parameter &parameter);

  StepText &text;
  Draw &draw;
  const ParameterPlan plan;
  std::vector<Parameter> parameters;
  std::map<unsigned, TextValue> gathered, again;
};

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_RANDOMPARAMETERS_H
