//===- RooflineChart.h - Kernels under the machine's roof ----- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_PROFILE_ROOFLINECHART_H
#define REGATHER_LIB_EXECUTION_PROFILE_ROOFLINECHART_H

#include "regather/Execution/Profile/StepProfile.h"

namespace regather {

/// The kernels as an SVG: arithmetic per byte to the right, achieved
/// arithmetic per second upwards, both as logarithms, an area for the time; and
/// over them the lines that the machine's rates draw. Kernels without
/// arithmetic have no place in it. Empty if the machine was not measured.
std::string drawRoofline(const StepProfile &profile);

/// With the characters that HTML reserves as entities.
std::string escapeHtml(const std::string &text);

} // namespace regather

#endif // REGATHER_LIB_EXECUTION_PROFILE_ROOFLINECHART_H
