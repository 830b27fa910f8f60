//===- RunReport.cpp - What a run tells at its end ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunReport.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace regather;
using llvm::StringRef;
using mlir::func::FuncOp;

/// The middle of the step times, so that a slow first step does not show.
static double getMedian(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

static std::optional<double> getTokensPerSecond(const RunReport &report) {
  double seconds = getMedian(report.training.seconds);
  if (!report.tokensPerStep || seconds <= 0)
    return std::nullopt;
  return static_cast<double>(*report.tokensPerStep) / seconds;
}

/// What the parameters take on the rank that holds most of them.
static int64_t getParameterBytes(const AnalyzedStep &step) {
  int64_t bytes = 0;
  for (const StepValue &value : step.signature.arguments)
    if (value.role == Role::Parameter)
      bytes +=
          getNumElements(value.localShape) * getElementSize(value.elementType);
  return bytes;
}

static StepStatistics getStatistics(const RunReport &report) {
  FuncOp entry = report.step.entry;
  return collectStatistics(entry->getParentOfType<mlir::ModuleOp>());
}

/// JSON has no NaN and no infinity.
static llvm::json::Value toJson(std::optional<double> value) {
  if (!value || !std::isfinite(*value))
    return nullptr;
  return *value;
}

void regather::printJson(const RunReport &report, llvm::raw_ostream &os) {
  llvm::json::OStream stream(os);
  FuncOp entry = report.step.entry;
  stream.object([&] {
    stream.attribute("file", report.file);
    stream.attribute("entry", entry.getName());
    stream.attribute("engine", report.engine.getName());
    stream.attributeArray("losses", [&] {
      for (double loss : report.training.losses)
        stream.value(toJson(loss));
    });
    stream.attribute("ranks", report.step.signature.ranks);
    stream.attribute("steps",
                     static_cast<int64_t>(report.training.seconds.size()));
    stream.attribute("seconds_per_step", getMedian(report.training.seconds));
    if (report.tokensPerStep)
      stream.attribute("tokens_per_second", toJson(getTokensPerSecond(report)));
    stream.attribute("parameter_bytes_per_rank",
                     getParameterBytes(report.step));
    if (std::optional<int64_t> peak = report.engine.getPeakBytes())
      stream.attribute("peak_bytes_per_rank", *peak);
    writeCollectives(stream, getStatistics(report));
    if (auto kernels = report.engine.getKernels())
      stream.attributeObject("kernels", [&] {
        stream.attribute("count", kernels->count);
        stream.attribute("compiled", kernels->compiled);
        stream.attribute("cached", kernels->cached);
      });
  });
  os << '\n';
}

static std::string count(int64_t number, StringRef what) {
  return llvm::formatv("{0} {1}{2}", number, what, number == 1 ? "" : "s");
}

void regather::printSummary(const RunReport &report) {
  llvm::outs() << llvm::formatv("{0} on {1}, {2:f2} ms a step (median)",
                                count(report.training.seconds.size(), "step"),
                                count(report.step.signature.ranks, "rank"),
                                getMedian(report.training.seconds) * 1e3);
  if (std::optional<double> rate = getTokensPerSecond(report))
    llvm::outs() << llvm::formatv(", {0:f1} tokens per second", *rate);
  llvm::outs() << llvm::formatv("\nbytes on each rank: {0:N} of parameters",
                                getParameterBytes(report.step));
  if (std::optional<int64_t> peak = report.engine.getPeakBytes())
    llvm::outs() << llvm::formatv(", {0:N} at the peak", *peak);
  CollectiveCount total;
  StepStatistics stats = getStatistics(report);
  for (const auto &entry : stats.collectives) {
    total.ops += entry.second.ops;
    total.bytes += entry.second.bytes;
  }
  llvm::outs() << llvm::formatv(
      "\ncollectives in each step: {0}, by which each "
      "rank receives {1:N} bytes\n",
      total.ops, total.bytes);
}
