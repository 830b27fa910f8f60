//===- AttentionPasses.td - Passes on attention ------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_ATTENTIONPASSES
#define REGATHER_DIALECT_TG_TRANSFORMS_ATTENTIONPASSES

include "mlir/Pass/PassBase.td"

def ExpandAttentionPass : Pass<"tg-expand-attention", "::mlir::ModuleOp"> {
  let summary = "Compute attention that GPUs have no routine for by products";
  let description = [{
    Puts products, a softmax in parts and their gradients in the place of
    attention whose scores have a bound (`regather.attention` with `softcap`), or
    whose backward computes the gradient of its mask
    (`regather.biased_attention_backward`): hosts have routines for these, GPUs
    have none, but libraries for the products. Scores are stored in f32, or f64
    for operands of that, and computed again in backward.

    Other attention, and nodes whose arguments do not fit, stay as they are.

    Precondition: nothing has been decided about the step: the pass comes before
    it is sharded.

    Postcondition: the step passes `tg-verify-step`.
  }];
  let dependentDialects = ["::regather::tg::TGDialect"];
  let statistics = [
    Statistic<"numExpanded", "num-expanded", "Number of nodes taken apart">
  ];
}

def FuseAttentionPass : Pass<"tg-fuse-attention", "::mlir::ModuleOp"> {
  let summary = "Compute attention written as products by a node for it";
  let description = [{
    Steps that were captured with eager attention hold a product of query and
    key, a softmax and a product with the value, and backward of these reads the
    probabilities: matrices of rows x columns for each head, which forward
    saves. This pass puts
    `aten._scaled_dot_product_flash_attention_for_cpu` in their place, and its
    backward in the place of the five nodes of backward together; both compute
    scores by blocks and store none.

    A chain is `aten._softmax` along the last of at least three dimensions, of
    scores that an `aten.bmm` gives, times a number, plus a mask, or with minus
    infinity where a mask of truth values hides them, and read by another
    `aten.bmm` alone. Views, copies and conversions between floats of at most 32
    bits may lie anywhere in between; those of `einsum` move dimensions of size 1.
    Some of query, key and value may have no
    gradient. Heads of key and value that `expand` repeats for several of the
    query are read once. A mask that comparisons of positions make, and that
    hides what is behind the row, becomes a flag; it may also put a number of at
    most -1e30 in the place of scores.

    A chain keeps its products, with a remark that says why, if anything else
    reads scores, probabilities or their gradients: that of a mask is a sum of
    these. Dropout of probabilities, other masks with a finite number in the
    place of scores, masks added in f16, and two masks are others.

    Zeros fill the heads of query and key, or of values, where these are narrower
    than the others, as they add nothing to a sum.

    Sums have another order, conversions in between are left out, so results
    differ in their last bits. A row that minus infinity hides as a whole gives
    zeros, as with `scaled_dot_product_attention`, and no NaN.

    Precondition: nothing has been decided about the step: the pass comes before
    it is sharded.

    Postcondition: the step passes `tg-verify-step`. With `mode=report` it is as
    it was.
  }];
  let options = [
    Option<"mode", "mode", "FuseAttentionMode",
           /*default=*/"FuseAttentionMode::All", "What becomes of chains",
           [{::llvm::cl::values(
             clEnumValN(FuseAttentionMode::All, "all",
                        "All are replaced (default)"),
             clEnumValN(FuseAttentionMode::Report, "report",
                        "Remarks say what would be replaced"))}]>
  ];
  let dependentDialects = ["::regather::tg::TGDialect"];
  let statistics = [
    Statistic<"numChains", "num-chains", "Number of chains recognised">,
    Statistic<"numRefused", "num-refused",
              "Number of softmaxes that keep their products">
  ];
}

#endif // REGATHER_DIALECT_TG_TRANSFORMS_ATTENTIONPASSES
