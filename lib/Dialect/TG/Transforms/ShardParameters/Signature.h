//===- Signature.h - Arguments and results of a sharded step ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SIGNATURE_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SIGNATURE_H

#include "FlatBuffers.h"

namespace regather::tg::spmd {

/// Where an argument of the sharded step comes from: it is a part of an
/// argument of the captured step, or a buffer that takes the place of the first
/// argument in it.
struct ArgumentSource {
  unsigned argument;
  const FlatBuffer *buffer = nullptr;
};

/// The arguments of the sharded step, in order.
llvm::SmallVector<ArgumentSource>
planArguments(const Step &step, llvm::ArrayRef<FlatBuffer> buffers);

/// A result of the sharded step: a part of a result of the captured step, or
/// the gradient of a buffer that takes the place of the first gradient in it.
struct ResultSource {
  unsigned result;
  mlir::Value value;
  /// Null if the value is whole, or lies as its argument does.
  PlacementAttr placement = {};
  const FlatBuffer *buffer = nullptr;
};

/// Gives the step, whose block has the arguments of `arguments` and returns
/// `results`, their types and attributes. `states` says how the arguments of
/// the captured step are cut. What has no name keeps the one that its number
/// gave it.
void replaceSignature(const Step &step, const DataMesh &mesh,
                      llvm::ArrayRef<ArgumentSource> arguments,
                      llvm::ArrayRef<ValueState> states,
                      llvm::ArrayRef<ResultSource> results);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SIGNATURE_H
