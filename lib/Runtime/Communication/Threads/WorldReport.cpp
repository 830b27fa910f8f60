//===- WorldReport.cpp - What the world tells about its state -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The texts of mismatches, deadlocks and timeouts: whoever reads them should
// find the two places in the program that disagree.
//
//===----------------------------------------------------------------------===//

#include "World.h"

using namespace regather::runtime;

/// The name in quotes, or the kind if the caller gave none.
static std::string quote(const char *name) {
  return name && *name ? "'" + std::string(name) + "'"
                       : "an unnamed collective";
}

std::string World::describeGroup(const Group &group) const {
  return "group " + formatList(group.members);
}

std::string World::describeMismatch(const Rendezvous &rendezvous, int32_t rank,
                                    const char *name,
                                    const std::string &difference) const {
  int64_t first = rendezvous.firstPosition;
  return "mismatch: collective " + std::to_string(rendezvous.sequence) +
         " of " + describeGroup(*rendezvous.group) + " differs in " +
         difference + "\n  rank " +
         std::to_string(rendezvous.group->members[first]) + " starts " +
         quote(rendezvous.names[first]) + "\n  rank " + std::to_string(rank) +
         " starts " + quote(name);
}

std::string World::describeOrder(const GroupView &view, const char *name,
                                 int32_t peer,
                                 const StartRecord &expected) const {
  auto describe = [&](int32_t rank, const Group &group, int64_t sequence,
                      const char *called) {
    return "\n  rank " + std::to_string(rank) + " starts " + quote(called) +
           " (collective " + std::to_string(sequence) + " of " +
           describeGroup(group) + ")";
  };
  return "mismatch: two ranks start the collectives they share in different "
         "order" +
         describe(peer, *expected.group, expected.sequence, expected.name) +
         describe(view.rank, *view.group, view.numStarted, name);
}

/// One line for each rank.
std::string World::describeRanks() const {
  std::string text;
  for (size_t index = 0; index < ranks.size(); ++index) {
    const Rank &rank = ranks[index];
    text += "\n  rank " + std::to_string(index);
    if (!rank.waitsFor) {
      text += rank.finished ? " is finished" : " is running";
      continue;
    }
    const Future &future = *rank.waitsFor;
    const Rendezvous &rendezvous = *future.rendezvous;
    text += (rank.finished ? " is finished and waits for " : " waits for ") +
            quote(rendezvous.names[future.position]) + " (collective " +
            std::to_string(rendezvous.sequence) + " of " +
            describeGroup(*rendezvous.group) + ")";
    if (!rendezvous.isOpen()) {
      text += ", which all members have started";
      continue;
    }
    std::vector<int32_t> missing;
    for (size_t position = 0; position < rendezvous.arrived.size(); ++position)
      if (!rendezvous.arrived[position])
        missing.push_back(rendezvous.group->members[position]);
    text += ", not started by ";
    text += missing.size() == 1 ? "rank " + std::to_string(missing.front())
                                : "ranks " + formatList(missing);
  }
  return text;
}
