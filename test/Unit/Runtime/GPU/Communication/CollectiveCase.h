//===- CollectiveCase.h - Collectives compared with the host ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_RUNTIME_GPU_COMMUNICATION_COLLECTIVECASE_H
#define REGATHER_TEST_UNIT_RUNTIME_GPU_COMMUNICATION_COLLECTIVECASE_H

#include "../RecordedDriver.h"
#include "Communication/Threads/DataMovement.h"
#include "GPU/Communication/DeviceCommunicator.h"

#include <cstring>
#include <deque>
#include <random>

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
                              "'tg.collective' in model.layer"});
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

/// The buffers of all ranks for one collective, with random contents, on the
/// stand-in device, whose memory is the host's; and a copy for the host.
class CollectiveBuffers {
public:
  CollectiveBuffers(const DriverApi &driver, const CollectiveCase &item,
                    int32_t ranks, uint32_t seed)
      : driver(driver), item(item) {
    std::mt19937_64 random(seed);
    addresses.resize(size_t(ranks));
    expected.resize(size_t(ranks));
    for (int32_t rank = 0; rank < ranks; ++rank)
      for (const MemberCase &member : item.members)
        add(rank, member, random);
  }
  CollectiveBuffers(const CollectiveBuffers &) = delete;
  ~CollectiveBuffers() {
    for (CuAddress address : allocations)
      driver.cuMemFree_v2(address);
  }

  const CuAddress *get(int32_t rank) const {
    return addresses[size_t(rank)].data();
  }

  /// Does the collective on the host and compares all outputs.
  void check(const rg_collective &from) {
    auto ranks = int64_t(addresses.size());
    // The buffers of one rank stand for all where shapes are checked.
    std::vector<rg_member> members(from.members,
                                   from.members + from.member_count);
    for (size_t i = 0; i < members.size(); ++i) {
      members[i].input = expected[0][i].input;
      members[i].output = expected[0][i].output;
    }
    rg_collective checked = from;
    checked.members = members.data();
    Collective collective;
    std::vector<Buffers> buffers;
    ASSERT_EQ(readCollective(checked, ranks, collective, buffers), "");
    for (int64_t part = 0; part < ranks; ++part)
      runPart(collective, expected, part);
    for (size_t rank = 0; rank < expected.size(); ++rank)
      for (size_t i = 0; i < item.members.size(); ++i) {
        auto bytes = size_t(item.members[i].getOutputBytes());
        const auto *output =
            reinterpret_cast<const char *>(addresses[rank][2 * i + 1]);
        ASSERT_EQ(std::memcmp(output, expected[rank][i].output, bytes), 0)
            << item.describe() << ": rank " << rank << " of " << ranks
            << " has another output " << i;
      }
  }

private:
  void add(int32_t rank, const MemberCase &member, std::mt19937_64 &random) {
    int64_t input = member.getInputBytes(), output = member.getOutputBytes();
    int64_t inputOffset = 0, outputOffset = 0, bytes = input + output;
    if (!item.isInPlace)
      outputOffset = input;
    else if (item.kind == RG_ALL_GATHER)
      inputOffset = rank * input;
    else if (item.kind == RG_REDUCE_SCATTER)
      outputOffset = rank * output;
    // A scattered output may reach past the end of an uneven input.
    bytes += item.isInPlace ? int64_t(addresses.size()) * 64 : 0;
    CuAddress address = 0;
    ASSERT_EQ(driver.cuMemAlloc_v2(&address, size_t(bytes) + 1), kCuSuccess);
    allocations.push_back(address);
    std::vector<char> &copy = copies.emplace_back(size_t(bytes) + 1);
    for (char &byte : copy)
      byte = char(member.dtype == RG_I1 ? random() & 1 : random());
    std::memcpy(reinterpret_cast<void *>(address), copy.data(), copy.size());
    addresses[size_t(rank)].push_back(address + CuAddress(inputOffset));
    addresses[size_t(rank)].push_back(address + CuAddress(outputOffset));
    expected[size_t(rank)].push_back(
        {copy.data() + inputOffset, copy.data() + outputOffset});
  }

  const DriverApi &driver;
  const CollectiveCase &item;
  std::vector<std::vector<CuAddress>> addresses;
  std::deque<std::vector<char>> copies;
  std::vector<std::vector<Buffers>> expected;
  std::vector<CuAddress> allocations;
};

/// Every kind, dimension, padding, type and reduction for a number of ranks.
std::vector<CollectiveCase> getCollectiveCases(int32_t ranks);

} // namespace regather::runtime

#endif // REGATHER_TEST_UNIT_RUNTIME_GPU_COMMUNICATION_COLLECTIVECASE_H
