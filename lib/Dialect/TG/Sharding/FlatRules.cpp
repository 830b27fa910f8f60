//===- FlatRules.cpp - Flat tensors and their members ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A block of the flat tensor has parts of its members, other ones on each rank:
// they stay whole. Elements only move, so sums may be moved while they are
// partial.
//
//===----------------------------------------------------------------------===//

#include "RuleParts.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

namespace {
template <typename OpTy>
struct FlatModel
    : ShardingRuleOpInterface::ExternalModel<FlatModel<OpTy>, OpTy> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = ShardingRule::getWhole(op);
    if (op->getNumOperands() > 0)
      rule.addLinear(llvm::to_vector_of<unsigned>(
          llvm::seq<unsigned>(0, op->getNumOperands())));
    return rule;
  }
  Operation *buildPart(Operation *op, OpBuilder &builder, ValueRange operands,
                       TypeRange resultTypes) const {
    return mlir::clone(builder, op, resultTypes, operands);
  }
};
} // namespace

void regather::tg::sharding::registerFlatModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TGDialect *) {
    FlattenOp::attachInterface<FlatModel<FlattenOp>>(*context);
    UnflattenOp::attachInterface<FlatModel<UnflattenOp>>(*context);
  });
}
