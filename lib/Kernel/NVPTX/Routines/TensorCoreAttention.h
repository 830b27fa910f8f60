//===- TensorCoreAttention.h - Attention by tensor cores --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in AttentionBlock.h, each warp of a block owns vectors, rows of queries or
// columns (keys), and tiles of the other kind pass by in shared memory. Here it
// owns 16 of them, or twice as many, and GEMMs are those of tensor cores:
//
//   own vectors to shared memory
//   for tile of vectors:
//     scores = own vectors times those of the tile          in registers
//     weights = f(scores), rounded to 16 bits               in registers
//     sums += weights times vectors of the tile             in registers
//
// Sums, maxima and exponents are f32. The order of each sum depends on the
// sizes alone, and nothing is added atomically.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_ROUTINES_TENSORCOREATTENTION_H
#define REGATHER_LIB_KERNEL_NVPTX_ROUTINES_TENSORCOREATTENTION_H

#include "HeadMatrices.h"
#include "TensorCores.h"

namespace regather::nvptx {

/// True if kernels that use tensor cores compute what the description says.
bool fitsTensorCores(const rg_attention_desc &desc);

/// What `buildAttentionKernels` does then.
mlir::LogicalResult buildTensorCoreForward(const rg_attention_desc &desc,
                                           mlir::gpu::GPUModuleOp module,
                                           llvm::StringRef name);
mlir::LogicalResult buildTensorCoreBackward(const rg_attention_desc &desc,
                                            mlir::gpu::GPUModuleOp module,
                                            llvm::StringRef name);

/// What kernels have in common.
class TensorCoreAttention {
public:
  /// Vectors that the block owns if each warp has `fragments` of 16.
  static constexpr int64_t getOwnPerBlock(int64_t fragments) {
    return AttentionBlock::kWarps * TensorCores::kRows * fragments;
  }

protected:
  /// A warp owns rows, or columns.
  enum class Owner { Rows, Columns };

  TensorCoreAttention(const rg_attention_desc &desc, AttentionBlock &b,
                      Owner owner, int64_t fragments);

  /// Calls `visit` with each own vector that the lane has numbers of: its
  /// number among those of the lane, and in the block.
  void forEachOwn(llvm::function_ref<void(int64_t, mlir::Value)> visit);
  int64_t countOwn() const { return 2 * fragments; }
  /// The elements of `sums` in an own vector, in pairs of consecutive ones.
  llvm::SmallVector<std::array<mlir::Value *, 2>> getOwn(Sums &sums,
                                                         int64_t number);

  static DeviceRows getRows(const HeadMatrix &matrix);
  /// Zeros for each fragment of own vectors.
  Sums makeSums(int64_t width);
  /// Own vectors times `count` vectors of a tile, from `place` on.
  Sums multiply(const HalfTile &own, const HalfTile &tile, mlir::Value place,
                int64_t count);
  /// sums += weights times the vectors.
  void accumulate(Sums &sums, const Sums &weights, const HalfTile &tile,
                  mlir::Value place);
  /// Scores with the mask, and -inf where the row does not see the column; in
  /// units of which `unit` make 1 as an exponent of 2. `firstOwn` and
  /// `firstOther` are those of the block and of the tile.
  void mask(Sums &scores, const HeadMatrix *mask, mlir::Value firstOwn,
            mlir::Value firstOther);
  /// 2^(unit * score - shift).
  mlir::Value weigh(mlir::Value score, mlir::Value minusShift);
  /// An element of L that scores with its unit can be compared with, negative;
  /// 0 instead of infinity.
  mlir::Value getMinusShift(mlir::Value log);
  /// Writes own vectors, each times its factor, as rows of a matrix.
  void store(Sums &sums, const HeadMatrix &matrix, mlir::Value firstOwn,
             llvm::ArrayRef<mlir::Value> factors);

  const rg_attention_desc &desc;
  AttentionBlock &b;
  TensorCores cores;
  Owner owner;
  int64_t fragments;
  float unit;

private:
  void addMask(Sums &scores, const HeadMatrix *mask, mlir::Value firstOwn,
               mlir::Value firstOther);
  void hide(Sums &scores, mlir::Value firstOwn, mlir::Value firstOther);
  mlir::Value mayHide(mlir::Value firstOwn, mlir::Value firstOther,
                      int64_t count);

  /// The first own vector of the warp, in the block.
  mlir::Value firstOfWarp;
  /// The unit of scores is 1.
  bool isScaled;
};

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_ROUTINES_TENSORCOREATTENTION_H
