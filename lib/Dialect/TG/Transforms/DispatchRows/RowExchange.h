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
// These are the rows of a chunk of the batch, or all; ChunkedExchange.h has the
// chunks together.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWEXCHANGE_H
#define REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWEXCHANGE_H

#include "RowNodes.h"

namespace regather::tg::spmd {

/// How many rows and experts there are.
struct ExchangeSizes {
  /// The rows of a chunk that a rank has sorted.
  int64_t rows = 0;
  /// The chunks that a rank's rows are cut into.
  int64_t chunks = 1;
  /// The ranks among which experts are divided, and how many each has.
  int64_t ranks = 0;
  int64_t own = 0;
  /// The rows of a chunk that one rank can send to another.
  int64_t room = 0;
  /// Slots without a row are no number.
  bool isPoisoned = false;

  /// The rows of a chunk that a rank has room for.
  int64_t getSlots() const { return ranks * room; }
};

class RowExchange {
public:
  RowExchange(Communication &communication, AxesAttr axes,
              const ExchangeSizes &sizes)
      : communication(communication), nodes(communication), axes(axes),
        sizes(sizes) {}

  /// Finds out where rows go, at the current place. `ids`: by row, the number
  /// of its expert, in ascending order: [rows] integers. `places`: where these
  /// rows are among all that the rank has sorted, [rows] integers of 64 bits;
  /// null if they are all. Gives by slot the number of its expert among those
  /// of the rank that it is for: [ranks, room].
  mlir::Value plan(mlir::Value ids, mlir::Value places);
  /// Sorts what the rank has received. `ids`: by slot, what `plan` gave on the
  /// rank that has sent it, [slots].
  void receive(mlir::Value ids);

  /// Rows along `dim` in the order of the sort, as the ranks of their experts
  /// have them.
  mlir::Value send(mlir::Value rows, int64_t dim);
  /// `send` of the rows of `batch` whose numbers `numbers` has.
  mlir::Value sendFrom(mlir::Value batch, mlir::Value numbers);
  /// The way back of what is in the order in which slots are sorted: rows by
  /// slot.
  mlir::Value returnSlots(mlir::Value sorted, int64_t dim);

  /// By row, its slot: [rows].
  mlir::Value getSlotOfRow() const { return slotOfRow; }
  /// By slot that is received, its place in the order: [slots].
  mlir::Value getPlaceOfSlot() const { return placeOfSlot; }
  /// What is received, in its order.
  SortedSlots &getReceived() { return received; }
  /// How many rows for one rank are missing at most; not above zero if none
  /// is. An integer of 64 bits.
  mlir::Value getMissing() const { return missing; }

private:
  mlir::Value swap(mlir::Value value, int64_t dim);
  /// What the rank has received, in the order in which it is sorted.
  mlir::Value sort(mlir::Value rows, int64_t dim);

  Communication &communication;
  RowNodes nodes;
  AxesAttr axes;
  ExchangeSizes sizes;
  /// By slot on the way out, the row that it has among all that are sorted:
  /// [slots].
  mlir::Value rowOfSlot;
  mlir::Value slotOfRow, placeOfSlot, missing;
  SortedSlots received;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWEXCHANGE_H
