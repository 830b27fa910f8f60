//===- PlacementCosts.cpp - What a cut step costs -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementCosts.h"

#include "llvm/ADT/STLFunctionalExtras.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// About what a GPU computes while its links move a byte.
static constexpr double kFlopsPerByte = 1000;

double PlacementCost::getTotal() const {
  if (seconds > 0)
    return seconds;
  return sentBytes + keptBytes + flops / kFlopsPerByte;
}

OperationPrice &OperationPrice::operator+=(const OperationPrice &other) {
  seconds += other.seconds;
  sentBytes += other.sentBytes;
  flops += other.flops;
  return *this;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool regather::tg::spmd::mayKeepResults(Operation *op) {
  return getPhase(op).value_or(Phase::Forward) == Phase::Forward &&
         !getOpCost(op).view;
}

/// Bytes of values of forward that backward reads.
static double getSavedBytes(Operation &op) {
  double bytes = 0;
  if (!mayKeepResults(&op))
    return 0;
  for (Value result : op.getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (type && llvm::any_of(result.getUsers(), [](Operation *user) {
          return getPhase(user) == Phase::Backward;
        }))
      bytes += getTensorBytes(type);
  }
  return bytes;
}

/// A kernel has about three operations of those that do little with each byte,
/// and what is between them never lies in memory.
static constexpr double kFused = 3, kFlopsPerMovedByte = 16;

double PlacementCosts::countSeconds(Operation *op) const {
  OpCost cost = getOpCost(op);
  bool isFused =
      cost.flops < kFlopsPerMovedByte *
                       static_cast<double>(cost.readBytes + cost.writtenBytes);
  return prices->costs.getComputeSeconds(op) / (isFused ? kFused : 1);
}

OperationPrice PlacementCosts::price(Operation *op) const {
  OperationPrice price;
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    price.sentBytes =
        collective.getReceivedBytes(mesh.countRanks(collective.getAxesAttr()));
    if (prices)
      price.seconds = prices->costs.getCollective(collective).seconds;
  } else if (prices) {
    price.seconds = countSeconds(op);
  }
  price.flops = getOpCost(op).flops;
  return price;
}

double PlacementCosts::getUnits(const OperationPrice &price) const {
  return prices ? price.seconds : price.sentBytes + price.flops / kFlopsPerByte;
}

double PlacementCosts::boundProducts(Operation *op) const {
  auto costed = dyn_cast<CostOpInterface>(op);
  if (!costed || !costed.isLibraryCall())
    return 0;
  double share = 1.0 / static_cast<double>(mesh.shardRanks);
  double flops = share * getOpCost(op).flops;
  if (!prices)
    return getUnits({0, 0, flops});
  // Parts may do so little with each byte that they are counted as fused; then
  // they move so many.
  double moved = prices->costs.getModel().computeSeconds(
      0, flops / kFlopsPerMovedByte, "");
  return std::min(prices->costs.getProductSeconds(op, share), moved / kFused);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

double PlacementCosts::countKeptSeconds(double bytes) const {
  return prices->costs.getModel().computeSeconds(0, 2 * bytes, "");
}

double PlacementCosts::countDataSeconds(double parameterBytes) const {
  const CostModel &model = prices->costs.getModel();
  auto ranks = static_cast<double>(prices->data.ranks);
  double bytes = parameterBytes / ranks * (ranks - 1);
  return 2 * model.collectiveSeconds(CollectiveKind::AllGather, bytes,
                                     prices->data) +
         model.collectiveSeconds(CollectiveKind::ReduceScatter, bytes,
                                 prices->data);
}

PlacementCost PlacementCosts::count(func::FuncOp func) const {
  PlacementCost cost;
  double parameterBytes = 0;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[i]);
    if (!type)
      continue;
    auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
    bool isParameter = role && role.getKind() == RoleKind::Parameter;
    double bytes = folded.countArgument(i) * getTensorBytes(type);
    cost.keptBytes += (isParameter ? kKeptPerParameter : 1) * bytes;
    parameterBytes += isParameter ? bytes : 0;
  }
  for (Operation &op : func.getBody().front()) {
    double times = folded.countOperation(&op);
    OperationPrice one = price(&op);
    cost.sentBytes += times * one.sentBytes;
    cost.seconds += times * one.seconds;
    cost.flops += times * one.flops;
    cost.keptBytes += times * getSavedBytes(op);
  }
  if (!prices)
    return cost;
  cost.seconds += countKeptSeconds(cost.keptBytes);
  // They run beside the step, but for what is first and last in it.
  double dataSeconds = countDataSeconds(parameterBytes);
  cost.seconds =
      std::max(cost.seconds, dataSeconds) + kExposedData * dataSeconds;
  return cost;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// Below a function that is concave, or straight, between its ends and `knots`.
static LinearBound boundBelow(llvm::function_ref<double(double)> function,
                              double least, double most,
                              ArrayRef<double> knots) {
  LinearBound bound;
  double first = function(least), last = function(most);
  if (most > least)
    bound.slope = (last - first) / (most - least);
  bound.offset =
      std::min(first - bound.slope * least, last - bound.slope * most);
  for (double knot : knots)
    if (knot > least && knot < most)
      bound.offset =
          std::min(bound.offset, function(knot) - bound.slope * knot);
  return bound;
}

LinearBound PlacementCosts::boundKept(double least, double most) const {
  if (!prices)
    return {0, 1};
  std::vector<double> knots;
  for (const MeasuredWork &work :
       prices->costs.getModel().getCluster().device.measured)
    for (auto [bytes, seconds] : work.points)
      knots.push_back(bytes / 2);
  return boundBelow([&](double bytes) { return countKeptSeconds(bytes); },
                    least, most, knots);
}

LinearBound PlacementCosts::boundData(double least, double most) const {
  if (!prices || prices->data.ranks < 2)
    return {0, 0};
  // Without a table, each protocol of each algorithm takes a time that is
  // straight in the bytes, and the least of these is concave.
  auto ranks = static_cast<double>(prices->data.ranks);
  std::vector<double> knots;
  for (const MeasuredTable &table :
       prices->costs.getModel().getCluster().measured)
    for (auto [bytes, seconds] : table.points)
      knots.push_back(bytes * ranks / (ranks - 1));
  return boundBelow([&](double bytes) { return countDataSeconds(bytes); },
                    least, most, knots);
}
