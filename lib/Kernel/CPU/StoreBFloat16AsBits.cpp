//===- StoreBFloat16AsBits.cpp - bf16 as 16 bits --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/CPU/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace regather;

namespace regather::cpu {
#define GEN_PASS_DEF_STOREBFLOAT16ASBITSPASS
#include "regather/Kernel/CPU/Passes.h.inc"
} // namespace regather::cpu

namespace {
class StoreBFloat16AsBitsPass
    : public cpu::impl::StoreBFloat16AsBitsPassBase<StoreBFloat16AsBitsPass> {
public:
  using StoreBFloat16AsBitsPassBase::StoreBFloat16AsBitsPassBase;

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      numResults +=
          llvm::count_if(op->getResultTypes(), llvm::IsaPred<BFloat16Type>);
    });
    Type bits = IntegerType::get(&getContext(), 16);
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](BFloat16Type) { return bits; });
    replacer.addReplacement([&](FloatAttr number) -> std::optional<Attribute> {
      if (!number.getType().isBF16())
        return std::nullopt;
      return IntegerAttr::get(bits, number.getValue().bitcastToAPInt());
    });
    replacer.addReplacement(
        [&](DenseElementsAttr numbers) -> std::optional<Attribute> {
          if (!numbers.getElementType().isBF16())
            return std::nullopt;
          return numbers.bitcast(bits);
        });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  }
};
} // namespace
