//===- NcclOperations.cpp - What routines of NCCL do to data --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communication/Reduction.h"
#include "StandInNccl.h"

#include <cstring>
#include <deque>

using namespace regather::runtime;

using Operation = NcclOperation;
using Kind = NcclOperation::Kind;

static rg_dtype getNcclDtype(int type) {
  switch (type) {
  case kNcclFloat16:
    return RG_F16;
  case kNcclFloat32:
    return RG_F32;
  case kNcclFloat64:
    return RG_F64;
  case kNcclBfloat16:
    return RG_BF16;
  case kNcclInt32:
    return RG_I32;
  case kNcclInt64:
    return RG_I64;
  default:
    return RG_I8;
  }
}

size_t regather::runtime::getNcclTypeSize(int type) {
  switch (getNcclDtype(type)) {
  case RG_F16:
  case RG_BF16:
    return 2;
  case RG_F32:
  case RG_I32:
    return 4;
  case RG_F64:
  case RG_I64:
    return 8;
  default:
    return 1;
  }
}

static size_t getBytes(const Operation &operation) {
  return operation.count * getNcclTypeSize(operation.type);
}

size_t regather::runtime::getSourceBytes(const Operation &operation,
                                         int ranks) {
  if (operation.kind == Kind::Recv)
    return 0;
  bool isWhole = operation.kind == Kind::ReduceScatter;
  return getBytes(operation) * (isWhole ? size_t(ranks) : 1);
}

size_t regather::runtime::getTargetBytes(const Operation &operation,
                                         int ranks) {
  if (operation.kind == Kind::Send)
    return 0;
  bool isWhole = operation.kind == Kind::AllGather;
  return getBytes(operation) * (isWhole ? size_t(ranks) : 1);
}

static const char *getName(Kind kind) {
  switch (kind) {
  case Kind::AllGather:
    return "ncclAllGather";
  case Kind::ReduceScatter:
    return "ncclReduceScatter";
  case Kind::AllReduce:
    return "ncclAllReduce";
  case Kind::Broadcast:
    return "ncclBroadcast";
  case Kind::Send:
    return "ncclSend";
  case Kind::Recv:
    return "ncclRecv";
  }
  return "";
}

static std::string describe(const Operation &operation) {
  return std::string(getName(operation.kind)) + " of " +
         std::to_string(operation.count) + " elements of type " +
         std::to_string(operation.type);
}

static bool isMessage(const Operation &operation) {
  return operation.kind == Kind::Send || operation.kind == Kind::Recv;
}

namespace {
/// The operations of all members, sorted out.
struct SortedOperations {
  explicit SortedOperations(
      const std::vector<std::vector<Operation>> &operations)
      : ranks(operations.size()), calls(ranks), sends(ranks * ranks),
        receives(ranks * ranks) {
    for (size_t rank = 0; rank < ranks; ++rank)
      for (const Operation &operation : operations[rank])
        if (operation.kind == Kind::Send)
          sends[rank * ranks + size_t(operation.peer)].push_back(&operation);
        else if (operation.kind == Kind::Recv)
          receives[size_t(operation.peer) * ranks + rank].push_back(&operation);
        else
          calls[rank].push_back(&operation);
  }

  size_t ranks;
  /// The routines of all, by position.
  std::vector<std::vector<const Operation *>> calls;
  /// By sender and receiver.
  std::vector<std::vector<const Operation *>> sends, receives;
};
} // namespace

std::string regather::runtime::checkOperations(
    const std::vector<std::vector<Operation>> &operations) {
  for (const std::vector<Operation> &list : operations)
    for (const Operation &operation : list)
      if (isMessage(operation) &&
          (operation.peer < 0 || size_t(operation.peer) >= operations.size()))
        return "there is no peer " + std::to_string(operation.peer);
  SortedOperations sorted(operations);
  auto number = [](size_t i) { return std::to_string(i); };
  const std::vector<const Operation *> &first = sorted.calls[0];
  for (size_t rank = 1; rank < sorted.ranks; ++rank) {
    const std::vector<const Operation *> &other = sorted.calls[rank];
    if (other.size() != first.size())
      return "position 0 calls " + number(first.size()) +
             " routines, but position " + number(rank) + " calls " +
             number(other.size());
    for (size_t i = 0; i < first.size(); ++i)
      if (first[i]->kind != other[i]->kind ||
          first[i]->count != other[i]->count ||
          first[i]->type != other[i]->type ||
          first[i]->reduction != other[i]->reduction ||
          first[i]->peer != other[i]->peer)
        return "position 0 calls " + describe(*first[i]) + ", but position " +
               number(rank) + " calls " + describe(*other[i]);
  }
  for (size_t from = 0; from < sorted.ranks; ++from)
    for (size_t to = 0; to < sorted.ranks; ++to) {
      const auto &sent = sorted.sends[from * sorted.ranks + to];
      const auto &received = sorted.receives[from * sorted.ranks + to];
      std::string pair =
          "position " + number(from) + " sends to " + number(to) + " ";
      if (sent.size() != received.size())
        return pair + number(sent.size()) + " times, which receives " +
               number(received.size());
      for (size_t i = 0; i < sent.size(); ++i)
        if (getBytes(*sent[i]) != getBytes(*received[i]))
          return pair + number(getBytes(*sent[i])) + " bytes, which receives " +
                 number(getBytes(*received[i]));
    }
  return "";
}

/// Reduces as a ring does: begins at the rank after the owner and rounds after
/// each addition.
static std::vector<char> reduce(const std::vector<std::vector<char>> &sources,
                                const Operation &like, size_t owner,
                                size_t offset, size_t bytes) {
  size_t ranks = sources.size();
  rg_reduction step = like.reduction == kNcclMax ? RG_MAX : RG_SUM;
  ReductionType type = {step, getNcclDtype(like.type), RG_DTYPE_AUTO};
  auto count = int64_t(bytes / getNcclTypeSize(like.type));
  auto at = [&](size_t rank) { return sources[rank % ranks].data() + offset; };
  std::vector<char> result(at(owner + 1), at(owner + 1) + bytes);
  for (size_t i = 2; i <= ranks; ++i)
    reduceRun(type, {result.data(), at(owner + i)}, {result.data()}, count);
  if (like.reduction == kNcclAvg) {
    // The average with zeros divides by the number of ranks.
    std::vector<char> zeros(bytes);
    std::vector<const char *> contributions(ranks, zeros.data());
    contributions[0] = result.data();
    type.reduction = RG_AVG;
    reduceRun(type, contributions, {result.data()}, count);
  }
  return result;
}

/// One routine of all members.
static void runCall(const std::vector<const Operation *> &members) {
  const Operation &like = *members[0];
  size_t ranks = members.size(), bytes = getBytes(like);
  size_t sent = like.kind == Kind::ReduceScatter ? bytes * ranks : bytes;
  // Targets may overlap with sources.
  std::vector<std::vector<char>> sources;
  for (const Operation *member : members)
    sources.emplace_back(member->source, member->source + sent);
  for (size_t rank = 0; rank < ranks; ++rank) {
    char *target = members[rank]->target;
    if (like.kind == Kind::AllGather) {
      for (size_t from = 0; from < ranks; ++from)
        std::memcpy(target + from * bytes, sources[from].data(), bytes);
      continue;
    }
    std::vector<char> result;
    if (like.kind == Kind::Broadcast)
      result = sources[size_t(like.peer)];
    else if (like.kind == Kind::ReduceScatter)
      result = reduce(sources, like, rank, rank * bytes, bytes);
    else
      result = reduce(sources, like, 0, 0, bytes);
    std::memcpy(target, result.data(), bytes);
  }
}

void regather::runtime::moveOperations(
    const std::vector<std::vector<Operation>> &operations) {
  SortedOperations sorted(operations);
  // What is sent is read before anything is written.
  std::deque<std::vector<char>> messages;
  for (const auto &list : sorted.sends)
    for (const Operation *sent : list)
      messages.emplace_back(sent->source, sent->source + getBytes(*sent));
  for (size_t i = 0; i < sorted.calls[0].size(); ++i) {
    std::vector<const Operation *> members;
    for (const auto &calls : sorted.calls)
      members.push_back(calls[i]);
    runCall(members);
  }
  for (const auto &list : sorted.receives)
    for (const Operation *received : list) {
      std::memcpy(received->target, messages.front().data(),
                  messages.front().size());
      messages.pop_front();
    }
}
