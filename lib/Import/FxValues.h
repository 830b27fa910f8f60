//===- FxValues.h - Results of the nodes imported so far --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_IMPORT_FXVALUES_H
#define REGATHER_LIB_IMPORT_FXVALUES_H

#include "FxFile.h"

#include "mlir/IR/Value.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace regather::fx {

/// One output of one node, by number.
using Output = std::pair<size_t, unsigned>;

/// What `{"node": "mm_3", "output": 0}` stands for. Nodes are numbered in file
/// order, and a node sees only those before it.
class FxValues {
public:
  explicit FxValues(FxFile &file) : file(file) {}

  /// Numbers the nodes; checks that their names are unique.
  llvm::LogicalResult number(llvm::ArrayRef<JsonValue> nodes);
  /// The number of the node called `name`.
  std::optional<size_t> lookup(llvm::StringRef name) const;

  /// The results of node `node`. A node that is never defined had an error:
  /// its users fail without another message.
  void define(size_t node, mlir::ValueRange results);
  /// The same for a collective, whose data is in flight in `future`.
  void defineInFlight(size_t node, mlir::Value future, unsigned numOutputs);
  /// The same for a wait; `results` are all tensors of the future, of which
  /// output `source` becomes the result of the wait.
  void defineWait(size_t node, Output source, mlir::ValueRange results);

  /// The output that a reference in node `user` names. Reports unknown and
  /// later nodes, and output numbers out of range.
  llvm::FailureOr<Output> find(const JsonValue &reference, size_t user);
  /// Its value. Reports data that is still in flight.
  llvm::FailureOr<mlir::Value> resolve(const JsonValue &reference, size_t user);

  llvm::StringRef getName(size_t node) const { return nodes[node].name; }
  /// The future of a collective; null for any other node.
  mlir::Value getFuture(size_t node) const { return nodes[node].future; }
  /// The results of the `tg.wait` that was made for a collective, if any. One
  /// serves all outputs, each of which has waits of its own in the file.
  mlir::ValueRange getArrived(size_t collective) const;

private:
  struct Node {
    llvm::StringRef name;
    bool defined = false;
    unsigned numOutputs = 0;
    /// Where its results begin in `values`; unset for data in flight.
    std::optional<size_t> first;
    mlir::Value future;
  };

  FxFile &file;
  llvm::SmallVector<Node, 0> nodes;
  llvm::SmallVector<mlir::Value, 0> values;
  llvm::StringMap<size_t> numbers;
  /// What has been waited for.
  llvm::DenseSet<Output> arrived;
};

} // namespace regather::fx

#endif // REGATHER_LIB_IMPORT_FXVALUES_H
