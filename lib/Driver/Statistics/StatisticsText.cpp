//===- StatisticsText.cpp - Statistics as JSON and text -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/StepStatistics.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace regather;
using namespace regather::tg;
using llvm::formatv;

/// The attributes `collectives`, an array, `collective_count` and
/// `collective_bytes`.
static void writeCollectives(llvm::json::OStream &json,
                             const StepStatistics &stats) {
  CollectiveCount total;
  json.attributeArray("collectives", [&] {
    for (const auto &entry : stats.collectives) {
      const CollectiveKey &key = entry.first;
      const CollectiveCount &count = entry.second;
      total.ops += count.ops;
      total.bytes += count.bytes;
      json.object([&] {
        json.attribute("kind", key.kind);
        json.attribute("phase", stringifyPhase(key.phase));
        json.attribute("mesh", key.mesh);
        json.attributeArray("axes", [&] {
          for (const std::string &axis : key.axes)
            json.value(axis);
        });
        json.attribute("ranks", key.ranks);
        json.attribute("count", count.ops);
        json.attribute("tensors", count.tensors);
        json.attribute("bytes", count.bytes);
      });
    }
  });
  json.attribute("collective_count", total.ops);
  json.attribute("collective_bytes", total.bytes);
}

template <typename NumberT>
static void writeCounts(llvm::json::OStream &json, llvm::StringRef name,
                        const std::map<std::string, NumberT> &counts) {
  json.attributeObject(name, [&] {
    for (const auto &[of, count] : counts)
      json.attribute(of, count);
  });
}

std::string regather::formatJson(const StepStatistics &stats,
                                 llvm::StringRef file) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("file", file);
    json.attribute("ops", stats.ops);
    json.attribute("nodes", stats.nodes);
    writeCounts(json, "ops_by_dialect", stats.opsByDialect);
    writeCounts(json, "ops_by_phase", stats.opsByPhase);
    writeCounts(json, "flops_by_phase", stats.flopsByPhase);
    writeCollectives(json, stats);
    json.attribute("gathered_bytes_across_boundary",
                   stats.boundary.gatheredBytes);
    json.attribute("saved_bytes", stats.boundary.savedBytes);
    json.attribute("recomputed_flops", stats.boundary.recomputedFlops);
    json.attributeObject("parameters", [&] {
      json.attribute("count", stats.parameters.count);
      json.attribute("elements", stats.parameters.elements);
      json.attribute("bytes", stats.parameters.bytes);
      json.attribute("bytes_per_rank", stats.parameters.bytesPerRank);
    });
  });
  os << '\n';
  return text;
}

std::string regather::formatText(const StepStatistics &stats) {
  std::string text = formatv("{0} operations", stats.ops);
  for (const auto &[dialect, count] : stats.opsByDialect)
    text += formatv("  {0} {1}", dialect, count);
  text +=
      formatv("\n{0} parameters, {1} elements, {2} bytes, {3} on each rank\n",
              stats.parameters.count, stats.parameters.elements,
              stats.parameters.bytes, stats.parameters.bytesPerRank);
  text += formatv("{0} bytes live on to backward, {1} of them gathered "
                  "parameters; {2} flops are computed again\n",
                  stats.boundary.savedBytes, stats.boundary.gatheredBytes,
                  stats.boundary.recomputedFlops);
  text += formatv("{0,-15} {1,-10} {2,-12} {3,6} {4,8} {5,16}\n", "collective",
                  "phase", "axes", "count", "tensors", "bytes received");
  for (const auto &[key, count] : stats.collectives)
    text += formatv("{0,-15} {1,-10} {2,-12} {3,6} {4,8} {5,16}\n", key.kind,
                    stringifyPhase(key.phase), llvm::join(key.axes, ","),
                    count.ops, count.tensors, count.bytes);
  return text;
}
