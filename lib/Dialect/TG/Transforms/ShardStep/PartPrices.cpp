//===- PartPrices.cpp - What operations on parts cost ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartPrices.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

PartPrices::PartPrices(MLIRContext *context, const DataMesh &mesh,
                       const PlacementCosts &costs)
    : mesh(mesh), costs(costs) {
  OpBuilder builder(context);
  scratch = func::FuncOp::create(builder.getUnknownLoc(), "priced",
                                 builder.getFunctionType({}, {}));
  scratch->addEntryBlock();
}

Value PartPrices::makeValue(Type type) {
  return scratch->getBody().front().addArgument(type, scratch->getLoc());
}

/// The type of the part of a value that is a tensor, or one in flight.
static Type getPartType(Type type, DimCut cut, const DataMesh &mesh) {
  Type local = mesh.getLocalType(getRuledTensor(type), getSplit(cut));
  return isa<FutureType>(type) ? FutureType::get(type.getContext(), local)
                               : local;
}

Value PartPrices::makePart(Value whole, std::optional<DimCut> cut) {
  return makeValue(cut ? getPartType(whole.getType(), *cut, mesh)
                       : whole.getType());
}

double PartPrices::priceBuilt(llvm::function_ref<void(Communication &)> build) {
  Block &block = scratch->getBody().front();
  Communication communication(mesh, block);
  communication.setPlace(
      {OpBuilder::InsertPoint(&block, block.end()), scratch->getLoc(),
       PhaseAttr::get(scratch->getContext(), Phase::Forward), StringAttr()});
  build(communication);
  OperationPrice sum;
  for (Operation &op : block)
    sum += costs.price(&op);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    op.erase();
  block.eraseArguments(0, block.getNumArguments());
  return costs.getUnits(sum);
}

double PartPrices::priceSplit(Operation *op, const ShardingRule &rule,
                              const FactorSplit &split) {
  return priceBuilt([&](Communication &communication) {
    SmallVector<Value> operands;
    for (auto [operand, cut] :
         llvm::zip_equal(op->getOperands(), split.operands))
      operands.push_back(makePart(operand, cut));
    SmallVector<Type> types;
    for (auto [result, cut] :
         llvm::zip_equal(op->getResults(), split.results)) {
      bool isPart = cut && isDescribed(op, rule, result.getResultNumber());
      types.push_back(isPart ? getPartType(result.getType(), *cut, mesh)
                             : result.getType());
    }
    cast<ShardingRuleOpInterface>(op).buildPart(communication.getBuilder(),
                                                operands, types);
  });
}

double PartPrices::priceSoftmax(const Softmax &softmax, DimCut cut) {
  return priceBuilt([&](Communication &communication) {
    NodeOp node = softmax.node;
    SmallVector<Value> parts;
    for (unsigned number : softmax.operands)
      parts.push_back(makePart(node.getOperand(number), cut));
    auto type = cast<RankedTensorType>(node.getResult(0).getType());
    PaddingMask padding(getSplit(cut), type.getDimSize(softmax.dim), mesh,
                        communication);
    buildSoftmax(softmax, parts, padding, mesh.getAxes(Group::Shard),
                 mesh.getSegmentsPerRank(), communication);
  });
}

double PartPrices::priceLookup(const Lookup &lookup, DimCut cut) {
  return priceBuilt([&](Communication &communication) {
    NodeOp node = lookup.node;
    Value table = makePart(node.getOperand(lookup.table), cut);
    Value indices = makePart(node.getOperand(lookup.indices), std::nullopt);
    buildLookup(lookup, table, indices, getSplit(cut), mesh, communication);
  });
}

double PartPrices::priceGradient(const IndexedGradient &gradient, DimCut cut,
                                 ArrayRef<bool> isOperandCut) {
  return priceBuilt([&](Communication &communication) {
    NodeOp node = gradient.node;
    SmallVector<Value> operands;
    for (auto [operand, isCut] :
         llvm::zip_equal(node.getOperands(), isOperandCut))
      operands.push_back(
          makePart(operand, isCut ? std::optional(cut) : std::nullopt));
    buildPart(gradient, operands, getSplit(cut), mesh, communication);
  });
}

std::optional<double> PartPrices::priceConversion(RankedTensorType type,
                                                  const ValueState &from,
                                                  const ValueState &to) {
  auto getKey = [](const ValueState &state) {
    return state.isSplit()     ? state.dim
           : state.isPartial() ? int64_t(-1)
                               : int64_t(-2);
  };
  auto [it, isNew] =
      conversions.try_emplace({type.getAsOpaquePointer(), getKey(from),
                               from.outer, getKey(to), to.outer});
  if (!isNew)
    return it->second;
  int64_t ranks = mesh.getRanks(Group::Shard);
  if (from.isSplit() && to.isSplit() &&
      (from.dim == to.dim || type.getDimSize(from.dim) % ranks != 0 ||
       type.getDimSize(to.dim) % ranks != 0))
    return std::nullopt;
  return it->second = priceBuilt([&](Communication &communication) {
           Value value = makeValue(
               from.isSplit() ? mesh.getLocalType(type, from) : Type(type));
           AxesAttr axes = mesh.getAxes(Group::Shard);
           if (from.isPartial() && to.isWhole())
             communication.reduce(value, Reduction::Sum, axes);
           else if (from.isPartial())
             communication.scatterParts(value, Reduction::Sum, to);
           else if (to.isWhole())
             communication.gatherParts(value, from, type);
           else
             communication.exchange(value, from, to);
         });
}
