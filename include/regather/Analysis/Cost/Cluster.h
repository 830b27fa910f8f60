//===- Cluster.h - Devices and the links between them -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a cluster file says: how fast a device computes, how fast each class of
// links moves data, and what was measured. One rank is one device; ranks are
// numbered so that those of a node follow each other.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_COST_CLUSTER_H
#define REGATHER_ANALYSIS_COST_CLUSTER_H

#include "regather/Support/Result.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace regather {

enum class CollectiveKind {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Broadcast,
  Permute
};

/// As operations are called: `all_gather`.
llvm::StringRef getCollectiveName(CollectiveKind kind);
/// Nothing if no collective is called `name`.
std::optional<CollectiveKind> findCollectiveKind(llvm::StringRef name);

/// Which of a device's units works.
enum class WorkKind { Matmul, Attention, AttentionBackward, Other };

/// As cluster files call them: `matmul`, `attention`, `kernel`.
llvm::StringRef getWorkName(WorkKind kind);

/// What kernels of one kind took on a device, by their size.
struct MeasuredWork {
  WorkKind kind = WorkKind::Other;
  /// The element type of what is multiplied, as MLIR spells it; empty for
  /// kernels, which are measured by what they move.
  std::string type;
  /// FLOPs of GEMMs and attention, bytes read and written of kernels, and
  /// seconds without the launch; both ascending.
  std::vector<std::pair<double, double>> points;
};

/// What one rank computes with.
struct Device {
  std::string name;
  /// Of matrix units, in operations per second, by element type as MLIR spells
  /// it. A multiply-add counts two.
  llvm::StringMap<double> peakFlops;
  /// Of everything that is no matmul, in operations per second.
  double vectorFlops = 0;
  /// The parts of the peaks that kernels reach, above 0 and at most 1.
  double matmulEfficiency = 1;
  double attentionEfficiency = 1;
  /// Of attention that computes gradients; nothing if it is as the other.
  std::optional<double> attentionBackwardEfficiency;
  double memoryEfficiency = 1;
  /// In bytes per second, reads and writes together.
  double memoryBandwidth = 0;
  /// In bytes.
  double memoryBytes = 0;
  /// Seconds that pass before a kernel begins, whatever it does.
  double launchSeconds = 0;
  /// Of the link to the host, in bytes per second and direction; 0 if nothing
  /// is known of a host.
  double hostBandwidth = 0;
  /// Seconds before a copy to or from the host begins.
  double hostLatencySeconds = 0;
  /// Memory of the host that the device has to itself, in bytes.
  double hostMemoryBytes = 0;
  /// They override the rates above for what they measured: at most one table
  /// for each kind and type.
  std::vector<MeasuredWork> measured;
};

/// One way to move data over a link. A collective takes `latencySeconds`, and
/// `hopSeconds` for each step from rank to rank that it makes in sequence, and
/// its bytes at `bandwidth`.
struct LinkProtocol {
  std::string name;
  double latencySeconds = 0;
  double hopSeconds = 0;
  /// Bytes per second that one rank receives.
  double bandwidth = 0;
};

/// Links of one kind. They connect blocks of `spanRanks` consecutive ranks;
/// inside of the blocks of the class before, the links of that class do.
struct LinkClass {
  std::string name;
  /// Nothing if all ranks are connected.
  std::optional<int64_t> spanRanks;
  /// For each message the quickest one is taken. All classes of a cluster have
  /// the same protocols.
  std::vector<LinkProtocol> protocols;
  /// How many times as long computation takes while a collective is in flight
  /// on these links; 1 if it does not notice.
  double computeSlowdown = 1;
  /// How many times as long a collective takes while its ranks compute.
  double collectiveSlowdown = 1;
};

/// What collectives of one kind took, on groups of one shape.
struct MeasuredTable {
  /// Number of the class that the group's outermost links are of.
  unsigned link = 0;
  CollectiveKind kind = CollectiveKind::AllGather;
  int64_t ranks = 0;
  /// Of the group, in each node.
  int64_t ranksPerNode = 0;
  /// Bytes received by each rank and seconds, both ascending.
  std::vector<std::pair<double, double>> points;
};

/// How a library carries a collective out.
enum class CollectiveAlgorithm {
  /// Each rank passes on to its neighbour what it received last.
  Ring,
  /// Reductions up and down a tree of nodes: fewer steps, for all_reduce.
  Tree,
  /// A ring for each class of links, one after the other.
  Hierarchical
};

llvm::StringRef getAlgorithmName(CollectiveAlgorithm algorithm);

struct Cluster {
  std::string name;
  Device device;
  /// From the innermost to the outermost class; at least one.
  std::vector<LinkClass> links;
  /// Those that the library has; the quickest one is taken.
  std::vector<CollectiveAlgorithm> algorithms;
  std::vector<MeasuredTable> measured;

  /// Ranks that the innermost links connect; nothing if they connect all.
  std::optional<int64_t> getRanksPerNode() const {
    return links.front().spanRanks;
  }
  /// Fails if so many ranks are not connected.
  Failure checkRanks(int64_t ranks) const;
  /// Number of the class called `name`.
  std::optional<unsigned> findLink(llvm::StringRef name) const;
};

/// Reads the text of a cluster file. Fails, naming `file` and the field, on
/// fields that are missing, unknown or beyond what hardware can have.
Result<Cluster> parseCluster(llvm::StringRef text, llvm::StringRef file);

/// The text of a cluster file that parseCluster reads as this cluster, with
/// `comment` in it if that is not empty.
std::string formatCluster(const Cluster &cluster, llvm::StringRef comment);

/// The cluster that comes with Regather under the name `nameOrPath`, or else
/// that of the file.
Result<Cluster> loadCluster(llvm::StringRef nameOrPath);

/// Names of the clusters that come with Regather.
llvm::ArrayRef<llvm::StringRef> getClusterNames();

} // namespace regather

#endif // REGATHER_ANALYSIS_COST_CLUSTER_H
