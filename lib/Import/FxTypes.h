//===- FxTypes.h - Types of a captured graph --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_IMPORT_FXTYPES_H
#define REGATHER_LIB_IMPORT_FXTYPES_H

#include "FxFile.h"

#include "mlir/IR/BuiltinTypes.h"

namespace regather::fx {

/// The element type of a dtype, given by its name in `value`. `bool` is i1.
/// `uint8` is ui8, not i8: `int8` is i8, and the two compare, divide and
/// convert differently.
llvm::FailureOr<mlir::Type> readDtype(FxFile &file, const JsonValue &value);

/// The type of one output of a node: `{"shape", "stride", "dtype"}` gives a
/// tensor of the logical shape. An output that is `null` (an operator returned
/// none) gives `!tg.opaque<"none">`, so that the others keep their numbers.
llvm::FailureOr<mlir::Type> readOutputType(FxFile &file,
                                           const JsonValue &output);

/// True for the type of an output that is none.
bool isNoneType(mlir::Type type);

} // namespace regather::fx

#endif // REGATHER_LIB_IMPORT_FXTYPES_H
