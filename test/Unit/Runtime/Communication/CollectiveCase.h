//===- CollectiveCase.h - Collectives to be tried ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_RUNTIME_COMMUNICATION_COLLECTIVECASE_H
#define REGATHER_TEST_UNIT_RUNTIME_COMMUNICATION_COLLECTIVECASE_H

#include "Communication/Collective.h"

#include "regather/Runtime/GpuProgram.h"

#include <deque>

namespace regather::runtime {

struct MemberCase {
  rg_dtype dtype;
  Shape input, output;

  int64_t getInputBytes() const { return getBytes(input); }
  int64_t getOutputBytes() const { return getBytes(output); }

private:
  int64_t getBytes(const Shape &shape) const {
    auto bytes = int64_t(rg_dtype_size(dtype));
    for (int64_t size : shape)
      bytes *= size;
    return bytes;
  }
};

/// One collective among all ranks.
struct CollectiveCase {
  rg_kind kind = RG_ALL_GATHER;
  std::vector<MemberCase> members;
  rg_reduction reduction = RG_SUM;
  rg_dtype accumulate = RG_DTYPE_AUTO;
  int32_t root = 0;
  int64_t dim = 0, splitDim = 0, concatDim = 0;
  std::vector<int32_t> sources, targets;
  /// Input and output overlap as Runtime.h allows.
  bool isInPlace = false;

  std::string describe() const {
    std::string text =
        std::string(getKindName(kind)) + " dim " + std::to_string(dim) +
        " split " + std::to_string(splitDim) + " concat " +
        std::to_string(concatDim) + " reduction " + std::to_string(reduction) +
        (isInPlace ? " in place" : "");
    for (const MemberCase &member : members)
      text += std::string(" ") + rg_dtype_name(member.dtype) +
              formatList(member.input) + formatList(member.output);
    return text;
  }
};

/// Tables of a program that does some collectives, one after the other.
class CollectiveProgram {
public:
  CollectiveProgram(int32_t ranks, const std::vector<CollectiveCase> &cases)
      : cases(cases), sizes{ranks}, strides{1} {
    axes = {1, 0, sizes.data(), strides.data()};
    int64_t numPlaces = 0;
    for (const CollectiveCase &item : this->cases) {
      std::vector<rg_member> &list = members.emplace_back();
      for (const MemberCase &member : item.members)
        list.push_back({member.dtype, int32_t(member.input.size()),
                        member.input.data(), member.output.data(), nullptr,
                        nullptr});
      rg_collective_entry entry = {};
      rg_collective &collective = entry.collective;
      collective.kind = item.kind;
      collective.reduction = item.reduction;
      collective.accumulate = item.accumulate;
      collective.root = item.root;
      collective.dim = item.dim;
      collective.split_dim = item.splitDim;
      collective.concat_dim = item.concatDim;
      collective.sources = item.sources.data();
      collective.targets = item.targets.data();
      collective.pair_count = int64_t(item.sources.size());
      collective.members = list.data();
      collective.member_count = int64_t(list.size());
      collective.name = "transfer";
      collective.tag = collectives.size();
      auto numMembers = int32_t(list.size());
      instructions.push_back({RG_OP_COLLECTIVE, 0, int32_t(collectives.size()),
                              2 * numMembers, numPlaces, 0,
                              "'tg.collective' in model.layer", 0, 0});
      collectives.push_back(entry);
      numPlaces += 2 * numMembers;
    }
    places.resize(size_t(numPlaces));
    program.version = RG_PROGRAM_VERSION;
    program.ranks = ranks;
    program.name = "test";
    program.stream_count = 1;
    program.axes_count = 1;
    program.axes = &axes;
    program.collective_count = int64_t(collectives.size());
    program.collectives = collectives.data();
    program.slice_count = numPlaces;
    program.slices = places.data();
    program.instruction_count = int64_t(instructions.size());
    program.instructions = instructions.data();
    gpuProgram.version = RG_GPU_PROGRAM_VERSION;
    gpuProgram.program = &program;
  }
  CollectiveProgram(const CollectiveProgram &) = delete;

  const rg_gpu_program &get() const { return gpuProgram; }
  const rg_program &getTables() const { return program; }
  /// Makes one graph of all collectives.
  void formGraph() {
    gpuProgram.graph_count = 1;
    gpuProgram.graphs = &graph;
    graph = {"all", 0, program.instruction_count};
  }
  int32_t getRanks() const { return program.ranks; }
  const CollectiveCase &getCase(int64_t number) const {
    return cases[size_t(number)];
  }
  const rg_collective &getCollective(int64_t number) const {
    return collectives[size_t(number)].collective;
  }
  int64_t getNumCases() const { return program.collective_count; }

private:
  std::vector<CollectiveCase> cases;
  std::vector<int64_t> sizes, strides;
  rg_axes axes;
  std::deque<std::vector<rg_member>> members;
  std::vector<rg_collective_entry> collectives;
  std::vector<rg_instruction> instructions;
  std::vector<rg_slice> places;
  rg_program program = {};
  rg_gpu_program gpuProgram = {};
  rg_gpu_graph graph = {};
};

/// Every kind, dimension, padding, type and reduction for a number of ranks.
std::vector<CollectiveCase> getCollectiveCases(int32_t ranks);

} // namespace regather::runtime

#endif // REGATHER_TEST_UNIT_RUNTIME_COMMUNICATION_COLLECTIVECASE_H
