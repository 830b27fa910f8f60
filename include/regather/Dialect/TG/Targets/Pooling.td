//===- Pooling.td - Pooling and resampling -----------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_POOLING
#define REGATHER_DIALECT_TG_TARGETS_POOLING

include "regather/Dialect/TG/Targets/TargetBase.td"

defm AtenAdaptiveAvgPool1d : Operator<"aten.adaptive_avg_pool1d", Pooling, [
  Default<"self output_size", lowering=Opaque>
]>;
defm AtenAdaptiveAvgPool1dBackward
    : Operator<"aten.adaptive_avg_pool1d_backward", Pooling, [
  Default<"grad_output self", lowering=Opaque>
]>;
defm AtenAdaptiveAvgPool2d : Operator<"aten.adaptive_avg_pool2d", Pooling, [
  Default<"self output_size", lowering=Opaque>
]>;
defm AtenAdaptiveAvgPool2dBackward
    : Operator<"aten.adaptive_avg_pool2d_backward", Pooling, [
  Default<"grad_output self", lowering=Opaque>
]>;
defm AtenAdaptiveAvgPool3d : Operator<"aten.adaptive_avg_pool3d", Pooling, [
  Default<"self output_size", lowering=Opaque>
]>;
defm AtenAdaptiveAvgPool3dBackward
    : Operator<"aten.adaptive_avg_pool3d_backward", Pooling, [
  Default<"grad_output self", lowering=Opaque>
]>;
defm AtenAdaptiveMaxPool1d : Operator<"aten.adaptive_max_pool1d", Pooling, [
  Default<"self output_size", results=2, lowering=Opaque>
]>;
defm AtenAdaptiveMaxPool1dBackward
    : Operator<"aten.adaptive_max_pool1d_backward", Pooling, [
  Default<"grad_output self indices", lowering=Opaque>
]>;
defm AtenAdaptiveMaxPool2d : Operator<"aten.adaptive_max_pool2d", Pooling, [
  Default<"self output_size", results=2, lowering=Opaque>
]>;
defm AtenAdaptiveMaxPool2dBackward
    : Operator<"aten.adaptive_max_pool2d_backward", Pooling, [
  Default<"grad_output self indices", lowering=Opaque>
]>;
defm AtenAdaptiveMaxPool3d : Operator<"aten.adaptive_max_pool3d", Pooling, [
  Default<"self output_size", results=2, lowering=Opaque>
]>;
defm AtenAdaptiveMaxPool3dBackward
    : Operator<"aten.adaptive_max_pool3d_backward", Pooling, [
  Default<"grad_output self indices", lowering=Opaque>
]>;
defm AtenAvgPool1d : Operator<"aten.avg_pool1d", Pooling, [
  Default<"self kernel_size stride padding ceil_mode count_include_pad "
          "divisor_override", lowering=Opaque>
]>;
defm AtenAvgPool1dBackward : Operator<"aten.avg_pool1d_backward", Pooling, [
  Default<"grad_output self kernel_size stride padding ceil_mode "
          "count_include_pad divisor_override", lowering=Opaque>
]>;
defm AtenAvgPool2d : Operator<"aten.avg_pool2d", Pooling, [
  Default<"self kernel_size stride padding ceil_mode count_include_pad "
          "divisor_override">
]>;
defm AtenAvgPool2dBackward : Operator<"aten.avg_pool2d_backward", Pooling, [
  Default<"grad_output self kernel_size stride padding ceil_mode "
          "count_include_pad divisor_override">
]>;
defm AtenAvgPool3d : Operator<"aten.avg_pool3d", Pooling, [
  Default<"self kernel_size stride padding ceil_mode count_include_pad "
          "divisor_override">
]>;
defm AtenAvgPool3dBackward : Operator<"aten.avg_pool3d_backward", Pooling, [
  Default<"grad_output self kernel_size stride padding ceil_mode "
          "count_include_pad divisor_override">
]>;
defm AtenInnerAdaptiveAvgPool1d
    : Operator<"aten._adaptive_avg_pool1d", Pooling, [
  Default<"self output_size", lowering=Opaque>
]>;
defm AtenInnerAdaptiveAvgPool1dBackward
    : Operator<"aten._adaptive_avg_pool1d_backward", Pooling, [
  Default<"grad_output self", lowering=Opaque>
]>;
defm AtenInnerAdaptiveAvgPool2d
    : Operator<"aten._adaptive_avg_pool2d", Pooling, [
  Default<"self output_size">
]>;
defm AtenInnerAdaptiveAvgPool2dBackward
    : Operator<"aten._adaptive_avg_pool2d_backward", Pooling, [
  Default<"grad_output self">
]>;
defm AtenInnerAdaptiveAvgPool3d
    : Operator<"aten._adaptive_avg_pool3d", Pooling, [
  Default<"self output_size">
]>;
defm AtenInnerAdaptiveAvgPool3dBackward
    : Operator<"aten._adaptive_avg_pool3d_backward", Pooling, [
  Default<"grad_output self">
]>;
defm AtenMaxPool1dWithIndices
    : Operator<"aten.max_pool1d_with_indices", Pooling, [
  Default<"self kernel_size stride padding dilation ceil_mode", results=2,
          lowering=Opaque>
]>;
defm AtenMaxPool1dWithIndicesBackward
    : Operator<"aten.max_pool1d_with_indices_backward", Pooling, [
  Default<"grad_output self kernel_size stride padding dilation ceil_mode "
          "indices", lowering=Opaque>
]>;
defm AtenMaxPool2dWithIndices
    : Operator<"aten.max_pool2d_with_indices", Pooling, [
  Default<"self kernel_size stride padding dilation ceil_mode", results=2>
]>;
defm AtenMaxPool2dWithIndicesBackward
    : Operator<"aten.max_pool2d_with_indices_backward", Pooling, [
  Default<"grad_output self kernel_size stride padding dilation ceil_mode "
          "indices">
]>;
defm AtenMaxPool3dWithIndices
    : Operator<"aten.max_pool3d_with_indices", Pooling, [
  Default<"self kernel_size stride padding dilation ceil_mode", results=2>
]>;
defm AtenMaxPool3dWithIndicesBackward
    : Operator<"aten.max_pool3d_with_indices_backward", Pooling, [
  Default<"grad_output self kernel_size stride padding dilation ceil_mode "
          "indices">
]>;
defm AtenUpsampleBicubic2d : Operator<"aten.upsample_bicubic2d", Pooling, [
  Default<"self output_size align_corners scales_h scales_w", lowering=Opaque>
]>;
defm AtenUpsampleBicubic2dBackward
    : Operator<"aten.upsample_bicubic2d_backward", Pooling, [
  Default<"grad_output output_size input_size align_corners scales_h scales_w",
          size="input_size", lowering=Opaque>
]>;
defm AtenUpsampleBilinear2d : Operator<"aten.upsample_bilinear2d", Pooling, [
  Default<"self output_size align_corners scales_h scales_w", lowering=Opaque>
], expensive=true>;
defm AtenUpsampleBilinear2dBackward
    : Operator<"aten.upsample_bilinear2d_backward", Pooling, [
  Default<"grad_output output_size input_size align_corners scales_h scales_w",
          size="input_size", lowering=Opaque>
]>;
defm AtenUpsampleNearest2d : Operator<"aten.upsample_nearest2d", Pooling, [
  Default<"self output_size scales_h scales_w", lowering=Opaque>
]>;
defm AtenUpsampleNearest2dBackward
    : Operator<"aten.upsample_nearest2d_backward", Pooling, [
  Default<"grad_output output_size input_size scales_h scales_w",
          size="input_size", lowering=Opaque>
]>;
defm PrimsLowMemoryMaxPoolOffsetsToIndices
    : Operator<"prims._low_memory_max_pool_offsets_to_indices",
               Pooling, pytorch=Recomputable>;

#endif // REGATHER_DIALECT_TG_TARGETS_POOLING
