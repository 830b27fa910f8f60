//===- ParameterRegathers.h - Gather again in backward ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_PARAMETERREGATHERS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_PARAMETERREGATHERS_H

#include "regather/Dialect/TG/Chains/ParameterChains.h"

namespace regather::tg {

struct Regathers {
  /// Gathers added to backward, by member.
  int64_t gathers = 0;
  /// Other operations of chains added to backward.
  int64_t ops = 0;
};

/// What `tg.reshard` says of a parameter; nothing if it is undecided.
ReshardAttr getReshard(mlir::FunctionOpInterface func,
                       mlir::BlockArgument parameter);

/// True if `value` is a gathered copy of a parameter, or made of one, that does
/// not live on to backward, by what `tg.reshard` and policies say.
bool isReleased(mlir::FunctionOpInterface func, const ParameterChains &chains,
                mlir::Value value);

/// Does what `tg.reshard` says: gives backward its own copy of the chain of
/// each parameter that is released after forward. Does nothing where that has
/// been done before. Emits an error for groups that ranks cannot be cut into.
mlir::FailureOr<Regathers> regatherParameters(mlir::FunctionOpInterface func);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_PARAMETERREGATHERS_H
