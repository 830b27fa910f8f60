//===- LibraryReadings.h - Operations in terms of a library --------*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one operation does, in the terms of a call of a library: nodes and
// structured operations are read alike.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_LIBRARY_LIBRARYREADINGS_H
#define REGATHER_LIB_DIALECT_TG_LIBRARY_LIBRARYREADINGS_H

#include "StridedView.h"

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg::library {

/// A tensor as a view of an operand.
struct ViewReading {
  mlir::Value operand;
  /// In the order in which they are applied.
  llvm::SmallVector<ViewTransform, 2> transforms;
};

/// One loop of a contraction: the dimension of each tensor that it runs over.
struct GemmLoop {
  int64_t size;
  std::optional<unsigned> lhs, rhs, result;
};

/// What is done to each element of the result of a GEMM.
struct EpilogueTransform {
  enum class Kind {
    /// Times `factor`, in f32.
    Scale,
    /// Plus `addend`, which `alignment` brings to the shape of the result.
    Add,
    /// Negative numbers become zero.
    Relu,
    /// Rounds to `type`.
    Convert
  };
  explicit EpilogueTransform(Kind kind) : kind(kind) {}
  static EpilogueTransform convert(mlir::Type type) {
    EpilogueTransform transform(Kind::Convert);
    transform.type = type;
    return transform;
  }
  static EpilogueTransform scale(float factor) {
    EpilogueTransform transform(Kind::Scale);
    transform.factor = factor;
    return transform;
  }

  Kind kind;
  float factor = 1;
  mlir::Value addend;
  llvm::SmallVector<ViewTransform, 2> alignment;
  mlir::Type type;
};

/// The transforms that an operation behind the GEMM makes, in order, or why
/// there are none.
struct EpilogueReading {
  llvm::SmallVector<EpilogueTransform, 2> transforms;
  /// Static text; empty if the transforms are all that the operation does.
  llvm::StringRef reason;

  static EpilogueReading fail(llvm::StringRef reason) { return {{}, reason}; }
};

/// A GEMM, in f32 or f64, and what the operation does to its result.
struct GemmReading {
  mlir::Value lhs, rhs;
  llvm::SmallVector<GemmLoop, 4> loops;
  /// Dimensions of the result.
  llvm::SmallVector<int64_t, 4> shape;
  EpilogueReading rest;
};

/// True for constants and what is filled with one: they are read where they are
/// used.
bool isConstantTensor(mlir::Operation *op);

std::optional<ViewReading> readView(mlir::OpResult result);
std::optional<GemmReading> readGemm(mlir::Operation *op);
/// What `op` does to the elements of `chain`, one of its operands.
EpilogueReading readEpilogue(mlir::Operation *op, mlir::Value chain);

/// The parts of these for nodes.
std::optional<ViewReading> readNodeView(NodeOp node, unsigned result);
std::optional<GemmReading> readNodeGemm(NodeOp node);
EpilogueReading readNodeEpilogue(NodeOp node, mlir::Value chain);

/// Why a library does not do something.
inline constexpr llvm::StringLiteral kNoRoutine =
    "the library has no such operation";
inline constexpr llvm::StringLiteral kStrides = "no strides describe the view";

} // namespace regather::tg::library

#endif // REGATHER_LIB_DIALECT_TG_LIBRARY_LIBRARYREADINGS_H
