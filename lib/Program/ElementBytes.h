//===- ElementBytes.h - Elements as the runtime stores them -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_PROGRAM_ELEMENTBYTES_H
#define REGATHER_LIB_PROGRAM_ELEMENTBYTES_H

#include "regather/Runtime/Runtime.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <vector>

namespace regather {

/// The element type of a buffer; `index` is stored as i64.
rg_dtype getDtype(mlir::Type type);

/// All elements in row-major order: an i1 takes one byte, `index` eight.
std::vector<char> getElementBytes(mlir::ElementsAttr elements);

} // namespace regather

#endif // REGATHER_LIB_PROGRAM_ELEMENTBYTES_H
