//===- RenderPlans.h - A page of plans --------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_REPORT_RENDERPLANS_H
#define REGATHER_REPORT_RENDERPLANS_H

#include "regather/Report/StepReport.h"

namespace regather::report {

/// What a page shows of a search over meshes; texts are shown as they are.
struct PlanPage {
  std::string file;
  std::vector<std::string> chips;
  /// The first is the best. Times are those of a row of the batch.
  MemoryChoices choices;
  using Row = std::vector<std::string>;
  /// Mesh, step, time of a row, MFU, memory, what limits it, what is exposed,
  /// flags.
  std::vector<Row> plans;
  /// How many, and why they are no plans.
  std::vector<Row> others;
  /// Placement, time, memory.
  std::vector<Row> explanations;
};

/// Needs a plan.
std::string renderPlans(const PlanPage &page);

} // namespace regather::report

#endif // REGATHER_REPORT_RENDERPLANS_H
