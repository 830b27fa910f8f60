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
// The rows of a rank may be cut into equal chunks along its batch, each of
// which is sent by itself, so that experts compute one while another one
// travels:
//
//   chunk[p] = order[p] / (rows / chunks)     order: of the rank's sort
//   places = sort(chunk[p] * rows + p)        chunk by chunk, each in the
//                                             order of its experts
//
// What is found out about rows and slots is found out for all chunks at once,
// and ranks tell each other the experts of all at once: they are known long
// before rows have come.
//
// Where rows are summed over, those of all chunks are put in the order that
// they have without chunks: by expert, then by the rank that has sent them,
// then by chunk. So a sum has the same terms in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWEXCHANGE_H
#define REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWEXCHANGE_H

#include "CountedNumbers.h"

namespace regather::tg::spmd {

/// How many rows and experts there are.
struct ExchangeSizes {
  /// The equal parts that a rank's rows are cut into, and the rows of one.
  int64_t chunks = 1;
  int64_t rows = 0;
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
  RowExchange(Communication &communication, CountedNumbers &counted,
              AxesAttr axes, const ExchangeSizes &sizes)
      : communication(communication), counted(counted), nodes(communication),
        axes(axes), sizes(sizes) {}

  /// Finds out where rows go, at the current place. `ids`: by row, the number
  /// of its expert, in ascending order, and `numbers`, its own in the batch:
  /// [chunks * rows] integers.
  void start(mlir::Value ids, mlir::Value numbers);

  const ExchangeSizes &getSizes() const { return sizes; }
  unsigned getNumChunks() const { return static_cast<unsigned>(sizes.chunks); }
  /// The number that stands for the rows of all chunks together: that of the
  /// only chunk, or the number of chunks.
  unsigned getAll() const { return sizes.chunks == 1 ? 0 : getNumChunks(); }
  /// The rows that a rank has room for, of a chunk or of all.
  int64_t countSlots(unsigned chunk) const;

  /// Rows along `dim` in the order of the sort, those of a chunk as the ranks
  /// of their experts have them.
  mlir::Value send(mlir::Value rows, int64_t dim, unsigned chunk);
  /// `send` of the rows of `batch` whose numbers `numbers` has.
  mlir::Value sendFrom(mlir::Value batch, mlir::Value numbers, unsigned chunk);
  /// Rows of each chunk, put in the order of all.
  mlir::Value merge(mlir::ValueRange sorted, int64_t dim);
  /// The way back: rows of each chunk, by slot of all, and of these the rows in
  /// the order of the sort, or the slots of rows by number.
  mlir::Value returnSlots(mlir::ValueRange sorted, int64_t dim);
  mlir::Value readSlots(mlir::Value returned, int64_t dim);
  mlir::Value findSlots(mlir::Value numbers);

  /// Behind the last slot of each of the rank's experts, of a chunk or of all:
  /// [own] of this type.
  mlir::Value getEnds(unsigned chunk, mlir::Type element);
  /// True for slots with a row, of a chunk or of all.
  mlir::Value getMask(unsigned chunk);
  /// How many rows of a chunk for one rank are missing at most; not above zero
  /// if none is. An integer of 64 bits.
  mlir::Value getMissing() const { return missing; }

private:
  void findChunks(mlir::Value numbers);
  /// Gives by slot the number of its expert among those of the rank that it is
  /// for: [chunks, ranks, room], or [ranks, room] of one chunk.
  mlir::Value planSlots(mlir::Value ids);
  void receive(mlir::Value sentIds);
  /// Sorts what has been received of all chunks, if that has not been done.
  void receiveAll();
  /// Numbers of each chunk, [chunks * n], with c * by added to those of chunk
  /// c, or taken away.
  mlir::Value combineByChunk(NodeTarget target, mlir::Value numbers,
                             int64_t by);
  mlir::Value addByChunk(mlir::Value numbers, int64_t by);
  mlir::Value subtractByChunk(mlir::Value numbers, int64_t by);
  /// Those of one chunk.
  mlir::Value takeChunk(mlir::Value numbers, unsigned chunk);
  mlir::Value swap(mlir::Value value, int64_t dim);
  /// What the rank has received, in the order in which it is sorted.
  mlir::Value sort(mlir::Value received, int64_t dim, unsigned chunk);

  Communication &communication;
  CountedNumbers &counted;
  RowNodes nodes;
  AxesAttr axes;
  ExchangeSizes sizes;
  /// Chunk by chunk, where its rows are in the order of the rank's sort; null
  /// for one chunk: [chunks * rows].
  mlir::Value places;
  /// By slot on the way out, chunk by chunk, the row that it has in the order
  /// of the rank's sort: [chunks * slots]. By such row, its slot: [chunks *
  /// rows].
  mlir::Value rowOfSlot, slotOfRow;
  /// What has come, by sender, then by chunk: [ranks * chunks * room].
  mlir::Value receivedIds;
  /// The order in which the slots of each chunk are sorted, and back, and the
  /// number of the expert among the rank's own, in this order: [chunks *
  /// slots].
  mlir::Value order, inverse, ids;
  /// `inverse`, with those of earlier chunks in front: [chunks * slots].
  mlir::Value placeOfSlot;
  mlir::Value mask, missing;
  /// The same of the slots of all chunks, and where they are behind each other
  /// in the orders of the chunks.
  mlir::Value allIds, allMask, merged;
  /// By type: [chunks * own], and for all: [own].
  llvm::DenseMap<mlir::Type, mlir::Value> ends, allEnds;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWEXCHANGE_H
