//===- Partitioner.h - Carry out a step on parts of its values --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Every value of the step is in one of three states: whole on every rank, cut
// along one dimension, or partial. The partitioner walks the operations once
// and, for each of them, asks its sharding rule what it can do with operands in
// the states that they are in:
//
//   for each operation, in order:
//     if one of its factors is cut in an operand, and can be:
//       convert the operands: those that have the factor are cut along it,
//         the others are whole
//       rebuild the operation on the parts
//       results are cut along the factor, or partial if they do not have it
//     else if it is linear in operands that are partial:
//       the others become whole; the results are partial
//     else all operands become whole, and so are the results
//
// Each step is exact for any rule that is true. No conversion is made twice.
// Which factor of several is cut, a goal decides: see FactorGoal.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_PARTITIONER_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_PARTITIONER_H

#include "Communication.h"
#include "FactorSplit.h"
#include "OwnExperts.h"
#include "SortedRows.h"

#include "llvm/ADT/SetVector.h"

#include <functional>

namespace regather::tg::spmd {

/// One form in which a value exists.
struct ValueVersion {
  ValueState state;
  /// A sum of an elastic step may have a wider type of elements.
  mlir::Value local;
  /// The elements behind the end of an uneven cut are known to be zero; see
  /// Padding.h.
  bool zeroPadding = false;
  /// It is a parameter that somebody has placed, or made of such ones alone:
  /// what it is combined with moves, not it.
  bool isStationary = false;
};

/// Which factor an operation is cut along if its operands leave a choice.
enum class FactorGoal {
  /// That of the operands with most bytes, which then stay where they are.
  MostBytes,
  /// That of a stationary operand, and then that for which least is sent.
  LeastCommunication,
};

/// Makes an argument, whose placement is open, one that is cut along a
/// dimension. Returns the rank's part, or null if it is not to be cut.
using CutArgumentFn = std::function<mlir::Value(mlir::BlockArgument, int64_t)>;

/// How a value, or what is made of it element by element, leaves the step;
/// nothing if it does not.
using WantedStateFn = std::function<std::optional<ValueState>(mlir::Value)>;

class Partitioner {
public:
  /// `passName` is the category of remarks; none are made if it is empty.
  Partitioner(mlir::Block &block, const DataMesh &mesh,
              FactorGoal goal = FactorGoal::MostBytes,
              llvm::StringRef passName = "tg-shard-parameters");

  /// Says in which state `value` is computed. Its uses see `local` from now
  /// on, converted as they need it.
  void define(mlir::Value value, const ValueVersion &version);
  /// All forms in which `value` exists from now on; uses see the first.
  void define(mlir::Value value, llvm::ArrayRef<ValueVersion> versions);
  /// Adds another form; uses outside of the optimizer, inside of it, or both,
  /// see the value in this state from now on.
  void addVersion(mlir::Value value, const ValueVersion &version,
                  bool outsideOptimizer, bool insideOptimizer);
  /// From now on `cut` is asked where a part of a whole argument is wanted.
  void setCutArgument(CutArgumentFn cut) { cutArgument = std::move(cut); }
  /// From now on `state` is asked how what becomes a result of the step lies.
  void setWantedState(WantedStateFn state) { wantedState = std::move(state); }
  /// From now on ranks that have parts of the experts get the matrices of all.
  void gatherExperts() { gathersExperts = true; }
  /// The operation is not needed any more: its results were defined.
  void markReplaced(mlir::Operation *op) { replaced.insert(op); }

  /// The state in which `value` was computed.
  ValueState getState(mlir::Value value) const;
  /// The value in this state, inserted at the current place of
  /// `getCommunication()` if it does not exist yet.
  ValueVersion getVersion(mlir::Value value, const ValueState &state);
  mlir::Value getAs(mlir::Value value, const ValueState &state) {
    return getVersion(value, state).local;
  }
  /// The same, with zeros behind the end of an uneven cut.
  ValueVersion getZeroPadded(mlir::Value value, const ValueState &state);
  /// The same, with any number there, for one use.
  ValueVersion getPadded(mlir::Value value, const ValueState &state,
                         double number);

  /// Carries out `op` on parts, if possible.
  void process(mlir::Operation *op);
  /// Erases what has been replaced and is not used any more.
  void eraseReplaced();

  Communication &getCommunication() { return communication; }

  int64_t numSplit = 0;
  int64_t numKeptWhole = 0;

private:
  /// All forms of one value; the first is the one that was computed.
  struct Entry {
    llvm::SmallVector<ValueVersion, 2> versions;
    unsigned outsideOptimizer = 0;
    unsigned insideOptimizer = 0;
  };

  Entry &getEntry(mlir::Value value);
  /// Adds a form that all uses see from now on.
  void prefer(mlir::Value value, const ValueVersion &version);
  const ValueVersion *findVersion(const Entry &entry,
                                  const ValueState &state) const;
  /// The form in which an operation of this phase sees `value`.
  ValueVersion seenBy(mlir::Operation *op, mlir::Value value) const;

  ValueVersion convert(mlir::Value value, const ValueState &state);
  ValueVersion makeWhole(const ValueVersion &from, mlir::Value value);
  ValueVersion scatterPartial(const ValueVersion &from, mlir::Value value,
                              const ValueState &state);
  /// Gathers what a value is a view of, and views it again: other views of it
  /// need no collective of their own. Null if it is no such view.
  mlir::Value viewWhole(mlir::Value value, const ValueVersion &from);
  /// Cuts a whole value elsewhere: each rank sends all others their parts.
  mlir::Value exchange(const ValueVersion &from, mlir::Value value,
                       const ValueState &state);
  /// Bytes that a rank sends to have an operand in this state.
  int64_t getConversionBytes(mlir::Value value, const ValueVersion &seen,
                             const ValueState &state) const;
  /// The same for all operands, and for a sum that is left to be done.
  int64_t getCommunication(mlir::Operation *op, const ShardingRule &rule,
                           const FactorSplit &split, Group group,
                           llvm::ArrayRef<ValueVersion> operands) const;
  /// Computes the part of a whole value that was made from nothing alone, or
  /// from arguments that can be cut.
  /// It is stationary if it is made of arguments alone that were cut. Nothing
  /// if that cannot be.
  std::optional<ValueVersion> rebuildPart(mlir::Value value,
                                          const ValueState &state);

  /// How a value is cut in the forms from which a factor may be chosen.
  llvm::SmallVector<ValueState, 2> listCuts(mlir::Value value,
                                            const ValueVersion &seen) const;
  /// How good it is to cut an operation so; the larger, the better.
  std::pair<int64_t, int64_t>
  rankSplit(mlir::Operation *op, const ShardingRule &rule,
            const FactorSplit &split, Group group,
            llvm::ArrayRef<ValueVersion> operands) const;
  std::optional<std::pair<FactorSplit, Group>>
  chooseFactor(mlir::Operation *op, const ShardingRule &rule,
               llvm::ArrayRef<ValueVersion> operands);
  std::optional<llvm::SmallBitVector>
  choosePartial(mlir::Operation *op, const ShardingRule &rule,
                llvm::ArrayRef<ValueVersion> operands);
  void buildSplit(mlir::Operation *op, const ShardingRule &rule,
                  const FactorSplit &split, Group group);
  /// Replaces padding that an operation has filled.
  void clearPadding(mlir::Operation *op);
  void scatterLikeOperands(mlir::Operation *op, const ShardingRule &rule,
                           Group group);
  void keepPartial(mlir::Operation *op, const llvm::SmallBitVector &partial,
                   llvm::ArrayRef<ValueVersion> operands);
  void keepWidePartial(mlir::Operation *op, const llvm::SmallBitVector &partial,
                       ValueState state, mlir::Type element);
  void keepWhole(mlir::Operation *op, llvm::ArrayRef<ValueVersion> operands);
  void makeCapturedWhole(mlir::Operation *op);

  // Each carries out an operation on parts of a dimension that its rule needs
  // whole, if it is one of which that is known.
  /// A softmax, with reductions of what rows share.
  bool divideSoftmax(mlir::Operation *op,
                     llvm::ArrayRef<ValueVersion> operands);
  /// A lookup in parts of a table; a partial sum.
  bool divideLookup(mlir::Operation *op, llvm::ArrayRef<ValueVersion> operands);
  /// A number that is written into zeros, of which ranks have parts.
  bool divideScatter(mlir::Operation *op,
                     llvm::ArrayRef<ValueVersion> operands);
  /// The gradient of a table that lies in parts.
  bool buildWantedGradient(mlir::Operation *op);
  /// What each rank computes of rows that it has sorted by itself.
  bool divideSorted(mlir::Operation *op);
  /// How the rows of a sort are cut in the order of the batch; null if all of
  /// them are sorted together. The first operation on them decides.
  const ValueState *startSorted(mlir::Operation *op, const SortedOp &sorted);
  /// Elements as those of `filled`, which are all equal, in another shape.
  mlir::Value fillPart(mlir::Value filled, mlir::RankedTensorType type);
  /// What each rank computes of the rows that go to its experts.
  bool divideExperts(mlir::Operation *op, const SortedOp &planned);
  /// Null if experts are not cut, or if something stands in the way.
  OwnRows *startExperts(unsigned sort);
  /// Ids that count from the rank's first expert.
  mlir::Value getOwnIds(OwnRows &rows, mlir::Value ids);
  void sortOwnRows(mlir::Operation *op, unsigned sort, OwnRows &rows);
  void countOwnRows(mlir::Operation *op, OwnRows &rows, mlir::Value ids);
  void addOwnRows(mlir::Operation *op, unsigned addedTo);
  void remarkDivided(mlir::Operation *op, llvm::StringRef how);

  const DataMesh &mesh;
  mlir::Block &block;
  FactorGoal goal;
  llvm::StringRef passName;
  bool gathersExperts = false;
  CutArgumentFn cutArgument;
  WantedStateFn wantedState;
  Communication communication;
  SortedRows sortedRows;
  /// By sort, see `startSorted`; whole if all rows are sorted together.
  llvm::DenseMap<unsigned, ValueState> sortedBatches;
  /// By sort, see `startExperts`.
  llvm::DenseMap<unsigned, std::unique_ptr<OwnRows>> ownRows;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  std::vector<Entry> entries;
  llvm::DenseSet<mlir::Operation *> replaced;
  /// Erased at the end if nothing uses them any more.
  llvm::DenseSet<mlir::Operation *> rebuilt;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_PARTITIONER_H
