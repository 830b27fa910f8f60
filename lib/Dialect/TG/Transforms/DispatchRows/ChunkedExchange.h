//===- ChunkedExchange.h - Rows that are sent in chunks ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a rank are cut into equal chunks along its batch, and each chunk
// is exchanged by itself (RowExchange.h), so that experts compute one while
// another one travels:
//
//   chunk[p] = order[p] / (rows / chunks)     order: of the rank's sort
//   places = sort(chunk[p] * rows + p)        chunk by chunk, each in the
//                                             order of its experts
//
// Ranks tell each other the experts of all chunks at once; they know them long
// before the rows have come.
//
// Where rows are summed over, those of all chunks are put in the order that
// they have without chunks: by expert, then by the rank that has sent them,
// then by chunk. So a sum has the same terms in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_CHUNKEDEXCHANGE_H
#define REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_CHUNKEDEXCHANGE_H

#include "RowExchange.h"

namespace regather::tg::spmd {

/// The exchanges of all chunks.
class ChunkedExchange {
public:
  ChunkedExchange(Communication &communication, AxesAttr axes,
                  const ExchangeSizes &sizes);

  /// Finds out where rows go, at the current place. `ids`: by row, the number
  /// of its expert, in ascending order, and `order`, the row's number in the
  /// batch: [rows] integers of all chunks.
  void start(mlir::Value ids, mlir::Value order);

  const ExchangeSizes &getSizes() const { return sizes; }
  unsigned getNumChunks() const { return chunks.size(); }
  /// The number that stands for the rows of all chunks together.
  unsigned getAll() const { return chunks.size() == 1 ? 0 : chunks.size(); }
  RowExchange &getChunk(unsigned number) { return chunks[number]; }
  const RowExchange &getChunk(unsigned number) const { return chunks[number]; }

  /// The rows that a rank has room for, of a chunk or of all.
  int64_t getSlots(unsigned number) const;
  /// What is received, of a chunk or of all.
  mlir::Value getEnds(unsigned number, mlir::Type element);
  mlir::Value getMask(unsigned number);
  /// Rows of each chunk, put in the order of all.
  mlir::Value merge(mlir::ValueRange sorted, int64_t dim);

  /// The way back: rows of each chunk, by slot of all; of these the rows in the
  /// order of the rank's sort; and the slots of rows by number.
  mlir::Value returnSlots(mlir::ValueRange sorted, int64_t dim);
  mlir::Value readSlots(mlir::Value returned, int64_t dim);
  mlir::Value findSlots(mlir::Value numbers);

private:
  void startChunks(mlir::Value ids, mlir::Value order);
  mlir::Value concatenate(mlir::ValueRange parts, int64_t dim);
  SortedSlots &getReceived(unsigned number);

  Communication &communication;
  RowNodes nodes;
  AxesAttr axes;
  ExchangeSizes sizes;
  llvm::SmallVector<RowExchange> chunks;
  /// By row in the order of the rank's sort, its slot, those of later chunks
  /// behind those of earlier ones: [rows].
  mlir::Value slotOfRow;
  /// By sender, chunk and column, the number of the expert among the rank's:
  /// [slots of all].
  mlir::Value receivedIds;
  /// Of all chunks; sorted when somebody asks.
  std::optional<SortedSlots> all;
  /// By place in the order of all, the place behind those of earlier chunks:
  /// [slots of all].
  mlir::Value merged;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_CHUNKEDEXCHANGE_H
