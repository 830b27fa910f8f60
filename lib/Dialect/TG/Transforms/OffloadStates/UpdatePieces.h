//===- UpdatePieces.h - Updates with states on the host ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_OFFLOADSTATES_UPDATEPIECES_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_OFFLOADSTATES_UPDATEPIECES_H

#include "StateUpdates.h"

namespace regather::tg::states {

/// Into how many pieces of at most `pieceBytes` bytes of each state the update
/// can be cut: 1 if it has no more, or does not compute each element by itself.
int64_t countPieces(const StateUpdate &update, int64_t pieceBytes);

/// Gives the states of `update` types of the host, and lets the step fetch,
/// update and copy them back in so many pieces. The operation may be gone then.
/// The types of `func` are out of date.
void moveToHost(const StateUpdate &update, int64_t numPieces);

} // namespace regather::tg::states

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_OFFLOADSTATES_UPDATEPIECES_H
