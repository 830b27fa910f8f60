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

#include <numeric>

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
  std::string text = printMesh({{"rep", replicas},
                                {"dp", data},
                                {"ep", experts},
                                {"cp", sequence},
                                {"tp", tensor}});
  return text.empty() ? "dp:1" : text;
}

std::string MeshCandidate::getShardedMesh() const {
  return printMesh(
      {{"dp", data}, {"ep", experts}, {"cp", sequence}, {"tp", tensor}});
}

std::string MeshCandidate::getModelMesh() const {
  return printMesh({{"ep", experts}, {"cp", sequence}, {"tp", tensor}});
}

/// Seconds in which the ranks along `axes` of [rep, dp, ep, others] gather so
/// many bytes, which they share, and reduce as many.
static double gatherAndReduce(double bytes, const MeshCandidate &mesh,
                              llvm::ArrayRef<unsigned> axes,
                              const CostModel &model) {
  int64_t sizes[] = {mesh.replicas, mesh.data, mesh.experts,
                     mesh.sequence * mesh.tensor};
  int64_t ranks = 1;
  for (unsigned axis : axes)
    ranks *= sizes[axis];
  if (ranks == 1)
    return 0;
  GroupPlacement group = model.placeMeshGroup(sizes, axes);
  double received =
      bytes * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  return model.collectiveSeconds(CollectiveKind::AllGather, received, group) +
         model.collectiveSeconds(CollectiveKind::ReduceScatter, received,
                                 group);
}

/// Each parameter is gathered once at least, and its gradient reduced. What is
/// no expert is shared by the ranks of ep as well, unless each parameter has an
/// argument of its own; what the two are gathered over may work side by side.
static double boundCommunication(const MeshCandidate &mesh,
                                 const StepTotals &totals,
                                 const CostModel &model) {
  auto tensor = static_cast<double>(mesh.tensor);
  double experts = totals.expertBytes / static_cast<double>(mesh.experts);
  double others = totals.parameterBytes - totals.expertBytes;
  double alike = gatherAndReduce((experts + others) / tensor, mesh, {1}, model);
  if (mesh.experts == 1)
    return alike;
  return std::min(
      alike, std::max(gatherAndReduce(experts / tensor, mesh, {1}, model),
                      gatherAndReduce(others / tensor, mesh, {1, 2}, model)));
}

/// The largest of what computation and the gathers and reductions of parameters
/// take, each as if nothing else were to be done, for one row.
static double findBound(const MeshCandidate &mesh, const StepTotals &totals,
                        bool hasOwnBatches, const CostModel &model) {
  double ranks = static_cast<double>(mesh.getBatches() * mesh.getModelRanks());
  double batches = hasOwnBatches ? static_cast<double>(mesh.getBatches()) : 1;
  double rows = std::max<double>(static_cast<double>(totals.rows), 1) * batches;
  double compute = totals.peakFlops > 0
                       ? totals.flops * batches / (ranks * totals.peakFlops)
                       : 0;
  return std::max(compute, boundCommunication(mesh, totals, model)) / rows;
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
  int64_t batches = hasOwnBatches ? 1 : mesh.getBatches();
  if (totals.rows % (batches * mesh.experts) != 0)
    return formatv("ep and dp do not divide the batch of {0}", totals.rows);
  if (mesh.tensor > getNodeRanks(cluster))
    return formatv("tp is larger than a node of {0} ranks",
                   getNodeRanks(cluster));
  double least = (totals.parameterBytes + totals.stateBytes) /
                 static_cast<double>(mesh.data * mesh.experts * mesh.tensor);
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

static std::vector<int64_t> listDivisors(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t divisor = 1; divisor <= number; ++divisor)
    if (number % divisor == 0)
      divisors.push_back(divisor);
  return divisors;
}

std::vector<MeshCandidate>
regather::listMeshes(int64_t ranks, const StepTotals &totals,
                     std::optional<tg::BatchMode> batch, int64_t memoryLimit,
                     const CostModel &model,
                     std::map<std::string, unsigned> &others) {
  const Cluster &cluster = model.getCluster();
  std::vector<MeshCandidate> meshes;
  auto consider = [&](MeshCandidate mesh) {
    bool divides = totals.rows % mesh.getBatches() == 0;
    bool hasOwnBatches = batch == tg::BatchMode::PerRank ||
                         (batch == tg::BatchMode::Auto && !divides);
    std::string problem =
        findProblem(mesh, totals, hasOwnBatches, memoryLimit, cluster);
    if (!problem.empty()) {
      ++others[problem];
      return;
    }
    mesh.boundSecondsPerRow = findBound(mesh, totals, hasOwnBatches, model);
    meshes.push_back(mesh);
  };
  // Without experts, one rank has all of none.
  int64_t divided = std::max<int64_t>(totals.experts, 1);
  for (int64_t tensor : listDivisors(ranks))
    for (int64_t sequence : listDivisors(ranks / tensor))
      for (int64_t experts :
           listDivisors(std::gcd(divided, ranks / tensor / sequence))) {
        int64_t model = tensor * sequence * experts, data = ranks / model;
        for (int64_t replicas : listReplicas(data, model, cluster))
          consider({replicas, data / replicas, experts, sequence, tensor});
      }
  llvm::sort(meshes, [](const MeshCandidate &a, const MeshCandidate &b) {
    return std::tie(a.boundSecondsPerRow, a.tensor, a.sequence, a.experts,
                    a.replicas) < std::tie(b.boundSecondsPerRow, b.tensor,
                                           b.sequence, b.experts, b.replicas);
  });
  return meshes;
}
