//===- MeshPlanPage.cpp - Plans as a page ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/PlanMeshes.h"

#include "regather/Report/RenderPlans.h"
#include "regather/Timeline/WriteTimeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace regather;
using llvm::formatv;

/// Times are for a row, so that meshes with batches of their own compare.
static report::MemoryChoices getChoices(const MeshSearch &search) {
  report::MemoryChoices choices;
  choices.limitBytes = search.limit;
  choices.boundSeconds = search.boundSecondsPerRow;
  for (const MeshPlan &plan : search.plans)
    choices.choices.push_back(
        {plan.mesh, plan.choice.getBytes(), plan.getSecondsPerRow()});
  for (report::MemoryChoice &choice : choices.choices)
    choice.isFrontier =
        llvm::none_of(choices.choices, [&](const report::MemoryChoice &other) {
          return (other.bytes < choice.bytes &&
                  other.seconds <= choice.seconds) ||
                 (other.bytes <= choice.bytes &&
                  other.seconds < choice.seconds);
        });
  return choices;
}

std::string regather::formatPage(const MeshSearch &search) {
  report::PlanPage page;
  page.file = search.file;
  page.chips = {
      search.cluster, formatv("{0} ranks", search.ranks).str(),
      formatv("{0} for each rank", formatBytes(search.limit)).str(),
      formatv("{0} meshes, {1} simulated", search.numMeshes, search.numMeasured)
          .str(),
      formatPercent(search.getGap()) + " above the bound"};
  page.choices = getChoices(search);
  for (const MeshPlan &plan : search.plans) {
    std::string exposed;
    for (const auto &[axes, seconds] : plan.exposed)
      exposed += formatv("{0}{1} {2}", exposed.empty() ? "" : ", ", axes,
                         formatSeconds(seconds));
    page.plans.push_back(
        {plan.mesh, formatSeconds(plan.choice.seconds),
         formatSeconds(plan.getSecondsPerRow()),
         plan.utilization > 0 ? formatPercent(plan.utilization) : "",
         formatBytes(plan.choice.getBytes()), plan.getLimit(), exposed,
         llvm::join(plan.getFlags(), " ")});
  }
  for (const auto &[reason, count] : search.others)
    page.others.push_back({std::to_string(count), reason});
  for (const OtherPlacement &other : search.explanations)
    page.explanations.push_back(
        {other.getText() + (other.isChosen ? " (chosen)" : ""),
         other.choice ? formatSeconds(other.choice->seconds) : other.problem,
         other.choice ? formatBytes(other.choice->getBytes()) : ""});
  return report::renderPlans(page);
}
