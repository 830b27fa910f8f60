//===- CostModel.cpp - Seconds of computation and collectives -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ring that runs through n ranks makes n - 1 steps, all but a few of them on
// the innermost links; all_reduce goes round twice. A library lays as many
// rings as there are links out of a block, so that each link carries its part
// of the bytes:
//
//   seconds = latency + hops of each class * its hop latency
//           + received bytes / min over classes (bandwidth * ranks in a block)
//
// and takes the protocol (many small messages at once, or few large ones) for
// which this is least.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace regather;

/// The part of a ring's bandwidth that a tree reaches, because the ranks that
/// forward bytes reduce them at the same time. The number is from the tuning
/// tables of NCCL.
static constexpr double kTreeBandwidth = 0.92;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Along straight lines between the points, and along the last one beyond them.
/// Below the first point, latency is all that counts.
static double readTable(llvm::ArrayRef<std::pair<double, double>> points,
                        double size) {
  if (size <= points.front().first || points.size() == 1)
    return points.front().second * std::max(1.0, size / points.front().first);
  const auto *after = llvm::partition_point(
      points, [&](const auto &point) { return point.first < size; });
  if (after == points.end())
    --after;
  auto [x0, y0] = *(after - 1);
  auto [x1, y1] = *after;
  return y0 + (y1 - y0) * (size - x0) / (x1 - x0);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

unsigned GroupPlacement::getLink() const {
  for (unsigned link = counts.size(); link-- > 0;)
    if (counts[link] > 1)
      return link;
  return 0;
}

int64_t GroupPlacement::getRanksBelow(unsigned link) const {
  int64_t product = 1;
  for (int64_t count : llvm::ArrayRef(counts).take_front(link))
    product *= count;
  return product;
}

GroupPlacement CostModel::placeGroup(llvm::ArrayRef<int64_t> members) const {
  GroupPlacement group;
  group.ranks = static_cast<int64_t>(members.size());
  // The blocks of the next inner class, in ascending order; at first, the
  // ranks.
  std::vector<int64_t> blocks(members.begin(), members.end());
  llvm::sort(blocks);
  int64_t inner = 1;
  for (const LinkClass &link : cluster.links) {
    int64_t blocksPerSpan = link.spanRanks ? *link.spanRanks / inner : 0;
    std::vector<int64_t> spans;
    int64_t least = std::numeric_limits<int64_t>::max(), count = 0;
    for (int64_t block : blocks) {
      int64_t span = blocksPerSpan ? block / blocksPerSpan : 0;
      if (!spans.empty() && spans.back() == span) {
        ++count;
        continue;
      }
      if (!spans.empty())
        least = std::min(least, count);
      spans.push_back(span);
      count = 1;
    }
    group.counts.push_back(blocks.empty() ? 1 : std::min(least, count));
    blocks = std::move(spans);
    inner = link.spanRanks.value_or(inner);
  }
  return group;
}

GroupPlacement CostModel::placeMeshGroup(llvm::ArrayRef<int64_t> meshSizes,
                                         llvm::ArrayRef<unsigned> axes) const {
  // Ranks that differ from rank 0 in `axes` alone, or in the others alone.
  auto enumerateRanks = [&](bool inAxes) {
    std::vector<int64_t> ranks = {0};
    int64_t stride = 1;
    for (unsigned axis = meshSizes.size(); axis-- > 0;) {
      if (llvm::is_contained(axes, axis) == inAxes) {
        size_t known = ranks.size();
        for (int64_t i = 1; i < meshSizes[axis]; ++i)
          for (size_t k = 0; k < known; ++k)
            ranks.push_back(ranks[k] + i * stride);
      }
      stride *= meshSizes[axis];
    }
    return ranks;
  };
  std::vector<int64_t> offsets = enumerateRanks(/*inAxes=*/true);
  std::vector<int64_t> members(offsets.size());
  std::optional<GroupPlacement> slowest;
  // From the outermost class: many blocks, then few ranks in each.
  auto isSlower = [](const GroupPlacement &a, const GroupPlacement &b) {
    if (a.getLink() != b.getLink())
      return a.getLink() > b.getLink();
    unsigned link = a.getLink();
    if (a.counts[link] != b.counts[link])
      return a.counts[link] > b.counts[link];
    return a.getRanksBelow(link) < b.getRanksBelow(link);
  };
  for (int64_t first : enumerateRanks(/*inAxes=*/false)) {
    llvm::transform(offsets, members.begin(),
                    [&](int64_t offset) { return first + offset; });
    GroupPlacement group = placeGroup(members);
    if (!slowest || isSlower(group, *slowest))
      slowest = std::move(group);
  }
  return *slowest;
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

/// The part of the peak that kernels of matrix units reach.
static double getEfficiency(const Device &device, WorkKind kind) {
  if (kind == WorkKind::Matmul)
    return device.matmulEfficiency;
  return kind == WorkKind::AttentionBackward
             ? device.attentionBackwardEfficiency.value_or(
                   device.attentionEfficiency)
             : device.attentionEfficiency;
}

const MeasuredWork *CostModel::findWork(WorkKind kind,
                                        llvm::StringRef type) const {
  for (const MeasuredWork &work : cluster.device.measured)
    if (work.kind == kind && (kind == WorkKind::Other || work.type == type))
      return &work;
  // A table of attention is of both passes if there is none of the second.
  return kind == WorkKind::AttentionBackward
             ? findWork(WorkKind::Attention, type)
             : nullptr;
}

double CostModel::computeSeconds(double flops, double bytes,
                                 llvm::StringRef type, WorkKind kind) const {
  const Device &device = cluster.device;
  if (flops <= 0 && bytes <= 0)
    return 0;
  double rate = device.vectorFlops;
  if (kind != WorkKind::Other) {
    auto peak = device.peakFlops.find(type);
    if (peak != device.peakFlops.end())
      rate = peak->second;
    rate *= getEfficiency(device, kind);
  }
  double arithmetic = flops / rate;
  double memory = bytes / (device.memoryBandwidth * device.memoryEfficiency);
  if (const MeasuredWork *work = findWork(kind, type)) {
    if (kind == WorkKind::Other)
      memory = readTable(work->points, bytes);
    else
      arithmetic = readTable(work->points, flops);
  }
  return std::max(arithmetic, memory) + device.launchSeconds;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// How often a ring passes through all ranks.
static double getRounds(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ? 2 : 1;
}

/// The blocks of the class before `link` that the group has in all: ranks for
/// the first class, nodes for the second. The difference of two neighbours is
/// the number of steps that a ring makes on a class.
static double getNumBlocks(const GroupPlacement &group, unsigned link) {
  if (link == 0)
    return static_cast<double>(group.ranks);
  double blocks = 1;
  for (int64_t count : llvm::ArrayRef(group.counts).drop_front(link))
    blocks *= static_cast<double>(count);
  return blocks;
}

/// The time by the protocol that is the fastest for all link classes of the
/// group. `addLink(link, protocol, latency, transfer)` adds the steps on one
/// class to the latency, and raises the time of the transfer to what it takes.
static double getLeastSeconds(
    const Cluster &cluster, const GroupPlacement &group,
    llvm::function_ref<void(unsigned, const LinkProtocol &, double &, double &)>
        addLink) {
  unsigned outermost = group.getLink();
  double best = std::numeric_limits<double>::infinity();
  for (unsigned p = 0, e = cluster.links.front().protocols.size(); p != e;
       ++p) {
    double latency = cluster.links[outermost].protocols[p].latencySeconds;
    double transfer = 0;
    for (unsigned link = 0; link <= outermost; ++link)
      addLink(link, cluster.links[link].protocols[p], latency, transfer);
    best = std::min(best, latency + transfer);
  }
  return best;
}

double CostModel::ringSeconds(CollectiveKind kind, double receivedBytes,
                              const GroupPlacement &group) const {
  auto addLink = [&](unsigned link, const LinkProtocol &protocol,
                     double &latency, double &transfer) {
    double steps = getNumBlocks(group, link) - getNumBlocks(group, link + 1);
    if (steps == 0)
      return;
    double lanes = static_cast<double>(group.getRanksBelow(link));
    double bytes = receivedBytes;
    if (kind == CollectiveKind::Permute) {
      // It is one step, which crosses the outermost links in the worst case.
      if (link != group.getLink())
        return;
      steps = lanes = 1;
    } else if (kind == CollectiveKind::AllToAll) {
      // Each rank has a link of its own to the peers that it reaches through
      // this class.
      double peers = lanes * static_cast<double>(group.counts[link] - 1);
      bytes *= peers / static_cast<double>(group.ranks - 1);
      steps = peers;
      lanes = 1;
    }
    latency += getRounds(kind) * steps * protocol.hopSeconds;
    transfer = std::max(transfer, bytes / (protocol.bandwidth * lanes));
  };
  return getLeastSeconds(cluster, group, addLink);
}

double CostModel::treeSeconds(double receivedBytes,
                              const GroupPlacement &group) const {
  auto addLink = [&](unsigned link, const LinkProtocol &protocol,
                     double &latency, double &transfer) {
    int64_t count = group.counts[link];
    if (count < 2)
      return;
    // A chain inside of the node, a binary tree over the nodes; up and down.
    double depth = link == 0 ? static_cast<double>(count - 1)
                             : static_cast<double>(llvm::Log2_64_Ceil(count));
    double lanes = static_cast<double>(group.getRanksBelow(link));
    latency += 2 * depth * protocol.hopSeconds;
    transfer = std::max(transfer, receivedBytes / (kTreeBandwidth *
                                                   protocol.bandwidth * lanes));
  };
  return getLeastSeconds(cluster, group, addLink);
}

double CostModel::hierarchicalSeconds(CollectiveKind kind, double receivedBytes,
                                      const GroupPlacement &group) const {
  double total = 0;
  for (unsigned link = 0, e = group.getLink(); link <= e; ++link) {
    double steps = getNumBlocks(group, link) - getNumBlocks(group, link + 1);
    if (steps == 0)
      continue;
    // A gather on an inner class moves what the outer ones have gathered.
    double bytes = receivedBytes;
    if (kind != CollectiveKind::Broadcast)
      bytes *= steps / static_cast<double>(group.ranks - 1);
    double hops = getRounds(kind) * static_cast<double>(group.counts[link] - 1);
    double best = std::numeric_limits<double>::infinity();
    for (const LinkProtocol &protocol : cluster.links[link].protocols)
      best =
          std::min(best, protocol.latencySeconds + hops * protocol.hopSeconds +
                             bytes / protocol.bandwidth);
    total += best;
  }
  return total;
}

const MeasuredTable *CostModel::findTable(CollectiveKind kind,
                                          const GroupPlacement &group) const {
  for (const MeasuredTable &table : cluster.measured)
    if (table.kind == kind && table.link == group.getLink() &&
        table.ranks == group.ranks &&
        table.ranksPerNode == group.counts.front())
      return &table;
  return nullptr;
}

CollectiveEstimate
CostModel::estimateCollective(CollectiveKind kind, double receivedBytes,
                              const GroupPlacement &group) const {
  CollectiveEstimate estimate;
  estimate.link = group.getLink();
  if (group.ranks < 2)
    return estimate;
  if (const MeasuredTable *table = findTable(kind, group)) {
    estimate.seconds = readTable(table->points, receivedBytes);
    estimate.isMeasured = true;
    return estimate;
  }
  estimate.seconds = std::numeric_limits<double>::infinity();
  bool isPairwise =
      kind == CollectiveKind::AllToAll || kind == CollectiveKind::Permute;
  for (CollectiveAlgorithm algorithm : cluster.algorithms) {
    double seconds = estimate.seconds;
    switch (algorithm) {
    case CollectiveAlgorithm::Ring:
      seconds = ringSeconds(kind, receivedBytes, group);
      break;
    case CollectiveAlgorithm::Tree:
      if (kind == CollectiveKind::AllReduce)
        seconds = treeSeconds(receivedBytes, group);
      break;
    case CollectiveAlgorithm::Hierarchical:
      // A transfer between two ranks has no stages that levels could share.
      seconds = isPairwise ? ringSeconds(kind, receivedBytes, group)
                           : hierarchicalSeconds(kind, receivedBytes, group);
      break;
    }
    if (seconds < estimate.seconds) {
      estimate.seconds = seconds;
      estimate.algorithm = algorithm;
    }
  }
  return estimate;
}

double CostModel::saturatingBytes(CollectiveKind kind,
                                  const GroupPlacement &group,
                                  double part) const {
  if (group.ranks < 2)
    return 0;
  auto getBandwidth = [&](double bytes) {
    return bytes / collectiveSeconds(kind, bytes, group);
  };
  double low = 1, high = 1e15;
  double wanted = part * getBandwidth(high);
  // After sixty halvings of the exponent, a double cannot tell the bounds
  // apart.
  for (int i = 0; i < 60; ++i) {
    double middle = std::sqrt(low * high);
    (getBandwidth(middle) < wanted ? low : high) = middle;
  }
  return high;
}
