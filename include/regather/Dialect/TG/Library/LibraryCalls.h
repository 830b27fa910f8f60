//===- LibraryCalls.h - Kernels that libraries compute ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognises what a library computes as a whole: a GEMM with the views of its
// operands and what is done to its result, a grouped GEMM, attention, or a
// convolution. Works
// on nodes and on structured operations alike, in time linear in the number of
// operations, and builds nothing. `tg-form-kernels` keeps what it finds as
// `library_call` of a kernel; who lowers the kernel reads it there.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_LIBRARY_LIBRARYCALLS_H
#define REGATHER_DIALECT_TG_LIBRARY_LIBRARYCALLS_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg {

/// A call, or why there is none.
template <typename CallAttr> struct LibraryMatch {
  /// Null if nothing matched.
  CallAttr call;
  /// Static text; empty after a match.
  llvm::StringRef reason;

  explicit operator bool() const { return static_cast<bool>(call); }
};

/// Multiply-adds of the smallest GEMM for which a library is called.
inline constexpr double kSmallestGemm = 32 * 32 * 32 + 1;

/// The GEMM that `ops`, in program order, compute from dense `inputs`. One of
/// them is the GEMM; those before it are views of what it reads, those behind
/// it change its result, and the last gives `output`, which is dense too.
/// Several GEMMs are one of segments if they are of equal slices, one behind
/// the other, of two operands, and are added as a balanced tree. Small GEMMs do
/// not match unless `takesSmall`: loops are faster, and have the bits that the
/// interpreter computes.
LibraryMatch<GemmAttr> matchGemm(llvm::ArrayRef<mlir::Operation *> ops,
                                 mlir::ValueRange inputs, mlir::Value output,
                                 bool takesSmall);

/// The attention, forward or backward, that `ops` compute: a node for it, views
/// before and views behind it. Outputs are the results of the node, in order,
/// or views of them; the logarithms of a forward node may be missing. Dropout
/// does not match.
LibraryMatch<AttentionAttr>
matchAttention(llvm::ArrayRef<mlir::Operation *> ops, mlir::ValueRange inputs,
               mlir::ValueRange outputs);

/// The convolution, or the gradients of one, that `ops` compute: a node for it,
/// views before and views behind it. Outputs are any results of the node, or
/// views of them. Small ones do not match, as for GEMMs.
LibraryMatch<ConvolutionAttr>
matchConvolution(llvm::ArrayRef<mlir::Operation *> ops, mlir::ValueRange inputs,
                 mlir::ValueRange outputs, bool takesSmall);

/// The grouped GEMM, or the gradients of one, that `ops` compute, as for
/// convolutions.
LibraryMatch<GroupedGemmAttr>
matchGroupedGemm(llvm::ArrayRef<mlir::Operation *> ops, mlir::ValueRange inputs,
                 mlir::ValueRange outputs, bool takesSmall);

/// The same for the body of a kernel, of any size.
LibraryMatch<GemmAttr> matchGemm(KernelOp kernel);
LibraryMatch<AttentionAttr> matchAttention(KernelOp kernel);
LibraryMatch<ConvolutionAttr> matchConvolution(KernelOp kernel);
LibraryMatch<GroupedGemmAttr> matchGroupedGemm(KernelOp kernel);

/// Checks that the body of a kernel computes what its library call does, if it
/// has one. Emits an error.
llvm::LogicalResult verifyLibraryCall(KernelOp kernel);

/// Reads a kernel with a library call again after a pass has rewritten its
/// body: the call becomes what the body says now, or is removed if a library
/// does not read it any more, so that code is generated.
void updateLibraryCall(KernelOp kernel);

/// What a library can take over.
enum class LibraryRoutine {
  Gemm,
  GroupedGemm,
  Attention,
  AttentionBackward,
  Convolution
};

/// The routine that `op` asks for, whatever its sizes and types are; nothing if
/// it is no GEMM of two tensors and no node for a grouped GEMM, attention or a
/// convolution.
std::optional<LibraryRoutine> getLibraryRoutine(mlir::Operation *op);

/// The operand of which a result is another view, or a copy; null if it is none
/// that a stride for each dimension describes.
mlir::Value getViewedOperand(mlir::OpResult result);

/// True if `value` is a tensor of zeros.
bool isZeroFill(mlir::Value value);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_LIBRARY_LIBRARYCALLS_H
