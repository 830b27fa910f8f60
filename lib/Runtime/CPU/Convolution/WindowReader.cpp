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

void WindowReader::joinDims() {
  for (int64_t d = rank - 2; d >= 0; --d) {
    WindowDim &outer = dims[d];
    const WindowDim &inner = dims[d + 1];
    if (outer.step != 1 || inner.step != 1 || inner.extent != inner.count ||
        outer.stride != inner.count * inner.stride)
      continue;
    outer = {outer.count * inner.count, 1, outer.extent * inner.extent,
             inner.stride};
    std::copy(dims + d + 2, dims + rank, dims + d + 1);
    --rank;
  }
}

int64_t WindowReader::getLargestOffset() const {
  int64_t offset = 0;
  for (int64_t d = 0; d < rank; ++d)
    offset += std::max<int64_t>(dims[d].extent - 1, 0) * dims[d].stride;
  return offset;
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

template <typename Use>
void WindowReader::visitRows(const int64_t *shifts, int64_t first,
                             int64_t count, Use use) const {
  if (count <= 0)
    return;
  const WindowDim &last = dims[rank - 1];
  // Positions along the last dimension that see an element.
  int64_t shift = shifts[rank - 1];
  int64_t inside = std::min(getFirstFrom(-shift, last.step), last.count);
  int64_t outside = std::clamp(getFirstFrom(last.extent - shift, last.step),
                               inside, last.count);
  int64_t position[kMaxWindowDims];
  locate(first, position);
  for (int64_t done = 0; done < count; advance(position)) {
    int64_t offset = shift * last.stride;
    bool isInside = true;
    for (int64_t d = 0; d + 1 < rank; ++d) {
      int64_t place = position[d] * dims[d].step + shifts[d];
      isInside &= place >= 0 && place < dims[d].extent;
      offset += place * dims[d].stride;
    }
    int64_t begin = position[rank - 1];
    int64_t stop = std::min(last.count, begin + (count - done));
    int64_t from = isInside ? std::clamp(inside, begin, stop) : stop;
    int64_t until = isInside ? std::clamp(outside, from, stop) : stop;
    use(Row{done, offset, begin, from, until, stop});
    done += stop - begin;
  }
}

template <typename Zeros, typename Elements>
void WindowReader::visit(const int64_t *shifts, int64_t first, int64_t count,
                         Zeros zeros, Elements elements) const {
  visitRows(shifts, first, count, [&](const Row &row) {
    int64_t from = row.done + (row.from - row.begin);
    int64_t until = row.done + (row.until - row.begin);
    zeros(row.done, row.from - row.begin);
    if (from < until)
      elements(row.offset + row.from * getLastStride(), from, until - from);
    zeros(until, row.stop - row.until);
  });
}

int64_t WindowReader::getMostPieces(int64_t count) const {
  // One begins where the one before is full, and where a row does not follow
  // the one before. At each end is a row that need not be whole.
  int64_t rows = count / std::max<int64_t>(getRunLength(), 1) + 2;
  return count / RowPiece::kMost + rows + 1;
}

int64_t WindowReader::locatePieces(const int64_t *shifts, int64_t first,
                                   int64_t count, RowPiece *pieces) const {
  RowPiece *next = pieces;
  // How far the elements that the piece reads are from their places in it.
  int64_t distance = 0;
  visitRows(shifts, first, count, [&](const Row &row) {
    int64_t own = row.offset + row.begin - row.done;
    for (int64_t p = row.begin, length; p < row.stop; p += length) {
      int64_t place = row.done + (p - row.begin);
      bool fits =
          next != pieces && next[-1].length < RowPiece::kMost &&
          (next[-1].mask == 0 || row.from == row.until || distance == own);
      if (!fits)
        *next++ = {0, 0, 0};
      RowPiece &piece = next[-1];
      length = std::min<int64_t>(RowPiece::kMost - piece.length, row.stop - p);
      int64_t low = std::clamp<int64_t>(row.from - p, 0, length);
      int64_t high = std::clamp<int64_t>(row.until - p, 0, length);
      if (low < high) {
        distance = own;
        piece.offset = static_cast<int32_t>(own + place - piece.length);
        piece.mask = static_cast<uint16_t>(
            piece.mask | ((1u << high) - (1u << low)) << piece.length);
      }
      piece.length = static_cast<uint16_t>(piece.length + length);
    }
  });
  return next - pieces;
}

void WindowReader::read(const void *data, int32_t dtype, const int64_t *shifts,
                        int64_t first, int64_t count, float *to) const {
  useRoutineFloat(dtype, [&](auto element) {
    using Element = decltype(element);
    const auto *from = static_cast<const typename Element::Storage *>(data);
    visit(
        shifts, first, count,
        [&](int64_t begin, int64_t length) {
          std::fill_n(to + begin, length, 0.0f);
        },
        [&](int64_t offset, int64_t begin, int64_t length) {
          copyRun<Element>(from + offset, getLastStride(), length, to + begin);
        });
  });
}

void WindowReader::readNarrow(const uint16_t *data, const int64_t *shifts,
                              int64_t first, int64_t count,
                              uint16_t *to) const {
  int64_t stride = getLastStride();
  visit(
      shifts, first, count,
      [&](int64_t begin, int64_t length) {
        std::fill_n(to + begin, length, uint16_t(0));
      },
      [&](int64_t offset, int64_t begin, int64_t length) {
        for (int64_t i = 0; i < length; ++i)
          to[begin + i] = data[offset + i * stride];
      });
}

void WindowReader::locateElements(const int64_t *shifts, int64_t first,
                                  int64_t count, int32_t *offsets) const {
  visit(
      shifts, first, count,
      [&](int64_t begin, int64_t length) {
        std::fill_n(offsets + begin, length, -1);
      },
      [&](int64_t offset, int64_t begin, int64_t length) {
        for (int64_t i = 0; i < length; ++i)
          offsets[begin + i] =
              static_cast<int32_t>(offset + i * getLastStride());
      });
}
