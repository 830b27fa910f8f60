//===- MatrixProducts.cpp - Contractions as library calls -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixProducts.h"

#include "regather/Dialect/TG/Library/LibraryCalls.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace regather;
using namespace regather::native;

std::optional<MatrixProductMatch>
regather::native::matchMatrixProduct(Operation *op) {
  if (auto launch = dyn_cast<tg::LaunchOp>(op)) {
    tg::KernelOp kernel = launch.lookupKernel();
    if (!kernel->hasAttr(tg::kLibraryAttrName))
      return std::nullopt;
    std::optional<rg_gemm_desc> desc = tg::matchGemm(kernel);
    if (!desc)
      return std::nullopt;
    return MatrixProductMatch{*desc, llvm::to_vector(launch.getInputs())};
  }
  if (!isa<linalg::LinalgOp>(op) || op->getNumResults() != 1)
    return std::nullopt;
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands())
    if (!tg::isZeroFill(operand))
      inputs.push_back(operand);
  auto match = tg::matchGemm(op, inputs, op->getResult(0));
  if (!match)
    return std::nullopt;
  return MatrixProductMatch{*match.desc, std::move(inputs)};
}

void regather::native::inlineOtherLibraryKernels(ModuleOp module) {
  SmallVector<tg::LaunchOp> launches;
  module.walk([&](tg::LaunchOp launch) {
    if (launch.lookupKernel()->hasAttr(tg::kLibraryAttrName) &&
        !matchMatrixProduct(launch))
      launches.push_back(launch);
  });
  for (tg::LaunchOp launch : launches) {
    OpBuilder builder(launch);
    Block &body = launch.lookupKernel().getBody().front();
    IRMapping map;
    map.map(body.getArguments(), launch.getInputs());
    for (Operation &op : body.without_terminator())
      builder.clone(op, map);
    for (auto [result, value] : llvm::zip_equal(
             launch.getOutputs(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(map.lookupOrDefault(value));
    launch.erase();
  }
}

bool regather::native::isInitOfProductsOnly(Operation *op) {
  return op->getNumResults() == 1 && tg::isZeroFill(op->getResult(0)) &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           return isa<linalg::LinalgOp>(user) && matchMatrixProduct(user);
         });
}

unsigned MatrixProductSet::add(const rg_gemm_desc &desc) {
  StringRef key(reinterpret_cast<const char *>(&desc), sizeof(desc));
  auto [it, inserted] = numbers.try_emplace(key, products.size());
  if (inserted) {
    rg_gemm *gemm = nullptr;
    [[maybe_unused]] rg_status status = rg_gemm_create(&desc, &gemm);
    assert(status == RG_OK && "a match gives a valid description");
    products.emplace_back(gemm);
  }
  return it->second;
}
