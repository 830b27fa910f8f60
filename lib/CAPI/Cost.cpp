//===- Cost.cpp - What operations take ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Cost.h"

#include "Status.h"

#include "regather/Analysis/Cost/CostModel.h"

using namespace regather;

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
    return capi::takeStatus(llvm::createStringError("an argument is null"));
  llvm::Expected<Cluster> loaded = loadCluster(cluster);
  if (!loaded)
    return capi::takeStatus(loaded.takeError());
  CostModel model(std::move(*loaded));
  for (uint32_t i = 0; i != count; ++i) {
    std::optional<llvm::StringRef> type = getTypeName(types[i]);
    if (!type || !(flops[i] >= 0) || !(bytes[i] >= 0))
      return capi::takeStatus(llvm::createStringError(
          "work of a kernel has no type, or is negative"));
    seconds[i] = model.computeSeconds(flops[i], bytes[i], *type,
                                      type->empty() ? WorkKind::Other
                                                    : WorkKind::Product);
  }
  return nullptr;
}
