//===- ReductionRules.cpp - Rules of reductions, scans and sorts ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

/// Sets self, reduced along `dims`, and returns the factors of results: those
/// of self without these dimensions, or with size 1 there.
static TensorFactors setReduced(NodeRuleBuilder &b, ArrayRef<int64_t> dims,
                                FactorKind kind) {
  ArrayRef<int64_t> shape = b.getShape("self");
  bool keepDims = b.args.getBool("keepdim", false);
  SmallVector<bool> isReduced(shape.size());
  for (int64_t dim : dims)
    if (dim < static_cast<int64_t>(shape.size()))
      isReduced[dim] = true;
  TensorFactors factors, result;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    factors.push_back(
        addDim(b.rule, size, isReduced[dim] ? kind : FactorKind::Parallel));
    if (!isReduced[dim])
      result.push_back(factors.back());
    else if (keepDims)
      result.push_back({});
  }
  b.setOperand("self", factors);
  return result;
}

template <FactorKind Kind, bool IsLinear = false>
static void buildReduction(NodeRuleBuilder &b) {
  auto dims = b.args.getReducedDims("dim", b.getShape("self").size());
  TensorFactors result = setReduced(b, dims, Kind);
  for (unsigned i = 0; i < b.rule.results.size(); ++i)
    b.setResult(result, i);
  if (IsLinear)
    b.addLinear({"self"});
}

/// Results that depend on positions along one dimension; without one, on those
/// among all elements.
static void buildAlongOne(NodeRuleBuilder &b) {
  int64_t rank = b.getShape("self").size();
  SmallVector<int64_t> dims;
  if (b.args.has("dim"))
    dims.push_back(b.args.getDim("dim", rank));
  else
    dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  TensorFactors result = setReduced(b, dims, FactorKind::Whole);
  for (unsigned i = 0; i < b.rule.results.size(); ++i)
    b.setResult(result, i);
}

/// Results that have the dimensions of self and work along one of them, by
/// default the last, where their size may differ: scans and sorts.
static void setAlong(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getShape("self");
  int64_t dim = b.args.getDim("dim", shape.size(), -1);
  TensorFactors factors = addDims(b.rule, shape);
  if (b.args.hasFailed() || shape.empty())
    return;
  factors[dim] = addDim(b.rule, shape[dim], FactorKind::Whole);
  b.setOperand("self", factors);
  for (unsigned i = 0; i < b.rule.results.size(); ++i) {
    ArrayRef<int64_t> resultShape = b.getResultShape(i);
    if (resultShape.size() != shape.size())
      continue;
    TensorFactors result = factors;
    if (resultShape[dim] != shape[dim])
      result[dim] = addDim(b.rule, resultShape[dim], FactorKind::Whole);
    b.setResult(result, i);
  }
}

template <bool IsLinear> static void buildScan(NodeRuleBuilder &b) {
  setAlong(b);
  if (IsLinear)
    b.addLinear({"self"});
}

/// Parts of the elements give parts of the counts.
static void buildHistogram(NodeRuleBuilder &b) {
  b.setOperand("self", addDims(b.rule, b.getShape("self"), FactorKind::Sum));
}

void regather::tg::sharding::addReductionRules(NodeRuleTable &table) {
  table.add({Operator::AtenAll, Operator::AtenAny,
             Operator::AtenLinalgVectorNorm, Operator::AtenLogsumexp,
             Operator::AtenProd, Operator::AtenStd, Operator::AtenStdMean,
             Operator::AtenVar, Operator::AtenVarMean},
            {buildReduction<FactorKind::Whole>});
  table.add(Operator::AtenAmax, {buildReduction<FactorKind::Max>});
  table.add(Target::AtenMaxDefault, {buildReduction<FactorKind::Max>});
  table.add(Operator::AtenAmin, {buildReduction<FactorKind::Min>});
  table.add(Target::AtenMinDefault, {buildReduction<FactorKind::Min>});
  table.add({Operator::AtenArgmax, Operator::AtenArgmin}, {buildAlongOne});
  table.add({Target::AtenMaxDim, Target::AtenMinDim}, {buildAlongOne});
  table.add({Operator::AtenArgsort, Operator::AtenCummax, Operator::AtenCummin,
             Operator::AtenCumprod, Operator::AtenLogcumsumexp,
             Operator::AtenSort, Operator::AtenTopk},
            {buildScan<false>});
  table.add(Operator::AtenCumsum, {buildScan<true>});
  table.add(Operator::AtenHistc, {buildHistogram});
  table.add(Operator::AtenMean,
            {buildReduction<FactorKind::Mean, /*IsLinear=*/true>});
  table.add(Operator::AtenSum,
            {buildReduction<FactorKind::Sum, /*IsLinear=*/true>});
}
