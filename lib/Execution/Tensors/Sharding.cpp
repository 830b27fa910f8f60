//===- Sharding.cpp - Global tensors to parts and back --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorParts.h"

#include "regather/Support/MeshRanks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

using namespace regather;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

/// Those of `axes`, in their order.
static std::vector<MeshAxis> selectAxes(const Mesh &mesh,
                                        const std::vector<unsigned> &axes) {
  std::vector<MeshAxis> all = getMeshAxes(mesh.sizes);
  std::vector<MeshAxis> selected;
  for (unsigned axis : axes)
    selected.push_back(all[axis]);
  return selected;
}

int64_t Mesh::getIndexInGroup(int64_t rank,
                              const std::vector<unsigned> &groupAxes) const {
  return regather::getIndexInGroup(rank, selectAxes(*this, groupAxes));
}

std::vector<int64_t>
Mesh::getGroup(int64_t rank, const std::vector<unsigned> &groupAxes) const {
  return computeGroup(rank, selectAxes(*this, groupAxes));
}

//===----------------------------------------------------------------------===//
// Parts of tensors
//===----------------------------------------------------------------------===//

TensorPart regather::getPart(const StepValue &value, const StepSignature &step,
                             int64_t rank) {
  TensorPart part;
  part.offsets.assign(value.localShape.size(), 0);
  part.sizes = value.localShape;
  for (const AxisPlacement &axis : value.placement) {
    if (!axis.dim)
      continue;
    auto dim = static_cast<size_t>(*axis.dim);
    int64_t shard = value.localShape[dim];
    int64_t whole = value.globalShape[dim];
    int64_t begin =
        std::min(shard * step.mesh->getIndexInGroup(rank, axis.axes), whole);
    part.offsets[dim] = begin;
    part.sizes[dim] = std::min(shard, whole - begin);
  }
  return part;
}

void regather::forEachRow(
    const StepValue &value, const TensorPart &part,
    const std::function<void(int64_t, int64_t, int64_t)> &visit) {
  if (part.isEmpty())
    return;
  int64_t elementSize = getElementSize(value.elementType);
  int64_t rank = static_cast<int64_t>(value.localShape.size());
  if (rank == 0)
    return visit(0, 0, elementSize);
  Shape index(rank, 0);
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

const AxisPlacement *regather::getPartial(const StepValue &value) {
  for (const AxisPlacement &axis : value.placement)
    if (!axis.dim)
      return &axis;
  return nullptr;
}

HostTensor regather::shardTensor(const HostTensor &global,
                                 const StepValue &value,
                                 const StepSignature &step, int64_t rank) {
  if (value.placement.empty())
    return global;
  const AxisPlacement *partial = getPartial(value);
  bool holds = !partial || partial->reduction != ReductionKind::Sum ||
               step.mesh->getIndexInGroup(rank, partial->axes) == 0;
  HostTensor local = HostTensor::zeros(value.elementType, value.localShape);
  if (holds)
    forEachRow(value, getPart(value, step, rank),
               [&](int64_t from, int64_t to, int64_t bytes) {
                 std::memcpy(local.getData() + to, global.getData() + from,
                             bytes);
               });
  return local;
}

/// Combines the parts of all members of a partial group, in rank order.
static HostTensor reducePartial(const std::vector<HostTensor> &parts,
                                const StepValue &value,
                                const StepSignature &step, int64_t rank,
                                const AxisPlacement &partial) {
  std::vector<int64_t> group = step.mesh->getGroup(rank, partial.axes);
  HostTensor sum =
      HostTensor::uninitialized(value.elementType, value.localShape);
  for (int64_t i = 0, e = sum.getNumElements(); i != e; ++i) {
    double total = parts[group.front()].getAsDouble(i);
    for (size_t k = 1; k < group.size(); ++k) {
      double term = parts[group[k]].getAsDouble(i);
      total = partial.reduction == ReductionKind::Max ? std::fmax(total, term)
                                                      : total + term;
    }
    if (partial.reduction == ReductionKind::Avg)
      total /= static_cast<double>(group.size());
    sum.setFromDouble(i, total);
  }
  return sum;
}

Result<HostTensor> regather::unshardTensor(const std::vector<HostTensor> &parts,
                                           const StepValue &value,
                                           const StepSignature &step) {
  HostTensor global = HostTensor::zeros(value.elementType, value.globalShape);
  const AxisPlacement *partial = getPartial(value);
  // The rank that wrote each part first; the others must hold the same.
  std::map<Shape, int64_t> writers;
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    TensorPart part = getPart(value, step, rank);
    auto [writer, inserted] = writers.try_emplace(part.offsets, rank);
    bool first = inserted;
    if (!first && partial)
      continue;
    HostTensor reduced;
    if (partial)
      reduced = reducePartial(parts, value, step, rank, *partial);
    const HostTensor &source = partial ? reduced : parts[rank];
    bool equal = true;
    forEachRow(value, part, [&](int64_t to, int64_t from, int64_t bytes) {
      if (first)
        std::memcpy(global.getData() + to, source.getData() + from, bytes);
      else
        equal &= std::memcmp(global.getData() + to, source.getData() + from,
                             bytes) == 0;
    });
    if (!equal)
      return Failure("\"" + value.name + "\" is replicated, but ranks " +
                     std::to_string(writer->second) + " and " +
                     std::to_string(rank) + " hold different values");
  }
  return global;
}
