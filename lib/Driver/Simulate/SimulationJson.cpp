//===- SimulationJson.cpp - A simulation in numbers -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/SimulationSummary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace regather;

static llvm::StringRef getKindName(TimedOpKind kind) {
  switch (kind) {
  case TimedOpKind::Compute:
    return "compute";
  case TimedOpKind::Collective:
    return "collective";
  case TimedOpKind::Wait:
    return "wait";
  }
  llvm_unreachable("unknown kind");
}

static void writeTotals(llvm::json::OStream &json,
                        const SimulationSummary &summary) {
  const RankTimeline &times = summary.getTimes();
  json.attribute("file", summary.file);
  json.attribute("entry", summary.entry);
  json.attribute("cluster", summary.cluster);
  json.attribute("mesh", summary.mesh);
  json.attribute("batch", summary.batch);
  json.attribute("ranks", summary.step.ranks);
  json.attribute("seconds", summary.result.seconds);
  json.attribute("compute_seconds", times.computeSeconds);
  json.attribute("communication_seconds", times.communicationSeconds);
  json.attribute("exposed_seconds", times.exposedSeconds);
  json.attribute("hidden_part", summary.getHiddenPart());
  json.attribute("peak_bytes", summary.memory.peakBytes);
  json.attribute("resident_bytes", summary.step.program.residentBytes);
  json.attribute("model_flops", summary.flops);
  json.attribute("utilization", summary.getUtilization());
  if (summary.memoryPlan)
    json.attributeObject("memory_plan",
                         [&] { writeJson(json, *summary.memoryPlan); });
  json.attributeObject("lower_bounds", [&] {
    json.attribute("seconds", summary.getBound());
    json.attribute("compute_seconds", summary.bounds.computeSeconds);
    json.attribute("path_seconds", summary.bounds.pathSeconds);
    json.attribute("joint_seconds", summary.jointBound);
    json.attributeObject("link_seconds", [&] {
      for (auto [link, seconds] :
           llvm::zip(summary.step.program.links, summary.bounds.linkSeconds))
        json.attribute(link.name, seconds);
    });
  });
}

static void writeRanks(llvm::json::OStream &json,
                       const SimulationSummary &summary) {
  for (auto [ranks, times] :
       llvm::zip(summary.step.classes.ranks, summary.result.ranks))
    json.object([&, &ranks = ranks, &times = times] {
      json.attribute("first_rank", ranks.firstRank);
      json.attribute("ranks", ranks.count);
      json.attribute("seconds", times.seconds);
      json.attribute("exposed_seconds", times.exposedSeconds);
      json.attributeObject("stream_seconds", [&] {
        for (auto [stream, seconds] :
             llvm::zip(summary.step.streams, times.streamSeconds))
          json.attribute(stream, seconds);
      });
    });
}

static void writeOps(llvm::json::OStream &json,
                     const SimulationSummary &summary) {
  const RankTimeline &times = summary.getTimes();
  const TimedGraph &program = summary.step.program;
  for (auto [place, number] : llvm::enumerate(summary.order)) {
    uint32_t op = number;
    int64_t bytes = summary.memory.bytes[place];
    json.object([&] {
      const TimelineOp &shown = summary.step.ops[op];
      json.attribute("name", shown.name);
      json.attribute("kind", getKindName(program.ops[op].kind));
      json.attribute("op", shown.target);
      if (!shown.module.empty())
        json.attribute("module", shown.module);
      if (program.ops[op].kind != TimedOpKind::Compute)
        json.attribute("stream", summary.step.streams[program.ops[op].stream]);
      if (program.ops[op].kind == TimedOpKind::Wait)
        json.attribute("collective",
                       summary.step.ops[program.ops[op].collective].name);
      json.attribute("issued", times.issued[op]);
      json.attribute("begin", times.begin[op]);
      json.attribute("end", times.end[op]);
      json.attribute("bytes_in_use", bytes);
    });
  }
}

std::string regather::formatJson(const SimulationSummary &summary) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    writeTotals(json, summary);
    json.attributeArray("rank_classes", [&] { writeRanks(json, summary); });
    json.attributeArray("critical_path", [&] {
      for (const TimelineEntry &entry : summary.result.criticalPath)
        json.value(summary.step.ops[entry.op].name);
    });
    json.attributeArray("ops", [&] { writeOps(json, summary); });
  });
  os << '\n';
  return text;
}
