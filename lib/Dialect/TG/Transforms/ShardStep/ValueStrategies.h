//===- ValueStrategies.h - Forms in which a value exists --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_VALUESTRATEGIES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_VALUESTRATEGIES_H

#include "PartPrices.h"
#include "PlacementProblem.h"

namespace regather::tg::spmd {

/// What a value is converted into, whoever reads it first.
enum class Conversions {
  /// All read it as it is computed.
  None,
  /// Into one other form.
  One,
  /// Into two others that are cut, or more.
  Parts,
  /// Into the whole, of which parts are slices, which cost nothing.
  Whole,
};

/// How a value is computed and converted.
struct ValueStrategy {
  ValueState state;
  Conversions conversions = Conversions::None;
  /// The form of `One`.
  ValueState other;
  // Who may read what. It matters where backward reads what forward has
  // computed: what it reads is kept.
  bool forwardReadsWhole = true;
  bool backwardReadsWhole = true;
  bool backwardReadsOwn = true;
  StrategyCost cost;
};

/// Who reads a value in which form.
struct ValueReader {
  /// Null for what is not one operation, such as the end of the step.
  mlir::Operation *op = nullptr;
  ValueState demand;
};

/// What is known of a value before strategies are listed.
struct ValueUses {
  mlir::Value value;
  /// How it may be computed.
  llvm::SmallVector<ValueState, 4> states;
  /// How it is read.
  llvm::SmallVector<ValueState, 4> demands;
  /// How often what computes it is there, and the least of what reads it.
  double times = 1, readerTimes = 1;
  /// Backward may read what forward computes.
  bool isKept = false;
  /// A partial sum may be scattered where it is computed.
  bool isScattered = false;
};

std::vector<ValueStrategy> listValueStrategies(const ValueUses &uses,
                                               PartPrices &prices,
                                               const DataMesh &mesh);

/// True if what `strategy` makes of a value serves a reader.
bool serves(const ValueStrategy &strategy, const ValueReader &reader,
            bool isKept);

/// True for operations that the partitioner carries out again on the whole of
/// what they read, instead of gathering what they give.
bool isViewedWhole(mlir::Operation *op);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_VALUESTRATEGIES_H
