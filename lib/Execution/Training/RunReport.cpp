//===- RunReport.cpp - What a run tells at its end ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/RunReport.h"

#include "ReportJson.h"

#include "regather/Execution/Profile/FormatProfile.h"

#include <algorithm>
#include <cmath>

using namespace regather;

static double getMedian(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median over the steps of each rank's exposed waits; empty if they were
/// not measured.
static std::vector<double> getExposedSeconds(const TrainingResult &training) {
  std::vector<double> medians;
  size_t ranks =
      training.waitSeconds.empty() ? 0 : training.waitSeconds.front().size();
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> steps;
    for (const std::vector<double> &seconds : training.waitSeconds)
      steps.push_back(seconds[rank]);
    medians.push_back(getMedian(std::move(steps)));
  }
  return medians;
}

static int64_t getParameterBytes(const StepSignature &step) {
  int64_t bytes = 0;
  for (const StepValue &value : step.arguments)
    if (value.role == Role::Parameter)
      bytes +=
          getNumElements(value.localShape) * getElementSize(value.elementType);
  return bytes;
}

RunReport regather::makeRunReport(const StepSignature &step,
                                  const Engine &engine,
                                  const TrainingResult &training) {
  RunReport report;
  report.entry = step.entry;
  report.engine = engine.getName();
  report.ranks = step.ranks;
  report.losses = training.losses;
  report.seconds = training.seconds;
  report.deviceSeconds = training.deviceSeconds;
  report.exposedSeconds = getExposedSeconds(training);
  if (step.overflow)
    report.repeatedSteps = training.numRepeated;
  report.parameterBytes = getParameterBytes(step);
  report.peakBytes = engine.getPeakBytes();
  report.arena = engine.getArena();
  report.routines = engine.getRoutines();
  report.kernels = engine.getKernels();
  return report;
}

static std::optional<double> getTokensPerSecond(const RunReport &report) {
  double seconds = getMedian(report.seconds);
  if (!report.tokensPerStep || seconds <= 0)
    return std::nullopt;
  return static_cast<double>(*report.tokensPerStep) / seconds;
}

/// Null if it is not finite; whole numbers without a point.
static OrderedJson toJson(std::optional<double> value) {
  if (!value || !std::isfinite(*value))
    return nullptr;
  if (std::fabs(*value) < 0x1.0p53 && *value == std::trunc(*value))
    return static_cast<int64_t>(*value);
  return *value;
}

std::string regather::formatJson(const RunReport &report) {
  OrderedJson json;
  json["file"] = report.file;
  json["entry"] = report.entry;
  json["engine"] = report.engine;
  json["losses"] = OrderedJson::array();
  for (double loss : report.losses)
    json["losses"].push_back(toJson(loss));
  json["ranks"] = report.ranks;
  json["steps"] = report.seconds.size();
  json["seconds_per_step"] = getMedian(report.seconds);
  if (!report.deviceSeconds.empty())
    json["device_seconds_per_step"] = getMedian(report.deviceSeconds);
  const std::vector<double> &exposed = report.exposedSeconds;
  if (!exposed.empty()) {
    json["exposed_seconds_per_step"] =
        *std::max_element(exposed.begin(), exposed.end());
    json["exposed_seconds_by_rank"] = exposed;
  }
  if (report.repeatedSteps)
    json["repeated_steps"] = *report.repeatedSteps;
  if (report.tokensPerStep)
    json["tokens_per_second"] = toJson(getTokensPerSecond(report));
  json["parameter_bytes_per_rank"] = report.parameterBytes;
  if (report.peakBytes)
    json["peak_bytes_per_rank"] = *report.peakBytes;
  if (const auto &arena = report.arena) {
    json["arena"] = {{"planned_bytes", arena->planned},
                     {"lower_bound_bytes", arena->lowerBound}};
    if (arena->touched)
      json["arena"]["touched_bytes"] = *arena->touched;
    if (arena->plannedOnHost > 0)
      json["arena"]["host_bytes"] = arena->plannedOnHost;
    if (arena->argumentsOnHost > 0)
      json["host_argument_bytes_per_rank"] = arena->argumentsOnHost;
  }
  if (!report.routines.empty())
    json["routines"] = report.routines;
  addCollectives(json, report.collectives);
  if (const auto &kernels = report.kernels)
    json["kernels"] = {{"count", kernels->count},
                       {"compiled", kernels->compiled},
                       {"cached", kernels->cached}};
  if (report.profile)
    json["profile"] = makeProfileJson(*report.profile);
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) +
         '\n';
}

static std::string count(size_t number, const std::string &what) {
  return std::to_string(number) + ' ' + what + (number == 1 ? "" : "s");
}

/// With digits in groups of three.
static std::string group(int64_t number) {
  std::string digits = std::to_string(number);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3;
       i > (number < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

static std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::string regather::formatSummary(const RunReport &report) {
  std::string text = count(report.seconds.size(), "step") + " on " +
                     count(static_cast<size_t>(report.ranks), "rank") + ", " +
                     fixed(getMedian(report.seconds) * 1e3, 2) +
                     " ms a step (median)";
  if (!report.deviceSeconds.empty())
    text += ", " + fixed(getMedian(report.deviceSeconds) * 1e3, 2) +
            " ms on the device";
  const std::vector<double> &exposed = report.exposedSeconds;
  if (!exposed.empty())
    text += ", of which " +
            fixed(*std::max_element(exposed.begin(), exposed.end()) * 1e3, 2) +
            " ms waiting for communication";
  if (std::optional<double> rate = getTokensPerSecond(report))
    text += ", " + fixed(*rate, 1) + " tokens per second";
  text += "\nbytes on each rank: " + group(report.parameterBytes) +
          " of parameters";
  if (report.peakBytes)
    text += ", " + group(*report.peakBytes) + " at the peak";
  if (const auto &arena = report.arena; arena && arena->touched)
    text += "\narena on each rank: " + group(arena->planned) +
            " bytes planned, " + group(*arena->touched) +
            " touched, at least " + group(arena->lowerBound) +
            " live at one time";
  if (const auto &arena = report.arena; arena && arena->plannedOnHost > 0)
    text +=
        "\narena on the host, for each rank: " + group(arena->plannedOnHost) +
        " bytes";
  if (const auto &arena = report.arena; arena && arena->argumentsOnHost > 0)
    text += "\nstates of the optimizer on the host, for each rank: " +
            group(arena->argumentsOnHost) + " bytes";
  for (const std::string &routine : report.routines)
    text += '\n' + routine;
  int64_t ops = 0, bytes = 0;
  for (const CollectiveSummary &summary : report.collectives) {
    ops += summary.ops;
    bytes += summary.bytes;
  }
  text += "\ncollectives in each step: " + std::to_string(ops) +
          ", by which each rank receives " + group(bytes) + " bytes\n";
  return report.profile ? text + formatProfile(*report.profile) : text;
}
