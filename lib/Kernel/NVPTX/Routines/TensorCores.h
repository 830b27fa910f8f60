//===- TensorCores.h - Small GEMMs by a warp --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One instruction of a warp, mma.sync, multiplies a 16 x 16 matrix by a 16 x 8
// one and adds the product to 16 x 8 sums. Each lane has a fragment of each. In
// the sums, lane l has the columns 2 (l % 4) and the one after it of the rows
// l / 4 and l / 4 + 8; in the left factor it has these columns and those 8
// after them. So narrowed sums are a left factor as they are.
//
// Factors come from tiles in shared memory, by ldmatrix, and tiles from memory
// of the device, by cp.async, while the warps compute. All that needs sm_80.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_ROUTINES_TENSORCORES_H
#define REGATHER_LIB_KERNEL_NVPTX_ROUTINES_TENSORCORES_H

#include "RoutineBlock.h"

namespace regather::nvptx {

/// True for types of which tensor cores take factors.
bool isTensorCoreType(int32_t dtype);

/// Rows of 16-bit floats in memory of the device, each of consecutive elements.
/// Each row, and the element `base`, is aligned to 16 bytes.
struct DeviceRows {
  mlir::Value buffer, base;
  int64_t stride, count;
};

/// Rows of 16-bit floats in shared memory.
struct HalfTile {
  mlir::Value memory;
  /// The width is a multiple of 16.
  int64_t rows, width;
  /// An odd number of 16 bytes, so that eight rows meet in no bank.
  int64_t getStride() const { return width + 8; }
};

/// Registers of a lane, each with two numbers, of 16 x 16 and of 16 x 8
/// factors.
using LeftFragment = std::array<mlir::Value, 4>;
using RightFragment = std::array<mlir::Value, 2>;
/// f32 of 16 x 8 sums: two of each row.
using SumFragment = std::array<mlir::Value, 4>;
/// 16 x 8 n sums.
using Sums = llvm::SmallVector<SumFragment>;

/// How the rows of a tile count.
enum class TileRows {
  /// As rows of a left factor, or columns of a right one.
  Outer,
  /// Along the sum.
  Inner
};

/// All numbers, as loops carry them, and back.
llvm::SmallVector<mlir::Value> flatten(const Sums &sums);
Sums unflatten(mlir::ValueRange values);

class TensorCores {
public:
  static constexpr int64_t kLanes = 32;
  /// Rows of a fragment of sums, its columns, and elements of a sum.
  static constexpr int64_t kRows = 16, kColumns = 8, kDepth = 16;

  /// For all `threads` of a block.
  TensorCores(RoutineBlock &b, int64_t threads, int32_t dtype);

  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  HalfTile makeTile(int64_t rows, int64_t width);
  /// All threads begin to copy `count` rows, those of `source` from `first` and
  /// element `column` on, to the rows of the tile from `place` on. What lies
  /// behind the last row, or behind column `end`, becomes zeros. Both numbers
  /// of columns are multiples of 8.
  void copy(const HalfTile &tile, mlir::Value place, int64_t count,
            const DeviceRows &source, mlir::Value first, mlir::Value column,
            std::optional<int64_t> end = std::nullopt);
  /// The same where elements of a row are `step` apart, and nothing is aligned:
  /// one element after the other, which are in the tile when this returns.
  void copyElements(const HalfTile &tile, mlir::Value place, int64_t count,
                    const DeviceRows &source, int64_t step, mlir::Value first,
                    mlir::Value column, int64_t end);
  /// Ends a group of copies; waits for all but the `groups` last ones. Other
  /// threads see what has been copied behind a barrier only.
  void commit();
  void wait(int64_t groups);

  //===--------------------------------------------------------------------===//
  // Factors
  //===--------------------------------------------------------------------===//

  /// The place in a tile that fragments are found from: `row` is where those of
  /// the warp begin, and `column` likewise.
  mlir::Value getPlace(const HalfTile &tile, TileRows rows, bool isLeft,
                       mlir::Value row, mlir::Value column = nullptr);
  /// A left factor, or two right ones that lie side by side, at a distance from
  /// a place.
  LeftFragment loadLeft(const HalfTile &tile, TileRows rows, mlir::Value place,
                        int64_t row, int64_t column);
  std::array<RightFragment, 2> loadRight(const HalfTile &tile, TileRows rows,
                                         mlir::Value place, int64_t row,
                                         int64_t column);
  /// 16 columns of sums as a left factor.
  LeftFragment narrow(const SumFragment &first, const SumFragment &second);

  //===--------------------------------------------------------------------===//
  // Sums
  //===--------------------------------------------------------------------===//

  Sums makeSums(int64_t columns);
  SumFragment multiplyAdd(const LeftFragment &left, const RightFragment &right,
                          const SumFragment &sums);
  /// Over the four lanes that have a row.
  mlir::Value sumRow(mlir::Value value);
  mlir::Value maxRow(mlir::Value value);
  mlir::Value max(mlir::Value a, mlir::Value b);
  /// 2^x by the hardware: to a few units in the last place, and 0 instead of
  /// numbers below the normal ones.
  mlir::Value exp2(mlir::Value x);
  /// a * b + c, rounded once.
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  /// Two numbers, rounded to the type of factors.
  mlir::Value narrow(mlir::Value first, mlir::Value second);

  /// The first row and the first column that the lane has of a fragment of
  /// sums.
  mlir::Value row, column;
  mlir::Value warp;

private:
  std::array<mlir::Value, 4> loadMatrices(const HalfTile &tile,
                                          mlir::Value place, bool isTransposed);

  RoutineBlock &b;
  int64_t threads;
  mlir::Type type;
  mlir::Value lane;
};

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_ROUTINES_TENSORCORES_H
