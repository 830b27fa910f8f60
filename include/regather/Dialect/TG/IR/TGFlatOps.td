//===- TGFlatOps.td - Tensors inside a flat one ------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TGFLATOPS
#define REGATHER_DIALECT_TG_IR_TGFLATOPS

include "regather/Dialect/TG/IR/TGCollectiveOps.td"

/// A tensor of one dimension that holds others, row-major, at given places. On
/// the host, where nothing reshapes a tensor, it may have any shape.
def TG_FlatTensor
    : Type<Or<[TG_HostTensor.predicate,
               CPred<"::llvm::isa<::mlir::RankedTensorType>($_self) && "
                     "::llvm::cast<::mlir::RankedTensorType>($_self)"
                     ".getRank() == 1">]>,
           "1-d ranked tensor", "::mlir::RankedTensorType">;

class TG_FlatOp<string mnemonic>
    : TG_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<TG_CostOpInterface>]> {
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def TG_UnflattenOp : TG_FlatOp<"unflatten"> {
  let summary = "The tensors that a flat tensor holds";
  let description = [{
    Result i has the elements of `flat` from `offsets[i]` on, in row-major
    order. Offsets count elements; they ascend, and the results do not overlap.
    Elements between them belong to none.

    This is how the parameters of a unit come out of the one buffer that they
    are stored and gathered in. It lowers to views of that buffer: nothing
    moves.

    The results lie where the flat tensor lies. On the host they are its parts
    for `tg.fetch`.
  }];
  let arguments = (ins TG_FlatTensor:$flat, DenseI64ArrayAttr:$offsets);
  let results = (outs Variadic<TG_PlacedTensor>:$tensors);
  let assemblyFormat = [{
    $flat `offsets` $offsets attr-dict `:` functional-type($flat, $tensors)
  }];
}

def TG_FlattenOp : TG_FlatOp<"flatten"> {
  let summary = "Put tensors into one flat tensor";
  let description = [{
    The elements of operand i, in row-major order, become those of the result
    from `offsets[i]` on. Offsets count elements; they ascend, and the operands
    do not overlap. All other elements are zero.

    It lowers to nothing where the operands are computed in their places in the
    flat buffer, else to copies. On the host, where nothing else writes, the
    operands are what `tg.offload` copied there for this alone, and leave no gap.
  }];
  let arguments = (ins Variadic<TG_PlacedTensor>:$tensors,
                       DenseI64ArrayAttr:$offsets);
  let results = (outs TG_FlatTensor:$flat);
  let assemblyFormat = [{
    $tensors `offsets` $offsets attr-dict `:` functional-type($tensors, $flat)
  }];
  let extraClassDeclaration = [{
    /// The elements [begin, end) that no operand gives, in ascending order.
    ::llvm::SmallVector<std::pair<int64_t, int64_t>> getGaps();
  }];
}

#endif // REGATHER_DIALECT_TG_IR_TGFLATOPS
