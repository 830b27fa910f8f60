//===- AttentionGraph.cpp - Attention as a graph for cuDNN ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

#include <limits>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

static int64_t getElementBytes(int32_t dtype) {
  return dtype == RG_F32 ? 4 : 2;
}

namespace {
/// Adds the operations of one description to a graph.
class Builder {
public:
  Builder(CudnnAttentionGraph &result, const rg_attention_desc &desc)
      : result(result), graph(result.graph), desc(desc),
        type(getCudnnType(desc.q.dtype)),
        scores({desc.batch, desc.heads, desc.rows, desc.columns}),
        sums({desc.batch, desc.heads, desc.rows, 1}) {}

  void buildForward();
  void buildBackward(QueryGradient gradient);

private:
  /// Q, O and their gradients.
  DnnTensor bindRows(const rg_attention_operand &operand, int64_t width) {
    return bind(operand, {desc.batch, desc.heads, desc.rows, width});
  }
  /// K, V and their gradients.
  DnnTensor bindColumns(const rg_attention_operand &operand, int64_t width) {
    return bind(operand,
                {desc.batch, desc.heads / desc.groups, desc.columns, width});
  }
  DnnTensor bindTransposed(const rg_attention_operand &operand, int64_t width);
  DnnTensor bindLogs();
  DnnTensor bind(const rg_attention_operand &operand, const DnnShape &sizes);
  DnnTensor bind(const rg_attention_operand &operand, const DnnShape &sizes,
                 const DnnShape &strides);
  DnnTensor bindScalar(float value);
  DnnTensor bindScratch(const DnnShape &sizes);

  DnnTensor multiply(DnnTensor a, DnnTensor b) {
    DnnTensor c = graph.addValue(kDnnF32, scores);
    graph.multiply(a, b, c);
    return c;
  }
  /// With sizes of scores.
  DnnTensor apply(int mode, DnnTensor x, DnnTensor b) {
    DnnTensor y = graph.addValue(kDnnF32, scores);
    graph.apply(mode, x, b, y);
    return y;
  }
  DnnTensor apply(int mode, DnnTensor x) {
    DnnTensor y = graph.addValue(kDnnF32, scores);
    graph.apply(mode, x, y);
    return y;
  }
  DnnTensor reduce(int mode, DnnTensor x) {
    DnnTensor y = graph.addValue(kDnnF32, sums);
    graph.reduce(mode, x, y);
    return y;
  }
  DnnTensor hideAboveDiagonal(DnnTensor x);
  /// Of scores, in the type of Q.
  DnnTensor transpose(DnnTensor x);
  void addColumnGradient(DnnTensor transposed, DnnTensor rows,
                         const rg_attention_operand &operand, int64_t width);
  DnnTensor addRowSums(DnnTensor gradO);

  CudnnAttentionGraph &result;
  CudnnGraph &graph;
  const rg_attention_desc &desc;
  const int type;
  const DnnShape scores, sums;
};
} // namespace

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

DnnTensor Builder::bind(const rg_attention_operand &operand,
                        const DnnShape &sizes, const DnnShape &strides) {
  DnnTensor tensor =
      graph.addTensor(getCudnnType(operand.dtype), sizes, strides);
  result.tensors.push_back(
      {tensor, DnnBoundTensor::Space::Buffer, operand.buffer,
       operand.offset * getElementBytes(operand.dtype), 0});
  return tensor;
}

DnnTensor Builder::bind(const rg_attention_operand &operand,
                        const DnnShape &sizes) {
  const int64_t *strides = operand.strides;
  return bind(operand, sizes, {strides[0], strides[1], strides[2], strides[3]});
}

/// K or V with rows and elements exchanged.
DnnTensor Builder::bindTransposed(const rg_attention_operand &operand,
                                  int64_t width) {
  const int64_t *strides = operand.strides;
  return bind(operand,
              {desc.batch, desc.heads / desc.groups, width, desc.columns},
              {strides[0], strides[1], strides[3], strides[2]});
}

DnnTensor Builder::bindLogs() {
  const int64_t *strides = desc.l.strides;
  return bind(desc.l, sums, {strides[0], strides[1], strides[2], 1});
}

DnnTensor Builder::bindScalar(float value) {
  DnnTensor tensor = graph.addScalar();
  result.tensors.push_back(
      {tensor, DnnBoundTensor::Space::Scalar, -1, 0, value});
  return tensor;
}

DnnTensor Builder::bindScratch(const DnnShape &sizes) {
  constexpr int64_t kAlignment = 256;
  DnnShape strides = getRowMajorStrides(sizes);
  DnnTensor tensor = graph.addTensor(kDnnF32, sizes, strides);
  result.tensors.push_back(
      {tensor, DnnBoundTensor::Space::Scratch, -1, result.scratchBytes, 0});
  int64_t bytes = sizes[0] * strides[0] * int64_t(sizeof(float));
  result.scratchBytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return tensor;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

DnnTensor Builder::hideAboveDiagonal(DnnTensor x) {
  DnnTensor row = graph.addValue(kDnnInt32, scores);
  graph.index(2, x, row);
  DnnTensor column = graph.addValue(kDnnInt32, scores);
  graph.index(3, x, column);
  DnnTensor isSeen = graph.addValue(kDnnBoolean, scores);
  graph.compare(row, column, isSeen);
  DnnTensor y = graph.addValue(kDnnF32, scores);
  graph.select(x, bindScalar(-std::numeric_limits<float>::infinity()), isSeen,
               y);
  return y;
}

DnnTensor Builder::transpose(DnnTensor x) {
  DnnShape strides = getRowMajorStrides(scores);
  DnnTensor y =
      graph.addValue(type, {scores[0], scores[1], scores[3], scores[2]},
                     {strides[0], strides[1], strides[3], strides[2]});
  graph.reshape(x, y);
  return y;
}

void Builder::buildForward() {
  DnnTensor q = bindRows(desc.q, desc.width);
  DnnTensor s = multiply(q, bindTransposed(desc.k, desc.width));
  s = apply(kDnnMul, s, bindScalar(desc.scale));
  if (desc.causal)
    s = hideAboveDiagonal(s);

  DnnTensor max = reduce(kDnnReduceMax, s);
  DnnTensor exp = apply(kDnnExp, apply(kDnnSub, s, max));
  DnnTensor sum = reduce(kDnnReduceAdd, exp);
  // The library knows attention by L, even where nobody wants it.
  DnnTensor log = graph.addValue(kDnnF32, sums);
  graph.apply(kDnnLog, sum, log);
  graph.apply(kDnnAdd, max, log,
              desc.l.buffer >= 0 ? bindLogs() : graph.addValue(kDnnF32, sums));

  DnnTensor p = graph.addValue(type, scores);
  graph.apply(kDnnDiv, exp, sum, p);
  graph.multiply(p, bindColumns(desc.v, desc.value_width),
                 bindRows(desc.o, desc.value_width));
}

/// The sums D along the rows.
DnnTensor Builder::addRowSums(DnnTensor gradO) {
  DnnTensor product = graph.addValue(
      kDnnF32, {desc.batch, desc.heads, desc.rows, desc.value_width});
  graph.apply(kDnnMul, gradO, bindRows(desc.o, desc.value_width), product);
  DnnTensor d = bindScratch(sums);
  graph.apply(kDnnMul, reduce(kDnnReduceAdd, product), bindScalar(1), d);
  return d;
}

/// The gradient of K or V.
void Builder::addColumnGradient(DnnTensor transposed, DnnTensor rows,
                                const rg_attention_operand &operand,
                                int64_t width) {
  DnnTensor gradient = bindColumns(operand, width);
  if (desc.groups == 1) {
    graph.multiply(transposed, rows, gradient);
    return;
  }
  DnnTensor allHeads =
      graph.addValue(type, {desc.batch, desc.heads, desc.columns, width});
  graph.multiply(transposed, rows, allHeads);
  graph.reduce(kDnnReduceAdd, allHeads, gradient);
}

void Builder::buildBackward(QueryGradient gradient) {
  DnnTensor gradO = bindRows(desc.grad_o, desc.value_width);
  DnnTensor d = addRowSums(gradO);

  DnnTensor scale = bindScalar(desc.scale);
  DnnTensor q = bindRows(desc.q, desc.width);
  DnnTensor transposedK = bindTransposed(desc.k, desc.width);
  DnnTensor s = apply(kDnnMul, multiply(q, transposedK), scale);
  s = apply(kDnnSub, s, bindLogs());
  if (desc.causal)
    s = hideAboveDiagonal(s);
  DnnTensor p = apply(kDnnExp, s);
  addColumnGradient(transpose(p), gradO, desc.grad_v, desc.value_width);

  DnnTensor gradP = multiply(gradO, bindTransposed(desc.v, desc.value_width));
  DnnTensor gradS = apply(kDnnMul, apply(kDnnSub, gradP, d), p);
  gradS = apply(kDnnMul, gradS, scale);
  addColumnGradient(transpose(gradS), q, desc.grad_k, desc.width);

  const int64_t *strides = desc.k.strides;
  DnnTensor k = graph.addValue(
      kDnnF32, {desc.batch, desc.heads / desc.groups, desc.columns, desc.width},
      {strides[0], strides[1], strides[2], strides[3]});
  graph.reshape(transposedK, k);
  DnnTensor gradQ = bindRows(desc.grad_q, desc.width);
  if (gradient == QueryGradient::FromScores) {
    graph.multiply(gradS, k, gradQ);
    return;
  }
  DnnTensor accumulator =
      bindScratch({desc.batch, desc.heads, desc.rows, desc.width});
  graph.multiply(gradS, k, accumulator);
  graph.apply(kDnnIdentity, accumulator, gradQ);
}

Result<std::unique_ptr<CudnnAttentionGraph>>
regather::runtime::buildCudnnAttention(const CudnnApi &api,
                                       const DnnTarget &target,
                                       const rg_attention_desc &desc,
                                       QueryGradient gradient) {
  auto result = std::make_unique<CudnnAttentionGraph>(api, target);
  Builder builder(*result, desc);
  if (desc.backward)
    builder.buildBackward(gradient);
  else
    builder.buildForward();
  if (Failure failure = result->graph.finalize())
    return failure;
  return result;
}
