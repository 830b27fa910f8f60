//===- GemmRules.cpp - Sharding rules of GEMMs ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

#include "regather/Dialect/TG/Nodes/GroupedGemmArguments.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::sharding;

/// Sets the factors of lhs [..., m, k], rhs [..., k, n] and of the result [...,
/// m, n], where `...` is the batch; returns those of the result. Partial sums
/// over k are `kind`.
static TensorFactors setGemm(NodeRuleBuilder &b, StringRef lhsName,
                             StringRef rhsName, size_t rank,
                             FactorKind kind = FactorKind::Sum) {
  ArrayRef<int64_t> lhs = b.getShape(lhsName), rhs = b.getShape(rhsName);
  if (lhs.size() != rank || rhs.size() != rank) {
    (void)b.args.fail(lhsName, "must be a matrix");
    return {};
  }
  TensorFactors left = addDims(b.rule, lhs.drop_back());
  TensorFactors right = left, result = left;
  left.push_back(addDim(b.rule, lhs.back(), kind));
  right.back() = left.back();
  right.push_back(addDim(b.rule, rhs.back()));
  result.push_back(right.back());
  b.setOperand(lhsName, left);
  b.setOperand(rhsName, right);
  b.setResult(result);
  return result;
}

template <size_t Rank> static void buildGemm(NodeRuleBuilder &b) {
  setGemm(b, "self", "mat2", Rank);
  b.addLinear({"self"});
  b.addLinear({"mat2"});
}

/// beta * self + alpha * lhs . rhs.
static void buildWithAddend(NodeRuleBuilder &b, StringRef lhs, StringRef rhs,
                            size_t rank) {
  // Every part of a sum over k would hold the addend, which counts once.
  bool isAddendRead = b.args.getFloat("beta", 1) != 0;
  TensorFactors factors = setGemm(
      b, lhs, rhs, rank, isAddendRead ? FactorKind::Whole : FactorKind::Sum);
  if (b.args.hasFailed())
    return;
  b.setBroadcast("self", factors, b.getResultShape());
  if (isAddendRead) {
    b.addLinear({"self", lhs});
    b.addLinear({"self", rhs});
  } else {
    b.addLinear(lhs);
    b.addLinear(rhs);
  }
}

static void buildAddmm(NodeRuleBuilder &b) {
  buildWithAddend(b, "mat1", "mat2", 2);
}

static void buildBaddbmm(NodeRuleBuilder &b) {
  buildWithAddend(b, "batch1", "batch2", 3);
}

static void buildMv(NodeRuleBuilder &b) {
  ArrayRef<int64_t> matrix = b.getShape("self");
  if (matrix.size() != 2)
    return;
  DimFactors row = addDim(b.rule, matrix[0]);
  DimFactors column = addDim(b.rule, matrix[1], FactorKind::Sum);
  b.setOperand("self", {row, column});
  b.setOperand("vec", {column});
  b.setResult({row});
  b.addLinear({"self"});
  b.addLinear({"vec"});
}

static void buildDot(NodeRuleBuilder &b) {
  TensorFactors factors = addDims(b.rule, b.getShape("self"), FactorKind::Sum);
  b.setOperand("self", factors);
  b.setOperand("tensor", factors);
  b.addLinear({"self"});
  b.addLinear({"tensor"});
}

/// Factors of a grouped GEMM, of which some are summed over. Rows are whole, as
/// the ends of groups count all of them, and so are groups.
static void setGrouped(NodeRuleBuilder &b, FactorKind inner, FactorKind outer,
                       FailureOr<nodes::GroupedGemm> gemm) {
  if (failed(gemm))
    return;
  DimFactors row = addDim(b.rule, gemm->rows, FactorKind::Whole);
  DimFactors in = addDim(b.rule, gemm->inner, inner);
  DimFactors out = addDim(b.rule, gemm->outer, outer);
  DimFactors group = addDim(b.rule, gemm->groups, FactorKind::Whole);
  auto order = [](TensorFactors factors, bool isTransposed) {
    if (isTransposed)
      std::swap(factors[factors.size() - 2], factors.back());
    return factors;
  };
  const TensorFactors x = {row, in}, w = {group, in, out}, y = {row, out};
  auto setOperand = [&](const nodes::GroupedOperand &operand,
                        const TensorFactors &factors) {
    for (OpOperand &own : b.args.getNode()->getOpOperands())
      if (operand.tensor && own.get() == operand.tensor)
        b.setOperand(own.getOperandNumber(),
                     order(factors, operand.isTransposed));
  };
  setOperand(gemm->x, x);
  setOperand(gemm->w, w);
  setOperand(gemm->y, y);
  auto setResult = [&](const std::optional<nodes::GroupedResult> &result,
                       const TensorFactors &factors) {
    if (result)
      b.setResult(order(factors, result->isTransposed), result->number);
  };
  setResult(gemm->toX, x);
  setResult(gemm->toW, w);
  setResult(gemm->toY, y);
}

static void buildGroupedMm(NodeRuleBuilder &b) {
  size_t left = b.getShape("self").size(), right = b.getShape("mat2").size();
  if (left == 3 && right == 3)
    return buildGemm<3>(b);
  // The gradient of w sums over rows, the others over inner.
  bool isGradient = left == 2 && right == 2;
  setGrouped(b, isGradient ? FactorKind::Parallel : FactorKind::Sum,
             FactorKind::Parallel, readGroupedGemm(b.args));
  b.addLinear({"self"});
  b.addLinear({"mat2"});
}

static void buildGroupedFallback(NodeRuleBuilder &b) {
  setGrouped(b, FactorKind::Sum, FactorKind::Parallel, readGroupedGemm(b.args));
  b.addLinear({"input"});
  b.addLinear({"weight"});
}

/// The gradient of the input sums over outer, of which that of the weight has
/// parts.
static void buildGroupedFallbackBackward(NodeRuleBuilder &b) {
  setGrouped(b, FactorKind::Parallel, FactorKind::Sum, readGroupedGemm(b.args));
  b.addLinear({"grad_output"});
}

/// Systems of a batch, and columns (or, from the right, rows) of one matrix B,
/// are independent of each other.
static void buildSolveTriangular(NodeRuleBuilder &b) {
  ArrayRef<int64_t> matrix = b.getShape("self"), right = b.getShape("B");
  bool isLeft = b.args.getBool("left", true);
  if (matrix.size() < 2 || matrix.size() != right.size() ||
      matrix.drop_back(2) != right.drop_back(2))
    return;
  TensorFactors factors = addDims(b.rule, right);
  TensorFactors own(factors);
  own[own.size() - 2] = addDim(b.rule, matrix.back(), FactorKind::Whole);
  own.back() = addDim(b.rule, matrix.back(), FactorKind::Whole);
  factors[isLeft ? factors.size() - 2 : factors.size() - 1] =
      addDim(b.rule, matrix.back(), FactorKind::Whole);
  b.setOperand("self", own);
  b.setOperand("B", factors);
  b.setResult(factors);
  b.addLinear({"B"});
}

void regather::tg::sharding::addGemmRules(NodeRuleTable &table) {
  table.add(Operator::AtenAddmm, {buildAddmm});
  table.add(Operator::AtenBaddbmm, {buildBaddbmm});
  table.add(Operator::AtenBmm, {buildGemm<3>});
  table.add(Operator::AtenDot, {buildDot});
  table.add(Operator::AtenGroupedMm, {buildGroupedMm});
  table.add(Operator::AtenLinalgSolveTriangular, {buildSolveTriangular});
  table.add(Operator::AtenMm, {buildGemm<2>});
  table.add(Operator::AtenMv, {buildMv});
  table.add(Operator::TransformersGroupedMmFallback, {buildGroupedFallback});
  table.add(Operator::TransformersGroupedMmFallbackBackward,
            {buildGroupedFallbackBackward});
}
