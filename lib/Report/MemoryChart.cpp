//===- MemoryChart.cpp - Bytes in use over a program ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryChart.h"

#include "Format.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace regather::report;

llvm::StringRef regather::report::getUseName(MemoryUse use) {
  switch (use) {
  case MemoryUse::Arguments:
    return "arguments";
  case MemoryUse::Gathered:
    return "gathered parameters";
  case MemoryUse::Saved:
    return "saved for backward";
  case MemoryUse::Gradients:
    return "gradients";
  case MemoryUse::Temporary:
    return "temporary";
  }
  llvm_unreachable("unknown use");
}

std::string regather::report::getUseClass(MemoryUse use) {
  return "use" + std::to_string(static_cast<unsigned>(use));
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

// In pixels; the page scales the picture.
static constexpr int kLeft = 74;
static constexpr int kTop = 26;
static constexpr int kPlotWidth = 900;
static constexpr int kPlotHeight = 190;
static constexpr int kWidth = kLeft + kPlotWidth + 12;
static constexpr int kHeight = kTop + kPlotHeight + 12;

namespace {
/// The columns that a phase takes, in both charts.
struct PhasePlace {
  std::string name;
  int begin, end;
};

/// What is in use at a column, by use.
using Sample = std::array<int64_t, kNumMemoryUses>;
} // namespace

/// Phases as wide as they are long in `curve`.
static std::vector<PhasePlace> placePhases(const MemoryCurve &curve) {
  std::vector<PhasePlace> places;
  auto getColumn = [&](uint64_t instruction) {
    return static_cast<int>(kPlotWidth * instruction /
                            std::max<uint64_t>(curve.getLength(), 1));
  };
  for (const PhaseSpan &phase : curve.phases)
    places.push_back(
        {phase.name, getColumn(phase.begin), getColumn(phase.end)});
  return places;
}

/// The instruction of [begin, end) with most bytes in use.
static uint64_t findLargest(const MemoryCurve &curve, uint64_t begin,
                            uint64_t end) {
  uint64_t largest = begin;
  for (uint64_t i = begin; i < end; ++i)
    if (curve.getTotal(i) > curve.getTotal(largest))
      largest = i;
  return largest;
}

/// For each column the instruction of those there that has most in use.
static std::vector<uint64_t> sampleColumns(const MemoryCurve &curve,
                                           llvm::ArrayRef<PhasePlace> places) {
  std::vector<uint64_t> samples(kPlotWidth, 0);
  for (const PhasePlace &place : places) {
    auto phase = llvm::find_if(curve.phases, [&](const PhaseSpan &span) {
      return span.name == place.name;
    });
    if (phase == curve.phases.end())
      continue;
    uint64_t length = phase->end - phase->begin;
    uint64_t columns = place.end - place.begin;
    for (uint64_t i = 0; i < columns; ++i) {
      uint64_t begin = phase->begin + i * length / columns;
      uint64_t end = phase->begin + (i + 1) * length / columns;
      samples[place.begin + i] =
          findLargest(curve, begin, std::max(end, begin + 1));
    }
  }
  return samples;
}

/// The next larger of 1, 2, 2.5 and 5 times a power of ten.
static double getNiceStep(double step) {
  double power = std::pow(10, std::floor(std::log10(step)));
  for (double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= step)
      return factor * power;
  return 10 * power;
}

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

namespace {
class Chart {
public:
  Chart(llvm::raw_ostream &os, const MemoryCurve &curve,
        llvm::ArrayRef<PhasePlace> places, double step, double top)
      : os(os), curve(curve), places(places), step(step), top(top),
        columns(sampleColumns(curve, places)) {}

  void write(llvm::StringRef title, const Chart *outline);

private:
  double getY(double bytes) const {
    return kTop + kPlotHeight * (1 - bytes / top);
  }
  /// Bytes of the first `uses` uses at a column.
  int64_t getLevel(int column, unsigned uses) const;
  std::string getLine(unsigned uses) const;
  void writeAxis();
  void writePhases();
  void writePeak();
  void writeSamples();

  llvm::raw_ostream &os;
  const MemoryCurve &curve;
  llvm::ArrayRef<PhasePlace> places;
  double step, top;
  /// By column, an instruction.
  std::vector<uint64_t> columns;
};
} // namespace

int64_t Chart::getLevel(int column, unsigned uses) const {
  int64_t level = 0;
  for (unsigned use = 0; use < uses; ++use)
    level += curve.bytes[use][columns[column]];
  return level;
}

/// The path along the upper edge of the first `uses` uses, from left to right.
std::string Chart::getLine(unsigned uses) const {
  std::string path =
      llvm::formatv("M{0} {1:F1}", kLeft, getY(double(getLevel(0, uses))));
  for (int i = 1; i < kPlotWidth; ++i)
    if (getLevel(i, uses) != getLevel(i - 1, uses))
      path += llvm::formatv("H{0}V{1:F1}", kLeft + i,
                            getY(double(getLevel(i, uses))));
  return path + "H" + std::to_string(kLeft + kPlotWidth);
}

void Chart::writeAxis() {
  for (int64_t i = 0, e = std::llround(top / step); i <= e; ++i) {
    double tick = static_cast<double>(i) * step;
    os << llvm::formatv("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" "
                        "y1=\"{2:F1}\" y2=\"{2:F1}\"/>",
                        kLeft, kLeft + kPlotWidth, getY(tick));
    os << llvm::formatv("<text class=\"tick\" x=\"{0}\" y=\"{1:F1}\">{2}"
                        "</text>\n",
                        kLeft - 8, getY(tick) + 4,
                        formatBytes(static_cast<int64_t>(tick)));
  }
}

void Chart::writePhases() {
  for (auto [i, place] : llvm::enumerate(places)) {
    int width = place.end - place.begin;
    os << llvm::formatv("<rect class=\"phase{0}\" x=\"{1}\" y=\"{2}\" "
                        "width=\"{3}\" height=\"{4}\"/>",
                        i % 2, kLeft + place.begin, kTop, width, kPlotHeight);
    // A name needs about seven pixels for a letter.
    if (width > 7 * static_cast<int>(place.name.size()))
      os << llvm::formatv("<text class=\"phase\" x=\"{0}\" y=\"{1}\">{2}"
                          "</text>\n",
                          kLeft + place.begin + width / 2, kTop - 8,
                          escape(place.name));
  }
}

void Chart::writePeak() {
  auto it = llvm::find(columns, curve.peak);
  if (it == columns.end())
    return;
  int x = kLeft + static_cast<int>(it - columns.begin());
  double y = getY(double(curve.getPeakBytes()));
  bool isRight = x > kLeft + kPlotWidth / 2;
  os << llvm::formatv("<circle class=\"peak\" cx=\"{0}\" cy=\"{1:F1}\" "
                      "r=\"4\"/>",
                      x, y);
  os << llvm::formatv("<text class=\"peak {0}\" x=\"{1}\" y=\"{2:F1}\">peak "
                      "{3}</text>\n",
                      isRight ? "right" : "left", x,
                      std::max(y - 9, kTop + 10.0),
                      formatBytes(curve.getPeakBytes()));
}

/// What the script shows where the mouse is: a list of column and uses, where
/// they change.
void Chart::writeSamples() {
  os << "<script type=\"application/json\" class=\"samples\">";
  llvm::json::OStream stream(os);
  stream.array([&] {
    for (int i = 0; i < kPlotWidth; ++i) {
      if (i > 0 && columns[i] == columns[i - 1])
        continue;
      stream.array([&] {
        stream.value(i);
        for (const std::vector<int64_t> &use : curve.bytes)
          stream.value(use[columns[i]]);
      });
    }
  });
  os << "</script>\n";
}

void Chart::write(llvm::StringRef title, const Chart *outline) {
  os << "<figure class=\"chart\"><figcaption>" << escape(title)
     << "</figcaption>\n";
  os << llvm::formatv("<svg viewBox=\"0 0 {0} {1}\" role=\"img\" "
                      "aria-label=\"{2}\" data-left=\"{3}\" "
                      "data-columns=\"{4}\">\n",
                      kWidth, kHeight, escape(title), kLeft, kPlotWidth);
  writePhases();
  // From the highest level down, so that each use shows above the ones below.
  for (unsigned use = kNumMemoryUses; use-- > 0;)
    os << llvm::formatv("<path class=\"{0}\" d=\"{1}V{2}H{3}Z\"/>\n",
                        getUseClass(static_cast<MemoryUse>(use)),
                        getLine(use + 1), kTop + kPlotHeight, kLeft);
  writeAxis();
  if (outline)
    os << "<path class=\"outline\" d=\"" << outline->getLine(kNumMemoryUses)
       << "\"/>\n";
  for (const PhasePlace &place : places.drop_front(places.empty() ? 0 : 1))
    os << llvm::formatv("<line class=\"boundary\" x1=\"{0}\" x2=\"{0}\" "
                        "y1=\"{1}\" y2=\"{2}\"/>\n",
                        kLeft + place.begin, kTop, kTop + kPlotHeight);
  writePeak();
  os << llvm::formatv("<line class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"{0}\" "
                      "y2=\"{1}\"/>\n</svg>\n",
                      kTop, kTop + kPlotHeight);
  writeSamples();
  os << "<p class=\"readout\">&nbsp;</p></figure>\n";
}

static void writeLegend(llvm::raw_ostream &os) {
  os << "<p class=\"legend\">";
  for (unsigned use = 0; use < kNumMemoryUses; ++use)
    os << "<span><svg class=\"key\" viewBox=\"0 0 12 12\"><rect class=\""
       << getUseClass(static_cast<MemoryUse>(use))
       << "\" width=\"12\" height=\"12\" rx=\"2\"/></svg>"
       << getUseName(static_cast<MemoryUse>(use)) << "</span>\n";
  os << "<span><svg class=\"key\" viewBox=\"0 0 12 12\"><line "
        "class=\"outline\" x1=\"0\" x2=\"12\" y1=\"6\" y2=\"6\"/></svg>before "
        "the passes</span></p>\n";
}

void regather::report::writeMemoryCharts(llvm::raw_ostream &os,
                                         const MemoryCurve &before,
                                         const MemoryCurve &after) {
  if (before.getLength() == 0 || after.getLength() == 0)
    return;
  double peak = double(std::max(before.getPeakBytes(), after.getPeakBytes()));
  double step = getNiceStep(std::max(peak, 1.0) / 5);
  double top = step * std::ceil(1.1 * peak / step);
  std::vector<PhasePlace> places = placePhases(after);
  Chart first(os, before, places, step, top),
      second(os, after, places, step, top);
  writeLegend(os);
  first.write("before the passes", nullptr);
  second.write("after the passes", &first);
}
