//===- ModulesJson.cpp - Modules as JSON ----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/DescribeModules.h"

#include "llvm/Support/JSON.h"

using namespace regather;
using namespace regather::tg;
using llvm::json::OStream;

static void writeWork(OStream &json, const ModuleWork &work, bool hasSeconds) {
  json.attribute("ops", work.ops);
  json.attribute("flops", work.flops);
  json.attributeObject("collectives", [&] {
    for (auto [kind, count] : llvm::enumerate(work.collectives))
      if (count)
        json.attribute(getCollectiveName(static_cast<CollectiveKind>(kind)),
                       count);
  });
  json.attribute("collective_bytes", work.receivedBytes);
  if (!hasSeconds)
    return;
  json.attribute("compute_seconds", work.computeSeconds);
  json.attribute("collective_seconds", work.collectiveSeconds);
}

/// Recursive, as deep as names are nested: at most `kMaxDepth` levels.
static void writeModule(OStream &json, const ModuleDescription &description,
                        unsigned module, unsigned levels) {
  const ModuleTree &tree = description.tree;
  const ModuleSummary &summary = tree.getSummary(module);
  json.object([&] {
    json.attribute("module", tree.getNames().getPath(module));
    json.attributeObject("parameters", [&] {
      json.attribute("count", summary.parameters.count);
      json.attribute("elements", summary.parameters.elements);
      json.attribute("bytes", summary.parameters.bytes);
      json.attribute("bytes_per_rank", summary.parameters.bytesPerRank);
    });
    json.attributeObject("phases", [&] {
      for (unsigned column = 0; column < kNumPhaseColumns; ++column)
        if (summary.work[column].ops)
          json.attributeObject(getPhaseColumnName(column), [&] {
            writeWork(json, summary.work[column], !description.cluster.empty());
          });
    });
    json.attributeArray("children", [&] {
      if (levels > 0)
        for (unsigned child : tree.getNames().getChildren(module))
          writeModule(json, description, child, levels - 1);
    });
  });
}

std::string regather::formatJson(const ModuleDescription &description,
                                 unsigned depth) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("file", description.file);
    if (!description.cluster.empty())
      json.attribute("cluster", description.cluster);
    json.attributeArray("modules", [&] {
      for (unsigned top : description.tops)
        writeModule(json, description, top, depth);
    });
  });
  os << '\n';
  return text;
}
