//===- FrontierChart.cpp - Memory against time ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontierChart.h"

#include "Format.h"

#include "regather/Timeline/WriteTimeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace regather::report;

namespace {
class FrontierChart {
public:
  FrontierChart(llvm::raw_ostream &os, const MemoryChoices &memory);

  void write();

private:
  // In pixels; the page scales the picture.
  static constexpr int kLeft = 74;
  static constexpr int kTop = 14;
  static constexpr int kPlotWidth = 900;
  static constexpr int kPlotHeight = 220;
  static constexpr int kWidth = kLeft + kPlotWidth + 12;
  static constexpr int kHeight = kTop + kPlotHeight + 26;
  static constexpr int kTicks = 5;
  /// Room beside the outermost points, as part of the range.
  static constexpr double kMargin = 0.08;

  double getX(double bytes) const { return kLeft + kPlotWidth * bytes / right; }
  double getY(double seconds) const {
    return kTop + kPlotHeight * (1 - (seconds - bottom) / (top - bottom));
  }
  void writeAxes();
  void writeLimit();
  void writeLine();
  void writePoints();

  llvm::raw_ostream &os;
  const MemoryChoices &memory;
  /// The ranges, in bytes from zero and in seconds.
  double right, bottom, top;
};
} // namespace

FrontierChart::FrontierChart(llvm::raw_ostream &os, const MemoryChoices &memory)
    : os(os), memory(memory), right(static_cast<double>(memory.limitBytes)),
      bottom(memory.choices.front().seconds), top(bottom) {
  for (const MemoryChoice &choice : memory.choices) {
    right = std::max(right, static_cast<double>(choice.bytes));
    bottom = std::min(bottom, choice.seconds);
    top = std::max(top, choice.seconds);
  }
  right = std::max(right * (1 + kMargin), 1.0);
  double room = std::max((top - bottom) * kMargin, top * 1e-3);
  bottom -= room;
  top += room;
  if (top <= bottom)
    top = bottom + 1;
}

void FrontierChart::writeAxes() {
  for (int i = 0; i <= kTicks; ++i) {
    double seconds = bottom + (top - bottom) * i / kTicks;
    os << llvm::formatv("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" "
                        "y1=\"{2:F1}\" y2=\"{2:F1}\"/>",
                        kLeft, kLeft + kPlotWidth, getY(seconds));
    os << llvm::formatv(
        "<text class=\"tick\" x=\"{0}\" y=\"{1:F1}\">{2}</text>\n", kLeft - 8,
        getY(seconds) + 4, regather::formatSeconds(seconds));
    double bytes = right * i / kTicks;
    os << llvm::formatv(
        "<text class=\"phase\" x=\"{0:F1}\" y=\"{1}\">{2}</text>\n",
        getX(bytes), kTop + kPlotHeight + 18,
        formatBytes(static_cast<int64_t>(bytes)));
  }
}

void FrontierChart::writeLimit() {
  double x = getX(static_cast<double>(memory.limitBytes));
  os << llvm::formatv("<line class=\"boundary\" x1=\"{0:F1}\" x2=\"{0:F1}\" "
                      "y1=\"{1}\" y2=\"{2}\"/>",
                      x, kTop, kTop + kPlotHeight);
  os << llvm::formatv("<text class=\"tick\" x=\"{0:F1}\" y=\"{1}\">limit "
                      "{2}</text>\n",
                      x - 6, kTop + 12, formatBytes(memory.limitBytes));
}

/// Nothing is quicker until the next point to the right.
void FrontierChart::writeLine() {
  std::vector<const MemoryChoice *> frontier;
  for (const MemoryChoice &choice : memory.choices)
    if (choice.isFrontier)
      frontier.push_back(&choice);
  llvm::sort(frontier, [](const MemoryChoice *lhs, const MemoryChoice *rhs) {
    return lhs->bytes < rhs->bytes;
  });
  std::string path;
  for (const MemoryChoice *choice : frontier)
    path += llvm::formatv(path.empty() ? "M{0:F1} {1:F1}" : "H{0:F1}V{1:F1}",
                          getX(static_cast<double>(choice->bytes)),
                          getY(choice->seconds));
  if (!path.empty())
    os << "<path class=\"outline\" d=\"" << path << "\"/>\n";
}

void FrontierChart::writePoints() {
  for (auto [number, choice] : llvm::enumerate(memory.choices)) {
    bool isChosen = number == memory.chosen;
    double x = getX(static_cast<double>(choice.bytes));
    os << llvm::formatv(
        "<circle class=\"{0}\" cx=\"{1:F1}\" cy=\"{2:F1}\" r=\"{3}\">"
        "<title>{4}: {5}, {6}</title></circle>\n",
        isChosen            ? "peak"
        : choice.isFrontier ? "use1"
                            : "use0",
        x, getY(choice.seconds), isChosen ? 6 : 4, escape(choice.flags),
        formatBytes(choice.bytes), regather::formatSeconds(choice.seconds));
    if (isChosen)
      os << llvm::formatv(
          "<text class=\"peak {0}\" x=\"{1:F1}\" y=\"{2:F1}\">{3}, "
          "{4}</text>\n",
          x > kLeft + kPlotWidth * 0.5 ? "right" : "left", x,
          std::max(getY(choice.seconds) - 10, kTop + 10.0),
          formatBytes(choice.bytes), regather::formatSeconds(choice.seconds));
  }
}

void FrontierChart::write() {
  os << llvm::formatv("<figure class=\"chart\"><svg viewBox=\"0 0 {0} {1}\" "
                      "role=\"img\" aria-label=\"Time of the step against "
                      "memory\">\n",
                      kWidth, kHeight);
  writeAxes();
  writeLimit();
  writeLine();
  writePoints();
  os << "</svg></figure>\n";
}

void regather::report::writeFrontierChart(llvm::raw_ostream &os,
                                          const MemoryChoices &memory) {
  FrontierChart(os, memory).write();
}
