//===- ProfilePage.cpp - Profiles as pages --------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProfileKinds.h"
#include "ProfileStyle.h"
#include "RooflineChart.h"

#include "regather/Execution/Profile/FormatProfile.h"

#include <cstdio>

using namespace regather;

static std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

static std::string milliseconds(double seconds) {
  return fixed(seconds * 1e3, 3);
}

static std::string percent(double ratio) {
  return fixed(100 * ratio, 1) + " %";
}

static std::string count(double number) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.7g", number);
  return text;
}

static std::string number(const std::string &text) {
  return "<td class=\"number\">" + text + "</td>";
}

static std::string card(const std::string &value, const std::string &label) {
  return "<div class=\"card\"><b>" + value + "</b><span>" + label +
         "</span></div>\n";
}

static std::string writeHeader(const StepProfile &profile,
                               const std::string &title) {
  std::string steps =
      profile.leavesOutFirst
          ? std::to_string(profile.steps) + " steps after the first"
          : "one step, which pays for what is done once";
  return "<h1>" + escapeHtml(title) + "</h1>\n<p class=\"quiet\">Rank " +
         std::to_string(profile.rank) + " on " +
         std::to_string(profile.threads) +
         (profile.threads == 1 ? " thread" : " threads") + ", mean of " +
         steps + ", on " + escapeHtml(profile.machine.processor) + ".</p>\n";
}

static std::string writeCards(const StepProfile &profile) {
  const MachineRates &machine = profile.machine;
  return "<div class=\"cards\">\n" +
         card(milliseconds(profile.seconds) + " ms", "a step") +
         card(milliseconds(profile.kernelSeconds) + " ms", "in kernels") +
         card(milliseconds(profile.waitSeconds) + " ms",
              "waiting for communication") +
         card(milliseconds(profile.getOtherSeconds()) + " ms", "between them") +
         card(fixed(machine.f32Flops / 1e9, 1) + " / " +
                  fixed(machine.bf16Flops / 1e9, 1) + " GFLOP/s",
              "a large GEMM of the machine in f32 / bf16") +
         card(fixed(machine.bytesPerSecond / 1e9, 1) + " GB/s",
              "a copy beyond its caches, read and written") +
         "</div>\n";
}

static std::string writeKinds(const StepProfile &profile) {
  std::string bar = "<div class=\"kinds\">", rows;
  for (const KindProfile &kind : listKinds(profile)) {
    std::string name = getName(kind.work);
    double share = getRatio(kind.seconds, profile.kernelSeconds);
    bar += "<i class=\"" + name + "\" style=\"width:" + fixed(100 * share, 2) +
           "%\" title=\"" + name + "\"></i>";
    rows +=
        "<tr><td><span class=\"key " + name + "\"></span>" + name + "</td>" +
        number(milliseconds(kind.seconds)) + number(percent(share)) +
        number(count(kind.calls)) + number(std::to_string(kind.kernels)) +
        number(fixed(getRatio(kind.flops, kind.seconds) / 1e9, 1)) +
        number(fixed(getRatio(kind.bytes, kind.seconds) / 1e9, 1)) + "</tr>\n";
  }
  return "<h2>By kind</h2>\n" + bar +
         "</div>\n<table><thead><tr><th>kind</th><th class=\"number\">ms"
         "</th><th class=\"number\">share</th><th class=\"number\">calls</th>"
         "<th class=\"number\">kernels</th><th class=\"number\">GFLOP/s</th>"
         "<th class=\"number\">GB/s</th></tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

static std::string formatPlace(const KernelPlace &place) {
  std::string text = escapeHtml(place.module);
  if (!place.source.empty())
    text += (text.empty() ? "" : "<br>") + escapeHtml(place.source);
  return text;
}

/// The slowest place, and the others at a click.
static std::string writePlaces(const KernelProfile &kernel) {
  if (kernel.places.empty())
    return "";
  std::string text = formatPlace(kernel.places.front());
  if (kernel.places.size() == 1)
    return text;
  text += "<details><summary>and " + std::to_string(kernel.places.size() - 1) +
          " more</summary>";
  for (size_t i = 1; i < kernel.places.size(); ++i)
    text += "<p>" + milliseconds(kernel.places[i].seconds) + " ms " +
            formatPlace(kernel.places[i]) + "</p>";
  return text + "</details>";
}

static std::string writeRow(const KernelProfile &kernel,
                            const StepProfile &profile) {
  std::string kind = getName(kernel.work);
  double roof = getRoofShare(kernel, profile.machine);
  return "<tr>" + number(milliseconds(kernel.seconds)) +
         number(percent(getRatio(kernel.seconds, profile.kernelSeconds))) +
         number(count(kernel.calls)) +
         number(fixed(1e6 * getRatio(kernel.seconds, kernel.calls), 1)) +
         number(fixed(kernel.getFlopsPerSecond() / 1e9, 1)) +
         number(fixed(kernel.getBytesPerSecond() / 1e9, 1)) +
         number(roof > 0 ? percent(roof) : "") +
         "<td class=\"code\"><span class=\"key " + kind + "\" title=\"" + kind +
         "\"></span>" + escapeHtml(kernel.name) + "</td><td class=\"code\">" +
         writePlaces(kernel) + "</td></tr>\n";
}

static std::string writeKernels(const StepProfile &profile) {
  std::string text =
      "<h2>Kernels</h2>\n<p class=\"quiet\">Arithmetic and bytes are what the "
      "compiled program states for a call. Of the roof: the time that they "
      "take at the machine's rates, whichever is longer, as a part of the time "
      "that was taken; more than all if bytes stay in a cache.</p>\n"
      "<div class=\"scroll\"><table id=\"kernels\"><thead><tr>";
  for (const char *title :
       {"ms", "share", "calls", "mean µs", "GFLOP/s", "GB/s", "of the roof"})
    text += std::string("<th class=\"number\">") + title + "</th>";
  text += "<th>kernel</th><th>module, source</th></tr></thead><tbody>\n";
  double calls = 0;
  for (const KernelProfile &kernel : profile.kernels) {
    text += writeRow(kernel, profile);
    calls += kernel.calls;
  }
  return text + "</tbody><tfoot><tr>" +
         number(milliseconds(profile.kernelSeconds)) + number("100 %") +
         number(count(calls)) +
         "<td colspan=\"4\"></td><td colspan=\"2\">all " +
         std::to_string(profile.kernels.size()) +
         " kernels</td></tr></tfoot></table></div>\n";
}

std::string regather::renderProfile(const StepProfile &profile,
                                    const std::string &title) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>" +
      escapeHtml(title) + ": kernels by time</title>\n<style>" + kProfileStyle +
      "</style>\n</head>\n<body>\n" + writeHeader(profile, title) +
      writeCards(profile) + writeKinds(profile);
  if (std::string chart = drawRoofline(profile); !chart.empty())
    page += "<h2>Under the roof</h2>\n<p class=\"quiet\">Each kernel by its "
            "arithmetic per byte; areas are times. The lines are what the "
            "machine's memory and GEMMs allow.</p>\n" +
            chart;
  return page + writeKernels(profile) + "</body>\n</html>\n";
}
