//===- StridedView.h - Tensors as strides over a buffer ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_LIBRARY_STRIDEDVIEW_H
#define REGATHER_LIB_DIALECT_TG_LIBRARY_STRIDEDVIEW_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace regather::tg::library {

/// A transform of a tensor into a view of it.
struct ViewTransform {
  enum class Kind {
    /// Dimension d is dimension numbers[d] of the operand.
    Permute,
    /// To the shape `numbers`.
    Reshape,
    /// To the shape `numbers`, sizes of one being repeated.
    Broadcast,
    /// `size` elements from `start` on along `dim`, `step` apart.
    Slice
  };
  Kind kind;
  llvm::SmallVector<int64_t, 6> numbers;
  int64_t dim = 0, start = 0, size = 0, step = 1;

  static ViewTransform permute(llvm::ArrayRef<int64_t> permutation);
  static ViewTransform reshape(llvm::ArrayRef<int64_t> shape);
  static ViewTransform broadcast(llvm::ArrayRef<int64_t> shape);
  static ViewTransform slice(int64_t dim, int64_t start, int64_t size,
                             int64_t step);
};

/// Elements of a buffer, which is dense and row-major. Offset and strides count
/// elements.
struct StridedView {
  /// The tensor in the buffer.
  mlir::Value base;
  int64_t offset = 0;
  llvm::SmallVector<int64_t, 6> shape, strides;

  /// All of `value`, which has a static shape.
  static StridedView dense(mlir::Value value);

  /// The view that `transform` makes of this one; nothing if no strides
  /// describe it.
  std::optional<StridedView> apply(const ViewTransform &transform) const;
  /// The same for several of them, one after the other.
  std::optional<StridedView>
  apply(llvm::ArrayRef<ViewTransform> transforms) const;
  /// The view of shape `shape` of which `transforms` make this one; nothing if
  /// there is none, or it has elements that this one has not.
  std::optional<StridedView> revert(llvm::ArrayRef<ViewTransform> transforms,
                                    llvm::ArrayRef<int64_t> shape) const;

private:
  std::optional<StridedView> revertOne(const ViewTransform &transform,
                                       llvm::ArrayRef<int64_t> shape) const;
};

} // namespace regather::tg::library

#endif // REGATHER_LIB_DIALECT_TG_LIBRARY_STRIDEDVIEW_H
