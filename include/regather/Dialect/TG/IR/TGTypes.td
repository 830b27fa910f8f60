//===- TGTypes.td - Types of the tg dialect ----------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TGTYPES
#define REGATHER_DIALECT_TG_IR_TGTYPES

include "mlir/IR/AttrTypeBase.td"
include "regather/Dialect/TG/IR/TGBase.td"

class TG_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<TG_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def TG_Future : TG_Type<"Future", "future"> {
  let summary = "tensors in flight";
  let description = [{
    The result of a collective, or of a copy between device and host, that was
    started and not yet waited for. Only `tg.wait` turns it into tensors. Uses
    are linear: a future has at most one use, a `tg.wait` in the block of what
    made it. A future without a use is dead, and so is what made it.

    ```
    !tg.future<tensor<64x64xf32>, tensor<64xf32>>
    ```
  }];
  let parameters = (ins OptionalArrayRefParameter<"::mlir::Type">:$tensors);
  let assemblyFormat = "`<` (`>`) : ($tensors^ `>`)?";
  let genVerifyDecl = 1;
}

def TG_Opaque : TG_Type<"Opaque", "opaque"> {
  let summary = "a value that is not a tensor";
  let description = [{
    Process groups, random state and other values of the captured graph that
    only nodes understand. Opaque values are always saved for backward.

    ```
    !tg.opaque<"torch.Generator">
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$kind);
  let assemblyFormat = "`<` $kind `>`";
}

/// A ranked tensor, wherever it lies.
def TG_PlacedTensor
    : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
           "ranked tensor", "::mlir::RankedTensorType">;

/// A ranked tensor that can be computed with; `tg` operations verify that its
/// shape is static so that the error can name the dimension.
def TG_Tensor : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self) && "
                           "!::regather::tg::isOnHost($_self)">,
                     "ranked tensor on the device", "::mlir::RankedTensorType">;

def TG_HostTensor
    : Type<CPred<"::regather::tg::isOnHost($_self)">,
           "ranked tensor on the host", "::mlir::RankedTensorType">;

/// The seed or the offset of random numbers.
def TG_RandomState
    : Type<CPred<"$_self == ::mlir::RankedTensorType::get("
                 "{}, ::mlir::IntegerType::get($_self.getContext(), 64))">,
           "tensor<i64>", "::mlir::RankedTensorType">,
      BuildableType<"::mlir::RankedTensorType::get("
                    "{}, $_builder.getI64Type())">;

def TG_RandomBits : StaticShapeTensorOf<[I32, I64]>;

def TG_NodeValue : AnyTypeOf<[TG_Tensor, TG_Opaque]>;

#endif // REGATHER_DIALECT_TG_IR_TGTYPES
