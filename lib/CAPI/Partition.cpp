//===- Partition.cpp - What forward saves for backward --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Partition.h"

#include "Graph.h"
#include "Status.h"

#include "regather/Analysis/Recomputation/JointPartition.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace regather;

struct RegatherPartition {
  JointSplit split;
};

static llvm::Error checkOptions(const RegatherPartitionOptions &options,
                                uint32_t numNodes) {
  if (options.mode < RegatherPartitionMinCut ||
      options.mode > RegatherPartitionBudget)
    return llvm::createStringError("there is no such mode of partition");
  if (options.mode == RegatherPartitionReplay) {
    if (options.numRecorded > 0 && !options.recorded)
      return llvm::createStringError("mode replay needs a record");
    for (uint32_t i = 0; i != options.numRecorded; ++i)
      if (options.recorded[i] >= numNodes)
        return llvm::createStringError(
            "record lists a node that does not exist");
  }
  if (options.mode != RegatherPartitionBudget)
    return llvm::Error::success();
  if (options.budget < 0)
    return llvm::createStringError("mode budget needs a number of bytes");
  if (!options.seconds && numNodes > 0)
    return llvm::createStringError("mode budget needs the seconds of nodes");
  for (uint32_t node = 0; node != numNodes; ++node)
    if (!(options.seconds[node] >= 0) || !std::isfinite(options.seconds[node]))
      return llvm::createStringError(
          "seconds of a node are negative or not finite");
  return llvm::Error::success();
}

static llvm::Expected<SavedNodes>
decide(llvm::ArrayRef<JointNode> graph,
       const RegatherPartitionOptions &options) {
  switch (options.mode) {
  case RegatherPartitionMinCut:
    return saveFewestBytes(graph);
  case RegatherPartitionMatchPyTorch: {
    llvm::Expected<PyTorchCut> cut = partitionLikePyTorch(graph);
    if (!cut)
      return cut.takeError();
    return std::move(cut->isSaved);
  }
  case RegatherPartitionDefault:
    return saveAll(graph);
  case RegatherPartitionReplay:
    return replaySaved(graph, {options.recorded, options.numRecorded});
  case RegatherPartitionBudget:
    return saveWithinBudget(graph, {options.seconds, graph.size()},
                            options.budget);
  }
  return llvm::createStringError("there is no such mode of partition");
}

RegatherStatus *regatherPartitionCreate(const RegatherGraph *graph,
                                        const RegatherPartitionOptions *options,
                                        RegatherPartition **partition) {
  if (!graph || !options || !partition)
    return capi::takeStatus(llvm::createStringError("an argument is null"));
  if (llvm::Error error = checkOptions(*options, graph->nodes.size()))
    return capi::takeStatus(std::move(error));
  llvm::Expected<SavedNodes> saved = decide(graph->nodes, *options);
  if (!saved)
    return capi::takeStatus(saved.takeError());
  llvm::Expected<JointSplit> split = splitJointGraph(graph->nodes, *saved);
  if (!split)
    return capi::takeStatus(split.takeError());
  *partition = new RegatherPartition{std::move(*split)};
  return nullptr;
}

void regatherPartitionDestroy(RegatherPartition *partition) {
  delete partition;
}

static RegatherNodes getNodes(const std::vector<uint32_t> &nodes) {
  return {static_cast<uint32_t>(nodes.size()), nodes.data()};
}

RegatherNodes regatherPartitionGetSaved(const RegatherPartition *partition) {
  return partition ? getNodes(partition->split.saved)
                   : RegatherNodes{0, nullptr};
}

RegatherNodes regatherPartitionGetForward(const RegatherPartition *partition) {
  return partition ? getNodes(partition->split.forward)
                   : RegatherNodes{0, nullptr};
}

RegatherNodes regatherPartitionGetBackward(const RegatherPartition *partition) {
  return partition ? getNodes(partition->split.backward)
                   : RegatherNodes{0, nullptr};
}
