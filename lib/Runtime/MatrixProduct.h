//===- MatrixProduct.h - One prepared matrix product ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_MATRIXPRODUCT_H
#define REGATHER_LIB_RUNTIME_MATRIXPRODUCT_H

#include "regather/Runtime/Gemm.h"

#include <memory>

namespace regather::runtime {

/// What computes a product. Several threads may run one at a time.
class MatrixProduct {
public:
  virtual ~MatrixProduct() = default;
  /// False if it failed.
  virtual bool run(const void *a, const void *b, void *c) const = 0;
  virtual const char *getName() const = 0;
};

/// A product by oneDNN; null if this machine does not have the library, or the
/// library has no code for the description but its slow reference.
std::unique_ptr<MatrixProduct> createOneDNNProduct(const rg_gemm_desc &desc);

/// A product by three loops, which sums over k in ascending order.
std::unique_ptr<MatrixProduct> createPlainProduct(const rg_gemm_desc &desc);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_MATRIXPRODUCT_H
