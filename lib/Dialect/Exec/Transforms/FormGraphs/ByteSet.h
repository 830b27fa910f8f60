//===- ByteSet.h - Sets of bytes of a program -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_BYTESET_H
#define REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_BYTESET_H

#include "regather/Dialect/Exec/IR/Exec.h"

#include <map>

namespace regather::exec {

/// Bytes of buffers. Slices with places share the arena; without, each is by
/// itself.
class ByteSet {
public:
  void add(mlir::Value buffer);
  bool overlaps(mlir::Value buffer) const;

private:
  /// The end of each run of bytes, by its beginning; runs do not touch.
  using Runs = std::map<int64_t, int64_t>;
  /// By argument, constant or slice; null stands for the arena, that of the
  /// host with 1.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Runs> spaces;
};

/// What some operations read and write.
class AccessSet {
public:
  void add(StreamOpInterface op);
  /// True if `op` and one of the operations have to keep their order.
  bool conflicts(StreamOpInterface op) const;

private:
  ByteSet reads, writes;
};

} // namespace regather::exec

#endif // REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_BYTESET_H
