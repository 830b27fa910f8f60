//===- MeshPlanText.cpp - Plans for people and scripts --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/PlanMeshes.h"

#include "regather/Timeline/WriteTimeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace regather;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

static std::string formatExposed(const MeshPlan &plan) {
  std::string text;
  for (const auto &[axes, seconds] : plan.exposed)
    text += formatv("{0}{1} {2}", text.empty() ? "" : ", ", axes,
                    formatSeconds(seconds));
  return text.empty() ? "-" : text;
}

/// As a shell takes it.
static std::string quote(llvm::StringRef flag) {
  auto isPlain = [](char c) {
    return llvm::isAlnum(c) || llvm::StringRef("-_=:,./@").contains(c);
  };
  if (llvm::all_of(flag, isPlain))
    return flag.str();
  auto [name, value] = flag.split('=');
  std::string quoted = (name + "='").str();
  for (char c : value)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

static std::string formatFlags(const MeshPlan &plan) {
  std::string text;
  for (const std::string &flag : plan.getFlags())
    text += (text.empty() ? "" : " ") + quote(flag);
  return text;
}

/// What is proven of placements that were looked for.
static void writeBounds(llvm::raw_ostream &os, const MeshSearch &search) {
  if (llvm::none_of(search.plans, [](const MeshPlan &plan) {
        return plan.placementBoundSeconds > 0;
      }))
    return;
  os << "\nplacements over tp, by the costs that they were chosen by, and what "
        "none costs less than:\n";
  for (const MeshPlan &plan : search.plans)
    if (plan.placementBoundSeconds > 0)
      os << formatv("  {0,-24}{1,10}{2,12}  gap {3}\n", plan.mesh,
                    formatSeconds(plan.placementSeconds),
                    formatSeconds(plan.placementBoundSeconds),
                    formatPercent(plan.getPlacementGap()));
}

static void writeExplanations(llvm::raw_ostream &os, const MeshSearch &search) {
  for (const OtherPlacement &other : search.explanations) {
    os << formatv("  {0}{1,-40} ", other.isChosen ? "* " : "  ",
                  other.getText());
    if (other.choice)
      os << formatv("{0,10}  {1,10}\n", formatSeconds(other.choice->seconds),
                    formatBytes(other.choice->getBytes()));
    else
      os << other.problem << '\n';
  }
}

std::string regather::formatText(const MeshSearch &search) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << formatv("{0,-16}{1} ranks of {2}, {3} for each\n", "cluster",
                search.ranks, search.cluster, formatBytes(search.limit));
  os << formatv("{0,-16}{1}, of which {2} were simulated", "meshes",
                search.numMeshes, search.numMeasured);
  if (search.numLayers > 0)
    os << formatv(", with {0} of {1} layers, and {2} with all",
                  search.numLayers, search.numAllLayers, search.numCarriedOut);
  os << '\n';
  for (const auto &[reason, count] : search.others)
    os << formatv("{0,-16}{1,4}  {2}\n", "", count, reason);
  os << formatv("{0,-16}{1} above the bound of {2} for a row of the batch\n",
                "best", formatPercent(search.getGap()),
                formatSeconds(search.boundSecondsPerRow));
  os << formatv("\n{0,-24}{1,10}{2,12}{3,8}{4,10}  {5,-22} {6}\n", "mesh",
                "step", "for a row", "MFU", "memory", "limited by", "exposed");
  for (const MeshPlan &plan : search.plans)
    os << formatv("{0,-24}{1,10}{2,12}{3,8}{4,10}  {5,-22} {6}\n", plan.mesh,
                  formatSeconds(plan.choice.seconds),
                  formatSeconds(plan.getSecondsPerRow()),
                  plan.utilization > 0 ? formatPercent(plan.utilization) : "-",
                  formatBytes(plan.choice.getBytes()), plan.getLimit(),
                  formatExposed(plan));
  writeBounds(os, search);
  os << "\nflags, the best first:\n";
  for (const MeshPlan &plan : search.plans)
    os << "  " << formatFlags(plan) << '\n';
  if (!search.explanations.empty()) {
    os << "\nplacements on " << search.explainedMesh
       << ", each in the whole step and without a limit of memory:\n";
    writeExplanations(os, search);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// For scripts
//===----------------------------------------------------------------------===//

static void writePlan(llvm::json::OStream &json, const MeshPlan &plan) {
  json.attribute("mesh", plan.mesh);
  json.attribute("replicate_axis", plan.replicateAxis);
  json.attribute("seconds", plan.choice.seconds);
  json.attribute("rows", plan.rows);
  json.attribute("seconds_per_row", plan.getSecondsPerRow());
  json.attribute("bound_seconds", plan.boundSeconds);
  if (plan.placementBoundSeconds > 0) {
    json.attribute("placement_seconds", plan.placementSeconds);
    json.attribute("placement_bound_seconds", plan.placementBoundSeconds);
    json.attribute("placement_gap", plan.getPlacementGap());
  }
  json.attribute("mfu", plan.utilization);
  json.attribute("bytes", plan.choice.getBytes());
  json.attribute("argument_bytes", plan.choice.argumentBytes);
  json.attribute("arena_bytes", plan.choice.arenaBytes);
  json.attribute("host_bytes", plan.choice.hostBytes);
  json.attribute("batch", plan.hasOwnBatches ? "per-rank" : "global");
  json.attribute("micro_batches", plan.choice.microBatches);
  json.attribute("limited_by", plan.getLimit());
  json.attribute("compute_seconds", plan.computeSeconds);
  json.attributeObject("exposed_seconds", [&] {
    for (const auto &[axes, seconds] : plan.exposed)
      json.attribute(axes, seconds);
  });
  json.attributeArray("shard", [&] {
    for (const std::string &placement : plan.shard)
      json.value(placement);
  });
  json.attributeArray("flags", [&] {
    for (const std::string &flag : plan.getFlags())
      json.value(flag);
  });
}

std::string regather::formatJson(const MeshSearch &search) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("file", search.file);
    json.attribute("cluster", search.cluster);
    json.attribute("ranks", search.ranks);
    json.attribute("limit_bytes", search.limit);
    json.attribute("meshes", search.numMeshes);
    json.attribute("simulated", search.numMeasured);
    if (search.numLayers > 0) {
      json.attribute("estimated_layers", search.numLayers);
      json.attribute("layers", search.numAllLayers);
      json.attribute("carried_out", search.numCarriedOut);
    }
    json.attribute("bound_seconds_per_row", search.boundSecondsPerRow);
    json.attribute("gap", search.getGap());
    json.attributeObject("others", [&] {
      for (const auto &[reason, count] : search.others)
        json.attribute(reason, count);
    });
    json.attributeArray("plans", [&] {
      for (const MeshPlan &plan : search.plans)
        json.object([&] { writePlan(json, plan); });
    });
    json.attribute("explained_mesh", search.explainedMesh);
    json.attribute("problem", search.problem);
    json.attributeArray("explanations", [&] {
      for (const OtherPlacement &other : search.explanations)
        json.object([&] {
          json.attribute("placement", other.placement);
          json.attribute("chosen", other.isChosen);
          if (other.choice) {
            json.attribute("seconds", other.choice->seconds);
            json.attribute("bytes", other.choice->getBytes());
          } else {
            json.attribute("problem", other.problem);
          }
        });
    });
  });
  os << '\n';
  return text;
}
