//===- HeadMatrices.h - The matrices of a head of attention -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_ROUTINES_HEADMATRICES_H
#define REGATHER_LIB_KERNEL_NVPTX_ROUTINES_HEADMATRICES_H

#include "AttentionBlock.h"

namespace regather::nvptx {

/// The matrices of one head of Q, and of the head of K that serves it.
struct HeadMatrices {
  HeadMatrices(const rg_attention_desc &desc, AttentionBlock &b,
               mlir::Value batch, mlir::Value head, mlir::Value keyHead);

  const HeadMatrix *getMask() const { return mask ? &*mask : nullptr; }

  HeadMatrix query, key, value, output;
  std::optional<HeadMatrix> mask, logs;
  /// Of gradients only.
  HeadMatrix gradOutput, gradQuery, gradKey, gradValue;
  /// Of D in scratch memory.
  mlir::Value firstSum;
};

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_ROUTINES_HEADMATRICES_H
