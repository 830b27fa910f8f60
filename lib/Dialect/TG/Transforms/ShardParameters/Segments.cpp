//===- Segments.cpp - Operations on one segment of the batch --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Segments.h"

#include "../TreeSums.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

//===----------------------------------------------------------------------===//
// What operations do
//===----------------------------------------------------------------------===//

bool regather::tg::spmd::mayReduce(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.getNumReductionLoops() > 0;
  auto node = dyn_cast<NodeOp>(op);
  if (!node)
    return false;
  switch (getOperatorClass(node.getTarget()).value_or(OperatorClass::Loss)) {
  case OperatorClass::Reduction:
  case OperatorClass::Normalization:
  case OperatorClass::Loss:
  case OperatorClass::Pooling:
  case OperatorClass::Gemm:
  case OperatorClass::Convolution:
  case OperatorClass::Attention:
    return true;
  default:
    return false;
  }
}

bool regather::tg::spmd::dependsOnRows(Operation *op,
                                       const FactorSplit &split) {
  if (!mayReduce(op))
    return false;
  auto node = dyn_cast<NodeOp>(op);
  bool isGemm =
      node && getOperatorClass(node.getTarget()) == OperatorClass::Gemm;
  bool isNarrow = llvm::any_of(op->getOperandTypes(), [](Type type) {
    return getElementTypeOrSelf(type).isBF16();
  });
  if (isGemm)
    return isNarrow;
  bool isInner = llvm::any_of(split.operands, [](std::optional<int64_t> dim) {
    return dim.value_or(0) > 0;
  });
  return isInner || (isNarrow && !node);
}

bool regather::tg::spmd::movesElements(Operation *op) {
  if (auto node = dyn_cast<NodeOp>(op)) {
    std::optional<OperatorClass> kind = getOperatorClass(node.getTarget());
    return kind == OperatorClass::Reshape || kind == OperatorClass::View ||
           kind == OperatorClass::Rearrangement;
  }
  return isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp,
             tensor::ExpandShapeOp, tensor::ConcatOp>(op);
}

bool regather::tg::spmd::widensSum(Operation *op, Value sum) {
  auto node = dyn_cast<NodeOp>(op);
  return node && node.getTarget() == getName(NodeTarget::AtenToCopyDefault) &&
         node.getNumOperands() == 1 && node.getNumResults() == 1 &&
         node.getResult(0).getType() == sum.getType();
}

//===----------------------------------------------------------------------===//
// Operations on segments
//===----------------------------------------------------------------------===//

static Reduction getReduction(FactorKind kind) {
  return kind == FactorKind::Max ? Reduction::Max : Reduction::Sum;
}

SmallVector<Value> regather::tg::spmd::buildOnSegments(
    Operation *op, const ShardingRule &rule, const FactorSplit &split,
    ValueRange operands, TypeRange types, const DataMesh &mesh,
    Communication &communication) {
  FactorKind kind = rule.factors[split.factor].kind;
  auto isReduced = [&](unsigned result) {
    return kind != FactorKind::Parallel && !split.results[result] &&
           isDescribed(op, rule, result);
  };
  bool isBatchReduced =
      llvm::any_of(llvm::seq(0u, op->getNumResults()), isReduced);
  int64_t count = isBatchReduced || dependsOnRows(op, split)
                      ? mesh.getSegmentsPerRank()
                      : 1;
  TreeSums sums = communication.getTreeSums();

  SmallVector<Type> segmentTypes(types);
  for (auto [type, dim] : llvm::zip_equal(segmentTypes, split.results))
    // A collective, which gives a future, is never carried out by segments.
    if (dim && count != 1) {
      auto tensor = cast<RankedTensorType>(type);
      SmallVector<int64_t> shape(tensor.getShape());
      shape[*dim] /= count;
      type = tensor.clone(shape);
    }
  // By result, the parts of those that are cut.
  SmallVector<SmallVector<Value>> parts(op->getNumResults());
  auto makeSegment = [&](int64_t number) {
    SmallVector<Value> cut;
    for (auto [operand, dim] : llvm::zip_equal(operands, split.operands))
      cut.push_back(
          dim ? communication.takeSegment(operand, *dim, number, count)
              : operand);
    Operation *segment = cast<ShardingRuleOpInterface>(op).buildPart(
        communication.getBuilder(), cut, segmentTypes);
    SmallVector<Value> results(segment->getResults());
    for (auto [i, result] : llvm::enumerate(results)) {
      if (split.results[i]) {
        parts[i].push_back(result);
      } else if (isReduced(i) && kind != FactorKind::Max) {
        auto type = cast<RankedTensorType>(result.getType());
        result = communication.castTo(result,
                                      mesh.getSumType(type.getElementType()));
        if (kind == FactorKind::Mean)
          result = sums.divide(result, mesh.segments);
      }
    }
    return results;
  };
  auto combine = [&](SmallVector<Value> low, SmallVector<Value> high) {
    for (unsigned i = 0; i != low.size(); ++i)
      if (isReduced(i))
        low[i] = sums.combine(low[i], high[i], getReduction(kind));
    return low;
  };
  auto results =
      combineTree<SmallVector<Value>>(0, count, makeSegment, combine);
  for (auto [i, dim] : llvm::enumerate(split.results))
    if (dim)
      results[i] = communication.joinSegments(parts[i], *dim);
  return results;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// The divisors of `number` that satisfy `isWanted`, "1, 2 or 4".
static std::string listDivisors(int64_t number,
                                llvm::function_ref<bool(int64_t)> isWanted) {
  SmallVector<int64_t> low, high;
  for (int64_t i = 1; i <= number / i; ++i) {
    if (number % i != 0)
      continue;
    if (isWanted(i))
      low.push_back(i);
    if (number / i != i && isWanted(number / i))
      high.push_back(number / i);
  }
  low.append(high.rbegin(), high.rend());
  std::string text;
  for (auto [i, divisor] : llvm::enumerate(low))
    text += (i == 0                ? ""
             : i + 1 == low.size() ? " or "
                                   : ", ") +
            std::to_string(divisor);
  return text;
}

LogicalResult regather::tg::spmd::verifySegmentRanks(func::FuncOp func,
                                                     const DataMesh &mesh) {
  int64_t segments = mesh.segments;
  if (!holdSubtrees(mesh.dataRanks, segments))
    return func.emitError()
           << "option 'elastic' cuts the batch into " << segments
           << " segments, of which " << mesh.dataRanks
           << " ranks cannot hold equal subtrees; "
           << listDivisors(
                  segments,
                  [&](int64_t ranks) { return holdSubtrees(ranks, segments); })
           << " ranks can";
  if (mesh.replicateRanks == 1 || mesh.shardRanks == 1)
    return success();
  if (mesh.dataAxes.getNames().front() != mesh.replicateAxes.getNames().front())
    return func.emitError()
           << "option 'elastic' expects replicate axis "
           << mesh.replicateAxes.getNames().front()
           << " to stand before shard axis "
           << mesh.shardAxes.getNames().front()
           << " in option 'mesh', so that sums over shards are subtrees";
  if (!holdSubtrees(mesh.replicateRanks, mesh.dataRanks))
    return func.emitError()
           << "option 'elastic' expects a power of two of copies of shards, "
              "got "
           << mesh.replicateRanks;
  return success();
}

LogicalResult regather::tg::spmd::verifySegmentRows(func::FuncOp func,
                                                    const DataMesh &mesh,
                                                    int64_t batch) {
  if (batch % mesh.segments == 0)
    return success();
  InFlightDiagnostic diag = func.emitError();
  diag << "option 'elastic' cuts the batch into " << mesh.segments
       << " segments, which do not divide its " << batch << " rows";
  std::string choices = listDivisors(batch, [&](int64_t count) {
    return holdSubtrees(mesh.dataRanks, count);
  });
  if (choices.empty())
    return diag << ", and no number of segments does that " << mesh.dataRanks
                << " ranks can hold";
  return diag << "; " << choices << " segments do";
}
