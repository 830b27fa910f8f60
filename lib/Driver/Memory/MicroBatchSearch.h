//===- MicroBatchSearch.h - Into how many parts a batch is cut --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_MEMORY_MICROBATCHSEARCH_H
#define REGATHER_LIB_DRIVER_MEMORY_MICROBATCHSEARCH_H

#include "MemorySearch.h"

namespace regather {

/// Decides about memory with the batch cut into micro-batches, if their number
/// is open, and as it is given otherwise. In pseudocode:
///
///   search with the whole batch
///   for 2, 4 ... micro-batches, until a step fits as it is:
///     measure the step as it is
///   search with the last of them that does not fit so, for any decision with
///     which it does, unless it is too slow even so
///
/// since all that makes a step fit only takes more time than the step as it is.
class MicroBatchSearch {
public:
  /// All outlive it.
  MicroBatchSearch(mlir::ModuleOp module, const StepOptions &given, bool isOpen,
                   const CostModel &model)
      : module(module), given(given), isOpen(isOpen), model(model) {}

  /// See planStepMemory.
  mlir::FailureOr<StepMemoryPlan> run(StepOptions &chosen,
                                      MemorySearchNotes &notes);

private:
  mlir::FailureOr<std::unique_ptr<MemorySearch>>
  search(int64_t parts, const MemorySearchNotes &notes);
  mlir::LogicalResult searchMoreParts();
  mlir::FailureOr<std::vector<int64_t>> listParts();
  double getBestSeconds() const;
  mlir::FailureOr<StepMemoryPlan> emitLeast();

  mlir::ModuleOp module;
  const StepOptions &given;
  bool isOpen;
  const CostModel &model;
  /// Null unless all is to be estimated.
  const ShortSteps *shortSteps = nullptr;
  /// By number of micro-batches, the fewest first.
  std::vector<std::unique_ptr<MemorySearch>> searches;
  /// Why the batch is not cut into more; empty if nothing stands in the way.
  std::string obstacle;
};

} // namespace regather

#endif // REGATHER_LIB_DRIVER_MEMORY_MICROBATCHSEARCH_H
