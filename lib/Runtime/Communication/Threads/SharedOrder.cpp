//===- SharedOrder.cpp - One order of collectives for two ranks -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedOrder.h"

#include <algorithm>

using namespace regather::runtime;

std::optional<StartRecord> SharedOrder::start(int32_t rank, int32_t peer,
                                              const StartRecord &record) {
  auto [low, high] = std::minmax(rank, peer);
  Lead &lead = pairs[low][high];
  if (lead.records.empty() || lead.ahead == rank) {
    lead.ahead = rank;
    lead.records.push_back(record);
    return std::nullopt;
  }
  // Within one group the k-th start meets the k-th by construction, so groups
  // are all there is to compare.
  StartRecord expected = lead.records.front();
  lead.records.pop_front();
  if (expected.group == record.group)
    return std::nullopt;
  return expected;
}
