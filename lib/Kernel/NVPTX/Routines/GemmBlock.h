//===- GemmBlock.h - What GEMM kernels have in common -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_ROUTINES_GEMMBLOCK_H
#define REGATHER_LIB_KERNEL_NVPTX_ROUTINES_GEMMBLOCK_H

#include "RoutineBlock.h"

#include "regather/Runtime/Gemm.h"

namespace regather::nvptx {

/// A block that computes a square tile of C for one element of the batch.
class GemmBlock {
public:
  /// The most segments whose sums a kernel adds: it has code for each of them.
  static constexpr int64_t kMaxSegments = 64;

  /// The length of a segment of k.
  static int64_t getDepth(const rg_gemm_desc &desc) {
    return desc.segments > 1 ? desc.k / desc.segments : desc.k;
  }
  /// Blocks for tiles of `tile` rows and columns.
  static int64_t countBlocks(const rg_gemm_desc &desc, int64_t tile);
  static RoutineBuffers describeBuffers(const rg_gemm_desc &desc);

protected:
  /// A matrix of an operand for the element of the batch.
  struct Matrix {
    mlir::Value buffer, base;
    const int64_t *strides;
  };

  GemmBlock(const rg_gemm_desc &desc, RoutineBlock &b, int64_t tile);

  int64_t getDepth() const { return getDepth(desc); }
  /// The matrix from element `first` of a dimension on.
  Matrix getPart(const Matrix &matrix, int64_t first, unsigned dim);
  /// What `addSegment` gives for the element of k at which each segment begins,
  /// rounded to the type of segments, and added as a balanced tree. As many
  /// results live at a time as the tree is high, and one.
  llvm::SmallVector<mlir::Value>
  addSegments(llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t first)>
                  addSegment);

  /// C = convert(relu(alpha * sum + addends)), if there is such an element.
  void storeElement(mlir::Value sum, mlir::Value row, mlir::Value column);

  const rg_gemm_desc &desc;
  RoutineBlock &b;
  mlir::Value firstRow, firstColumn;
  Matrix left, right;

private:
  Matrix getMatrix(const rg_gemm_operand &operand);
  mlir::Value roundSegment(mlir::Value sum);
  mlir::Value getPlace(const Matrix &matrix, mlir::Value row,
                       mlir::Value column);

  llvm::SmallVector<mlir::Value> batch;
  Matrix result;
  llvm::SmallVector<Matrix> addends;
};

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_ROUTINES_GEMMBLOCK_H
