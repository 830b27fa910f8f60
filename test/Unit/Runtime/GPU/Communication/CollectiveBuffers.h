//===- CollectiveBuffers.h - Compared with the host -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_RUNTIME_GPU_COMMUNICATION_COLLECTIVEBUFFERS_H
#define REGATHER_TEST_UNIT_RUNTIME_GPU_COMMUNICATION_COLLECTIVEBUFFERS_H

#include "../../Communication/CollectiveCase.h"
#include "../RecordedDriver.h"
#include "Communication/Threads/DataMovement.h"
#include "GPU/Communication/DeviceCommunicator.h"

#include <cstring>
#include <random>

namespace regather::runtime {

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

} // namespace regather::runtime

#endif // REGATHER_TEST_UNIT_RUNTIME_GPU_COMMUNICATION_COLLECTIVEBUFFERS_H
