//===- CostModel.h - Seconds of computation and collectives -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computation takes the longer of its arithmetic and its memory traffic (the
// roofline), and a launch; what was measured on the device overrides its rates.
// Collectives take a latency and their bytes, by
// algorithm and link class, unless a measured table says what they take.
//
// The size of a collective has one definition: bytes received per rank, as
// CollectiveOpInterface::getReceivedBytes gives them.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_COST_COSTMODEL_H
#define REGATHER_ANALYSIS_COST_COSTMODEL_H

#include "regather/Analysis/Cost/Cluster.h"

#include "llvm/ADT/SmallVector.h"

namespace regather {

/// Which links a group of ranks uses.
struct GroupPlacement {
  int64_t ranks = 1;
  /// By link class: how many blocks of the class before (ranks, for the first)
  /// the group has in one block of the class. {8, 4} are eight ranks in each of
  /// four nodes, {1, 4} one in each. Where blocks differ, the one that has
  /// least counts, because the others wait for it.
  llvm::SmallVector<int64_t, 3> counts;

  /// Number of the outermost class with more than one block; 0 for a single
  /// rank.
  unsigned getLink() const;
  /// Ranks that are reached without the links of class `link` and beyond.
  int64_t getRanksBelow(unsigned link) const;

  bool operator==(const GroupPlacement &other) const {
    return ranks == other.ranks && counts == other.counts;
  }
};

struct CollectiveEstimate {
  double seconds = 0;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  /// The outermost class of links that the group uses.
  unsigned link = 0;
  /// A table gave the seconds.
  bool isMeasured = false;
};

class CostModel {
public:
  explicit CostModel(Cluster cluster) : cluster(std::move(cluster)) {}

  const Cluster &getCluster() const { return cluster; }

  /// Seconds of one kernel. `type` is the element type of what is multiplied,
  /// as MLIR spells it; types without a peak of their own compute on the vector
  /// units. Nothing to do, no arithmetic and no bytes, takes no time.
  double computeSeconds(double flops, double bytes, llvm::StringRef type,
                        WorkKind kind = WorkKind::Other) const;

  /// Seconds of a copy of so many bytes to the host, or back. The device has a
  /// host.
  double hostCopySeconds(double bytes) const {
    return cluster.device.hostLatencySeconds +
           bytes / cluster.device.hostBandwidth;
  }

  /// Seconds of a collective in which each rank of the group receives so many
  /// bytes, if nothing else is in flight. A group of one rank takes none.
  double collectiveSeconds(CollectiveKind kind, double receivedBytes,
                           const GroupPlacement &group) const {
    return estimateCollective(kind, receivedBytes, group).seconds;
  }
  CollectiveEstimate estimateCollective(CollectiveKind kind,
                                        double receivedBytes,
                                        const GroupPlacement &group) const;

  /// The smallest collective that gets `part` of the bandwidth that large ones
  /// get, in bytes received per rank. 0 < part < 1.
  double saturatingBytes(CollectiveKind kind, const GroupPlacement &group,
                         double part) const;

  /// Where a group of ranks lies.
  GroupPlacement placeGroup(llvm::ArrayRef<int64_t> members) const;

  /// Where the groups lie that run over `axes`, numbers of axes of a mesh with
  /// row-major ranks. Groups may differ; the one with the most blocks at the
  /// outermost class counts, then the one with the fewest ranks in them.
  GroupPlacement placeMeshGroup(llvm::ArrayRef<int64_t> meshSizes,
                                llvm::ArrayRef<unsigned> axes) const;

private:
  double ringSeconds(CollectiveKind kind, double receivedBytes,
                     const GroupPlacement &group) const;
  double treeSeconds(double receivedBytes, const GroupPlacement &group) const;
  double hierarchicalSeconds(CollectiveKind kind, double receivedBytes,
                             const GroupPlacement &group) const;
  const MeasuredWork *findWork(WorkKind kind, llvm::StringRef type) const;
  const MeasuredTable *findTable(CollectiveKind kind,
                                 const GroupPlacement &group) const;

  Cluster cluster;
};

} // namespace regather

#endif // REGATHER_ANALYSIS_COST_COSTMODEL_H
