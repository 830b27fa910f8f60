//===- AttentionBlock.h - What kernels for attention consist of -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each warp of a block owns a few vectors: rows of queries, or columns (keys).
// Tiles of the other kind, one vector for each lane, pass by in shared memory:
//
//   own vectors to shared memory
//   for tile of 32 vectors:
//     scores[i] = own vector i times the tile's vector of the lane
//     weights = f(scores), to shared memory
//     sums[i] += weights[i] times the vectors of the tile
//
// So no two warps write to the same place, nothing is added atomically, and the
// order of each sum depends on the sizes alone. All arithmetic is f32.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_ROUTINES_ATTENTIONBLOCK_H
#define REGATHER_LIB_KERNEL_NVPTX_ROUTINES_ATTENTIONBLOCK_H

#include "RoutineBlock.h"

#include "regather/Runtime/Attention.h"

namespace regather::nvptx {

/// A tensor in the memory of the device, and which of its matrices is meant.
struct HeadMatrix {
  mlir::Value buffer;
  rg_attention_operand operand;
  /// The first element.
  mlir::Value base;
  int64_t rows, width;
  /// Elements that one access reads or writes at most.
  int64_t access;
};

/// Vectors of f32 in shared memory, behind each other with gaps, filled up with
/// zeros.
struct SharedTile {
  mlir::Value memory;
  int64_t count, width;
  /// A multiple of 32, up to which there are zeros.
  int64_t padded;
  /// With a gap, so that lanes that read one vector each meet in no bank.
  int64_t getStride() const { return padded + 4; }
};

/// Sums of vectors, spread over the lanes of a warp: for each of the warp's
/// own vectors its pieces.
using VectorSums = llvm::SmallVector<mlir::Value>;

/// Builds the function of one launch.
class AttentionBlock : public RoutineBlock {
public:
  static constexpr int64_t kWarps = 4;
  static constexpr int64_t kLanes = 32;
  static constexpr int64_t kThreads = kWarps * kLanes;

  /// `blocks` of them, and bytes of device memory that all launches share.
  AttentionBlock(const rg_attention_desc &desc, mlir::gpu::GPUModuleOp module,
                 llvm::StringRef name, int64_t blocks, int64_t scratchBytes);

  /// Vectors that a warp of a kernel for this description owns, and a block.
  static int64_t getOwnPerWarp(const rg_attention_desc &desc);
  static int64_t getOwnPerBlock(const rg_attention_desc &desc) {
    return kWarps * getOwnPerWarp(desc);
  }

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value exp(mlir::Value x);
  /// x, but 0 instead of -inf: what may be subtracted from -inf.
  mlir::Value getShift(mlir::Value x);

  /// The sum, or the maximum, over the lanes of the warp.
  mlir::Value sumLanes(mlir::Value value);
  mlir::Value maxLanes(mlir::Value value);

  //===--------------------------------------------------------------------===//
  // Device memory
  //===--------------------------------------------------------------------===//

  /// The matrix of a tensor for an element of the batch and a head.
  HeadMatrix getMatrix(const rg_attention_operand &operand, int64_t rows,
                       int64_t width, mlir::Value batch, mlir::Value head);
  mlir::Value getAddress(const HeadMatrix &matrix, mlir::Value row,
                         mlir::Value element);
  /// An element as f32, or a vector of consecutive ones.
  mlir::Value loadElement(const HeadMatrix &matrix, mlir::Value row,
                          mlir::Value element);
  mlir::Value loadWide(const HeadMatrix &matrix, mlir::Value row,
                       mlir::Value element, int64_t width);
  void storeElement(const HeadMatrix &matrix, mlir::Value row,
                    mlir::Value element, mlir::Value value);
  /// The score of a row and a column with scale and mask; -inf if the row does
  /// not see the column.
  mlir::Value maskScore(mlir::Value score, const HeadMatrix *mask,
                        mlir::Value row, mlir::Value column);

  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  SharedTile makeTile(int64_t count, int64_t width);
  /// All threads copy rows of a matrix from `first` on.
  void fillTile(const SharedTile &tile, const HeadMatrix &matrix,
                mlir::Value first);
  /// Each own vector of the warp times the lane's vector of the other tile.
  llvm::SmallVector<mlir::Value> multiply(const SharedTile &own,
                                          const SharedTile &other);
  /// A weight for each own vector and lane, to and from shared memory.
  SharedTile makeWeights() { return makeTile(own * kWarps, kLanes); }
  void storeWeight(const SharedTile &weights, int64_t number,
                   mlir::Value weight);
  /// sums += weights times the vectors of the tile.
  VectorSums accumulate(const VectorSums &sums, const SharedTile &weights,
                        const SharedTile &tile);
  VectorSums makeSums(int64_t width);
  /// Multiplies all pieces of an own vector.
  void scale(VectorSums &sums, int64_t number, mlir::Value factor);
  /// Writes an own vector, each element changed, as a row.
  void storeSums(const VectorSums &sums, int64_t number,
                 const HeadMatrix &matrix, mlir::Value row,
                 llvm::function_ref<mlir::Value(mlir::Value)> change);
  /// The dot product of a vector of this block with a row of a matrix; in all
  /// lanes.
  mlir::Value multiplyRow(const SharedTile &own, int64_t number,
                          const HeadMatrix &matrix, mlir::Value row);

  /// Number of the vector in the block.
  mlir::Value getOwn(int64_t number) { return add(mul(warp, own), number); }

  const rg_attention_desc &desc;
  /// Vectors that the warp owns.
  int64_t own;
  mlir::Value lane, warp;

private:
  /// Consecutive elements of a piece, and the pieces of a vector.
  static int64_t getPieceWidth(int64_t width);
  static int64_t getNumPieces(int64_t width);
  mlir::Value getElement(int64_t piece, int64_t width);
  mlir::Value loadTile(const SharedTile &tile, mlir::Value vector,
                       mlir::Value element, int64_t width);
  mlir::Value reduceLanes(
      mlir::Value value,
      llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
};

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_ROUTINES_ATTENTIONBLOCK_H
