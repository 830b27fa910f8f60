//===- Destinations.h - Results in memory of the caller ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_DESTINATIONS_H
#define REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_DESTINATIONS_H

#include "regather/Dialect/Exec/IR/Exec.h"

namespace regather::exec {

/// What became of the results of a program.
struct DestinationResult {
  int64_t numComputed = 0, numCopied = 0;
  bool changed() const { return numComputed + numCopied > 0; }
};

/// Gives each result a destination, but for updates that lie in the donated
/// argument. A result that has a slice of the arena for itself is computed in
/// its destination, another one is copied there at the end.
DestinationResult placeResultsAtCaller(ProgramOp program);

} // namespace regather::exec

#endif // REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_DESTINATIONS_H
