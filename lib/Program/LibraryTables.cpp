//===- LibraryTables.cpp - Library calls for the runtime ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryTables.h"

#include "ElementBytes.h"

#include "mlir/IR/TypeUtilities.h"

#include <cstring>

using namespace mlir;
using namespace regather;

static_assert(tg::GemmAttr::kMaxBatchRank == RG_GEMM_MAX_BATCH &&
                  tg::GemmAttr::kMaxAddends == RG_GEMM_MAX_ADDENDS &&
                  tg::GemmAttr::kMaxSegments == RG_GEMM_MAX_SEGMENTS &&
                  tg::ConvolutionAttr::kMaxRank == RG_CONVOLUTION_MAX_RANK,
              "the runtime takes every call of the dialect");

/// Fills what operands of both calls have. The verifier of the kernel has
/// checked that there is such a buffer.
template <typename Operand>
static void describeBuffer(Operand &operand, tg::BufferViewAttr view,
                           FunctionType type) {
  auto number = static_cast<unsigned>(view.getBuffer());
  Type tensor = number < type.getNumInputs()
                    ? type.getInput(number)
                    : type.getResult(number - type.getNumInputs());
  operand.buffer = static_cast<int32_t>(number);
  operand.dtype = getDtype(getElementTypeOrSelf(tensor));
  operand.offset = view.getOffset();
}

static void setOperand(rg_gemm_operand &operand, tg::BufferViewAttr view,
                       FunctionType type) {
  describeBuffer(operand, view, type);
  ArrayRef<int64_t> strides = view.getStrides();
  llvm::copy(strides.take_back(2), operand.strides);
  llvm::copy(strides.drop_back(2), operand.batch_strides);
}

rg_gemm_desc regather::describe(tg::GemmAttr gemm, FunctionType type) {
  rg_gemm_desc desc;
  memset(&desc, 0, sizeof(desc));
  desc.m = gemm.getM();
  desc.n = gemm.getN();
  desc.k = gemm.getK();
  desc.batch_rank = static_cast<int64_t>(gemm.getBatch().size());
  llvm::copy(gemm.getBatch(), desc.batch_sizes);
  setOperand(desc.a, gemm.getA(), type);
  setOperand(desc.b, gemm.getB(), type);
  setOperand(desc.c, gemm.getC(), type);
  for (tg::BufferViewAttr addend : gemm.getAddends())
    setOperand(desc.addends[desc.addend_count++], addend, type);
  desc.relu = gemm.getRelu() ? 1 : 0;
  desc.alpha = gemm.getAlpha().getValue().convertToFloat();
  desc.segments = gemm.getSegments();
  if (Type rounded = gemm.getSegmentType())
    desc.segment_dtype = getDtype(rounded);
  return desc;
}

/// Does nothing if the call has no such operand.
static void setOperand(rg_attention_operand &operand, tg::BufferViewAttr view,
                       FunctionType type) {
  if (!view)
    return;
  describeBuffer(operand, view, type);
  llvm::copy(view.getStrides(), operand.strides);
}

rg_attention_desc regather::describe(tg::AttentionAttr attention,
                                     FunctionType type) {
  rg_attention_desc desc;
  memset(&desc, 0, sizeof(desc));
  desc.batch = attention.getBatch();
  desc.heads = attention.getHeads();
  desc.groups = attention.getGroups();
  desc.rows = attention.getRows();
  desc.columns = attention.getColumns();
  desc.width = attention.getWidth();
  desc.value_width = attention.getValueWidth();
  desc.scale = attention.getScale().getValue().convertToFloat();
  if (FloatAttr softcap = attention.getSoftcap())
    desc.softcap = softcap.getValue().convertToFloat();
  desc.causal = attention.getCausal() ? 1 : 0;
  desc.masked = attention.getMask() ? 1 : 0;
  desc.backward = attention.isBackward() ? 1 : 0;
  desc.mask_gradient = attention.getGradMask() ? 1 : 0;
  // Who needs no logarithms has no buffer for them.
  desc.l.buffer = -1;
  desc.l.dtype = RG_F32;
  setOperand(desc.q, attention.getQ(), type);
  setOperand(desc.k, attention.getK(), type);
  setOperand(desc.v, attention.getV(), type);
  setOperand(desc.mask, attention.getMask(), type);
  setOperand(desc.o, attention.getO(), type);
  setOperand(desc.l, attention.getL(), type);
  setOperand(desc.grad_o, attention.getGradO(), type);
  setOperand(desc.grad_q, attention.getGradQ(), type);
  setOperand(desc.grad_k, attention.getGradK(), type);
  setOperand(desc.grad_v, attention.getGradV(), type);
  setOperand(desc.grad_mask, attention.getGradMask(), type);
  return desc;
}

/// For operands of convolutions and grouped GEMMs: the buffer is -1 if the call
/// has no such operand.
template <typename Operand>
static void setOperand(Operand &operand, tg::BufferViewAttr view,
                       FunctionType type) {
  operand.buffer = -1;
  if (!view)
    return;
  describeBuffer(operand, view, type);
  llvm::copy(view.getStrides(), operand.strides);
}

rg_convolution_desc regather::describe(tg::ConvolutionAttr convolution,
                                       FunctionType type) {
  rg_convolution_desc desc;
  memset(&desc, 0, sizeof(desc));
  desc.rank = static_cast<int64_t>(convolution.getExtents().size());
  desc.batch = convolution.getBatch();
  desc.groups = convolution.getGroups();
  desc.inner = convolution.getInner();
  desc.outer = convolution.getOuter();
  llvm::copy(convolution.getExtents(), desc.extents);
  llvm::copy(convolution.getCounts(), desc.counts);
  llvm::copy(convolution.getSizes(), desc.sizes);
  llvm::copy(convolution.getStrides(), desc.strides);
  llvm::copy(convolution.getPadding(), desc.padding);
  llvm::copy(convolution.getDilation(), desc.dilation);
  desc.transposed = convolution.getTransposed() ? 1 : 0;
  setOperand(desc.x, convolution.getX(), type);
  setOperand(desc.w, convolution.getW(), type);
  setOperand(desc.y, convolution.getY(), type);
  setOperand(desc.bias, convolution.getBias(), type);
  setOperand(desc.to_x, convolution.getToX(), type);
  setOperand(desc.to_w, convolution.getToW(), type);
  setOperand(desc.to_y, convolution.getToY(), type);
  setOperand(desc.to_bias, convolution.getToBias(), type);
  return desc;
}

rg_grouped_gemm_desc regather::describe(tg::GroupedGemmAttr gemm,
                                        FunctionType type) {
  rg_grouped_gemm_desc desc;
  memset(&desc, 0, sizeof(desc));
  desc.groups = gemm.getGroups();
  desc.rows = gemm.getRows();
  desc.inner = gemm.getInner();
  desc.outer = gemm.getOuter();
  desc.fills_zeros = gemm.getFillsZeros() ? 1 : 0;
  setOperand(desc.x, gemm.getX(), type);
  setOperand(desc.w, gemm.getW(), type);
  setOperand(desc.y, gemm.getY(), type);
  setOperand(desc.ends, gemm.getEnds(), type);
  setOperand(desc.to_x, gemm.getToX(), type);
  setOperand(desc.to_w, gemm.getToW(), type);
  setOperand(desc.to_y, gemm.getToY(), type);
  return desc;
}
