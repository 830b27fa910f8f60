//===- ClusterWriter.cpp - Write cluster files ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/Cluster.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace regather;
using llvm::json::OStream;

static void writePoints(OStream &json, llvm::StringRef field,
                        llvm::ArrayRef<std::pair<double, double>> points) {
  json.attributeArray(field, [&] {
    for (const std::pair<double, double> &point : points)
      json.array([&] {
        json.value(point.first);
        json.value(point.second);
      });
  });
}

static void writeDevice(OStream &json, const Device &device) {
  json.attribute("name", device.name);
  json.attributeObject("peak_flops_per_second", [&] {
    // A map of LLVM has no order.
    std::vector<llvm::StringRef> types(device.peakFlops.keys().begin(),
                                       device.peakFlops.keys().end());
    llvm::sort(types);
    for (llvm::StringRef type : types)
      json.attribute(type, device.peakFlops.lookup(type));
  });
  json.attribute("vector_flops_per_second", device.vectorFlops);
  json.attribute("matmul_efficiency", device.matmulEfficiency);
  json.attribute("attention_efficiency", device.attentionEfficiency);
  if (device.attentionBackwardEfficiency)
    json.attribute("attention_backward_efficiency",
                   *device.attentionBackwardEfficiency);
  json.attribute("memory_bandwidth_bytes_per_second", device.memoryBandwidth);
  json.attribute("memory_efficiency", device.memoryEfficiency);
  json.attribute("memory_bytes", device.memoryBytes);
  json.attribute("launch_seconds", device.launchSeconds);
  if (device.hostBandwidth > 0)
    json.attributeObject("host", [&] {
      json.attribute("memory_bytes", device.hostMemoryBytes);
      json.attribute("bandwidth_bytes_per_second", device.hostBandwidth);
      json.attribute("latency_seconds", device.hostLatencySeconds);
    });
  if (device.measured.empty())
    return;
  json.attributeArray("measured", [&] {
    for (const MeasuredWork &work : device.measured)
      json.object([&] {
        json.attribute("work", getWorkName(work.kind));
        bool isKernel = work.kind == WorkKind::Other;
        if (!isKernel)
          json.attribute("type", work.type);
        writePoints(json, isKernel ? "seconds_by_bytes" : "seconds_by_flops",
                    work.points);
      });
  });
}

static void writeLink(OStream &json, const LinkClass &link) {
  json.attribute("name", link.name);
  if (link.spanRanks)
    json.attribute("span_ranks", *link.spanRanks);
  json.attributeArray("protocols", [&] {
    for (const LinkProtocol &protocol : link.protocols)
      json.object([&] {
        json.attribute("name", protocol.name);
        json.attribute("latency_seconds", protocol.latencySeconds);
        json.attribute("hop_seconds", protocol.hopSeconds);
        json.attribute("bandwidth_bytes_per_second", protocol.bandwidth);
      });
  });
  json.attribute("compute_slowdown", link.computeSlowdown);
  json.attribute("collective_slowdown", link.collectiveSlowdown);
}

static void writeTable(OStream &json, const Cluster &cluster,
                       const MeasuredTable &table) {
  json.attribute("link", cluster.links[table.link].name);
  json.attribute("collective", getCollectiveName(table.kind));
  json.attribute("ranks", table.ranks);
  if (table.link != 0)
    json.attribute("ranks_per_node", table.ranksPerNode);
  writePoints(json, "seconds_by_received_bytes", table.points);
}

std::string regather::formatCluster(const Cluster &cluster,
                                    llvm::StringRef comment) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("name", cluster.name);
    if (!comment.empty())
      json.attribute("comment", comment);
    json.attributeObject("device", [&] { writeDevice(json, cluster.device); });
    json.attributeArray("links", [&] {
      for (const LinkClass &link : cluster.links)
        json.object([&] { writeLink(json, link); });
    });
    json.attributeArray("algorithms", [&] {
      for (CollectiveAlgorithm algorithm : cluster.algorithms)
        json.value(getAlgorithmName(algorithm));
    });
    if (!cluster.measured.empty())
      json.attributeArray("measured", [&] {
        for (const MeasuredTable &table : cluster.measured)
          json.object([&] { writeTable(json, cluster, table); });
      });
  });
  os << '\n';
  return text;
}
