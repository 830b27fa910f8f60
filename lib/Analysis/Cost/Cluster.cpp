//===- Cluster.cpp - Devices and the links between them -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/Cluster.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;

// In the order of the enumeration.
static constexpr llvm::StringLiteral kAlgorithmNames[] = {"ring", "tree",
                                                          "hierarchical"};

llvm::StringRef regather::getCollectiveName(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Broadcast:
    return "broadcast";
  case CollectiveKind::Permute:
    return "permute";
  }
  llvm_unreachable("unknown kind");
}

std::optional<CollectiveKind>
regather::findCollectiveKind(llvm::StringRef name) {
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllReduce, CollectiveKind::AllToAll,
        CollectiveKind::Broadcast, CollectiveKind::Permute})
    if (name == getCollectiveName(kind))
      return kind;
  return std::nullopt;
}

llvm::StringRef regather::getWorkName(WorkKind kind) {
  switch (kind) {
  case WorkKind::Matmul:
    return "matmul";
  case WorkKind::Attention:
    return "attention";
  case WorkKind::AttentionBackward:
    return "attention_backward";
  case WorkKind::Other:
    return "kernel";
  }
  llvm_unreachable("unknown kind");
}

llvm::StringRef regather::getAlgorithmName(CollectiveAlgorithm algorithm) {
  return kAlgorithmNames[static_cast<unsigned>(algorithm)];
}

Failure Cluster::checkRanks(int64_t ranks) const {
  std::optional<int64_t> most = links.back().spanRanks;
  if (!most || ranks <= *most)
    return Failure();
  return makeFailure("cluster \"{0}\" connects {1} ranks, but the mesh has {2}",
                     name, *most, ranks);
}

std::optional<unsigned> Cluster::findLink(llvm::StringRef linkName) const {
  for (auto [number, link] : llvm::enumerate(links))
    if (link.name == linkName)
      return number;
  return std::nullopt;
}
