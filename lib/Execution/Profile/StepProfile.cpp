//===- StepProfile.cpp - Where the time of a step goes --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Profile/StepProfile.h"

#include <algorithm>

using namespace regather;

double KernelProfile::getFlopsPerSecond() const {
  return seconds > 0 ? flops * calls / seconds : 0;
}

double KernelProfile::getBytesPerSecond() const {
  return seconds > 0 ? static_cast<double>(bytes) * calls / seconds : 0;
}

double regather::getRoofShare(const KernelProfile &kernel,
                              const MachineRates &machine) {
  double flops = kernel.isNarrow ? machine.bf16Flops : machine.f32Flops;
  if (!(flops > 0) || !(machine.bytesPerSecond > 0))
    return 0;
  return std::max(kernel.getFlopsPerSecond() / flops,
                  kernel.getBytesPerSecond() / machine.bytesPerSecond);
}

const char *regather::getName(RunWork work) {
  switch (work) {
  case RunWork::Kernel:
    return "generated";
  case RunWork::Gemm:
    return "gemm";
  case RunWork::Attention:
    return "attention";
  case RunWork::Convolution:
    return "convolution";
  case RunWork::Copy:
    return "copy";
  case RunWork::Control:
    return "control";
  }
  return "";
}

/// The name in `kernel "NAME"`, or that of an instruction without its dialect.
static std::string getKernelName(const std::string &name) {
  size_t begin = name.find('"'), end = name.rfind('"');
  if (begin < end)
    return name.substr(begin + 1, end - begin - 1);
  size_t point = name.find('.');
  return point == std::string::npos ? name : name.substr(point + 1);
}

/// Parts `SOURCE in module 'MODULE'`.
static std::pair<std::string, std::string>
splitPlace(const std::string &place) {
  static const std::string kBetween = " in module '";
  size_t at = place.rfind(kBetween);
  if (at == std::string::npos)
    return {"", place};
  size_t begin = at + kBetween.size();
  return {place.substr(begin, place.size() - begin - 1), place.substr(0, at)};
}

void ProfileCollector::addSpan(const RunSpan &span) {
  double seconds = span.end - span.begin;
  if (span.kind == RunSpan::Kind::Wait)
    waitSeconds += seconds;
  // Control takes no time of its own worth a row.
  if (span.kind != RunSpan::Kind::Computation || span.work == RunWork::Control)
    return;
  Kernel kernel{getKernelName(span.name), span.work, span.isNarrow, span.flops,
                span.bytes};
  Sum &sum = kernels[kernel][splitPlace(span.place)];
  ++sum.calls;
  sum.seconds += seconds;
}

void ProfileCollector::addStep(const std::vector<RunSpan> &spans,
                               double seconds) {
  if (steps == 1 && !leavesOutFirst) {
    *this = ProfileCollector();
    leavesOutFirst = true;
  }
  ++steps;
  stepSeconds += seconds;
  for (const RunSpan &span : spans)
    addSpan(span);
}

/// The slowest first; equally slow ones by their names.
static bool isBefore(const KernelPlace &a, const KernelPlace &b) {
  return std::tie(b.seconds, a.module, a.source) <
         std::tie(a.seconds, b.module, b.source);
}

static bool isBefore(const KernelProfile &a, const KernelProfile &b) {
  return std::tie(b.seconds, a.name) < std::tie(a.seconds, b.name);
}

template <typename T> static void sortByTime(std::vector<T> &entries) {
  std::sort(entries.begin(), entries.end(),
            [](const T &a, const T &b) { return isBefore(a, b); });
}

StepProfile ProfileCollector::finish() const {
  StepProfile profile;
  profile.steps = steps;
  profile.leavesOutFirst = leavesOutFirst;
  auto count = static_cast<double>(std::max<int64_t>(steps, 1));
  profile.seconds = stepSeconds / count;
  profile.waitSeconds = waitSeconds / count;
  for (const auto &[key, places] : kernels) {
    KernelProfile &kernel = profile.kernels.emplace_back();
    std::tie(kernel.name, kernel.work, kernel.isNarrow, kernel.flops,
             kernel.bytes) = key;
    for (const auto &[place, sum] : places) {
      kernel.places.push_back({place.first, place.second,
                               static_cast<double>(sum.calls) / count,
                               sum.seconds / count});
      kernel.calls += kernel.places.back().calls;
      kernel.seconds += kernel.places.back().seconds;
    }
    sortByTime(kernel.places);
    profile.kernelSeconds += kernel.seconds;
  }
  sortByTime(profile.kernels);
  return profile;
}
