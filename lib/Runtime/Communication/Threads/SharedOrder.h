//===- SharedOrder.h - One order of collectives for two ranks ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ranks that share several groups have to start the collectives of all of
// them in one order, or a backend that runs them one after the other hangs.
// Which backend that is must not decide whether a program is right, so the
// order is checked always.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_SHAREDORDER_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_SHAREDORDER_H

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace regather::runtime {

struct Group;

/// One start of a collective, as far as other ranks can compare it.
struct StartRecord {
  const Group *group;
  int64_t sequence;
  const char *name;
};

/// For each pair of ranks, what the one that is ahead has started on their
/// common groups and the other has not. Memory grows with the lead only.
class SharedOrder {
public:
  explicit SharedOrder(int64_t ranks) : pairs(ranks) {}

  /// Notes that `rank` starts `record`, which concerns `peer` as well. If
  /// `peer` is ahead and started another group's collective at this place,
  /// returns its record. Constant time but for the search of the pair.
  std::optional<StartRecord> start(int32_t rank, int32_t peer,
                                   const StartRecord &record);

private:
  struct Lead {
    int32_t ahead;
    std::deque<StartRecord> records;
  };

  /// Indexed by the smaller rank of a pair, then by the larger. Only pairs that
  /// ever shared a group have an entry.
  std::vector<std::map<int32_t, Lead>> pairs;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_SHAREDORDER_H
