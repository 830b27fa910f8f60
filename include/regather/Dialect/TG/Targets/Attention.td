//===- Attention.td - Attention ----------------------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_ATTENTION
#define REGATHER_DIALECT_TG_TARGETS_ATTENTION

include "regather/Dialect/TG/Targets/TargetBase.td"

defm AtenCudnnAttentionBackward
    : Operator<"aten._cudnn_attention_backward",
               Attention, cost=AttentionBackwardCost>;
defm AtenCudnnAttentionForward
    : Operator<"aten._cudnn_attention_forward", Attention>;
defm AtenEfficientAttentionBackward
    : Operator<"aten._efficient_attention_backward",
               Attention, cost=AttentionBackwardCost>;
defm AtenEfficientAttentionForward
    : Operator<"aten._efficient_attention_forward", Attention>;
defm AtenFlashAttentionBackward
    : Operator<"aten._flash_attention_backward",
               Attention, cost=AttentionBackwardCost>;
defm AtenFlashAttentionForward
    : Operator<"aten._flash_attention_forward", Attention>;
defm AtenFlashAttentionForwardNoDropoutInplace
    : Operator<"aten._flash_attention_forward_no_dropout_inplace", Attention>;
// Of PyTorch before 2.1.
defm AtenInnerScaledDotProductAttention
    : Operator<"aten._scaled_dot_product_attention", Attention>;
defm AtenNativeMultiHeadAttention
    : Operator<"aten._native_multi_head_attention", Attention>;
defm AtenScaledDotProductAttention
    : Operator<"aten.scaled_dot_product_attention", Attention, [
  Default<"query key value attn_mask dropout_p is_causal scale enable_gqa">
]>;
defm AtenScaledDotProductAttentionMath
    : Operator<"aten._scaled_dot_product_attention_math", Attention>;
defm AtenScaledDotProductAttentionMathForMps
    : Operator<"aten._scaled_dot_product_attention_math_for_mps", Attention>;
defm AtenScaledDotProductCudnnAttention
    : Operator<"aten._scaled_dot_product_cudnn_attention", Attention>;
defm AtenScaledDotProductCudnnAttentionBackward
    : Operator<"aten._scaled_dot_product_cudnn_attention_backward",
               Attention, cost=AttentionBackwardCost>;
defm AtenScaledDotProductEfficientAttention
    : Operator<"aten._scaled_dot_product_efficient_attention", Attention>;
defm AtenScaledDotProductEfficientAttentionBackward
    : Operator<"aten._scaled_dot_product_efficient_attention_backward",
               Attention, cost=AttentionBackwardCost>;
defm AtenScaledDotProductFlashAttention
    : Operator<"aten._scaled_dot_product_flash_attention", Attention>;
defm AtenScaledDotProductFlashAttentionBackward
    : Operator<"aten._scaled_dot_product_flash_attention_backward",
               Attention, cost=AttentionBackwardCost>;
defm AtenScaledDotProductFlashAttentionForCpu
    : Operator<"aten._scaled_dot_product_flash_attention_for_cpu", Attention, [
  Default<"query key value dropout_p is_causal attn_mask scale", results=2>
]>;
defm AtenScaledDotProductFlashAttentionForCpuBackward
    : Operator<"aten._scaled_dot_product_flash_attention_for_cpu_backward",
               Attention, [
  Default<"grad_out query key value out logsumexp dropout_p is_causal "
          "attn_mask scale", results=3>
], cost=AttentionBackwardCost>;
defm AtenScaledDotProductFusedAttentionOverrideable
    : Operator<"aten._scaled_dot_product_fused_attention_overrideable",
               Attention>;
defm AtenScaledDotProductFusedAttentionOverrideableBackward
    : Operator<"aten._scaled_dot_product_fused_attention_overrideable_backward",
               Attention, cost=AttentionBackwardCost>;
defm AtenTritonMultiHeadAttention
    : Operator<"aten._triton_multi_head_attention", Attention>;
defm AtenTritonScaledDotAttention
    : Operator<"aten._triton_scaled_dot_attention", Attention>;

// Operators of `regather.fx.attention_operators`, for what PyTorch's have not:
// scores that `softcap` bounds, unless that is none, before a mask is added to
// them, and the gradient of a mask for all heads, rows and columns, in f32. It
// is summed over the batch if the mask is the same for it.
defm RegatherAttention
    : Operator<"regather.attention", Attention, [
  Default<"query key value dropout_p is_causal attn_mask scale softcap",
          results=2>
]>;
defm RegatherAttentionBackward
    : Operator<"regather.attention_backward", Attention, [
  Default<"grad_out query key value out logsumexp dropout_p is_causal "
          "attn_mask scale softcap", results=3>
], cost=AttentionBackwardCost>;
defm RegatherBiasedAttentionBackward
    : Operator<"regather.biased_attention_backward", Attention, [
  Default<"grad_out query key value out logsumexp dropout_p is_causal "
          "attn_mask scale softcap", results=4>
], cost=AttentionBackwardCost>;

#endif // REGATHER_DIALECT_TG_TARGETS_ATTENTION
