//===- PartPrices.h - What operations on parts cost -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the partitioner would insert is built beside the step, priced, and
// thrown away: prices are those of a step that is carried out.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PARTPRICES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PARTPRICES_H

#include "../ShardParameters/Communication.h"
#include "../ShardParameters/FactorSplit.h"
#include "../ShardParameters/SplitLookups.h"
#include "../ShardParameters/SplitSoftmax.h"
#include "PlacementCosts.h"

#include <map>

namespace regather::tg::spmd {

/// A value of which each rank of the axis has a part.
inline ValueState getSplit(DimCut cut) {
  return ValueState::getSplit(Group::Shard, cut);
}

class PartPrices {
public:
  PartPrices(mlir::MLIRContext *context, const DataMesh &mesh,
             const PlacementCosts &costs);

  // Each is in the unit of the total cost, of one operation once.
  double priceSplit(mlir::Operation *op, const ShardingRule &rule,
                    const FactorSplit &split);
  double priceSoftmax(const Softmax &softmax, DimCut cut);
  double priceLookup(const Lookup &lookup, DimCut cut);
  /// Where `isOperandCut` says so, operands are parts as the result is.
  double priceGradient(const IndexedGradient &gradient, DimCut cut,
                       llvm::ArrayRef<bool> isOperandCut);

  /// A collective that makes a value that lies as `from` says lie as `to` says.
  /// Nothing if it takes more than one.
  std::optional<double> priceConversion(mlir::RankedTensorType type,
                                        const ValueState &from,
                                        const ValueState &to);

private:
  /// What `build` inserts; it gets a place to insert at.
  double priceBuilt(llvm::function_ref<void(Communication &)> build);
  /// A value of that type that nothing computes.
  mlir::Value makeValue(mlir::Type type);
  mlir::Value makePart(mlir::Value whole, std::optional<DimCut> cut);

  const DataMesh &mesh;
  const PlacementCosts &costs;
  mlir::OwningOpRef<mlir::func::FuncOp> scratch;
  /// By type, states before and after.
  std::map<std::tuple<const void *, int64_t, int64_t, int64_t, int64_t>,
           std::optional<double>>
      conversions;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PARTPRICES_H
