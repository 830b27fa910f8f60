//===- Sharding.cpp - Global tensors to parts and back --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/StepSignature.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>
#include <map>

using namespace mlir;
using namespace regather;
using namespace regather::tg;

namespace {
/// Where the part of one rank lies in the global tensor.
struct Part {
  SmallVector<int64_t> offsets;
  /// Sizes without padding; zero if the part is padding only.
  SmallVector<int64_t> sizes;
  bool isEmpty() const { return llvm::is_contained(sizes, 0); }
};
} // namespace

static Part getPart(const StepValue &value, MeshOp mesh, int64_t rank) {
  Part part;
  part.offsets.assign(value.localShape.size(), 0);
  part.sizes = value.localShape;
  if (!value.placement)
    return part;
  for (AxisPlacementAttr axis : value.placement.getAxes()) {
    if (axis.getKind() != PlacementKind::Shard)
      continue;
    int64_t dim = axis.getDim();
    int64_t shard = value.localShape[dim];
    int64_t whole = value.globalShape[dim];
    int64_t begin =
        std::min(shard * mesh.getIndexInGroup(rank, axis.getAxes()), whole);
    part.offsets[dim] = begin;
    part.sizes[dim] = std::min(shard, whole - begin);
  }
  return part;
}

/// Calls `visit(globalOffset, localOffset, bytes)` for every contiguous row of
/// the part, in order.
static void
forEachRow(const StepValue &value, const Part &part,
           llvm::function_ref<void(int64_t, int64_t, int64_t)> visit) {
  if (part.isEmpty())
    return;
  int64_t elementSize = getElementSize(value.elementType);
  int64_t rank = static_cast<int64_t>(value.localShape.size());
  if (rank == 0)
    return visit(0, 0, elementSize);
  SmallVector<int64_t> index(rank, 0);
  int64_t rowBytes = part.sizes.back() * elementSize;
  while (true) {
    int64_t global = 0, local = 0;
    for (int64_t d = 0; d < rank; ++d) {
      global = global * value.globalShape[d] + part.offsets[d] + index[d];
      local = local * value.localShape[d] + index[d];
    }
    visit(global * elementSize, local * elementSize, rowBytes);
    int64_t d = rank - 2;
    for (; d >= 0 && ++index[d] == part.sizes[d]; --d)
      index[d] = 0;
    if (d < 0)
      return;
  }
}

/// The partial axes of a value; null if it has none.
static AxisPlacementAttr getPartial(const StepValue &value) {
  if (value.placement)
    for (AxisPlacementAttr axis : value.placement.getAxes())
      if (axis.getKind() == PlacementKind::Partial)
        return axis;
  return nullptr;
}

HostTensor regather::shardTensor(const HostTensor &global,
                                 const StepValue &value, MeshOp mesh,
                                 int64_t rank) {
  if (!value.placement)
    return global;
  AxisPlacementAttr partial = getPartial(value);
  bool holds = !partial || partial.getReduction() != Reduction::Sum ||
               mesh.getIndexInGroup(rank, partial.getAxes()) == 0;
  HostTensor local = HostTensor::zeros(value.elementType, value.localShape);
  if (holds)
    forEachRow(value, getPart(value, mesh, rank),
               [&](int64_t from, int64_t to, int64_t bytes) {
                 std::memcpy(local.getData() + to, global.getData() + from,
                             bytes);
               });
  return local;
}

/// Combines the parts of all members of a partial group, in rank order.
static HostTensor reducePartial(ArrayRef<HostTensor> parts,
                                const StepValue &value, MeshOp mesh,
                                int64_t rank, AxisPlacementAttr partial) {
  SmallVector<int64_t> group = mesh.getGroup(rank, partial.getAxes());
  HostTensor sum =
      HostTensor::uninitialized(value.elementType, value.localShape);
  for (int64_t i = 0, e = sum.getNumElements(); i != e; ++i) {
    double total = parts[group.front()].getAsDouble(i);
    for (int64_t member : ArrayRef(group).drop_front()) {
      double term = parts[member].getAsDouble(i);
      total = partial.getReduction() == Reduction::Max ? std::fmax(total, term)
                                                       : total + term;
    }
    if (partial.getReduction() == Reduction::Avg)
      total /= static_cast<double>(group.size());
    sum.setFromDouble(i, total);
  }
  return sum;
}

llvm::Expected<HostTensor> regather::unshardTensor(ArrayRef<HostTensor> parts,
                                                   const StepValue &value,
                                                   MeshOp mesh) {
  HostTensor global = HostTensor::zeros(value.elementType, value.globalShape);
  AxisPlacementAttr partial = getPartial(value);
  // The rank that wrote each part first; the others must hold the same.
  std::map<SmallVector<int64_t>, int64_t> writers;
  for (auto [rank, values] : llvm::enumerate(parts)) {
    Part part = getPart(value, mesh, rank);
    auto [writer, inserted] = writers.try_emplace(part.offsets, rank);
    bool first = inserted;
    if (!first && partial)
      continue;
    HostTensor reduced;
    if (partial)
      reduced = reducePartial(parts, value, mesh, rank, partial);
    const HostTensor &source = partial ? reduced : values;
    bool equal = true;
    forEachRow(value, part, [&](int64_t to, int64_t from, int64_t bytes) {
      if (first)
        std::memcpy(global.getData() + to, source.getData() + from, bytes);
      else
        equal &= std::memcmp(global.getData() + to, source.getData() + from,
                             bytes) == 0;
    });
    if (!equal)
      return llvm::createStringError(
          llvm::formatv("\"{0}\" is replicated, but ranks {1} and {2} hold "
                        "different values",
                        value.name, writer->second, rank)
              .str());
  }
  return global;
}
