//===- ByteSet.cpp - Sets of bytes of a program ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteSet.h"

using namespace mlir;
using namespace regather::exec;

namespace {
struct Bytes {
  std::pair<Value, unsigned> space;
  int64_t begin, end;
};
} // namespace

static Bytes getBytes(Value buffer) {
  BufferPlace place = getPlace(buffer);
  int64_t size = getBufferBytes(cast<MemRefType>(buffer.getType()));
  std::optional<uint64_t> offset;
  auto host = place.base.getDefiningOp<HostSliceOp>();
  if (host)
    offset = host.getOffset();
  else if (auto slice = place.base.getDefiningOp<SliceOp>())
    offset = slice.getOffset();
  if (!offset)
    return {{place.base, 0}, place.offset, place.offset + size};
  int64_t begin = place.offset + static_cast<int64_t>(*offset);
  return {{Value(), host ? 1 : 0}, begin, begin + size};
}

void ByteSet::add(Value buffer) {
  auto [space, begin, end] = getBytes(buffer);
  if (begin == end)
    return;
  Runs &runs = spaces[space];
  auto it = runs.upper_bound(begin);
  if (it != runs.begin() && std::prev(it)->second >= begin)
    --it;
  while (it != runs.end() && it->first <= end) {
    begin = std::min(begin, it->first);
    end = std::max(end, it->second);
    it = runs.erase(it);
  }
  runs[begin] = end;
}

bool ByteSet::overlaps(Value buffer) const {
  auto [space, begin, end] = getBytes(buffer);
  auto found = spaces.find(space);
  if (found == spaces.end())
    return false;
  const Runs &runs = found->second;
  auto it = runs.lower_bound(end);
  return it != runs.begin() && std::prev(it)->second > begin;
}

void AccessSet::add(StreamOpInterface op) {
  for (Value buffer : op.getReads())
    reads.add(buffer);
  for (Value buffer : op.getWrites())
    writes.add(buffer);
}

bool AccessSet::conflicts(StreamOpInterface op) const {
  return llvm::any_of(op.getReads(),
                      [&](Value buffer) { return writes.overlaps(buffer); }) ||
         llvm::any_of(op.getWrites(), [&](Value buffer) {
           return reads.overlaps(buffer) || writes.overlaps(buffer);
         });
}
