//===- Collective.cpp - Checked copies of collectives ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collective.h"

#include <algorithm>
#include <cmath>

using namespace regather::runtime;

const char *regather::runtime::getKindName(rg_kind kind) {
  switch (kind) {
  case RG_ALL_GATHER:
    return "all_gather";
  case RG_REDUCE_SCATTER:
    return "reduce_scatter";
  case RG_ALL_REDUCE:
    return "all_reduce";
  case RG_ALL_TO_ALL:
    return "all_to_all";
  case RG_BROADCAST:
    return "broadcast";
  case RG_PERMUTE:
    return "permute";
  }
  return "invalid";
}

static const char *getReductionName(rg_reduction reduction) {
  switch (reduction) {
  case RG_SUM:
    return "sum";
  case RG_AVG:
    return "avg";
  case RG_MAX:
    return "max";
  }
  return "invalid";
}

static bool isReduction(rg_kind kind) {
  return kind == RG_REDUCE_SCATTER || kind == RG_ALL_REDUCE;
}

static bool isFloat(rg_dtype dtype) {
  return dtype == RG_F32 || dtype == RG_F64 || dtype == RG_BF16 ||
         dtype == RG_F16;
}

/// Shapes as in MLIR: "2x3xf32".
static std::string formatShape(const Shape &shape, rg_dtype dtype) {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + rg_dtype_name(dtype);
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

static std::string checkDim(const char *name, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank)
    return "";
  return std::string(name) + " must be in 0.." + std::to_string(rank - 1) +
         ", got " + std::to_string(dim);
}

/// Checks one shape and counts its elements; sizes in bytes have to fit 63
/// bits.
static std::string checkShape(const char *what, const Shape &shape,
                              rg_dtype dtype, int64_t &elements) {
  elements = 1;
  int64_t nonZero = int64_t(rg_dtype_size(dtype));
  for (int64_t size : shape) {
    if (size < 0)
      return std::string(what) +
             " has a negative size: " + formatShape(shape, dtype);
    elements = size ? elements : 0;
    if (size && nonZero > INT64_MAX / size)
      return std::string(what) + " is too large: " + formatShape(shape, dtype);
    nonZero *= size ? size : 1;
  }
  if (elements)
    elements = nonZero / int64_t(rg_dtype_size(dtype));
  return "";
}

/// The output shape that the kind requires. Along dimensions that the input
/// does not determine (a gathered size), it takes the size that was given.
/// Returns what is wrong with the input.
static std::string getOutputShape(const Collective &collective, int64_t ranks,
                                  const Member &member, Shape &expected) {
  const Shape &input = member.inputShape;
  const Shape &output = member.outputShape;
  int64_t rank = int64_t(input.size());
  expected = input;
  std::string error;
  auto takeGathered = [&](int64_t dim) {
    if (getShardSize(output[dim], ranks) == input[dim])
      expected[dim] = output[dim];
    else if (input[dim] <= INT64_MAX / ranks)
      expected[dim] = input[dim] * ranks;
    else
      error = "gathered size is too large";
  };
  switch (collective.kind) {
  case RG_ALL_GATHER:
    error = checkDim("dim", collective.dim, rank);
    if (error.empty())
      takeGathered(collective.dim);
    return error;
  case RG_REDUCE_SCATTER:
    error = checkDim("dim", collective.dim, rank);
    if (error.empty())
      expected[collective.dim] = getShardSize(input[collective.dim], ranks);
    return error;
  case RG_ALL_TO_ALL: {
    int64_t split = collective.splitDim, concat = collective.concatDim;
    error = checkDim("split_dim", split, rank);
    if (error.empty())
      error = checkDim("concat_dim", concat, rank);
    if (!error.empty())
      return error;
    if (split == concat) {
      if (input[split] % ranks)
        return "size along split_dim and concat_dim must be a multiple of " +
               std::to_string(ranks) + ", got " + std::to_string(input[split]);
      return "";
    }
    expected[split] = getShardSize(input[split], ranks);
    takeGathered(concat);
    return error;
  }
  case RG_ALL_REDUCE:
  case RG_BROADCAST:
  case RG_PERMUTE:
    return "";
  }
  return "";
}

static std::string checkReduction(const Collective &collective,
                                  rg_dtype dtype) {
  if (!isFloat(dtype))
    return collective.reduction == RG_AVG
               ? std::string("avg needs floating-point elements, got ") +
                     rg_dtype_name(dtype)
               : "";
  rg_dtype accumulate = collective.accumulate;
  if (accumulate == RG_DTYPE_AUTO || accumulate == RG_F64 ||
      (accumulate == RG_F32 && dtype != RG_F64))
    return "";
  return std::string(rg_dtype_name(dtype)) + " cannot accumulate in " +
         rg_dtype_name(accumulate);
}

static std::string readMember(const rg_member &from,
                              const Collective &collective, int64_t ranks,
                              Member &member, Buffers &buffers) {
  if (!rg_dtype_size(from.dtype))
    return "unknown dtype " + std::to_string(from.dtype);
  member.dtype = rg_dtype(from.dtype);
  if (from.rank < 0)
    return "rank must not be negative, got " + std::to_string(from.rank);
  if (from.rank && (!from.input_shape || !from.output_shape))
    return "a shape is null";
  member.inputShape.assign(from.input_shape, from.input_shape + from.rank);
  member.outputShape.assign(from.output_shape, from.output_shape + from.rank);

  int64_t inputElements, outputElements;
  Shape expected;
  std::string error =
      checkShape("input", member.inputShape, member.dtype, inputElements);
  if (error.empty())
    error =
        checkShape("output", member.outputShape, member.dtype, outputElements);
  if (error.empty())
    error = getOutputShape(collective, ranks, member, expected);
  if (error.empty() && expected != member.outputShape)
    error = "expects output " + formatShape(expected, member.dtype) +
            " for input " + formatShape(member.inputShape, member.dtype) +
            " on " + std::to_string(ranks) + " ranks, got " +
            formatShape(member.outputShape, member.dtype);
  if (error.empty() && isReduction(collective.kind))
    error = checkReduction(collective, member.dtype);
  if (!error.empty())
    return error;
  if (inputElements && !from.input)
    return "input is null";
  if (outputElements && !from.output)
    return "output is null";
  buffers = {static_cast<const char *>(from.input),
             static_cast<char *>(from.output)};
  return "";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static std::string readPairs(const rg_collective &from, int64_t ranks,
                             Collective &collective) {
  if (from.pair_count < 0)
    return "pair_count must not be negative, got " +
           std::to_string(from.pair_count);
  if (from.pair_count && (!from.sources || !from.targets))
    return "sources or targets is null";
  collective.sources.assign(from.sources, from.sources + from.pair_count);
  collective.targets.assign(from.targets, from.targets + from.pair_count);
  for (auto [name, list] : {std::make_pair("sources", &collective.sources),
                            std::make_pair("targets", &collective.targets)}) {
    std::vector<bool> seen(ranks);
    for (int32_t position : *list) {
      if (position < 0 || position >= ranks)
        return std::string(name) + " must be in 0.." +
               std::to_string(ranks - 1) + ", got " + std::to_string(position);
      if (seen[position])
        return std::string(name) + " has position " + std::to_string(position) +
               " twice";
      seen[position] = true;
    }
  }
  return "";
}

/// Reads the fields that concern all members.
static std::string readAttributes(const rg_collective &from, int64_t ranks,
                                  Collective &collective) {
  if (from.kind < RG_ALL_GATHER || from.kind > RG_PERMUTE)
    return "unknown kind " + std::to_string(from.kind);
  collective.kind = rg_kind(from.kind);
  collective.tag = from.tag;
  switch (collective.kind) {
  case RG_REDUCE_SCATTER:
  case RG_ALL_REDUCE:
    if (from.reduction < RG_SUM || from.reduction > RG_MAX)
      return "unknown reduction " + std::to_string(from.reduction);
    if (from.accumulate != RG_DTYPE_AUTO && !rg_dtype_size(from.accumulate))
      return "unknown accumulate dtype " + std::to_string(from.accumulate);
    collective.reduction = rg_reduction(from.reduction);
    collective.accumulate = rg_dtype(from.accumulate);
    if (collective.kind == RG_REDUCE_SCATTER)
      collective.dim = from.dim;
    return "";
  case RG_ALL_GATHER:
    collective.dim = from.dim;
    return "";
  case RG_ALL_TO_ALL:
    collective.splitDim = from.split_dim;
    collective.concatDim = from.concat_dim;
    return "";
  case RG_BROADCAST:
    collective.root = from.root;
    if (from.root < 0 || from.root >= ranks)
      return "root must be in 0.." + std::to_string(ranks - 1) + ", got " +
             std::to_string(from.root);
    return "";
  case RG_PERMUTE:
    return readPairs(from, ranks, collective);
  }
  return "";
}

std::string regather::runtime::readCollective(const rg_collective &from,
                                              int64_t ranks,
                                              Collective &collective,
                                              std::vector<Buffers> &buffers) {
  std::string error = readAttributes(from, ranks, collective);
  if (!error.empty())
    return error;
  if (from.member_count < 0)
    return "member_count must not be negative, got " +
           std::to_string(from.member_count);
  if (from.member_count && !from.members)
    return "members is null";
  collective.members.resize(from.member_count);
  buffers.resize(from.member_count);
  for (int64_t i = 0; i < from.member_count; ++i) {
    error = readMember(from.members[i], collective, ranks,
                       collective.members[i], buffers[i]);
    if (!error.empty())
      return "member " + std::to_string(i) + ": " + error;
  }
  return "";
}

std::string regather::runtime::readCollective(const rg_collective_entry &entry,
                                              int64_t ranks,
                                              Collective &collective) {
  // A byte of no interest stands for the buffers, which must not be null.
  char byte = 0;
  rg_collective from = entry.collective;
  std::vector<rg_member> members;
  if (from.members)
    members.assign(from.members, from.members + from.member_count);
  for (rg_member &member : members) {
    member.input = &byte;
    member.output = &byte;
  }
  from.members = members.data();
  std::vector<Buffers> buffers;
  return readCollective(from, ranks, collective, buffers);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static double getBytes(const Shape &shape, rg_dtype dtype) {
  double bytes = double(rg_dtype_size(dtype));
  for (int64_t size : shape)
    bytes *= double(size);
  return bytes;
}

double regather::runtime::getReceivedBytes(const Collective &collective,
                                           int64_t ranks) {
  double inputs = 0, outputs = 0;
  for (const Member &member : collective.members) {
    inputs += getBytes(member.inputShape, member.dtype);
    outputs += getBytes(member.outputShape, member.dtype);
  }
  if (ranks == 1)
    return 0;
  double others = double(ranks - 1);
  switch (collective.kind) {
  case RG_ALL_GATHER:
    return others * inputs;
  case RG_REDUCE_SCATTER:
    return others * outputs;
  case RG_ALL_REDUCE:
    // A reduce_scatter and an all_gather of what it left.
    return 2 * others * std::ceil(inputs / double(ranks));
  case RG_ALL_TO_ALL:
    return others * std::ceil(outputs / double(ranks));
  default:
    return inputs;
  }
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

static std::string describe(const std::string &field, const std::string &first,
                            const std::string &second) {
  return field + ": " + first + " and " + second;
}

std::string regather::runtime::describeDifference(const Collective &first,
                                                  const Collective &second) {
  if (first.kind != second.kind)
    return describe("kind", getKindName(first.kind), getKindName(second.kind));
  if (first.reduction != second.reduction)
    return describe("reduction", getReductionName(first.reduction),
                    getReductionName(second.reduction));
  if (first.accumulate != second.accumulate) {
    auto getName = [](rg_dtype dtype) {
      return dtype == RG_DTYPE_AUTO ? "auto" : rg_dtype_name(dtype);
    };
    return describe("accumulate", getName(first.accumulate),
                    getName(second.accumulate));
  }
  const struct {
    const char *name;
    int64_t Collective::*field;
  } numbers[] = {{"dim", &Collective::dim},
                 {"split_dim", &Collective::splitDim},
                 {"concat_dim", &Collective::concatDim},
                 {"root", &Collective::root}};
  for (auto [name, field] : numbers)
    if (first.*field != second.*field)
      return describe(name, std::to_string(first.*field),
                      std::to_string(second.*field));
  if (first.sources != second.sources)
    return describe("sources", formatList(first.sources),
                    formatList(second.sources));
  if (first.targets != second.targets)
    return describe("targets", formatList(first.targets),
                    formatList(second.targets));
  if (first.members.size() != second.members.size())
    return describe("number of members", std::to_string(first.members.size()),
                    std::to_string(second.members.size()));
  for (size_t i = 0; i < first.members.size(); ++i) {
    const Member &left = first.members[i], &right = second.members[i];
    std::string member = "member " + std::to_string(i);
    if (left.dtype != right.dtype || left.inputShape != right.inputShape)
      return describe(member + " input",
                      formatShape(left.inputShape, left.dtype),
                      formatShape(right.inputShape, right.dtype));
    if (left.outputShape != right.outputShape)
      return describe(member + " output",
                      formatShape(left.outputShape, left.dtype),
                      formatShape(right.outputShape, right.dtype));
  }
  // Last, because any other difference says more to the reader.
  if (first.tag != second.tag)
    return describe("tag", std::to_string(first.tag),
                    std::to_string(second.tag));
  return "";
}
