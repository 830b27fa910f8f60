//===- OffloadCandidates.h - What can live on the host ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_OFFLOAD_OFFLOADCANDIDATES_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_OFFLOAD_OFFLOADCANDIDATES_H

#include "regather/Dialect/TG/Steps/StepGraph.h"

namespace regather::tg::offload {

/// A value of forward that backward reads, itself or views of it.
struct OffloadCandidate {
  mlir::OpResult value;
  int64_t bytes = 0;
  /// Numbers of the last operation of forward and of the first one of backward
  /// that read it. What computes it counts as a reader.
  unsigned lastForward = 0, firstBackward = 0;
};

/// What values are views of.
class Views {
public:
  explicit Views(const StepGraph &graph);

  /// The value that `value` is a view of, through any number of views; `value`
  /// itself if it is none.
  mlir::Value getRoot(mlir::Value value) const {
    mlir::Value root = roots.lookup(value);
    return root ? root : value;
  }

private:
  llvm::DenseMap<mlir::Value, mlir::Value> roots;
};

/// Candidates of at least `minBytes`, in the order of the step. What the next
/// operation reads again is none. Linear.
std::vector<OffloadCandidate>
findCandidates(const StepGraph &graph, const Views &views, int64_t minBytes);

} // namespace regather::tg::offload

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_OFFLOAD_OFFLOADCANDIDATES_H
