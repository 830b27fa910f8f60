//===- TGLibraryBuffers.h - Buffers of library calls ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_IR_TGLIBRARYBUFFERS_H
#define REGATHER_LIB_DIALECT_TG_IR_TGLIBRARYBUFFERS_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// Checks that no size is negative.
mlir::LogicalResult verifySizes(EmitError emitError,
                                llvm::ArrayRef<int64_t> sizes);

/// Checks that a view, if it is there, has as many strides as its operand has
/// dimensions.
mlir::LogicalResult verifyRank(EmitError emitError, llvm::StringRef name,
                               BufferViewAttr view, size_t rank);

/// Which element types an operand may have.
enum class Elements { Float, FloatOrLogical, F32, Integer };

/// Checks the views of a call, one after the other.
class BufferVerifier {
public:
  BufferVerifier(EmitError emitError, mlir::FunctionType type)
      : emitError(emitError), type(type), isWritten(type.getNumResults()) {}

  /// Checks a view of an argument. A view that is not there is right.
  mlir::LogicalResult verifyRead(llvm::StringRef name, BufferViewAttr view,
                                 llvm::ArrayRef<int64_t> sizes,
                                 Elements elements = Elements::Float);
  /// Checks a view that is all of a result.
  mlir::LogicalResult verifyWritten(llvm::StringRef name, BufferViewAttr view,
                                    llvm::ArrayRef<int64_t> sizes,
                                    Elements elements = Elements::Float);
  /// Checks that every result was written.
  mlir::LogicalResult finish();

  /// The type of the buffer that `view` is of; null if there is none.
  mlir::RankedTensorType getTensor(BufferViewAttr view) const;

private:
  mlir::LogicalResult verifyElement(llvm::StringRef name, mlir::Type element,
                                    Elements elements);
  mlir::LogicalResult verifyExtent(llvm::StringRef name, BufferViewAttr view,
                                   llvm::ArrayRef<int64_t> sizes,
                                   Elements elements);

  EmitError emitError;
  mlir::FunctionType type;
  llvm::SmallVector<bool> isWritten;
};

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_IR_TGLIBRARYBUFFERS_H
