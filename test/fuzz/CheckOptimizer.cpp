//===- CheckOptimizer.cpp - Updates, computed a second time ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first step: all states are zero, and so, with h = g + wd p,
//
//   AdamW: corrected for the bias, the averages are g and g^2:
//          p (1 - lr wd) - lr g / (|g| + eps)
//   Adam:  p - lr h / (|h| + eps)
//   SGD:   h is the momentum buffer as well: p - lr (1 + momentum) h with
//          Nesterov, p - lr h without
//
//===----------------------------------------------------------------------===//

#include "CheckOptimizer.h"

#include "regather/Execution/Training/StepInputs.h"
#include "regather/Pipelines/PassOptionText.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"

#include <cmath>

using namespace regather;
using namespace regather::fuzz;
using llvm::StringRef;

/// Relative to the largest number that an update is computed from.
static constexpr double kUpdateTolerance = 1e-4;

namespace {
/// A parameter with its gradient.
struct Trained {
  const StepValue *value;
  const HostTensor *gradient;
  const HostTensor *updated;
};
} // namespace

/// The others have formulas of their own.
static bool isChecked(tg::OptimizerKind kind) {
  return kind == tg::OptimizerKind::AdamW || kind == tg::OptimizerKind::Adam ||
         kind == tg::OptimizerKind::SGD;
}

static bool isChecked(const HostTensor &tensor) {
  return tensor.getType() == ElementType::F32 ||
         tensor.getType() == ElementType::F64;
}

/// Nothing unless all gradients are there: the common norm is of all.
static std::vector<Trained> findTrained(const StepRun &run) {
  std::vector<Trained> trained;
  for (const StepValue &value : run.parameters) {
    auto gradient = run.results.find("grad." + value.name);
    auto updated = run.results.find(value.name);
    if (gradient == run.results.end() && updated == run.results.end())
      continue;
    if (gradient == run.results.end() || updated == run.results.end())
      return {};
    trained.push_back(
        {&value, &gradient->second.tensor, &updated->second.tensor});
  }
  return trained;
}

/// What gradients are multiplied by, so that their norm is not too large.
static double getClipCoefficient(const std::vector<Trained> &trained,
                                 double maxNorm) {
  if (maxNorm == 0)
    return 1;
  double sum = 0;
  for (const Trained &one : trained)
    for (int64_t i = 0; i != one.gradient->getNumElements(); ++i)
      sum += one.gradient->getAsDouble(i) * one.gradient->getAsDouble(i);
  return std::min(1.0, maxNorm / (std::sqrt(sum) + 1e-6));
}

/// The fuzzer draws groups of one kind: PATTERN:weight-decay=0.
static bool isWithoutDecay(StringRef name, StringRef groups) {
  auto [pattern, setting] = groups.rsplit(':');
  if (groups.empty() || setting != "weight-decay=0")
    return false;
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
  if (glob)
    return glob->match(name);
  llvm::consumeError(glob.takeError());
  return false;
}

/// `gradient` by its norm. Nothing where that is so small that the quotient is
/// one of rounding.
static std::optional<double> normalize(double gradient, double eps) {
  if (std::abs(gradient) < std::max(1e-6, 100 * eps))
    return std::nullopt;
  return gradient / (std::abs(gradient) + eps);
}

static std::optional<double>
update(const tg::AppendOptimizerPassOptions &options, double parameter,
       double gradient, double weightDecay) {
  double eps = options.eps == -1 ? 1e-8 : options.eps;
  double decayed = gradient + weightDecay * parameter;
  switch (options.optimizer) {
  case tg::OptimizerKind::AdamW:
    if (std::optional<double> direction = normalize(gradient, eps))
      return parameter * (1 - kLearningRate * weightDecay) -
             kLearningRate * *direction;
    return std::nullopt;
  case tg::OptimizerKind::Adam:
    if (std::optional<double> direction = normalize(decayed, eps))
      return parameter - kLearningRate * *direction;
    return std::nullopt;
  default:
    return parameter - kLearningRate * decayed *
                           (options.nesterov ? 1 + options.momentum : 1);
  }
}

static std::string checkParameter(const Trained &one, double coefficient,
                                  const tg::AppendOptimizerPassOptions &options,
                                  const RunSettings &settings) {
  double weightDecay = options.weightDecay;
  if (weightDecay < 0)
    weightDecay = options.optimizer == tg::OptimizerKind::AdamW ? 0.01 : 0;
  if (isWithoutDecay(one.value->name, options.groups))
    weightDecay = 0;
  HostTensor old =
      makeRandomTensor(*one.value, settings.inputs, settings.isExact);
  if (old.getShape() != one.updated->getShape() || !isChecked(*one.updated))
    return "";
  for (int64_t i = 0; i != old.getNumElements(); ++i) {
    double gradient = coefficient * one.gradient->getAsDouble(i) *
                      (options.maximize ? -1 : 1);
    double before = old.getAsDouble(i), after = one.updated->getAsDouble(i);
    std::optional<double> expected =
        update(options, before, gradient, weightDecay);
    if (!expected || !std::isfinite(*expected))
      continue;
    double scale = std::max({1.0, std::abs(before), std::abs(gradient)});
    if (!(std::abs(after - *expected) <= kUpdateTolerance * scale))
      return llvm::formatv(
          "element {0} of \"{1}\" becomes {2}, but the rule of "
          "the optimizer gives {3}",
          i, one.value->name, after, *expected);
  }
  return "";
}

std::string regather::fuzz::checkOptimizer(const StepRun &run, StringRef text,
                                           const RunSettings &settings) {
  tg::AppendOptimizerPassOptions options;
  // With states of few bits, squares may be rounded to zero.
  if (PassOptionFields(options).read(text, "") ||
      !isChecked(options.optimizer) || options.gradientSums ||
      options.stateDtype == tg::StateType::BF16)
    return "";
  // Of infinite losses nothing is updated.
  auto loss = run.results.find("loss");
  if (options.skipNonfinite &&
      (loss == run.results.end() ||
       !std::isfinite(loss->second.tensor.getAsDouble(0))))
    return "";
  std::vector<Trained> trained = findTrained(run);
  double coefficient = getClipCoefficient(trained, options.maxNorm);
  if (!std::isfinite(coefficient))
    return "";
  for (const Trained &one : trained)
    if (std::string wrong = checkParameter(one, coefficient, options, settings);
        !wrong.empty())
      return wrong;
  return "";
}
