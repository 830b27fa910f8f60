//===- ProgramItems.h - The body of a program as a list ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_PROGRAMITEMS_H
#define REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_PROGRAMITEMS_H

#include "regather/Dialect/Exec/IR/Exec.h"

namespace regather::exec {

/// One thing that a program does.
struct ProgramItem {
  enum class Kind {
    /// An operation of stream 0.
    Compute,
    /// An operation of another stream.
    Start,
    /// A stream waits for what `start` stands for.
    Wait,
    /// Everything else, which keeps its place.
    Barrier
  };

  Kind kind;
  mlir::Operation *op;
  /// Of a wait: the stream that waits.
  uint64_t stream = 0;
  /// Of a wait: the number of the last item that was started on the stream that
  /// it waits for.
  size_t start = 0;
};

/// Items that become a graph, or one item by itself.
struct ItemGroup {
  /// Empty for no graph.
  std::string graph;
  llvm::SmallVector<size_t, 1> items;
};

/// The body of a program without its events. In a new order, other events are
/// needed: `rewrite` makes them as the lowering does, so that what another
/// stream starts comes after all that stream 0 was told before.
class ProgramItems {
public:
  explicit ProgramItems(ProgramOp program);

  llvm::ArrayRef<ProgramItem> get() const { return items; }

  /// Puts the items in the order of the groups, which hold each once. Conflicts
  /// between items keep their order, and a wait comes after its start.
  void rewrite(llvm::ArrayRef<ItemGroup> groups);

private:
  void addRecord(RecordOp record, llvm::ArrayRef<size_t> last);
  void addWait(WaitOp wait);

  ProgramOp program;
  std::vector<ProgramItem> items;
  /// Slices, views, constants and communicators.
  llvm::SmallVector<mlir::Operation *> declarations;
  /// Records that are made anew, with one more than the number of the start
  /// that each stands for; 0 for stream 0, or if there is none.
  llvm::DenseMap<mlir::Operation *, size_t> records;
  llvm::SmallVector<mlir::Operation *> erased;
};

} // namespace regather::exec

#endif // REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_PROGRAMITEMS_H
