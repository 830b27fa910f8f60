//===- RooflineChart.cpp - Kernels under the machine's roof ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RooflineChart.h"

#include "ProfileKinds.h"

#include <cmath>
#include <cstdio>

using namespace regather;

static constexpr double kWidth = 1100, kHeight = 440;
static constexpr double kLeft = 62, kRight = 20, kTop = 14, kBottom = 46;
/// The area of a kernel that takes all the time, in square pixels.
static constexpr double kWholeArea = 9000;
static constexpr double kSmallestRadius = 2.5;

static std::string print(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

/// With one decimal: pixels.
static std::string pixel(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

std::string regather::escapeHtml(const std::string &text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += c;
    }
  }
  return escaped;
}

namespace {
/// Powers of ten from `low` to `high` along a side of the chart.
struct LogAxis {
  int low, high;
  double begin, end;

  LogAxis(double least, double most, double begin, double end)
      : low(int(std::floor(std::log10(least)))),
        high(int(std::ceil(std::log10(most)))), begin(begin), end(end) {
    if (high <= low)
      high = low + 1;
  }
  double at(double value) const {
    return begin + (end - begin) * (std::log10(value) - low) / (high - low);
  }
};

/// A kernel as a point.
struct Point {
  const KernelProfile *kernel;
  /// Operations per byte and per second.
  double intensity, rate;
};

class Chart {
public:
  Chart(const StepProfile &profile, const std::vector<Point> &points)
      : profile(profile), points(points), x(findAxisX()), y(findAxisY()) {}

  std::string draw() const;

private:
  const MachineRates &getMachine() const { return profile.machine; }
  LogAxis findAxisX() const;
  LogAxis findAxisY() const;
  std::string drawGrid() const;
  std::string drawRoof(double flops, const char *style,
                       const char *label) const;
  std::string drawPoint(const Point &point) const;

  const StepProfile &profile;
  const std::vector<Point> &points;
  LogAxis x, y;
};
} // namespace

LogAxis Chart::findAxisX() const {
  // The corners of both roofs are to be seen.
  double most = std::max(getMachine().f32Flops, getMachine().bf16Flops) /
                getMachine().bytesPerSecond;
  double least = most;
  for (const Point &point : points) {
    least = std::min(least, point.intensity);
    most = std::max(most, point.intensity);
  }
  return LogAxis(least, 2 * most, kLeft, kWidth - kRight);
}

LogAxis Chart::findAxisY() const {
  double most = std::max(getMachine().f32Flops, getMachine().bf16Flops);
  double least = most;
  for (const Point &point : points) {
    least = std::min(least, point.rate);
    most = std::max(most, point.rate);
  }
  return LogAxis(least, most, kHeight - kBottom, kTop);
}

std::string Chart::drawGrid() const {
  auto line = [](double x1, double y1, double x2, double y2) {
    return "<line class=\"grid\" x1=\"" + pixel(x1) + "\" y1=\"" + pixel(y1) +
           "\" x2=\"" + pixel(x2) + "\" y2=\"" + pixel(y2) + "\"/>";
  };
  auto text = [](double x, double y, const char *anchor,
                 const std::string &label) {
    return "<text x=\"" + pixel(x) + "\" y=\"" + pixel(y) +
           "\" text-anchor=\"" + anchor + "\">" + label + "</text>\n";
  };
  std::string svg;
  for (int power = x.low; power <= x.high; ++power) {
    double value = std::pow(10, power), place = x.at(value);
    svg += line(place, kTop, place, kHeight - kBottom) +
           text(place, kHeight - kBottom + 18, "middle", print(value));
  }
  for (int power = y.low; power <= y.high; ++power) {
    double value = std::pow(10, power), place = y.at(value);
    svg += line(kLeft, place, kWidth - kRight, place) +
           text(kLeft - 8, place + 4, "end", print(value / 1e9));
  }
  return svg +
         text(kWidth - kRight, kHeight - 8, "end",
              "arithmetic operations per byte") +
         text(kLeft + 6, kTop + 10, "start", "GFLOP/s");
}

std::string Chart::drawRoof(double flops, const char *style,
                            const char *label) const {
  double corner = flops / getMachine().bytesPerSecond;
  double right = std::pow(10, x.high);
  // The slope leaves the chart at its lower or its left side.
  double left = std::max(std::pow(10, x.low),
                         std::pow(10, y.low) / getMachine().bytesPerSecond);
  return std::string("<polyline class=\"roof ") + style + "\" points=\"" +
         pixel(x.at(left)) + ',' +
         pixel(y.at(left * getMachine().bytesPerSecond)) + ' ' +
         pixel(x.at(corner)) + ',' + pixel(y.at(flops)) + ' ' +
         pixel(x.at(right)) + ',' + pixel(y.at(flops)) +
         "\"/><text text-anchor=\"end\" x=\"" + pixel(x.at(right) - 4) +
         "\" y=\"" + pixel(y.at(flops) + 15) + "\">" + label + "</text>\n";
}

std::string Chart::drawPoint(const Point &point) const {
  const KernelProfile &kernel = *point.kernel;
  double share = getRatio(kernel.seconds, profile.kernelSeconds);
  double radius =
      std::max(kSmallestRadius, std::sqrt(share * kWholeArea / M_PI));
  return std::string("<circle class=\"") + getName(kernel.work) + "\" cx=\"" +
         pixel(x.at(point.intensity)) + "\" cy=\"" + pixel(y.at(point.rate)) +
         "\" r=\"" + pixel(radius) + "\"><title>" + escapeHtml(kernel.name) +
         ": " + pixel(100 * share) + " % of the time, " +
         print(point.rate / 1e9) + " GFLOP/s</title></circle>\n";
}

std::string Chart::draw() const {
  std::string svg = "<svg viewBox=\"0 0 " + print(kWidth) + ' ' +
                    print(kHeight) + "\" role=\"img\">\n" + drawGrid();
  for (const Point &point : points)
    svg += drawPoint(point);
  svg += drawRoof(getMachine().f32Flops, "wide", "f32");
  svg += drawRoof(getMachine().bf16Flops, "narrow", "bf16");
  return svg + "</svg>\n";
}

std::string regather::drawRoofline(const StepProfile &profile) {
  const MachineRates &machine = profile.machine;
  if (!(machine.f32Flops > 0) || !(machine.bf16Flops > 0) ||
      !(machine.bytesPerSecond > 0))
    return "";
  std::vector<Point> points;
  for (const KernelProfile &kernel : profile.kernels)
    if (kernel.flops > 0 && kernel.bytes > 0 && kernel.seconds > 0)
      points.push_back({&kernel,
                        kernel.flops / static_cast<double>(kernel.bytes),
                        kernel.getFlopsPerSecond()});
  return Chart(profile, points).draw();
}
