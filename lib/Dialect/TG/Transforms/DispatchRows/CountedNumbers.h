//===- CountedNumbers.h - Numbers that no data decides ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layers count the same slots and rows. Such numbers are made once for a step,
// at its start: a kernel for each of them in each layer would take longer to
// launch than to run.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_COUNTEDNUMBERS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_COUNTEDNUMBERS_H

#include "RowNodes.h"

#include <map>

namespace regather::tg::spmd {

class CountedNumbers {
public:
  CountedNumbers(Communication &communication, mlir::Block &block)
      : communication(communication), nodes(communication), block(block) {}

  /// first + step * i for each i below `count`: integers of 64 bits.
  mlir::Value get(int64_t first, int64_t step, int64_t count);
  /// The same once for each c below `chunks`, with c * by added to it: [chunks
  /// * count].
  mlir::Value getRepeated(int64_t chunks, int64_t by, int64_t first,
                          int64_t step, int64_t count);

private:
  /// Makes something behind what has been made before.
  mlir::Value make(llvm::function_ref<mlir::Value()> build);

  Communication &communication;
  RowNodes nodes;
  mlir::Block &block;
  mlir::Operation *last = nullptr;
  std::map<std::array<int64_t, 3>, mlir::Value> numbers;
  std::map<std::array<int64_t, 5>, mlir::Value> repeated;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_COUNTEDNUMBERS_H
