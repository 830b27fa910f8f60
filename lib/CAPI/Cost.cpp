//===- Cost.cpp - What operations take ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cost.h"

#include "Status.h"

#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;

/// Ranks are numbers of devices.
static constexpr int64_t kMaxRanks = int64_t(1) << 31;

/// As MLIR spells it; nothing for what does not exist.
static std::optional<llvm::StringRef> getTypeName(uint8_t type) {
  static constexpr llvm::StringLiteral kNames[] = {"", "f32", "bf16", "f16",
                                                   "f64"};
  if (type >= std::size(kNames))
    return std::nullopt;
  return kNames[type];
}

RegatherStatus *regatherComputeSeconds(const char *cluster, uint32_t count,
                                       const double *flops, const double *bytes,
                                       const uint8_t *types, double *seconds) {
  if (!cluster || (count > 0 && (!flops || !bytes || !types || !seconds)))
    return capi::takeStatus(makeFailure("an argument is null"));
  Result<Cluster> loaded = loadCluster(cluster);
  if (!loaded)
    return capi::takeStatus(loaded.getFailure());
  CostModel model(std::move(*loaded));
  for (uint32_t i = 0; i != count; ++i) {
    std::optional<llvm::StringRef> type = getTypeName(types[i]);
    if (!type || !(flops[i] >= 0) || !(bytes[i] >= 0))
      return capi::takeStatus(
          makeFailure("work of a kernel has no type, or is negative"));
    seconds[i] = model.computeSeconds(flops[i], bytes[i], *type,
                                      type->empty() ? WorkKind::Other
                                                    : WorkKind::Matmul);
  }
  return nullptr;
}

std::optional<CollectiveKind> capi::getCollectiveKind(uint8_t kind) {
  switch (kind) {
  case RegatherCollectiveAllGather:
    return CollectiveKind::AllGather;
  case RegatherCollectiveReduceScatter:
    return CollectiveKind::ReduceScatter;
  case RegatherCollectiveAllReduce:
    return CollectiveKind::AllReduce;
  case RegatherCollectiveAllToAll:
    return CollectiveKind::AllToAll;
  case RegatherCollectiveBroadcast:
    return CollectiveKind::Broadcast;
  default:
    return std::nullopt;
  }
}

RegatherStatus *regatherCollectiveSeconds(const char *cluster,
                                          uint32_t numMembers,
                                          const int64_t *members,
                                          uint32_t count, const uint8_t *kinds,
                                          const double *receivedBytes,
                                          double *seconds) {
  if (!cluster || (numMembers > 0 && !members) ||
      (count > 0 && (!kinds || !receivedBytes || !seconds)))
    return capi::takeStatus(makeFailure("an argument is null"));
  llvm::ArrayRef<int64_t> group(members, numMembers);
  if (group.empty() || llvm::any_of(group, [](int64_t rank) {
        return rank < 0 || rank >= kMaxRanks;
      }))
    return capi::takeStatus(
        makeFailure("a group has no ranks, or one that is out of range"));
  Result<Cluster> loaded = loadCluster(cluster);
  if (!loaded)
    return capi::takeStatus(loaded.getFailure());
  CostModel model(std::move(*loaded));
  GroupPlacement placement = model.placeGroup(group);
  for (uint32_t i = 0; i != count; ++i) {
    std::optional<CollectiveKind> kind = capi::getCollectiveKind(kinds[i]);
    if (!kind || !(receivedBytes[i] >= 0))
      return capi::takeStatus(makeFailure(
          "a collective has no kind, or receives less than nothing"));
    seconds[i] = model.collectiveSeconds(*kind, receivedBytes[i], placement);
  }
  return nullptr;
}
