//===- StateUpdates.h - What updates states of the optimizer ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_OFFLOADSTATES_STATEUPDATES_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_OFFLOADSTATES_STATEUPDATES_H

#include "regather/Dialect/TG/Steps/StepGraph.h"

namespace regather::tg::states {

/// A state that can lie on the host.
struct State {
  mlir::BlockArgument argument;
  /// The number of the result that holds its update, and the update.
  unsigned result = 0;
  mlir::OpResult update;
  int64_t bytes = 0;
};

/// States that one operation computes anew.
struct StateUpdate {
  mlir::Operation *op = nullptr;
  llvm::SmallVector<State, 2> states;
  int64_t bytes = 0;
};

/// The updates of states of at least `minBytes`, in the order of the step. A
/// remark for each state that has to stay on the device.
std::vector<StateUpdate> findUpdates(mlir::FunctionOpInterface func,
                                     const StepGraph &graph, int64_t minBytes);

} // namespace regather::tg::states

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_OFFLOADSTATES_STATEUPDATES_H
