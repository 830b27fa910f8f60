//===- KernelGroups.h - Which operations run as one -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations are visited in program order. Each starts as a unit of its own and
// is then merged with the units that produce its operands, those first with
// which it shares most bytes:
//
//   for op in block:
//     unit = {op}, one level above the units that it depends on
//     for producer in units of its operands, by bytes:
//       if phases, rows and sizes fit, and no path leads from the producer to
//           the unit through a third:
//         merge them, and raise the level of what depends on the producer
//
// Then units that read the same values become one, if that lets more bytes go
// than it keeps (KernelReaders.cpp).
//
// A unit has a higher level than those that it depends on, so that the search
// for a path visits only units with levels between the two. It is bounded; what
// it does not find in time counts as found.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELGROUPS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELGROUPS_H

#include "KernelCandidates.h"
#include "regather/Dialect/TG/Transforms/RowSplit.h"

#include "mlir/IR/Block.h"

#include <vector>

namespace regather::tg::kernels {

/// The most that one kernel may have.
struct KernelLimits {
  unsigned ops = 64;
  unsigned operands = 32;
};

/// Operations that run as one.
struct Unit {
  /// Numbers of the operations, in program order once the groups are formed.
  llvm::SmallVector<unsigned, 1> members;
  /// Number of rows into which all members can be split; 0 if they run as a
  /// whole.
  int64_t rows = 0;
  /// Larger than that of all units that this one depends on.
  unsigned level = 0;
  /// At least the number of values that members read from outside.
  unsigned numInputs = 0;
  bool isCheap = false;
  /// Bytes of the largest value that a member reads or computes row by row.
  int64_t largestBytes = 0;
  /// A row of all members can be divided along another dimension.
  bool canDivideRows = false;
  /// Becomes a kernel.
  bool isKernel = false;
};

/// The bytes of a tensor; 0 for other values.
int64_t getBytes(mlir::Value value);

class KernelGroups {
public:
  KernelGroups(mlir::Block &block, KernelLimits limits);

  /// Forms the groups, with a remark for each pair of neighbours that stay
  /// apart.
  void form();

  /// The units in an order in which each comes behind what it depends on, that
  /// is stable with respect to the program, and in which communication and
  /// effects keep their order.
  std::vector<unsigned> getOrder() const;

  const Unit &getUnit(unsigned unit) const { return units[unit]; }
  mlir::Operation *getOp(unsigned op) const { return ops[op]; }
  const RowSplit &getSplit(unsigned op) const { return splits[op]; }

  /// True if kernels make their own copy of what `op` gives.
  bool isRepeated(mlir::Operation *op) const;
  /// True if something outside of `unit` uses `value`.
  bool isUsedOutside(mlir::Value value, unsigned unit) const;
  /// True if a member of `unit` computes `value`.
  bool isInUnit(mlir::Value value, unsigned unit) const {
    std::optional<unsigned> def = getDefinition(value);
    return def && unitOf[*def] == unit;
  }
  /// The number of the operation that defines `value`, if it is in the block.
  std::optional<unsigned> getDefinition(mlir::Value value) const;

private:
  /// Why two units stay apart; null if they do not.
  using Reason = const char *;

  void add(unsigned op);
  llvm::SmallVector<unsigned> getProducers(unsigned op) const;
  void visitDependencies(unsigned op, bool inKernel,
                         llvm::function_ref<void(unsigned)> visit) const;
  /// Fails if there are too many users to visit; `budget` counts down.
  bool visitUsers(unsigned op, unsigned &budget,
                  llvm::function_ref<void(unsigned)> visit) const;

  Reason tryMerge(unsigned producer, unsigned consumer);
  void updateRows(unsigned unit);
  bool keepsRowsDivisible(unsigned producer, unsigned consumer) const;
  bool matchRows(unsigned producer, unsigned consumer);
  bool matchWhole(unsigned producer, unsigned consumer);
  bool areRowsEqual(unsigned producer, unsigned consumer) const;
  bool adaptConsumer(unsigned producer, unsigned consumer);
  bool adaptProducer(unsigned producer, unsigned consumer);
  void visitEdges(
      unsigned producer, unsigned consumer,
      llvm::function_ref<void(mlir::OpResult, unsigned user, unsigned operand)>
          visit) const;
  bool hasDetour(unsigned producer, unsigned consumer) const;
  bool raiseUsers(unsigned producer, unsigned consumer);
  void unite(unsigned producer, unsigned consumer, unsigned numInputs);
  void emitApart(unsigned producer, unsigned op, Reason reason) const;

  void mergeReaders();
  std::optional<unsigned> findEarlierReader(unsigned unit) const;
  bool paysToJoin(unsigned unit, unsigned earlier) const;

  bool isMember(mlir::Operation *op, unsigned unit) const;
  bool leaves(unsigned op) const;
  void eject(unsigned op);
  void ejectLastViews(unsigned unit);
  void ejectFirstViews(unsigned unit);

  mlir::Block &block;
  KernelLimits limits;
  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  std::vector<Candidate> candidates;
  std::vector<RowSplit> splits;
  std::vector<unsigned> unitOf;
  std::vector<Unit> units;
  /// The operation with communication or effects before and behind each such
  /// operation.
  llvm::DenseMap<unsigned, unsigned> previousOrdered, nextOrdered;
  /// Operations from here on have no unit yet.
  unsigned numAdded = 0;
};

} // namespace regather::tg::kernels

#endif // REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELGROUPS_H
