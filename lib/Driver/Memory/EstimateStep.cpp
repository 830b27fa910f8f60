//===- EstimateStep.cpp - What many equal layers take ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EstimateStep.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace regather;

/// Units that the copies keep at least, and which part of all one has more than
/// the other: what a packing or a schedule makes of the difference counts as
/// many times as it is smaller than the step.
static constexpr int64_t kFewUnits = 2, kMoreUnits = 4;
static constexpr int64_t kDifferencePart = 16;
/// How many times the layers of both copies the step has at least.
static constexpr double kLeastLayers = 2;

std::optional<ShortSteps> ShortSteps::create(ModuleOp module) {
  func::FuncOp entry;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (entry)
      return std::nullopt;
    entry = func;
  }
  if (!entry || entry.isDeclaration())
    return std::nullopt;
  auto few = tg::foldModule(module, entry, kFewUnits);
  if (!few)
    return std::nullopt;
  auto more = tg::foldModule(
      module, entry,
      std::max(kMoreUnits, kFewUnits + few->numUnits / kDifferencePart));
  if (!more || more->numUnits != few->numUnits ||
      more->unitLayers != few->unitLayers)
    return std::nullopt;
  ShortSteps steps(std::move(*few), std::move(*more));
  if (steps.getGain() < kLeastLayers)
    return std::nullopt;
  return steps;
}

int64_t ShortSteps::countLayers() const {
  return more.outerLayers + more.numKept * more.unitLayers;
}

int64_t ShortSteps::countAllLayers() const {
  return more.outerLayers + more.numUnits * more.unitLayers;
}

double ShortSteps::getGain() const {
  int64_t both = few.outerLayers + few.numKept * few.unitLayers + countLayers();
  return static_cast<double>(countAllLayers()) / static_cast<double>(both);
}

double ShortSteps::extend(double atFew, double atMore) const {
  double units = static_cast<double>(more.numUnits - few.numKept) /
                 static_cast<double>(more.numKept - few.numKept);
  return std::max(atFew + units * (atMore - atFew), 0.0);
}

double ShortSteps::getFactor() const {
  return static_cast<double>(countAllLayers()) /
         static_cast<double>(countLayers());
}

//===----------------------------------------------------------------------===//
// Arithmetic of measured steps
//===----------------------------------------------------------------------===//

/// Calls `combine` with each number of `result`, and with those of `a` and `b`
/// in its place.
static void combineNumbers(const MeasuredStep &a, const MeasuredStep &b,
                           MeasuredStep &result,
                           llvm::function_ref<double(double, double)> combine) {
  auto set = [&](auto &number, auto one, auto other) {
    double value =
        combine(static_cast<double>(one), static_cast<double>(other));
    if constexpr (std::is_integral_v<std::decay_t<decltype(number)>>)
      number = std::llround(value);
    else
      number = value;
  };
  auto setField = [&](auto MeasuredStep::*field) {
    set(result.*field, a.*field, b.*field);
  };
  auto setChoice = [&](auto MemoryChoice::*field) {
    set(result.choice.*field, a.choice.*field, b.choice.*field);
  };
  // What is used of the peak is a share of the time.
  double used = combine(a.utilization * a.choice.seconds,
                        b.utilization * b.choice.seconds);
  setChoice(&MemoryChoice::seconds);
  setChoice(&MemoryChoice::argumentBytes);
  setChoice(&MemoryChoice::arenaBytes);
  setChoice(&MemoryChoice::hostBytes);
  setChoice(&MemoryChoice::hostStateBytes);
  setField(&MeasuredStep::boundSeconds);
  setField(&MeasuredStep::computeSeconds);
  setField(&MeasuredStep::savedBytes);
  setField(&MeasuredStep::stateBytes);
  double seconds = result.choice.seconds;
  result.utilization = seconds > 0 ? used / seconds : 0;
  std::map<std::string, std::pair<double, double>> streams;
  for (const auto &[stream, exposed] : a.exposed)
    streams[stream].first = exposed;
  for (const auto &[stream, exposed] : b.exposed)
    streams[stream].second = exposed;
  result.exposed.clear();
  for (const auto &[stream, exposed] : streams)
    result.exposed.emplace_back(stream, combine(exposed.first, exposed.second));
  sortExposed(result.exposed);
}

MeasuredStep StepEstimator::extend(const MeasuredStep &atFew,
                                   const MeasuredStep &atMore) const {
  MeasuredStep all = atMore;
  all.largest.clear();
  combineNumbers(atFew, atMore, all,
                 [&](double a, double b) { return steps.extend(a, b); });
  return all;
}

MeasuredStep StepEstimator::scale(const MeasuredStep &atMore,
                                  const MeasuredStep &fixed) const {
  MeasuredStep all = atMore;
  all.largest.clear();
  double factor = steps.getFactor();
  combineNumbers(atMore, fixed, all, [&](double more, double beside) {
    double least = std::min(more, beside);
    return least + factor * (more - least);
  });
  return all;
}

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

StepEstimator::StepEstimator(const ShortSteps &steps, const CostModel &model)
    : steps(steps), few(steps.getFew(), model), more(steps.getMore(), model) {}

/// An estimate is not worth the last thousandth of an arena or a schedule.
static StepOptions spendLittle(const StepOptions &options) {
  constexpr uint64_t kPackingEffort = 1000000;
  constexpr unsigned kScheduleEffort = 20;
  StepOptions little = options;
  little.program.memory.effort =
      std::min<uint64_t>(little.program.memory.effort, kPackingEffort);
  little.schedule.options.effort =
      std::min<unsigned>(little.schedule.options.effort, kScheduleEffort);
  return little;
}

/// Bytes of options of the whole step as the copy with more layers has them.
StepOptions StepEstimator::shrink(const StepOptions &options) const {
  auto share = [](int64_t part, int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                     : 1.0;
  };
  auto scaled = [](int64_t bytes, double factor) {
    return std::max<int64_t>(std::llround(static_cast<double>(bytes) * factor),
                             1);
  };
  StepOptions small = spendLittle(options);
  double saved = share(base->more.savedBytes, base->all.savedBytes);
  if (auto &recompute = small.recompute.options;
      recompute.mode == tg::PartitionMode::Budget)
    recompute.budget = scaled(recompute.budget, saved);
  if (small.policy && small.policy->budget > 0)
    small.policy->budget = scaled(small.policy->budget, saved);
  if (small.policy && small.policy->units > 0)
    small.policy->units = scaled(small.policy->units, 1 / steps.getFactor());
  if (auto &offload = small.offload.options;
      offload.mode == tg::OffloadMode::Bytes)
    offload.bytes = scaled(offload.bytes, saved);
  int64_t bytes = 0;
  if (!StringRef(small.states.states).getAsInteger(10, bytes))
    small.states.states = std::to_string(
        scaled(bytes, share(base->more.stateBytes, base->all.stateBytes)));
  auto &limit = small.schedule.options.memoryLimit;
  if (!StringRef(limit).getAsInteger(10, bytes)) {
    double fixed = static_cast<double>(base->fixed.choice.getBytes());
    double left = std::max(static_cast<double>(bytes) - fixed, 0.0);
    limit = std::to_string(std::llround(fixed + left / steps.getFactor()));
  }
  return small;
}

FailureOr<MeasuredStep> StepEstimator::measure(const StepOptions &options) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!base) {
      FailureOr<MeasuredStep> atFew = few.measure(spendLittle(options));
      if (failed(atFew))
        return failure();
      FailureOr<MeasuredStep> atMore = more.measure(spendLittle(options));
      if (failed(atMore))
        return failure();
      Base made{*atFew, *atMore, extend(*atFew, *atMore), *atMore};
      // all = fixed + factor * (more - fixed)
      double factor = steps.getFactor();
      combineNumbers(
          made.more, made.all, made.fixed, [&](double small, double all) {
            return std::max((factor * small - all) / (factor - 1), 0.0);
          });
      base = std::move(made);
      return base->all;
    }
  }
  FailureOr<MeasuredStep> measured = more.measure(shrink(options));
  if (failed(measured))
    return failure();
  return scale(*measured, base->fixed);
}
