//===- CollectivePlan.cpp - How a collective runs on devices --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectivePlan.h"

#include <algorithm>

using namespace regather::runtime;

/// Buffers in staging memory begin at multiples of it.
static constexpr int64_t kStagingAlignment = 256;

static int64_t alignUp(int64_t bytes) {
  return (bytes + kStagingAlignment - 1) / kStagingAlignment *
         kStagingAlignment;
}

bool regather::runtime::hasLibraryReduction(const Collective &collective,
                                            rg_dtype dtype) {
  // The library's maximum drops NaN, and it knows neither i16 nor exclusive or.
  bool isFloat =
      dtype == RG_F32 || dtype == RG_F64 || dtype == RG_BF16 || dtype == RG_F16;
  if (collective.reduction == RG_MAX)
    return !isFloat && dtype != RG_I16;
  return dtype != RG_I1 && dtype != RG_I16 &&
         (!isFloat || dtype == RG_F64 || collective.accumulate != RG_F64);
}

namespace {

/// A tensor seen as [outer, size, inner bytes], of which position j of the
/// group has the elements [j * shard, (j + 1) * shard) along the middle; those
/// past `size` are padding.
struct Cut {
  int64_t outer, size, inner, shard;

  static Cut get(const Shape &shape, int64_t dim, int64_t shard,
                 int64_t elementSize) {
    Cut cut = {1, shape[size_t(dim)], elementSize, shard};
    for (int64_t i = 0; i < dim; ++i)
      cut.outer *= shape[size_t(i)];
    for (size_t i = size_t(dim) + 1; i < shape.size(); ++i)
      cut.inner *= shape[i];
    return cut;
  }

  int64_t getValid(int64_t position) const {
    return std::clamp(size - shard * position, int64_t(0), shard);
  }
  /// Bytes along one row of the tensor, of a shard, and before a shard.
  int64_t getPitch() const { return size * inner; }
  int64_t getShardPitch() const { return shard * inner; }
  int64_t getOffset(int64_t position) const {
    return std::min(position * shard, size) * inner;
  }
  int64_t getShardBytes() const { return outer * shard * inner; }
};

class Planner {
public:
  Planner(const Collective &collective, const PlanOptions &options)
      : collective(collective), options(options) {}

  CollectivePlan plan();

private:
  int64_t getElementSize(int64_t member) const {
    return int64_t(rg_dtype_size(getMember(member).dtype));
  }
  const Member &getMember(int64_t member) const {
    return collective.members[size_t(member)];
  }
  int64_t getBytes(int64_t member) const {
    int64_t bytes = getElementSize(member);
    for (int64_t size : getMember(member).outputShape)
      bytes *= size;
    return bytes;
  }
  bool isMine(int64_t position) const { return position == options.position; }

  PlanAddress allocate(int64_t bytes) {
    PlanAddress address = {PlanSpace::Staging, 0, result.stagingBytes};
    result.stagingBytes += alignUp(bytes);
    return address;
  }
  static PlanAddress advance(PlanAddress address, int64_t bytes) {
    address.offset += bytes;
    return address;
  }
  PlanPhase &getPhase(size_t number) {
    if (result.phases.size() <= number)
      result.phases.resize(number + 1);
    return result.phases[number];
  }

  void copy(PlanPhase &phase, PlanAddress target, PlanAddress source,
            int64_t bytes) {
    if (bytes)
      phase.copies.push_back({target, source, bytes, bytes, bytes, 1});
  }
  void send(PlanPhase &phase, int64_t peer, PlanAddress source, int64_t bytes) {
    if (bytes)
      phase.sends.push_back({peer, source, bytes});
  }
  void receive(PlanPhase &phase, int64_t peer, PlanAddress target,
               int64_t bytes) {
    if (bytes)
      phase.receives.push_back({peer, target, bytes});
  }

  PlanAddress pack(int64_t member, const Cut &cut, int64_t position,
                   PlanAddress target);
  void unpack(int64_t member, const Cut &cut, int64_t position,
              PlanAddress source);
  void planAllGather(int64_t member);
  void planExchange(int64_t member, const Cut *split, const Cut &concat);
  void planAllToAll(int64_t member);
  void planBroadcast(int64_t member);
  void planPermute(int64_t member);

  void planReductions();
  bool planLibraryReduction(int64_t member);
  struct OrderedReduction;
  struct Piece;
  OrderedReduction prepareReduction(int64_t member);
  void exchangePiece(const OrderedReduction &reduction, const Piece &piece,
                     size_t phase);
  void finishReduction(const OrderedReduction &reduction, size_t phase);

  const Collective &collective;
  const PlanOptions &options;
  CollectivePlan result;
};

} // namespace

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Copies the shard of a position of a member's input to consecutive bytes,
/// with zeros for its padding.
PlanAddress Planner::pack(int64_t member, const Cut &cut, int64_t position,
                          PlanAddress target) {
  PlanPhase &phase = getPhase(0);
  int64_t valid = cut.getValid(position);
  if (valid < cut.shard && cut.getShardBytes())
    phase.clears.push_back({target, cut.getShardBytes()});
  if (valid && cut.outer && cut.inner)
    phase.copies.push_back({target,
                            {PlanSpace::Input, member, cut.getOffset(position)},
                            cut.getShardPitch(),
                            cut.getPitch(),
                            valid * cut.inner,
                            cut.outer});
  return target;
}

/// Copies consecutive bytes to the shard of a position of a member's output,
/// without their padding.
void Planner::unpack(int64_t member, const Cut &cut, int64_t position,
                     PlanAddress source) {
  int64_t valid = cut.getValid(position);
  if (valid && cut.outer && cut.inner)
    getPhase(1).copies.push_back(
        {{PlanSpace::Output, member, cut.getOffset(position)},
         source,
         cut.getPitch(),
         cut.getShardPitch(),
         valid * cut.inner,
         cut.outer});
}

//===----------------------------------------------------------------------===//
// Collectives that move data
//===----------------------------------------------------------------------===//

/// Sends to each position its shard along `split`, or all of the input if there
/// is none, and concatenates along `concat` what arrives.
void Planner::planExchange(int64_t member, const Cut *split,
                           const Cut &concat) {
  int64_t bytes = concat.getShardBytes();
  // If the shards follow each other in the output, what is past its end need
  // not travel, and nothing is unpacked.
  bool isDirect = concat.outer == 1;
  auto getMessageBytes = [&](int64_t sender) {
    return isDirect ? concat.getValid(sender) * concat.inner : bytes;
  };
  for (int64_t peer = 0; peer < options.ranks; ++peer) {
    PlanAddress source = {PlanSpace::Input, member, 0};
    if (split) {
      source.offset = split->getOffset(peer);
      bool isDense = split->outer == 1 && split->getValid(peer) == split->shard;
      if (!isDense && bytes)
        source = pack(member, *split, peer, allocate(bytes));
    }
    PlanAddress target = {PlanSpace::Output, member, concat.getOffset(peer)};
    if (isMine(peer)) {
      // A message to itself would be a copy as well.
      unpack(member, concat, peer, source);
      continue;
    }
    send(getPhase(0), peer, source, getMessageBytes(options.position));
    if (!isDirect && bytes) {
      target = allocate(bytes);
      unpack(member, concat, peer, target);
    }
    receive(getPhase(0), peer, target, getMessageBytes(peer));
  }
}

void Planner::planAllGather(int64_t member) {
  const Member &shapes = getMember(member);
  int64_t dim = collective.dim;
  Cut cut = Cut::get(shapes.outputShape, dim, shapes.inputShape[size_t(dim)],
                     getElementSize(member));
  int64_t bytes = cut.getShardBytes();
  if (!bytes)
    return;
  bool isEven = cut.size == cut.shard * options.ranks;
  // Uneven shards along the outermost dimension are sent one by one, so that
  // the padding of the last ones does not leave the output.
  if (!options.useLibrary || (cut.outer == 1 && !isEven))
    return planExchange(member, nullptr, cut);
  PlanAddress target = {PlanSpace::Output, member, 0};
  if (cut.outer > 1) {
    target = {PlanSpace::Staging, 0, result.stagingBytes};
    result.stagingBytes += alignUp(bytes * options.ranks);
    for (int64_t peer = 0; peer < options.ranks; ++peer)
      unpack(member, cut, peer, advance(target, peer * bytes));
  }
  getPhase(0).calls.push_back({RG_ALL_GATHER,
                               {PlanSpace::Input, member, 0},
                               target,
                               bytes,
                               RG_I8,
                               RG_SUM,
                               0});
}

void Planner::planAllToAll(int64_t member) {
  const Member &shapes = getMember(member);
  int64_t elementSize = getElementSize(member);
  int64_t splitDim = collective.splitDim, concatDim = collective.concatDim;
  int64_t splitShard =
      getShardSize(shapes.inputShape[size_t(splitDim)], options.ranks);
  int64_t concatShard =
      splitDim == concatDim ? splitShard : shapes.inputShape[size_t(concatDim)];
  Cut split = Cut::get(shapes.inputShape, splitDim, splitShard, elementSize);
  Cut concat =
      Cut::get(shapes.outputShape, concatDim, concatShard, elementSize);
  planExchange(member, &split, concat);
}

void Planner::planBroadcast(int64_t member) {
  int64_t bytes = getBytes(member);
  PlanAddress source = {PlanSpace::Input, member, 0};
  PlanAddress target = {PlanSpace::Output, member, 0};
  PlanPhase &phase = getPhase(0);
  if (!bytes)
    return;
  if (options.useLibrary) {
    phase.calls.push_back(
        {RG_BROADCAST, source, target, bytes, RG_I8, RG_SUM, collective.root});
    return;
  }
  if (!isMine(collective.root))
    return receive(phase, collective.root, target, bytes);
  copy(phase, target, source, bytes);
  for (int64_t peer = 0; peer < options.ranks; ++peer)
    if (!isMine(peer))
      send(phase, peer, source, bytes);
}

void Planner::planPermute(int64_t member) {
  int64_t bytes = getBytes(member);
  PlanAddress source = {PlanSpace::Input, member, 0};
  PlanAddress target = {PlanSpace::Output, member, 0};
  PlanPhase &phase = getPhase(0);
  bool isTarget = false;
  for (size_t i = 0; i < collective.sources.size(); ++i) {
    int64_t from = collective.sources[i], to = collective.targets[i];
    if (isMine(from) && !isMine(to))
      send(phase, to, source, bytes);
    if (!isMine(to))
      continue;
    isTarget = true;
    if (isMine(from))
      copy(phase, target, source, bytes);
    else
      receive(phase, from, target, bytes);
  }
  if (!isTarget && bytes)
    phase.clears.push_back({target, bytes});
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// A member whose pieces are reduced in rank order by the positions that own
/// them.
struct Planner::OrderedReduction {
  int64_t member;
  Cut cut;
  /// For each position, where its shard lies: in the input, or packed.
  std::vector<PlanAddress> shards;
  /// Where this rank's own shard goes.
  PlanAddress target;

  /// Bytes that are reduced for a position. Padding of packed shards is among
  /// them, since zeros reduce to zero.
  int64_t getBytes(int64_t position) const {
    return cut.outer == 1 ? cut.getValid(position) * cut.inner
                          : cut.getShardBytes();
  }
};

/// Bytes [begin, begin + bytes) of all shards, in one round.
struct Planner::Piece {
  size_t reduction;
  int64_t begin, bytes;
  /// Of the first position's contribution, in staging memory.
  PlanAddress slots;
};

static int64_t getNumElements(const Shape &shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

/// Plans a reduction as a routine of the library, if it has it.
bool Planner::planLibraryReduction(int64_t member) {
  const Member &shapes = getMember(member);
  if (!options.useLibraryOrder ||
      !hasLibraryReduction(collective, shapes.dtype))
    return false;
  int64_t elementSize = getElementSize(member);
  PlanAddress source = {PlanSpace::Input, member, 0};
  PlanAddress target = {PlanSpace::Output, member, 0};
  int64_t count = getNumElements(shapes.outputShape);
  if (!count)
    return true;
  if (collective.kind == RG_REDUCE_SCATTER) {
    int64_t dim = collective.dim;
    Cut cut = Cut::get(shapes.inputShape, dim, shapes.outputShape[size_t(dim)],
                       elementSize);
    if (cut.outer > 1 || cut.size != cut.shard * options.ranks) {
      int64_t bytes = cut.getShardBytes();
      source = {PlanSpace::Staging, 0, result.stagingBytes};
      result.stagingBytes += alignUp(bytes * options.ranks);
      for (int64_t peer = 0; peer < options.ranks; ++peer)
        pack(member, cut, peer, advance(source, peer * bytes));
    }
  }
  getPhase(0).calls.push_back({collective.kind, source, target, count,
                               shapes.dtype, collective.reduction, 0});
  return true;
}

Planner::OrderedReduction Planner::prepareReduction(int64_t member) {
  const Member &shapes = getMember(member);
  int64_t elementSize = getElementSize(member);
  OrderedReduction reduction;
  reduction.member = member;
  reduction.target = {PlanSpace::Output, member, 0};
  if (collective.kind == RG_ALL_REDUCE) {
    int64_t elements = getNumElements(shapes.inputShape);
    reduction.cut = {1, elements, elementSize,
                     getShardSize(elements, options.ranks)};
    reduction.target.offset = reduction.cut.getOffset(options.position);
  } else {
    int64_t dim = collective.dim;
    reduction.cut = Cut::get(shapes.inputShape, dim,
                             shapes.outputShape[size_t(dim)], elementSize);
  }
  const Cut &cut = reduction.cut;
  bool isPacked = cut.outer > 1 && cut.getShardBytes();
  for (int64_t peer = 0; peer < options.ranks; ++peer)
    reduction.shards.push_back(
        isPacked ? pack(member, cut, peer, allocate(cut.getShardBytes()))
                 : PlanAddress{PlanSpace::Input, member, cut.getOffset(peer)});
  return reduction;
}

/// Bytes of a range that lie before `end`.
static int64_t clampRange(int64_t begin, int64_t bytes, int64_t end) {
  return std::clamp(end - begin, int64_t(0), bytes);
}

void Planner::exchangePiece(const OrderedReduction &reduction,
                            const Piece &piece, size_t phase) {
  int64_t stride = alignUp(piece.bytes);
  int64_t mine = clampRange(piece.begin, piece.bytes,
                            reduction.getBytes(options.position));
  PlanPhase &exchange = getPhase(phase);
  for (int64_t peer = 0; peer < options.ranks; ++peer) {
    PlanAddress slot = advance(piece.slots, peer * stride);
    PlanAddress source = advance(reduction.shards[size_t(peer)], piece.begin);
    if (isMine(peer)) {
      // A rank that is alone reduces its contribution where it is.
      if (options.ranks > 1)
        copy(exchange, slot, source, mine);
      continue;
    }
    send(exchange, peer, source,
         clampRange(piece.begin, piece.bytes, reduction.getBytes(peer)));
    receive(exchange, peer, slot, mine);
  }
  if (!mine)
    return;
  rg_dtype dtype = getMember(reduction.member).dtype;
  PlanAddress sources = options.ranks > 1
                            ? piece.slots
                            : advance(reduction.shards[0], piece.begin);
  getPhase(phase + 1).reductions.push_back(
      {advance(reduction.target, piece.begin),
       sources,
       stride,
       mine / getElementSize(reduction.member),
       {collective.reduction, dtype, collective.accumulate}});
}

/// Clears the padding of a scattered output, or gives every rank the shards of
/// the others, once the own shard is complete.
void Planner::finishReduction(const OrderedReduction &reduction, size_t phase) {
  const Cut &cut = reduction.cut;
  int64_t mine = reduction.getBytes(options.position);
  if (collective.kind == RG_REDUCE_SCATTER) {
    if (int64_t padding = cut.getShardBytes() - mine)
      getPhase(phase).clears.push_back(
          {advance(reduction.target, mine), padding});
    return;
  }
  if (!cut.size)
    return;
  PlanPhase &exchange = getPhase(phase);
  if (options.useLibrary && cut.size == cut.shard * options.ranks) {
    exchange.calls.push_back({RG_ALL_GATHER,
                              reduction.target,
                              {PlanSpace::Output, reduction.member, 0},
                              mine,
                              RG_I8,
                              RG_SUM,
                              0});
    return;
  }
  for (int64_t peer = 0; peer < options.ranks; ++peer) {
    if (isMine(peer))
      continue;
    send(exchange, peer, reduction.target, mine);
    receive(exchange, peer,
            {PlanSpace::Output, reduction.member, cut.getOffset(peer)},
            reduction.getBytes(peer));
  }
}

void Planner::planReductions() {
  std::vector<OrderedReduction> reductions;
  for (size_t i = 0; i < collective.members.size(); ++i)
    if (!planLibraryReduction(int64_t(i)))
      reductions.push_back(prepareReduction(int64_t(i)));
  // Pieces fill one round after the other; all rounds use the same slots.
  int64_t limit = std::max(options.reductionBytes / options.ranks /
                               kStagingAlignment * kStagingAlignment,
                           kStagingAlignment);
  size_t phase = 0;
  int64_t used = 0, mostUsed = 0, slots = result.stagingBytes;
  for (size_t i = 0; i < reductions.size(); ++i) {
    int64_t bytes = reductions[i].getBytes(0);
    for (int64_t begin = 0; begin < bytes;) {
      if (used == limit) {
        ++phase;
        used = 0;
      }
      int64_t length = std::min(bytes - begin, limit - used);
      PlanAddress address = {PlanSpace::Staging, 0,
                             slots + used * options.ranks};
      exchangePiece(reductions[i], {i, begin, length, address}, phase);
      begin += length;
      used += alignUp(length);
      mostUsed = std::max(mostUsed, used);
    }
  }
  if (options.ranks > 1)
    result.stagingBytes += mostUsed * options.ranks;
  for (const OrderedReduction &reduction : reductions)
    finishReduction(reduction, phase + 1);
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

CollectivePlan Planner::plan() {
  if (collective.kind == RG_REDUCE_SCATTER || collective.kind == RG_ALL_REDUCE)
    planReductions();
  for (size_t i = 0; i < collective.members.size(); ++i) {
    int64_t member = int64_t(i);
    switch (collective.kind) {
    case RG_ALL_GATHER:
      planAllGather(member);
      break;
    case RG_ALL_TO_ALL:
      planAllToAll(member);
      break;
    case RG_BROADCAST:
      planBroadcast(member);
      break;
    case RG_PERMUTE:
      planPermute(member);
      break;
    case RG_REDUCE_SCATTER:
    case RG_ALL_REDUCE:
      break;
    }
  }
  return std::move(result);
}

CollectivePlan regather::runtime::planCollective(const Collective &collective,
                                                 const PlanOptions &options) {
  return Planner(collective, options).plan();
}
