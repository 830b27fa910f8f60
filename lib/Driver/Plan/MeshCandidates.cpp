//===- MeshCandidates.cpp - Meshes of a number of ranks -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeshCandidates.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace regather;
using llvm::formatv;

static std::string
printMesh(llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> axes) {
  std::string text;
  for (auto [name, size] : axes)
    if (size > 1)
      text += formatv("{0}{1}:{2}", text.empty() ? "" : ",", name, size);
  return text;
}

/// A cluster of one class of links is one node.
static int64_t getNodeRanks(const Cluster &cluster) {
  return cluster.getRanksPerNode().value_or(
      std::numeric_limits<int64_t>::max());
}

std::string MeshCandidate::getMesh() const {
  std::string text = printMesh(
      {{"rep", replicas}, {"dp", data}, {"cp", sequence}, {"tp", tensor}});
  return text.empty() ? "dp:1" : text;
}

std::string MeshCandidate::getShardedMesh() const {
  return printMesh({{"dp", data}, {"cp", sequence}, {"tp", tensor}});
}

std::string MeshCandidate::getModelMesh() const {
  return printMesh({{"cp", sequence}, {"tp", tensor}});
}

/// The largest of what computation and the gathers and reductions of parameters
/// take, each as if nothing else were to be done, for one row.
static double findBound(const MeshCandidate &mesh, const StepTotals &totals,
                        bool hasOwnBatches, const CostModel &model) {
  double ranks =
      static_cast<double>(mesh.getBatches() * mesh.sequence * mesh.tensor);
  double batches = hasOwnBatches ? static_cast<double>(mesh.getBatches()) : 1;
  double rows = std::max<double>(static_cast<double>(totals.rows), 1) * batches;
  double compute = totals.peakFlops > 0
                       ? totals.flops * batches / (ranks * totals.peakFlops)
                       : 0;
  double communication = 0;
  if (mesh.data > 1) {
    int64_t sizes[] = {mesh.replicas, mesh.data, mesh.sequence * mesh.tensor};
    GroupPlacement group = model.placeMeshGroup(sizes, {1});
    double part = static_cast<double>(mesh.data - 1) /
                  static_cast<double>(mesh.data * mesh.tensor);
    // Each parameter is gathered once at least, and its gradient reduced.
    communication =
        model.collectiveSeconds(CollectiveKind::AllGather,
                                totals.parameterBytes * part, group) +
        model.collectiveSeconds(CollectiveKind::ReduceScatter,
                                totals.parameterBytes * part, group);
  }
  return std::max(compute, communication) / rows;
}

/// Why a step cannot lie over a mesh; empty if it might.
static std::string findProblem(const MeshCandidate &mesh,
                               const StepTotals &totals, bool hasOwnBatches,
                               int64_t memoryLimit, const Cluster &cluster) {
  if (mesh.sequence > 1 &&
      (totals.positions == 0 || totals.positions % mesh.sequence != 0))
    return formatv("cp does not divide the {0} positions of the inputs",
                   totals.positions);
  if (!hasOwnBatches && totals.rows % mesh.getBatches() != 0)
    return formatv("dp does not divide the batch of {0}", totals.rows);
  if (mesh.tensor > getNodeRanks(cluster))
    return formatv("tp is larger than a node of {0} ranks",
                   getNodeRanks(cluster));
  double least = (totals.parameterBytes + totals.stateBytes) /
                 static_cast<double>(mesh.data * mesh.tensor);
  if (memoryLimit > 0 && least > static_cast<double>(memoryLimit))
    return "parameters and states of the optimizer alone do not fit";
  return "";
}

/// The copies of HSDP: none, or one for each of several nodes.
static std::vector<int64_t> listReplicas(int64_t data, int64_t model,
                                         const Cluster &cluster) {
  int64_t within = std::max<int64_t>(getNodeRanks(cluster) / model, 1);
  std::vector<int64_t> replicas = {1};
  if (data > within && data % within == 0 && within > 1)
    replicas.push_back(data / within);
  return replicas;
}

std::vector<MeshCandidate>
regather::listMeshes(int64_t ranks, const StepTotals &totals,
                     std::optional<tg::BatchMode> batch, int64_t memoryLimit,
                     const CostModel &model,
                     std::map<std::string, unsigned> &others) {
  const Cluster &cluster = model.getCluster();
  std::vector<MeshCandidate> meshes;
  for (int64_t tensor = 1; tensor <= ranks; ++tensor) {
    if (ranks % tensor != 0)
      continue;
    for (int64_t sequence = 1; sequence <= ranks / tensor; ++sequence) {
      if (ranks / tensor % sequence != 0)
        continue;
      int64_t data = ranks / tensor / sequence;
      for (int64_t replicas : listReplicas(data, tensor * sequence, cluster)) {
        MeshCandidate mesh = {replicas, data / replicas, sequence, tensor};
        bool divides = totals.rows % mesh.getBatches() == 0;
        bool hasOwnBatches = batch == tg::BatchMode::PerRank ||
                             (batch == tg::BatchMode::Auto && !divides);
        std::string problem =
            findProblem(mesh, totals, hasOwnBatches, memoryLimit, cluster);
        if (!problem.empty()) {
          ++others[problem];
          continue;
        }
        mesh.boundSecondsPerRow = findBound(mesh, totals, hasOwnBatches, model);
        meshes.push_back(mesh);
      }
    }
  }
  llvm::sort(meshes, [](const MeshCandidate &a, const MeshCandidate &b) {
    return std::tie(a.boundSecondsPerRow, a.tensor, a.sequence, a.replicas) <
           std::tie(b.boundSecondsPerRow, b.tensor, b.sequence, b.replicas);
  });
  return meshes;
}
