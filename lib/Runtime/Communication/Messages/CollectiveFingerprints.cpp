//===- CollectiveFingerprints.cpp - What ranks compare --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveFingerprints.h"

using namespace regather::runtime;

namespace {
/// FNV-1a over what has to be equal on all ranks.
class Fingerprint {
public:
  void add(int64_t number) {
    for (int shift = 0; shift < 64; shift += 8)
      value = (value ^ ((uint64_t(number) >> shift) & 0xff)) * 0x100000001b3;
  }
  void add(const int64_t *numbers, int64_t count) {
    add(count);
    for (int64_t i = 0; i < count; ++i)
      add(numbers[i]);
  }
  void add(const rg_collective &collective);
  uint64_t get() const { return value; }

private:
  uint64_t value = 0xcbf29ce484222325;
};
} // namespace

void Fingerprint::add(const rg_collective &collective) {
  for (int64_t field :
       {int64_t(collective.kind), int64_t(collective.reduction),
        int64_t(collective.accumulate), int64_t(collective.root),
        collective.dim, collective.split_dim, collective.concat_dim,
        collective.pair_count, collective.member_count,
        int64_t(collective.tag)})
    add(field);
  for (int64_t i = 0; i < collective.pair_count; ++i) {
    add(collective.sources[i]);
    add(collective.targets[i]);
  }
  for (int64_t i = 0; i < collective.member_count; ++i) {
    const rg_member &member = collective.members[i];
    add(member.dtype);
    add(member.input_shape, member.rank);
    add(member.output_shape, member.rank);
  }
}

CollectiveFingerprints
regather::runtime::getCollectiveFingerprints(const rg_program &program) {
  Fingerprint axes, order;
  axes.add(program.axes_count);
  for (int64_t i = 0; i < program.axes_count; ++i) {
    axes.add(program.axes[i].sizes, program.axes[i].count);
    axes.add(program.axes[i].strides, program.axes[i].count);
  }
  std::vector<Fingerprint> communicators(size_t(program.axes_count));
  for (int64_t i = 0; i < program.instruction_count; ++i) {
    if (program.instructions[i].opcode != RG_OP_COLLECTIVE)
      continue;
    const rg_collective_entry &entry =
        program.collectives[program.instructions[i].index];
    order.add(entry.axes);
    order.add(entry.collective);
    communicators[size_t(entry.axes)].add(entry.collective);
  }
  CollectiveFingerprints result;
  result.axes = axes.get();
  result.order = order.get();
  for (const Fingerprint &communicator : communicators)
    result.communicators.push_back(communicator.get());
  return result;
}
