//===- TGLibraryAttributes.h - Syntax of calls of libraries -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of the assembly of library calls that TableGen does not generate.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_IR_TGLIBRARYATTRIBUTES_H
#define REGATHER_LIB_DIALECT_TG_IR_TGLIBRARYATTRIBUTES_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg {

/// Reads and writes sizes: `[2, 3]`.
mlir::ParseResult parseSizeList(mlir::AsmParser &parser,
                                llvm::SmallVector<int64_t> &sizes);
void printSizeList(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> sizes);

/// Reads and writes views: `[<0 strides[1]>, <1 strides[2]>]`.
mlir::ParseResult parseViewList(mlir::AsmParser &parser,
                                llvm::SmallVector<BufferViewAttr> &views);
void printViewList(mlir::AsmPrinter &printer,
                   llvm::ArrayRef<BufferViewAttr> views);

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_IR_TGLIBRARYATTRIBUTES_H
