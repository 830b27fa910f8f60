//===- HeadMatrices.cpp - The matrices of a head of attention -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeadMatrices.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

HeadMatrices::HeadMatrices(const rg_attention_desc &desc, AttentionBlock &b,
                           Value batch, Value head, Value keyHead) {
  auto get = [&](const rg_attention_operand &operand, int64_t rows,
                 int64_t width, Value number) {
    return b.getMatrix(operand, rows, width, batch, number);
  };
  query = get(desc.q, desc.rows, desc.width, head);
  key = get(desc.k, desc.columns, desc.width, keyHead);
  value = get(desc.v, desc.columns, desc.value_width, keyHead);
  output = get(desc.o, desc.rows, desc.value_width, head);
  if (desc.masked)
    mask = get(desc.mask, desc.rows, desc.columns, head);
  if (desc.l.buffer >= 0)
    logs = get(desc.l, desc.rows, 1, head);
  if (!desc.backward)
    return;
  gradOutput = get(desc.grad_o, desc.rows, desc.value_width, head);
  gradQuery = get(desc.grad_q, desc.rows, desc.width, head);
  gradKey = get(desc.grad_k, desc.columns, desc.width, keyHead);
  gradValue = get(desc.grad_v, desc.columns, desc.value_width, keyHead);
  firstSum = b.mul(b.add(b.mul(batch, desc.heads), head), desc.rows);
}
