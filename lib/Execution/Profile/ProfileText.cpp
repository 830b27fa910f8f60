//===- ProfileText.cpp - Profiles on a terminal ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProfileKinds.h"

#include "regather/Execution/Profile/FormatProfile.h"

#include <cstdarg>
#include <cstdio>

using namespace regather;

/// Kernels with a line of their own; a page and JSON have all.
static constexpr size_t kMostLines = 20;

[[gnu::format(printf, 1, 2)]] static std::string format(const char *pattern,
                                                        ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(length < 0 ? 0 : static_cast<size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

static std::string formatHeader(const StepProfile &profile) {
  std::string text =
      format("\nprofile of rank %d on %d thread%s, ", profile.rank,
             profile.threads, profile.threads == 1 ? "" : "s");
  text += profile.leavesOutFirst ? format("mean of %lld step%s after the first",
                                          static_cast<long long>(profile.steps),
                                          profile.steps == 1 ? "" : "s")
                                 : "one step, which pays for what is done once";
  text += format(": %.2f ms a step\n%.2f ms in kernels, %.2f ms waiting for "
                 "communication, %.2f ms between them\n",
                 profile.seconds * 1e3, profile.kernelSeconds * 1e3,
                 profile.waitSeconds * 1e3, profile.getOtherSeconds() * 1e3);
  const MachineRates &machine = profile.machine;
  text += format("the machine reaches %.1f GFLOP/s in f32, %.1f in bf16, and "
                 "%.1f GB/s (%s)\n",
                 machine.f32Flops / 1e9, machine.bf16Flops / 1e9,
                 machine.bytesPerSecond / 1e9, machine.processor.c_str());
  if (!machine.file.empty())
    text += "  (measured once; remove '" + machine.file +
            "' to measure it again)\n";
  return text;
}

/// The columns that all lines begin with.
static std::string formatRow(double seconds, double whole, double calls,
                             double flops, double bytes) {
  return format("%10.4f %6.1f%% %8.5g %9.1f %9.1f %8.1f", seconds * 1e3,
                100 * getRatio(seconds, whole), calls,
                1e6 * getRatio(seconds, calls), getRatio(flops, seconds) / 1e9,
                getRatio(bytes, seconds) / 1e9);
}

static constexpr const char *kColumns =
    "        ms   share    calls   mean us   GFLOP/s     GB/s";

static std::string getPlace(const KernelProfile &kernel) {
  if (kernel.places.empty())
    return "";
  const KernelPlace &slowest = kernel.places.front();
  std::string text = slowest.module;
  // The folder is on the page.
  if (!slowest.source.empty())
    text += (text.empty() ? "" : "  ") +
            slowest.source.substr(slowest.source.rfind('/') + 1);
  if (kernel.places.size() > 1)
    text += format(" +%zu", kernel.places.size() - 1);
  return text;
}

static std::string formatKinds(const StepProfile &profile) {
  std::string text = std::string("\n") + kColumns + "  kind\n";
  for (const KindProfile &kind : listKinds(profile))
    text += formatRow(kind.seconds, profile.kernelSeconds, kind.calls,
                      kind.flops, kind.bytes) +
            "  " + getName(kind.work) +
            format(", %lld kernel%s\n", static_cast<long long>(kind.kernels),
                   kind.kernels == 1 ? "" : "s");
  return text;
}

static std::string formatKernels(const StepProfile &profile) {
  std::string text = std::string("\n") + kColumns + "  of roof  kernel\n";
  KindProfile others = {}, all = {};
  auto add = [](KindProfile &sum, const KernelProfile &kernel) {
    ++sum.kernels;
    sum.calls += kernel.calls;
    sum.seconds += kernel.seconds;
    sum.flops += kernel.flops * kernel.calls;
    sum.bytes += static_cast<double>(kernel.bytes) * kernel.calls;
  };
  auto format1 = [&](const KindProfile &sum) {
    return formatRow(sum.seconds, profile.kernelSeconds, sum.calls, sum.flops,
                     sum.bytes);
  };
  for (size_t i = 0; i < profile.kernels.size(); ++i) {
    const KernelProfile &kernel = profile.kernels[i];
    add(all, kernel);
    if (i >= kMostLines) {
      add(others, kernel);
      continue;
    }
    KindProfile own = {};
    add(own, kernel);
    double roof = getRoofShare(kernel, profile.machine);
    text += format1(own) +
            (roof > 0 ? format(" %7.0f%%  ", 100 * roof) : "        -  ") +
            kernel.name + "  " + getPlace(kernel) + '\n';
  }
  if (others.kernels)
    text += format1(others) + format("           %lld others\n",
                                     static_cast<long long>(others.kernels));
  return text + format1(all) +
         format("           all %lld\n", static_cast<long long>(all.kernels));
}

std::string regather::formatProfile(const StepProfile &profile) {
  return formatHeader(profile) + formatKinds(profile) + formatKernels(profile);
}
