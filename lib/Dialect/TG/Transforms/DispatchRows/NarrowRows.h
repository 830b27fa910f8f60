//===- NarrowRows.h - Rows before they are widened --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is sent in a wide type is often a cast of something narrower, repeated
// and viewed:
//
//   wide = view(expand(to_copy(narrow)))
//
// The elements are moved as they are and cast where they arrive.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_NARROWROWS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_NARROWROWS_H

#include "../ShardParameters/Communication.h"

namespace regather::tg::spmd {

/// True if ranks can send each other elements of this type: floats of eight
/// bits exist within kernels alone.
bool canTravel(mlir::Type element);

/// The same elements as those of `wide` in the narrower type of floats that
/// they are cast from, made at the current place; null if they are no such
/// casts.
mlir::Value narrowRows(mlir::Value wide, Communication &communication);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_NARROWROWS_H
