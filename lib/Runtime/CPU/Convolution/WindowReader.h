//===- WindowReader.h - What windows see of a tensor ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWREADER_H
#define REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWREADER_H

#include "CPU/Blocks/BlockKernels.h"
#include "regather/Runtime/Convolution.h"

namespace regather::runtime {

/// Dimensions that windows move over: the batch, over which they do not reach,
/// and those of the description.
inline constexpr int64_t kMaxWindowDims = 1 + RG_CONVOLUTION_MAX_RANK;

/// One dimension of a tensor that windows move over.
struct WindowDim {
  /// Number of positions of a window.
  int64_t count;
  /// From one to the next, in elements of the dimension.
  int64_t step;
  /// Elements of the dimension; zeros lie outside.
  int64_t extent;
  /// From one element to the next in memory.
  int64_t stride;
};

/// Positions of a window, numbered with the last dimension running fastest.
class WindowReader {
public:
  WindowReader() = default;
  void addDim(const WindowDim &dim) { dims[rank++] = dim; }
  int64_t getRank() const { return rank; }
  const WindowDim &getDim(int64_t d) const { return dims[d]; }

  /// Joins dimensions that lie behind each other in memory. For windows without
  /// shifts, which see everything.
  void joinDims();

  int64_t getNumPositions() const;
  /// Of the longest run of positions along the last dimension.
  int64_t getRunLength() const { return dims[rank - 1].count; }
  /// The largest offset of an element; from it to the first one, all are
  /// smaller.
  int64_t getLargestOffset() const;
  /// So many positions, from a multiple of that on, lie behind each other in
  /// memory.
  int64_t getSpan() const;

  /// Writes the element, `shifts[d]` from where the window is, that positions
  /// [first, first + count) see. `data` is the element at the origin; there is
  /// a shift for each dimension. Linear in `count`.
  void read(const void *data, int32_t dtype, const int64_t *shifts,
            int64_t first, int64_t count, float *to) const;
  /// The same of numbers of 16 bits, as they are.
  void readNarrow(const uint16_t *data, const int64_t *shifts, int64_t first,
                  int64_t count, uint16_t *to) const;

  /// Writes where these elements lie, counted from `data`; -1 for zeros.
  void locateElements(const int64_t *shifts, int64_t first, int64_t count,
                      int32_t *offsets) const;

  /// The same as pieces, for a last dimension whose elements lie behind each
  /// other. Rows that lie behind each other share them. Gives their number, at
  /// most `getMostPieces(count)`.
  int64_t locatePieces(const int64_t *shifts, int64_t first, int64_t count,
                       RowPiece *pieces) const;
  int64_t getMostPieces(int64_t count) const;

  /// Calls `use(offset, begin, length)` for each run of positions along the
  /// last dimension in [first, first + count): where its first element lies
  /// without a shift, its number from `first` on, and how many there are.
  template <typename Use>
  void forEachRun(int64_t first, int64_t count, Use use) const;

  int64_t getLastStride() const {
    return dims[rank - 1].step * dims[rank - 1].stride;
  }

private:
  /// Positions along the last dimension, of which some see an element.
  struct Row {
    /// How many positions come before it.
    int64_t done;
    /// Of the element that position 0 sees, or would.
    int64_t offset;
    /// Positions [begin, stop); [from, until) see elements.
    int64_t begin, from, until, stop;
  };

  /// Calls `use` for the rows that [first, first + count) is made of.
  template <typename Use>
  void visitRows(const int64_t *shifts, int64_t first, int64_t count,
                 Use use) const;
  /// Calls `zeros(begin, length)` and `elements(offset, begin, length)` for the
  /// runs that [first, first + count) is made of, begins counted from `first`.
  template <typename Zeros, typename Elements>
  void visit(const int64_t *shifts, int64_t first, int64_t count, Zeros zeros,
             Elements elements) const;
  void locate(int64_t number, int64_t *position) const;
  /// Goes on to the next position of all dimensions but the last.
  void advance(int64_t *position) const;

  WindowDim dims[kMaxWindowDims];
  int64_t rank = 0;
};

template <typename Use>
void WindowReader::forEachRun(int64_t first, int64_t count, Use use) const {
  if (count <= 0)
    return;
  int64_t position[kMaxWindowDims];
  locate(first, position);
  const WindowDim &last = dims[rank - 1];
  for (int64_t begin = 0; begin < count; advance(position)) {
    int64_t offset = 0;
    for (int64_t d = 0; d < rank; ++d)
      offset += position[d] * dims[d].step * dims[d].stride;
    int64_t length = last.count - position[rank - 1];
    if (length > count - begin)
      length = count - begin;
    use(offset, begin, length);
    begin += length;
  }
}

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWREADER_H
