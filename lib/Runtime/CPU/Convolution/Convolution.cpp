//===- Convolution.cpp - Convolutions of the runtime ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"

#include "CPU/Scratch.h"
#include "Numeric/Elements.h"

#include <algorithm>

using namespace regather::runtime;

ConvolutionOperand::ConvolutionOperand(const rg_convolution_operand &operand,
                                       void *const *buffers)
    : data(nullptr), dtype(operand.dtype),
      elementBytes(static_cast<int64_t>(rg_dtype_size(dtype))) {
  if (char *base = static_cast<char *>(buffers[operand.buffer]))
    data = base + operand.offset * elementBytes;
}

float ConvolutionOperand::load(int64_t offset) const {
  float value = 0;
  useRoutineFloat(dtype, [&](auto element) {
    using Element = decltype(element);
    value = Element::template load<float>(
        *static_cast<const typename Element::Storage *>(at(offset)));
  });
  return value;
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

static bool isThere(const rg_convolution_operand &operand) {
  return operand.buffer >= 0;
}

static bool hasValidSizes(const rg_convolution_desc &desc) {
  if (desc.rank < 1 || desc.rank > RG_CONVOLUTION_MAX_RANK || desc.batch < 0 ||
      desc.groups < 1 || desc.inner < 0 || desc.outer < 0)
    return false;
  for (int64_t d = 0; d < desc.rank; ++d)
    if (desc.extents[d] < 0 || desc.counts[d] < 0 || desc.sizes[d] < 1 ||
        desc.strides[d] < 1 || desc.padding[d] < 0 || desc.dilation[d] < 1)
      return false;
  return true;
}

static bool isValid(const rg_convolution_desc &desc) {
  if (!hasValidSizes(desc))
    return false;
  for (const rg_convolution_operand *operand :
       {&desc.x, &desc.w, &desc.y, &desc.bias, &desc.to_x, &desc.to_w,
        &desc.to_y, &desc.to_bias})
    if (operand->buffer < -1 ||
        (isThere(*operand) && !isRoutineFloat(operand->dtype)))
      return false;
  bool hasX = isThere(desc.x), hasW = isThere(desc.w), hasY = isThere(desc.y);
  if ((isThere(desc.to_y) && !(hasX && hasW)) ||
      (isThere(desc.to_x) && !(hasY && hasW)) ||
      (isThere(desc.to_w) && !(hasX && hasY)) ||
      (isThere(desc.to_bias) && !(desc.transposed ? hasX : hasY)))
    return false;
  // A bias is added to what a layer gives.
  return !isThere(desc.bias) ||
         isThere(desc.transposed ? desc.to_x : desc.to_y);
}

/// True if windows move over dimensions `dim` and `dim` + 1 one element at a
/// time, and each tensor has the two as one dimension in memory.
static bool canMerge(const rg_convolution_desc &desc, int64_t dim) {
  for (int64_t d : {dim, dim + 1})
    if (desc.sizes[d] != 1 || desc.strides[d] != 1 || desc.padding[d] != 0 ||
        desc.extents[d] != desc.counts[d])
      return false;
  for (const rg_convolution_operand *operand :
       {&desc.x, &desc.y, &desc.to_x, &desc.to_y})
    if (isThere(*operand) &&
        operand->strides[3 + dim] !=
            operand->strides[4 + dim] * desc.extents[dim + 1])
      return false;
  return true;
}

/// Makes long runs of short ones.
static rg_convolution_desc mergeDims(rg_convolution_desc desc) {
  for (int64_t dim = desc.rank - 2; dim >= 0; --dim) {
    if (!canMerge(desc, dim))
      continue;
    desc.extents[dim] *= desc.extents[dim + 1];
    desc.counts[dim] = desc.extents[dim];
    auto drop = [&](int64_t *values, int64_t first) {
      std::copy(values + first + 1, values + first + desc.rank - dim,
                values + first);
    };
    for (rg_convolution_operand *operand :
         {&desc.x, &desc.w, &desc.y, &desc.to_x, &desc.to_w, &desc.to_y})
      drop(operand->strides, 3 + dim);
    for (int64_t *values : {desc.extents, desc.counts, desc.sizes, desc.strides,
                            desc.padding, desc.dilation})
      if (dim + 2 < desc.rank)
        std::copy(values + dim + 2, values + desc.rank, values + dim + 1);
    --desc.rank;
  }
  return desc;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

namespace {
class Convolution {
public:
  explicit Convolution(const rg_convolution_desc &desc) {
    if (isThere(desc.to_y))
      addForwardParts(desc, parts);
    if (isThere(desc.to_x))
      addAdjointParts(desc, parts);
    if (isThere(desc.to_w))
      addWeightParts(desc, parts);
    if (isThere(desc.to_bias))
      addBiasParts(desc, parts);
    for (const auto &part : parts)
      ends.push_back(getNumTasks() + part->getNumTasks());
  }

  int64_t getNumTasks() const { return ends.empty() ? 0 : ends.back(); }

  size_t getScratchBytes() const {
    size_t bytes = 0;
    for (const auto &part : parts)
      bytes = std::max(bytes, part->getScratchBytes());
    return bytes;
  }

  void run(void *const *buffers, int64_t task, void *scratch) const {
    auto end = std::upper_bound(ends.begin(), ends.end(), task);
    const ConvolutionPart &part = *parts[size_t(end - ends.begin())];
    part.run(buffers, task - (*end - part.getNumTasks()), scratch);
  }

private:
  ConvolutionParts parts;
  /// The number of tasks of each part and of those before it.
  std::vector<int64_t> ends;
};
} // namespace

static const Convolution *unwrap(const rg_convolution *convolution) {
  return reinterpret_cast<const Convolution *>(convolution);
}

rg_status rg_convolution_create(const rg_convolution_desc *desc,
                                rg_convolution **convolution) {
  if (!desc || !convolution || !isValid(*desc))
    return RG_ERROR_ARGUMENT;
  *convolution = reinterpret_cast<rg_convolution *>(
      std::make_unique<Convolution>(mergeDims(*desc)).release());
  return RG_OK;
}

int64_t rg_convolution_tasks(const rg_convolution *convolution) {
  return convolution ? unwrap(convolution)->getNumTasks() : 0;
}

size_t rg_convolution_scratch(const rg_convolution *convolution) {
  return convolution ? unwrap(convolution)->getScratchBytes() : 0;
}

rg_status rg_convolution_run_task(const rg_convolution *convolution,
                                  void *const *buffers, int64_t task,
                                  void *scratch) {
  if (!convolution || task < 0 || task >= unwrap(convolution)->getNumTasks())
    return RG_ERROR_ARGUMENT;
  unwrap(convolution)->run(buffers, task, scratch);
  return RG_OK;
}

rg_status rg_convolution_run(const rg_convolution *convolution,
                             void *const *buffers) {
  if (!convolution)
    return RG_ERROR_ARGUMENT;
  return runTasks(
      rg_convolution_tasks(convolution), rg_convolution_scratch(convolution),
      [&](int64_t task, void *scratch) {
        return rg_convolution_run_task(convolution, buffers, task, scratch);
      });
}

void rg_convolution_destroy(rg_convolution *convolution) {
  delete unwrap(convolution);
}
