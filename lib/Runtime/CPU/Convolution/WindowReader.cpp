//===- WindowReader.cpp - What windows see of a tensor --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WindowReader.h"

#include "Numeric/Elements.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace regather::runtime;

int64_t WindowReader::getNumPositions() const {
  int64_t count = 1;
  for (int64_t d = 0; d < rank; ++d)
    count *= dims[d].count;
  return count;
}

int64_t WindowReader::getSpan() const {
  int64_t span = 1;
  for (int64_t d = rank; d-- > 0; span *= dims[d].count)
    if (dims[d].count > 1 && dims[d].step * dims[d].stride != span)
      break;
  return span;
}

void WindowReader::locate(int64_t number, int64_t *position) const {
  for (int64_t d = rank; d-- > 0;) {
    position[d] = number % dims[d].count;
    number /= dims[d].count;
  }
}

void WindowReader::advance(int64_t *position) const {
  position[rank - 1] = 0;
  for (int64_t d = rank - 1; d-- > 0;) {
    if (++position[d] < dims[d].count)
      return;
    position[d] = 0;
  }
}

/// The first of the positions 0, 1, ... times `step` that is not less than
/// `bound`.
static int64_t getFirstFrom(int64_t bound, int64_t step) {
  return bound <= 0 ? 0 : (bound + step - 1) / step;
}

template <typename Element>
static void copyRun(const typename Element::Storage *from, int64_t stride,
                    int64_t count, float *to) {
  if (stride == 1) {
    if constexpr (std::is_same_v<typename Element::Storage, float>) {
      memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    } else {
      for (int64_t i = 0; i < count; ++i)
        to[i] = Element::template load<float>(from[i]);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    to[i] = Element::template load<float>(from[i * stride]);
}

template <typename Element>
void WindowReader::readElements(const typename Element::Storage *data,
                                const int64_t *shifts, int64_t first,
                                int64_t count, float *to) const {
  if (count <= 0)
    return;
  const WindowDim &last = dims[rank - 1];
  // Positions along the last dimension that see an element.
  int64_t shift = shifts[rank - 1];
  int64_t inside = std::min(getFirstFrom(-shift, last.step), last.count);
  int64_t outside = std::clamp(getFirstFrom(last.extent - shift, last.step),
                               inside, last.count);
  int64_t stride = getLastStride();
  int64_t position[kMaxWindowDims];
  locate(first, position);
  for (float *end = to + count; to < end; advance(position)) {
    int64_t offset = shift * last.stride;
    bool isInside = true;
    for (int64_t d = 0; d + 1 < rank; ++d) {
      int64_t place = position[d] * dims[d].step + shifts[d];
      isInside &= place >= 0 && place < dims[d].extent;
      offset += place * dims[d].stride;
    }
    int64_t begin = position[rank - 1];
    int64_t stop = std::min<int64_t>(last.count, begin + (end - to));
    int64_t from = isInside ? std::clamp(inside, begin, stop) : stop;
    int64_t until = isInside ? std::clamp(outside, from, stop) : stop;
    std::fill_n(to, from - begin, 0.0f);
    if (from < until)
      copyRun<Element>(data + (offset + from * stride), stride, until - from,
                       to + (from - begin));
    std::fill_n(to + (until - begin), stop - until, 0.0f);
    to += stop - begin;
  }
}

void WindowReader::read(const void *data, int32_t dtype, const int64_t *shifts,
                        int64_t first, int64_t count, float *to) const {
  useRoutineFloat(dtype, [&](auto element) {
    using Element = decltype(element);
    readElements<Element>(static_cast<const typename Element::Storage *>(data),
                          shifts, first, count, to);
  });
}
