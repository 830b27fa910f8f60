//===- ReportJson.cpp - A report as numbers -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryChart.h"

#include "regather/Report/RenderReport.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace regather::report;
using llvm::json::OStream;

static void writeOverview(OStream &json, const StepReport &report) {
  const Overview &step = report.overview;
  json.attribute("file", step.file);
  json.attribute("entry", step.entry);
  json.attribute("mesh", step.mesh);
  json.attribute("ranks", step.ranks);
  json.attribute("ops", step.ops);
  json.attribute("flops", step.flops);
  json.attributeObject("request", [&] {
    json.attribute("batch", report.request.batch);
    json.attribute("fuse_attention", report.request.attention);
    json.attribute("chunk", report.request.chunk);
    json.attribute("policy", report.request.policy);
    json.attribute("reshard", report.request.reshard);
    json.attribute("recompute", report.request.recompute);
    json.attribute("offload", report.request.offload);
    json.attribute("bucket", report.request.bucket);
    json.attribute("schedule", report.request.schedule);
    json.attribute("optimizer", report.request.optimizer);
  });
  json.attributeObject("parameters", [&] {
    json.attribute("count", step.parameters);
    json.attribute("elements", step.parameterElements);
    json.attribute("bytes", step.parameterBytes);
    json.attribute("bytes_per_rank", step.parameterBytesPerRank);
  });
}

static void writeTotals(OStream &json, const Boundary &boundary) {
  json.attribute("gathered_bytes_across_boundary", boundary.gatheredBytes);
  json.attribute("saved_bytes", boundary.savedBytes);
  json.attribute("recomputed_flops", boundary.recomputedFlops);
}

static void writeBoundary(OStream &json, const Boundary &boundary) {
  writeTotals(json, boundary);
  json.attributeArray("gathered_parameters", [&] {
    for (const GatheredParameter &parameter : boundary.parameters)
      json.object([&] {
        json.attribute("name", parameter.name);
        json.attribute("module", parameter.module);
        json.attribute("members", llvm::json::Array(parameter.members));
        json.attribute("decision", parameter.decision);
        json.attribute("reason", parameter.reason);
        json.attribute("shard_bytes", parameter.shardBytes);
        json.attribute("gathered_bytes", parameter.gatheredBytes);
        json.attribute("kept_bytes", parameter.keptBytes);
        json.attribute("regathered_bytes", parameter.regatheredBytes);
      });
  });
  json.attributeArray("saved_values", [&] {
    for (const SavedValue &value : boundary.saved)
      json.object([&] {
        json.attribute("id", value.id);
        json.attribute("op", value.op);
        json.attribute("module", value.module);
        json.attribute("type", value.type);
        json.attribute("reason", value.reason);
        json.attribute("bytes", value.bytes);
        json.attribute("flops", value.flops);
      });
  });
  json.attributeArray("recomputed_ops", [&] {
    for (const RecomputedOp &op : boundary.recomputed)
      json.object([&] {
        json.attribute("id", op.id);
        json.attribute("op", op.op);
        json.attribute("module", op.module);
        json.attribute("bytes", op.bytes);
        json.attribute("flops", op.flops);
      });
  });
}

static void writeCollectives(OStream &json, const StepState &state) {
  json.attributeArray("collectives", [&] {
    for (const CollectiveGroup &group : state.collectives)
      json.object([&] {
        json.attribute("kind", group.kind);
        json.attribute("phase", group.phase);
        json.attribute("axes", group.axes);
        json.attribute("ranks", group.ranks);
        json.attribute("count", group.ops);
        json.attribute("tensors", group.tensors);
        json.attribute("bytes", group.bytes);
      });
  });
}

static void writeMemory(OStream &json, const MemoryCurve &curve) {
  json.attributeObject("memory", [&] {
    json.attribute("peak_bytes", curve.getPeakBytes());
    json.attribute("peak_instruction", curve.peak);
    json.attribute("argument_bytes", curve.argumentBytes);
    if (curve.hostBytes + curve.hostArgumentBytes > 0) {
      json.attribute("host_bytes", curve.hostBytes);
      json.attribute("host_argument_bytes", curve.hostArgumentBytes);
    }
    json.attribute("arena_bytes", curve.arenaBytes);
    json.attributeArray("phases", [&] {
      for (const PhaseSpan &phase : curve.phases)
        json.object([&] {
          json.attribute("name", phase.name);
          json.attribute("begin", phase.begin);
          json.attribute("end", phase.end);
        });
    });
    json.attributeObject("bytes", [&] {
      for (unsigned use = 0; use < kNumMemoryUses; ++use)
        json.attribute(getUseName(static_cast<MemoryUse>(use)),
                       llvm::json::Array(curve.bytes[use]));
    });
    json.attributeArray("largest_at_peak", [&] {
      for (const LiveBuffer &buffer : curve.largest)
        json.object([&] {
          json.attribute("op", buffer.op);
          json.attribute("module", buffer.module);
          json.attribute("phase", buffer.phase);
          json.attribute("use", getUseName(buffer.use));
          json.attribute("bytes", buffer.bytes);
        });
    });
  });
}

static void writeState(OStream &json, const StepState &state) {
  writeBoundary(json, state.boundary);
  writeCollectives(json, state);
  writeMemory(json, state.memory);
}

static void writeTiming(OStream &json, const StepTiming &timing) {
  if (!timing.obstacle.empty())
    json.attribute("obstacle", timing.obstacle);
  if (timing.ops.empty())
    return;
  json.attribute("cluster", timing.cluster);
  json.attribute("seconds", timing.seconds);
  json.attribute("compute_seconds", timing.computeSeconds);
  json.attribute("communication_seconds", timing.communicationSeconds);
  json.attribute("exposed_seconds", timing.exposedSeconds);
  json.attribute("hidden_part", timing.hiddenPart);
  json.attribute("utilization", timing.utilization);
  json.attribute("peak_bytes", timing.peakBytes);
  json.attribute("device_bytes", timing.deviceBytes);
  json.attributeObject("lower_bounds", [&] {
    for (const TimeBound &bound : timing.bounds)
      json.attribute(bound.name, bound.seconds);
  });
  json.attributeArray("collectives", [&] {
    for (const TimedCollective &collective : timing.collectives)
      json.object([&] {
        json.attribute("kind", collective.kind);
        json.attribute("module", collective.module);
        json.attribute("phase", collective.phase);
        json.attribute("tensors", collective.tensors);
        json.attribute("bytes", collective.bytes);
        json.attribute("seconds", collective.seconds);
        json.attribute("ahead_seconds", collective.aheadSeconds);
        json.attribute("exposed_seconds", collective.exposedSeconds);
        json.attribute("reason", collective.reason);
      });
  });
}

static void writeMemoryChoices(OStream &json, const MemoryChoices &memory) {
  if (memory.choices.empty())
    return;
  json.attributeObject("memory_plan", [&] {
    json.attribute("limit_bytes", memory.limitBytes);
    json.attribute("bound_seconds", memory.boundSeconds);
    json.attribute("chosen", static_cast<int64_t>(memory.chosen));
    json.attributeArray("choices", [&] {
      for (const MemoryChoice &choice : memory.choices)
        json.object([&] {
          json.attribute("flags", choice.flags);
          json.attribute("bytes", choice.bytes);
          json.attribute("seconds", choice.seconds);
          json.attribute("frontier", choice.isFrontier);
        });
    });
  });
}

static void writeAdviceList(OStream &json, const StepReport &report) {
  json.attributeArray("advice", [&] {
    for (const Advice &advice : report.advice)
      json.object([&] {
        json.attribute("title", advice.title);
        json.attribute("explanation", advice.explanation);
        json.attribute("flags", advice.flags);
        json.attribute("formula", advice.formula);
        json.attribute("batches", advice.batches);
        json.attribute("seconds", advice.seconds);
        json.attribute("exposed_seconds", advice.exposedSeconds);
        json.attribute("peak_bytes", advice.peakBytes);
      });
  });
}

static void writeDecisions(OStream &json, const StepReport &report) {
  json.attributeArray("decisions", [&] {
    for (const Decision &decision : report.decisions)
      json.object([&] {
        json.attribute("pass", decision.pass);
        json.attribute("text", decision.text);
      });
  });
}

std::string regather::report::renderJson(const StepReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    writeOverview(json, report);
    json.attributeObject("before", [&] { writeState(json, report.before); });
    json.attributeObject("after", [&] { writeState(json, report.after); });
    json.attributeObject("timing_before",
                         [&] { writeTiming(json, report.timingBefore); });
    json.attributeObject("timing", [&] { writeTiming(json, report.timing); });
    writeDecisions(json, report);
    writeMemoryChoices(json, report.memoryChoices);
    writeAdviceList(json, report);
  });
  os << '\n';
  return text;
}
