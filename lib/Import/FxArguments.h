//===- FxArguments.h - Arguments of a call ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_IMPORT_FXARGUMENTS_H
#define REGATHER_LIB_IMPORT_FXARGUMENTS_H

#include "FxFile.h"
#include "FxValues.h"

namespace regather::fx {

/// The arguments of one call as a `tg.node` holds them.
struct CallArguments {
  llvm::SmallVector<mlir::Value> operands;
  /// Null where the operands are the positional arguments.
  mlir::ArrayAttr args;
  /// Null if there are none.
  mlir::DictionaryAttr kwargs;
};

/// Reads `args` and `kwargs` of `call`, which is node number `user`.
///
/// A reference becomes `#tg.operand<i>`, none `unit`, an integer an i64, a
/// float an f64, a complex number a tensor of one complex<f64>, a dtype a type,
/// a list an array. A device, layout or memory
/// format becomes its name. As named arguments, devices, memory formats and the
/// strided layout are dropped: tensors have a logical shape only, and all
/// compute runs where the step runs.
llvm::FailureOr<CallArguments> readArguments(FxFile &file, FxValues &values,
                                             const JsonValue &call,
                                             size_t user);

/// Reads a list of tensors, or one tensor as a list of one.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
readTensors(FxFile &file, FxValues &values, const JsonValue &argument,
            size_t user);

} // namespace regather::fx

#endif // REGATHER_LIB_IMPORT_FXARGUMENTS_H
