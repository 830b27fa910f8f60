//===- TGNodeCost.cpp - Costs of nodes ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of operators says which formula counts the work of a node.
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/RowShare.h"
#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

using namespace mlir;
using namespace regather::tg;

static CostClass getCostClass(NodeOp node) {
  std::optional<NodeOperator> op = findNodeOperator(node.getTarget());
  return op ? getInfo(*op).cost : CostClass::Elements;
}

static RankedTensorType getTensorOperand(NodeOp node, unsigned i) {
  if (i >= node.getNumOperands())
    return nullptr;
  return dyn_cast<RankedTensorType>(node.getOperand(i).getType());
}

static double getNumElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? static_cast<double>(tensor.getNumElements()) : 0.0;
}

/// Multiply-adds of a GEMM count two; `lhs` is the operand whose
/// last dimension is summed over.
static double getMatmulFlops(NodeOp node, unsigned lhs) {
  RankedTensorType type = getTensorOperand(node, lhs);
  if (!type || type.getRank() == 0 || node.getNumResults() == 0)
    return 0;
  return 2.0 * getNumElements(node.getResult(0).getType()) *
         type.getShape().back();
}

/// Positional argument `i`; null if there are fewer.
static Attribute getArgument(NodeOp node, unsigned i) {
  ArrayAttr args = node.getArgsAttr();
  return args && i < args.size() ? args[i] : Attribute();
}

/// One pass of a convolution. Each element of its output, or of its input if
/// it is transposed, meets the weight's elements of one channel.
static double getConvolutionFlops(NodeOp node, RankedTensorType input,
                                  RankedTensorType weight, Type output,
                                  unsigned transposedArgument) {
  if (!input || !weight || weight.getRank() == 0 || weight.getDimSize(0) == 0)
    return 0;
  auto transposed =
      dyn_cast_or_null<BoolAttr>(getArgument(node, transposedArgument));
  Type meeting = transposed && transposed.getValue() ? Type(input) : output;
  return 2.0 * getNumElements(meeting) * getNumElements(weight) /
         weight.getDimSize(0);
}

static double getConvolutionFlops(NodeOp node) {
  return getConvolutionFlops(node, getTensorOperand(node, 0),
                             getTensorOperand(node, 1),
                             node.getResult(0).getType(), 6);
}

/// Backward of a convolution: one pass for each gradient that is asked for,
/// of the input and of the weight.
static double getConvolutionBackwardFlops(NodeOp node) {
  RankedTensorType output = getTensorOperand(node, 0);
  double flops = output
                     ? getConvolutionFlops(node, getTensorOperand(node, 1),
                                           getTensorOperand(node, 2), output, 7)
                     : 0;
  unsigned gradients = std::min<unsigned>(node.getNumResults(), 2);
  if (auto mask = dyn_cast_or_null<ArrayAttr>(getArgument(node, 10));
      mask && mask.size() == 3)
    gradients = llvm::count_if(mask.getValue().take_front(2), [](Attribute a) {
      auto asked = dyn_cast<BoolAttr>(a);
      return asked && asked.getValue();
    });
  return flops * gradients;
}

/// Attention over query [..., L, E], key [..., S, E] and value [..., S, V]:
/// one GEMM of L x S x E, one of L x S x V; backward has three and two of
/// them. Causal attention counts in full, as everywhere in the field.
static double getAttentionFlops(NodeOp node, bool isBackward) {
  unsigned query = isBackward ? 1 : 0;
  RankedTensorType q = getTensorOperand(node, query);
  RankedTensorType k = getTensorOperand(node, query + 1);
  RankedTensorType v = getTensorOperand(node, query + 2);
  if (!q || !k || !v || q.getRank() < 2 || k.getRank() < 2 || v.getRank() < 1 ||
      q.getShape().back() == 0)
    return 0;
  double rows = getNumElements(q) / q.getShape().back();
  double widths = isBackward
                      ? 3.0 * q.getShape().back() + 2.0 * v.getShape().back()
                      : 1.0 * q.getShape().back() + v.getShape().back();
  return 2.0 * rows * k.getDimSize(k.getRank() - 2) * widths;
}

/// A GEMM for each group of rows, and for each result: of rows [T, K] with one
/// of several matrices [G, K, N], of [G, M, K] with columns [K, T], or, for a
/// gradient, of [M, T] and [T, N].
static double getGroupedMatmulFlops(NodeOp node) {
  RankedTensorType lhs = getTensorOperand(node, 0);
  RankedTensorType rhs = getTensorOperand(node, 1);
  if (!lhs || !rhs || lhs.getRank() < 2 || rhs.getRank() < 2)
    return 0;
  double products = lhs.getRank() > rhs.getRank()
                        ? getNumElements(rhs) * lhs.getDimSize(1)
                        : getNumElements(lhs) * rhs.getShape().back();
  return 2.0 * products * node.getNumResults() * getRowShare(node);
}

/// Triangular A [..., n, n], and B [..., n, k] or [..., k, n]: a product and a
/// sum for each element of B and half of the n others in its column or row.
static double getTriangularSolveFlops(NodeOp node) {
  RankedTensorType matrix = getTensorOperand(node, 0);
  if (!matrix || matrix.getRank() < 2)
    return 0;
  return getNumElements(node.getResult(0).getType()) * matrix.getShape().back();
}

/// Matrices [..., m, n], with r the smaller of both: 2/3 m n r for LU, half of
/// that for Cholesky, which has one triangle, and 8/3 m n r for QR, whose
/// factors are computed one after the other. Exact for square matrices
/// (Golub and Van Loan, Matrix Computations, sections 3.2, 4.2 and 5.2).
static double getFactorizationFlops(NodeOp node) {
  RankedTensorType matrix = getTensorOperand(node, 0);
  if (!matrix || matrix.getRank() < 2)
    return 0;
  ArrayRef<int64_t> sizes = matrix.getShape().take_back(2);
  double products = getNumElements(matrix) *
                    static_cast<double>(std::min(sizes[0], sizes[1]));
  switch (*findNodeOperator(node.getTarget())) {
  case NodeOperator::AtenLinalgCholeskyEx:
    return products / 3;
  case NodeOperator::AtenLinalgQr:
    return products * 8 / 3;
  default:
    return products * 2 / 3;
  }
}

/// Elementwise operations and reductions: one for each element touched.
static double getNumTouchedElements(NodeOp node) {
  double elements = 0;
  for (Type type : node.getOperandTypes())
    elements = std::max(elements, getNumElements(type));
  for (Type type : node.getResultTypes())
    elements = std::max(elements, getNumElements(type));
  return elements;
}

double NodeOp::getFlops() {
  if (getNumResults() == 0)
    return 0;
  switch (getCostClass(*this)) {
  case CostClass::View:
    return 0;
  case CostClass::Elements:
  case CostClass::Pick:
    return getNumTouchedElements(*this);
  case CostClass::Gemm:
    return getMatmulFlops(*this, 0);
  case CostClass::AddedGemm:
    return getMatmulFlops(*this, 1);
  case CostClass::GroupedGemm:
    return getGroupedMatmulFlops(*this);
  case CostClass::Factorization:
    return getFactorizationFlops(*this);
  case CostClass::TriangularSolve:
    return getTriangularSolveFlops(*this);
  case CostClass::Convolution:
    return getConvolutionFlops(*this);
  case CostClass::ConvolutionBackward:
    return getConvolutionBackwardFlops(*this);
  case CostClass::Attention:
    return getAttentionFlops(*this, /*isBackward=*/false);
  case CostClass::AttentionBackward:
    return getAttentionFlops(*this, /*isBackward=*/true);
  }
  llvm_unreachable("unknown class of cost");
}

/// Of the rows of a grouped GEMM, which are matrices beside those of all
/// groups, those that are expected to be computed.
static int64_t countRowBytes(TypeRange types, double share) {
  if (share == 1)
    return getTensorBytes(types);
  double bytes = 0;
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    bool areRows = tensor && tensor.getRank() == 2;
    bytes += (areRows ? share : 1) * static_cast<double>(getTensorBytes(type));
  }
  return static_cast<int64_t>(bytes);
}

int64_t NodeOp::getReadBytes() {
  CostClass cost = getCostClass(*this);
  if (cost == CostClass::View)
    return 0;
  int64_t bytes = countRowBytes(getOperandTypes(), getRowShare(*this));
  if (cost != CostClass::Pick || getNumOperands() == 0)
    return bytes;
  int64_t table = getTensorBytes(getOperand(0).getType());
  return bytes - table + std::min(table, getTensorBytes(getResultTypes()));
}

int64_t NodeOp::getWrittenBytes() {
  return isView() ? 0 : countRowBytes(getResultTypes(), getRowShare(*this));
}

bool NodeOp::isView() { return getCostClass(*this) == CostClass::View; }

bool NodeOp::isLibraryCall() {
  switch (getCostClass(*this)) {
  case CostClass::View:
  case CostClass::Elements:
  case CostClass::Pick:
    return false;
  case CostClass::Gemm:
  case CostClass::AddedGemm:
  case CostClass::GroupedGemm:
  case CostClass::Factorization:
  case CostClass::TriangularSolve:
  case CostClass::Convolution:
  case CostClass::ConvolutionBackward:
  case CostClass::Attention:
  case CostClass::AttentionBackward:
    return true;
  }
  llvm_unreachable("unknown class of cost");
}
