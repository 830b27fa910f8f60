//===- TimelineFigure.cpp - Timelines as pictures -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plot is an SVG of its own whose view box is stretched to its place: to
// zoom is to change that box. Names and axes lie outside and stay as they are.
//
//===----------------------------------------------------------------------===//

#include "regather/Timeline/WriteTimeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace regather;
using llvm::formatv;

// In pixels.
static constexpr int kLeft = 150;
static constexpr int kTop = 26;
static constexpr int kPlotWidth = 1000;
static constexpr int kComputeHeight = 44;
static constexpr int kStreamHeight = 30;
static constexpr int kGap = 12;
static constexpr int kMemoryHeight = 130;
static constexpr int kAxisHeight = 26;
static constexpr int kRight = 14;
/// Places along the plot, finer than pixels so that one can zoom in.
static constexpr int kPlacesPerPixel = 16;
static constexpr int kPlaces = kPlotWidth * kPlacesPerPixel;

namespace {
/// What is drawn of a box, or of several.
struct Mark {
  int begin = 0, end = 0;
  uint32_t op = 0;
  BoxKind kind = BoxKind::Forward;
  bool isShaded = false;
  bool isCritical = false;
  unsigned count = 1;
  double seconds = 0;
};

class Figure {
public:
  Figure(llvm::raw_ostream &os, const Timeline &timeline,
         llvm::ArrayRef<TimelineOp> ops);
  void write();

private:
  int getPlace(double seconds) const;
  int getLaneTop(size_t lane) const;
  int getLaneHeight(size_t lane) const {
    return lane == 0 ? kComputeHeight : kStreamHeight;
  }
  std::vector<Mark> mergeBoxes(const TimelineLane &lane) const;
  void writePhases();
  void writeLane(size_t lane);
  void writeExposedBands();
  void writeMemory();
  void writeNames();
  void writeTimeAxis();
  void writePeak();
  void writeData();
  void writeLegend();

  llvm::raw_ostream &os;
  const Timeline &timeline;
  llvm::ArrayRef<TimelineOp> ops;
  double placesPerSecond;
  int memoryTop, bottom, height;
  double memoryStep, memoryLimit;
  /// Operations that a mark of their own shows, in the order of the marks.
  std::vector<uint32_t> shown;
};
} // namespace

/// The next larger of 1, 2, 2.5 and 5 times a power of ten.
static double getNiceStep(double step) {
  double power = std::pow(10, std::floor(std::log10(step)));
  for (double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= step)
      return factor * power;
  return 10 * power;
}

Figure::Figure(llvm::raw_ostream &os, const Timeline &timeline,
               llvm::ArrayRef<TimelineOp> ops)
    : os(os), timeline(timeline), ops(ops),
      placesPerSecond(timeline.seconds > 0 ? kPlaces / timeline.seconds : 0),
      memoryTop(getLaneTop(timeline.lanes.size()) + 14),
      bottom(memoryTop + kMemoryHeight), height(bottom + kAxisHeight) {
  double peak = std::max<double>(timeline.peakBytes, 1);
  memoryStep = getNiceStep(peak / 4);
  memoryLimit = memoryStep * std::ceil(1.02 * peak / memoryStep);
}

int Figure::getPlace(double seconds) const {
  return std::clamp(static_cast<int>(seconds * placesPerSecond), 0, kPlaces);
}

int Figure::getLaneTop(size_t lane) const {
  if (lane == 0)
    return kTop;
  return kTop + kComputeHeight + kGap +
         static_cast<int>(lane - 1) * (kStreamHeight + kGap);
}

/// What is narrower than a pixel is drawn with its neighbours of the same kind.
std::vector<Mark> Figure::mergeBoxes(const TimelineLane &lane) const {
  std::vector<Mark> marks;
  auto isNarrow = [](const Mark &mark) {
    return mark.end - mark.begin < kPlacesPerPixel;
  };
  for (const TimelineBox &box : lane.boxes) {
    Mark mark;
    mark.begin = getPlace(box.begin);
    mark.end = std::max(getPlace(box.end), mark.begin + 1);
    mark.op = box.op;
    mark.kind = box.kind;
    mark.isShaded = ops[box.op].isShaded;
    mark.isCritical = box.isCritical;
    mark.seconds = box.end - box.begin;
    if (!marks.empty()) {
      Mark &last = marks.back();
      bool isAlike = last.kind == mark.kind && last.isShaded == mark.isShaded &&
                     last.isCritical == mark.isCritical;
      if (isAlike && isNarrow(last) && isNarrow(mark) &&
          mark.begin <= last.end + 1) {
        last.end = std::max(last.end, mark.end);
        last.count += mark.count;
        last.seconds += mark.seconds;
        continue;
      }
      // Marks do not overlap: nothing is hidden beneath a narrow one.
      mark.begin = std::max(mark.begin, last.end);
      if (mark.begin >= mark.end)
        continue;
    }
    marks.push_back(mark);
  }
  return marks;
}

void Figure::writePhases() {
  for (auto [i, phase] : llvm::enumerate(timeline.phases)) {
    int begin = getPlace(phase.begin), end = getPlace(phase.end);
    os << formatv("<rect class=\"phase{0}\" x=\"{1}\" y=\"0\" width=\"{2}\" "
                  "height=\"{3}\"/>\n",
                  i % 2, begin, end - begin, bottom);
  }
}

void Figure::writeExposedBands() {
  for (const Mark &mark : mergeBoxes(timeline.lanes[0]))
    if (mark.kind == BoxKind::Exposed)
      os << formatv("<rect class=\"band\" x=\"{0}\" y=\"{1}\" width=\"{2}\" "
                    "height=\"{3}\"/>\n",
                    mark.begin, kTop, mark.end - mark.begin, bottom - kTop);
}

void Figure::writeLane(size_t number) {
  int top = getLaneTop(number), laneHeight = getLaneHeight(number);
  for (const Mark &mark : mergeBoxes(timeline.lanes[number])) {
    bool isWide = mark.end - mark.begin >= 4 * kPlacesPerPixel;
    os << formatv("<rect class=\"k{0}{1}{2}\" x=\"{3}\" y=\"{4}\" "
                  "width=\"{5}\" height=\"{6}\"",
                  static_cast<unsigned>(mark.kind), mark.isShaded ? " s" : "",
                  isWide ? " w" : "", mark.begin, top, mark.end - mark.begin,
                  laneHeight);
    os << formatv(" data-i=\"{0}\"", shown.size());
    if (mark.count > 1)
      os << formatv(" data-n=\"{0}\"", mark.count);
    os << formatv(" data-t=\"{0:F1}\"/>\n", mark.seconds * 1e6);
    shown.push_back(mark.op);
    if (mark.isCritical)
      os << formatv("<rect class=\"critical\" x=\"{0}\" y=\"{1}\" "
                    "width=\"{2}\" height=\"3\"/>\n",
                    mark.begin, top + laneHeight + 2, mark.end - mark.begin);
  }
}

void Figure::writeMemory() {
  auto getY = [&](int64_t bytes) {
    return bottom - kMemoryHeight * static_cast<double>(bytes) / memoryLimit;
  };
  // The most in each column of a quarter of a pixel.
  constexpr int kColumn = kPlacesPerPixel / 4;
  std::vector<int64_t> columns(kPlaces / kColumn + 1, -1);
  int64_t current = 0;
  int next = 0;
  for (auto [seconds, bytes] : timeline.memory) {
    int column = getPlace(seconds) / kColumn;
    while (next <= column)
      columns[next++] = current;
    columns[column] = std::max(columns[column], bytes);
    current = bytes;
  }
  while (next <= kPlaces / kColumn)
    columns[next++] = current;
  std::string line = formatv("M0 {0:F1}", getY(columns.front())).str();
  for (size_t i = 1; i != columns.size(); ++i)
    if (columns[i] != columns[i - 1])
      line += formatv("H{0}V{1:F1}", i * kColumn, getY(columns[i])).str();
  line += formatv("H{0}", kPlaces).str();
  os << formatv("<path class=\"memory\" d=\"{0}V{1}H0Z\"/>\n", line, bottom);
  os << formatv("<path class=\"edge\" d=\"{0}\"/>\n", line);
  int place = getPlace(timeline.peakSeconds);
  os << formatv("<line class=\"peak\" x1=\"{0}\" x2=\"{0}\" y1=\"{1:F1}\" "
                "y2=\"{2}\"/>\n",
                place, getY(timeline.peakBytes), bottom);
}

void Figure::writeNames() {
  for (auto [i, lane] : llvm::enumerate(timeline.lanes)) {
    double middle = getLaneTop(i) + getLaneHeight(i) / 2.0;
    os << formatv("<text class=\"lane\" x=\"{0}\" y=\"{1:F0}\">{2}</text>\n",
                  kLeft - 12, middle + 4, escapeHtml(lane.name));
  }
  for (int i = 0; i * memoryStep <= memoryLimit * 1.0001; ++i) {
    double bytes = i * memoryStep;
    double y = bottom - kMemoryHeight * bytes / memoryLimit;
    os << formatv("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:F1}\" "
                  "y2=\"{2:F1}\"/>"
                  "<text class=\"tick\" x=\"{3}\" y=\"{4:F1}\">{5}</text>\n",
                  kLeft, kLeft + kPlotWidth, y, kLeft - 12, y + 4,
                  formatBytes(static_cast<int64_t>(bytes)));
  }
}

void Figure::writeTimeAxis() {
  os << "<g class=\"axis\">";
  double step = getNiceStep(std::max(timeline.seconds, 1e-12) / 9);
  for (int i = 0; i * step <= timeline.seconds; ++i) {
    double x = kLeft + getPlace(i * step) / double(kPlacesPerPixel);
    os << formatv("<line class=\"grid\" x1=\"{0:F1}\" x2=\"{0:F1}\" y1=\"{1}\" "
                  "y2=\"{2}\"/><text class=\"time\" x=\"{0:F1}\" "
                  "y=\"{3}\">{4}</text>\n",
                  x, kTop, bottom, bottom + 18, formatSeconds(i * step));
  }
  for (const TimelinePhase &phase : timeline.phases) {
    double begin = getPlace(phase.begin) / double(kPlacesPerPixel);
    double end = getPlace(phase.end) / double(kPlacesPerPixel);
    // A letter takes about seven pixels.
    if (end - begin > 7 * static_cast<double>(phase.name.size()))
      os << formatv("<text class=\"phase\" x=\"{0:F1}\" y=\"{1}\">{2}"
                    "</text>\n",
                    kLeft + (begin + end) / 2, kTop - 9,
                    escapeHtml(phase.name));
  }
  writePeak();
  os << "</g>\n";
}

/// Names the highest point, on the side where there is more room.
void Figure::writePeak() {
  double x = kLeft + getPlace(timeline.peakSeconds) / double(kPlacesPerPixel);
  double y = bottom - kMemoryHeight * timeline.peakBytes / memoryLimit;
  bool isRight = x > kLeft + kPlotWidth / 2.0;
  os << formatv("<text class=\"top {0}\" x=\"{1:F1}\" y=\"{2:F1}\">peak {3}"
                "</text>\n",
                isRight ? "before" : "after", isRight ? x - 8 : x + 8,
                std::max(y - 6, bottom - kMemoryHeight + 10.0),
                formatBytes(timeline.peakBytes));
}

/// What the script shows: by mark, the names of its operation.
void Figure::writeData() {
  os << "<script type=\"application/json\" class=\"marks\">";
  std::string text;
  llvm::raw_string_ostream textStream(text);
  llvm::json::OStream stream(textStream);
  stream.array([&] {
    for (uint32_t op : shown)
      stream.array([&] {
        stream.value(ops[op].name);
        stream.value(ops[op].module);
        stream.value(ops[op].target);
      });
  });
  // No text of the step ends the script.
  for (char c : text) {
    if (c == '<')
      os << "\\u003c";
    else
      os << c;
  }
  os << "</script>\n";
}

void Figure::writeLegend() {
  bool isUsed[kNumBoxKinds] = {};
  for (const TimelineLane &lane : timeline.lanes)
    for (const TimelineBox &box : lane.boxes)
      isUsed[static_cast<unsigned>(box.kind)] = true;
  os << "<p class=\"keys\">";
  for (unsigned kind = 0; kind != kNumBoxKinds; ++kind)
    if (isUsed[kind])
      os << formatv("<span><svg viewBox=\"0 0 12 12\"><rect class=\"k{0}\" "
                    "width=\"12\" height=\"12\" rx=\"2\"/></svg>{1}</span>\n",
                    kind, getBoxKindName(static_cast<BoxKind>(kind)));
  os << "<span><svg viewBox=\"0 0 12 12\"><rect class=\"critical\" y=\"5\" "
        "width=\"12\" height=\"3\"/></svg>critical path</span></p>\n";
}

void Figure::write() {
  int width = kLeft + kPlotWidth + kRight;
  os << "<figure class=\"timeline\">\n";
  writeLegend();
  os << formatv("<svg class=\"outer\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
                "aria-label=\"timeline\" data-left=\"{2}\" data-width=\"{3}\" "
                "data-top=\"{4}\" data-bottom=\"{5}\" data-seconds=\"{6}\">\n",
                width, height, kLeft, kPlotWidth, kTop, bottom,
                formatv("{0:E9}", timeline.seconds).str());
  os << formatv("<svg class=\"plot\" x=\"{0}\" y=\"0\" width=\"{1}\" "
                "height=\"{2}\" viewBox=\"0 0 {3} {2}\" "
                "preserveAspectRatio=\"none\">\n",
                kLeft, kPlotWidth, bottom, kPlaces);
  writePhases();
  writeExposedBands();
  for (size_t lane = 0; lane != timeline.lanes.size(); ++lane)
    writeLane(lane);
  writeMemory();
  os << "</svg>\n";
  writeTimeAxis();
  writeNames();
  os << "</svg>\n";
  writeData();
  os << "<p class=\"readout\">&nbsp;</p>\n</figure>\n";
}

void regather::writeTimelineFigure(llvm::raw_ostream &os,
                                   const Timeline &timeline,
                                   llvm::ArrayRef<TimelineOp> ops) {
  Figure(os, timeline, ops).write();
}
