//===- Contractions.td - GEMM and convolutions -------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_CONTRACTIONS
#define REGATHER_DIALECT_TG_TARGETS_CONTRACTIONS

include "regather/Dialect/TG/Targets/TargetBase.td"

//===----------------------------------------------------------------------===//
// GEMM
//===----------------------------------------------------------------------===//

defm AtenAddmm : Operator<"aten.addmm", Gemm, [
  Default<"self mat1 mat2 beta alpha">
], cost=AddedGemmCost>;
defm AtenAddmmActivation
    : Operator<"aten._addmm_activation", Gemm, cost=AddedGemmCost>;
defm AtenAddmv : Operator<"aten.addmv", Gemm, cost=AddedGemmCost>;
defm AtenBaddbmm : Operator<"aten.baddbmm", Gemm, [
  Default<"self batch1 batch2 beta alpha">
], cost=AddedGemmCost>;
defm AtenBmm : Operator<"aten.bmm", Gemm, [Default<"self mat2">]>;
defm AtenDot : Operator<"aten.dot", Gemm, [
  Default<"self tensor", lowering=Opaque>
]>;
defm AtenGroupedMm : Operator<"aten._grouped_mm", Gemm, [
  Default<"self mat2 offs bias out_dtype">
], cost=GroupedGemmCost>;
defm AtenLinear : Operator<"aten.linear", Gemm>;
defm AtenLinalgCholeskyEx : Operator<"aten.linalg_cholesky_ex", Gemm, [
  Default<"self upper check_errors", results=2>
], cost=FactorizationCost>;
defm AtenLinalgLuFactorEx : Operator<"aten.linalg_lu_factor_ex", Gemm, [
  Default<"A pivot check_errors", results=3>
], cost=FactorizationCost>;
defm AtenLinalgQr : Operator<"aten.linalg_qr", Gemm, [
  Default<"A mode", results=2>
], cost=FactorizationCost>;
defm AtenLinalgSolveTriangular
    : Operator<"aten.linalg_solve_triangular", Gemm, [
  Default<"self B upper left unitriangular">
], cost=TriangularSolveCost>;
defm AtenLuUnpack : Operator<"aten.lu_unpack", Rearrangement, [
  Default<"LU_data LU_pivots unpack_data unpack_pivots", results=3>
]>;
defm AtenMatmul : Operator<"aten.matmul", Gemm>;
defm AtenMm : Operator<"aten.mm", Gemm, [Default<"self mat2">]>;
defm AtenMv : Operator<"aten.mv", Gemm, [Default<"self vec", lowering=Opaque>]>;
defm AtenScaledGroupedMm
    : Operator<"aten._scaled_grouped_mm", Gemm, cost=GroupedGemmCost>;
defm AtenScaledMm : Operator<"aten._scaled_mm", Gemm>;
// What the transformers library calls where `aten._grouped_mm` does not take
// the type of the elements.
defm TransformersGroupedMmFallback
    : Operator<"transformers.grouped_mm_fallback", Gemm, [
  Default<"input weight offs">
], cost=GroupedGemmCost>;
defm TransformersGroupedMmFallbackBackward
    : Operator<"transformers.grouped_mm_fallback_backward", Gemm, [
  Default<"input weight offs grad_output", results=2>
], cost=GroupedGemmCost>;

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

defm AtenConvolution : Operator<"aten.convolution", Convolution, [
  Default<"input weight bias stride padding dilation transposed "
          "output_padding groups">
]>;
defm AtenConvolutionBackward
    : Operator<"aten.convolution_backward", Convolution, [
  Default<"grad_output input weight bias_sizes stride padding dilation "
          "transposed output_padding groups output_mask", results=3,
          optional=true>
], cost=ConvolutionBackwardCost>;

#endif // REGATHER_DIALECT_TG_TARGETS_CONTRACTIONS
