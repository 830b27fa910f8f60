//===- RenderReport.h - A report as a page or as numbers --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_REPORT_RENDERREPORT_H
#define REGATHER_REPORT_RENDERREPORT_H

#include "regather/Report/StepReport.h"

namespace regather::report {

/// A page that needs no other file and no network.
std::string renderHtml(const StepReport &report);

/// The same numbers, all of them, as one JSON object.
std::string renderJson(const StepReport &report);

} // namespace regather::report

#endif // REGATHER_REPORT_RENDERREPORT_H
