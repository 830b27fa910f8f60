//===- Normalizations.td - Normalizations and softmax ------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_NORMALIZATIONS
#define REGATHER_DIALECT_TG_TARGETS_NORMALIZATIONS

include "regather/Dialect/TG/Targets/TargetBase.td"

defm AtenFusedRmsNorm : Operator<"aten._fused_rms_norm", Normalization, [
  Default<"input normalized_shape weight eps", results=2>
]>;
defm AtenFusedRmsNormBackward
    : Operator<"aten._fused_rms_norm_backward", Normalization, [
  Default<"grad_out input normalized_shape rstd weight output_mask", results=2,
          optional=true>
]>;
defm AtenLogSoftmax : Operator<"aten._log_softmax", Normalization, [
  Default<"self dim half_to_float">
]>;
defm AtenLogSoftmaxBackwardData
    : Operator<"aten._log_softmax_backward_data", Normalization, [
  Default<"grad_output output dim input_dtype">
]>;
defm AtenNativeBatchNorm : Operator<"aten.native_batch_norm", Normalization, [
  Default<"input weight bias running_mean running_var training momentum eps",
          results=3, lowering=Opaque>
]>;
defm AtenNativeBatchNormBackward
    : Operator<"aten.native_batch_norm_backward", Normalization, [
  Default<"grad_out input weight running_mean running_var save_mean "
          "save_invstd train eps output_mask", results=3, optional=true>
]>;
defm AtenNativeBatchNormLegit
    : Operator<"aten._native_batch_norm_legit", Normalization, [
  Default<"input weight bias running_mean running_var training momentum eps",
          results=3, lowering=Opaque>,
  Overload<["no_stats"], "input weight bias training momentum eps", results=3>
]>;
defm AtenNativeBatchNormLegitFunctional
    : Operator<"aten._native_batch_norm_legit_functional", Normalization, [
  Default<"input weight bias running_mean running_var training momentum eps",
          results=5>
]>;
defm AtenNativeBatchNormLegitNoTraining
    : Operator<"aten._native_batch_norm_legit_no_training", Normalization, [
  Default<"input weight bias running_mean running_var momentum eps", results=3>
]>;
defm AtenNativeGroupNorm : Operator<"aten.native_group_norm", Normalization, [
  Default<"input weight bias N C HxW group eps", results=3, size="N",
          sizeDim=0>
]>;
defm AtenNativeGroupNormBackward
    : Operator<"aten.native_group_norm_backward", Normalization, [
  Default<"grad_out input mean rstd weight N C HxW group output_mask",
          results=3, optional=true, size="N", sizeDim=0>
]>;
defm AtenNativeLayerNorm : Operator<"aten.native_layer_norm", Normalization, [
  Default<"input normalized_shape weight bias eps", results=3>
]>;
defm AtenNativeLayerNormBackward
    : Operator<"aten.native_layer_norm_backward", Normalization, [
  Default<"grad_out input normalized_shape mean rstd weight bias output_mask",
          results=3, optional=true>
]>;
defm AtenSoftmax : Operator<"aten._softmax", Normalization, [
  Default<"self dim half_to_float">
]>;
defm AtenSoftmaxBackwardData
    : Operator<"aten._softmax_backward_data", Normalization, [
  Default<"grad_output output dim input_dtype">
]>;

#endif // REGATHER_DIALECT_TG_TARGETS_NORMALIZATIONS
