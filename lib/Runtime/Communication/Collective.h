//===- Collective.h - Checked copies of collectives -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank says about a collective, copied, checked and reduced to what
// matters for its kind, so that two ranks agree if and only if these are equal.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_COLLECTIVE_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_COLLECTIVE_H

#include "regather/Runtime/Program.h"
#include "regather/Support/MeshRanks.h"

#include <string>
#include <vector>

namespace regather::runtime {

using Shape = std::vector<int64_t>;

using regather::getShardSize;

/// Type and shapes of one tensor; equal on all ranks.
struct Member {
  rg_dtype dtype;
  Shape inputShape;
  Shape outputShape;
};

/// Where one rank has one tensor.
struct Buffers {
  const char *input;
  char *output;
};

/// A collective without its buffers. Fields that the kind ignores hold their
/// initial value.
struct Collective {
  rg_kind kind = RG_ALL_GATHER;
  rg_reduction reduction = RG_SUM;
  rg_dtype accumulate = RG_DTYPE_AUTO;
  int64_t root = 0;
  int64_t dim = 0;
  int64_t splitDim = 0;
  int64_t concatDim = 0;
  std::vector<int32_t> sources;
  std::vector<int32_t> targets;
  std::vector<Member> members;
  uint64_t tag = 0;
};

/// Copies `from` for a group of `ranks`. Returns what is wrong with it, or an
/// empty string. Reads every shape and list once.
std::string readCollective(const rg_collective &from, int64_t ranks,
                           Collective &collective,
                           std::vector<Buffers> &buffers);

/// Copies a collective of a program without its buffers. Returns what is wrong
/// with it, or an empty string.
std::string readCollective(const rg_collective_entry &entry, int64_t ranks,
                           Collective &collective);

/// Bytes that each of `ranks` ranks receives with an algorithm that moves no
/// byte twice, as CollectiveOpInterface counts them.
double getReceivedBytes(const Collective &collective, int64_t ranks);

/// Describes the first field in which the two differ, such as "dim: 0 and 1";
/// empty if they are equal.
std::string describeDifference(const Collective &first,
                               const Collective &second);

/// The kind's name in the tg dialect, such as "all_gather".
const char *getKindName(rg_kind kind);

/// "[2, 3]".
template <typename List> std::string formatList(const List &list) {
  std::string text = "[";
  for (auto element : list) {
    if (text.size() > 1)
      text += ", ";
    text += std::to_string(element);
  }
  return text + "]";
}

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_COLLECTIVE_H
