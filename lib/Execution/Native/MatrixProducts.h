//===- MatrixProducts.h - Contractions as library calls ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_NATIVE_MATRIXPRODUCTS_H
#define REGATHER_LIB_EXECUTION_NATIVE_MATRIXPRODUCTS_H

#include "regather/Runtime/Gemm.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <vector>

namespace regather::native {

/// A computation in terms of the runtime's matrix product.
struct MatrixProductMatch {
  rg_gemm_desc desc;
  /// The values of its buffers, without the result.
  llvm::SmallVector<mlir::Value> inputs;
};

/// The product that `op` computes: a contraction, or the launch of a kernel
/// that is one.
std::optional<MatrixProductMatch> matchMatrixProduct(mlir::Operation *op);

/// Puts what library kernels other than products compute in the place of their
/// launches.
void inlineOtherLibraryKernels(mlir::ModuleOp module);

/// True if `op` fills with zero and only products start from it.
bool isInitOfProductsOnly(mlir::Operation *op);

/// The distinct products of a step, ready to run.
class MatrixProductSet {
public:
  /// The number of the product; equal descriptions share one.
  unsigned add(const rg_gemm_desc &desc);
  const rg_gemm *get(unsigned i) const { return products[i].get(); }

private:
  struct Destroy {
    void operator()(rg_gemm *gemm) const { rg_gemm_destroy(gemm); }
  };
  std::vector<std::unique_ptr<rg_gemm, Destroy>> products;
  llvm::StringMap<unsigned> numbers;
};

} // namespace regather::native

#endif // REGATHER_LIB_EXECUTION_NATIVE_MATRIXPRODUCTS_H
