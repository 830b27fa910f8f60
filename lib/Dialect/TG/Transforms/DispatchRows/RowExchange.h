//===- RowExchange.h - Rows on the ranks of their experts -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank has sorted the rows of its own batch by expert, and has the
// matrices of some of the experts. It sends each rank the rows of that rank's
// experts, as many as there is room for, sorts what it receives by expert, and
// sends results back the same way:
//
//   starts[r] = rows of experts before rank r's first
//   slots[r, c] = starts[r] + c          the row that is c-th of those for r
//   sent = all_to_all(rows[slots])       [ranks * room, ...]
//   order = sort(experts of sent)        empty slots come last
//   ...                                  what is computed, in this order
//   back = all_to_all(result[inverse of order])
//   rows' = back[place of each row]
//
// A slot without a row has that of another one, behind the last end: nobody
// multiplies it, and it is zero where rows are summed over. A row without a
// slot is missing, and the step has to be carried out with more room.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWEXCHANGE_H
#define REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWEXCHANGE_H

#include "../ShardParameters/PartNodes.h"

namespace regather::tg::spmd {

/// How many rows and experts there are.
struct ExchangeSizes {
  /// The rows that a rank has sorted.
  int64_t rows = 0;
  /// The ranks among which experts are divided, and how many each has.
  int64_t ranks = 0;
  int64_t own = 0;
  /// The rows that one rank can send to another.
  int64_t room = 0;
  /// Slots without a row are no number.
  bool isPoisoned = false;

  /// The rows that a rank has room for.
  int64_t getSlots() const { return ranks * room; }
};

class RowExchange {
public:
  RowExchange(Communication &communication, AxesAttr axes,
              const ExchangeSizes &sizes)
      : communication(communication), nodes(communication), axes(axes),
        sizes(sizes) {}

  /// Finds out where rows go, at the current place. `ids`: by row, the number
  /// of its expert, in ascending order: [rows] integers.
  void start(mlir::Value ids);

  /// Rows along `dim` in the order of the sort, as the ranks of their experts
  /// have them.
  mlir::Value send(mlir::Value rows, int64_t dim);
  /// `send` of the rows of `batch` whose numbers `numbers` has.
  mlir::Value sendFrom(mlir::Value batch, mlir::Value numbers);
  /// The way back: rows by slot, and of these the rows in the order of the
  /// sort, or the slots of rows by number.
  mlir::Value returnSlots(mlir::Value slots, int64_t dim);
  mlir::Value readSlots(mlir::Value returned, int64_t dim);
  mlir::Value findSlots(mlir::Value numbers);

  /// Behind the last slot of each of the rank's experts: [own] of this type.
  mlir::Value getEnds(mlir::Type element);
  /// True for slots with a row: [slots].
  mlir::Value getMask() const { return mask; }
  /// How many rows for one rank are missing at most; not above zero if none
  /// is. An integer of 64 bits.
  mlir::Value getMissing() const { return missing; }
  const ExchangeSizes &getSizes() const { return sizes; }

private:
  mlir::Value select(mlir::Value value, int64_t dim, mlir::Value indices);
  mlir::Value swap(mlir::Value value, int64_t dim);
  /// What the rank has received, in the order in which it is sorted.
  mlir::Value sort(mlir::Value received, int64_t dim);
  /// For each of `numbers`, how many of `keys`, in ascending order, are less.
  mlir::Value countBelow(mlir::Value keys, mlir::Value numbers);
  mlir::Value shift(mlir::Value numbers, int64_t by);

  Communication &communication;
  PartNodes nodes;
  AxesAttr axes;
  ExchangeSizes sizes;
  /// By slot on the way out, the row that it has: [slots].
  mlir::Value rowOfSlot;
  /// By row, its slot: [rows].
  mlir::Value slotOfRow;
  /// The order in which received slots are sorted, and back: [slots].
  mlir::Value order, inverse;
  /// The number of the expert among the rank's own, in this order: [slots].
  mlir::Value ids;
  mlir::Value mask, missing;
  llvm::DenseMap<mlir::Type, mlir::Value> ends;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWEXCHANGE_H
