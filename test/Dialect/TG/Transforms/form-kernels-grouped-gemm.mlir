// Grouped GEMMs that the runtime computes, with the views around them.
// RUN: regather-opt %s -split-input-file --tg-form-kernels --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-form-kernels --remark-format=emitRemark --remarks-filter=tg-form-kernels -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Experts keep their weights as [groups, outer, inner].
// CHECK:       tg.kernel @grouped_mm_0
// CHECK-SAME:    attributes {library_call = #tg.grouped_gemm<groups = 4, rows = 64, inner = 32, outer = 48, x = <1 strides[32, 1]>, w = <0 strides[1536, 1, 32]>, ends = <2 strides[1]>, to_y = <3 strides[48, 1]>>}
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    tg.launch @grouped_mm_0(%arg1, %arg0, %arg2)
// CHECK-NEXT:    return
func.func @forward(%x: tensor<64x32xf32>, %w: tensor<4x48x32xf32>, %ends: tensor<4xi32>) -> tensor<64x48xf32> {
  %t = tg.node "aten.permute.default"(%w) args [#tg.operand<0>, [0, 2, 1]] : (tensor<4x48x32xf32>) -> tensor<4x32x48xf32>
  %y = tg.node "aten._grouped_mm.default"(%x, %t, %ends) : (tensor<64x32xf32>, tensor<4x32x48xf32>, tensor<4xi32>) -> tensor<64x48xf32>
  return %y : tensor<64x48xf32>
}

// -----

// The gradient of these, which is written as it is kept.
// CHECK:       tg.kernel @grouped_mm_0
// CHECK-SAME:    attributes {library_call = #tg.grouped_gemm<groups = 4, rows = 64, inner = 32, outer = 48, x = <0 strides[32, 1]>, y = <1 strides[48, 1]>, ends = <2 strides[1]>, to_w = <3 strides[1536, 1, 32]>>}
// CHECK-LABEL: func.func @weights
// CHECK-NEXT:    tg.launch @grouped_mm_0(%arg0, %arg1, %arg2)
// CHECK-NEXT:    return
func.func @weights(%x: tensor<64x32xbf16>, %y: tensor<64x48xbf16>, %ends: tensor<4xi32>) -> tensor<4x48x32xbf16> {
  %t = tg.node "aten.permute.default"(%x) args [#tg.operand<0>, [1, 0]] : (tensor<64x32xbf16>) -> tensor<32x64xbf16>
  %w = tg.node "aten._grouped_mm.default"(%t, %y, %ends) : (tensor<32x64xbf16>, tensor<64x48xbf16>, tensor<4xi32>) -> tensor<4x32x48xbf16>
  %r = tg.node "aten.permute.default"(%w) args [#tg.operand<0>, [0, 2, 1]] : (tensor<4x32x48xbf16>) -> tensor<4x48x32xbf16>
  return %r : tensor<4x48x32xbf16>
}

// -----

// Columns in groups: x and y lie the other way round.
// CHECK:       tg.kernel @grouped_mm_0
// CHECK-SAME:    attributes {library_call = #tg.grouped_gemm<groups = 4, rows = 64, inner = 32, outer = 48, x = <1 strides[1, 64]>, w = <0 strides[1536, 1, 32]>, ends = <2 strides[1]>, to_y = <3 strides[1, 64]>>}
// CHECK-LABEL: func.func @columns
func.func @columns(%w: tensor<4x48x32xf32>, %x: tensor<32x64xf32>, %ends: tensor<4xi32>) -> tensor<48x64xf32> {
  %y = tg.node "aten._grouped_mm.default"(%w, %x, %ends) : (tensor<4x48x32xf32>, tensor<32x64xf32>, tensor<4xi32>) -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// -----

// Without ends it is a batch of GEMMs.
// CHECK:       tg.kernel @grouped_mm_0
// CHECK-SAME:    attributes {library_call = #tg.gemm<m = 64, n = 48, k = 32, batch = [4]
// CHECK-LABEL: func.func @batch
func.func @batch(%x: tensor<4x64x32xf32>, %w: tensor<4x32x48xf32>) -> tensor<4x64x48xf32> {
  %y = tg.node "aten._grouped_mm.default"(%x, %w) : (tensor<4x64x32xf32>, tensor<4x32x48xf32>) -> tensor<4x64x48xf32>
  return %y : tensor<4x64x48xf32>
}

// -----

// Of the gradients, what is read; the other one is not computed.
// CHECK:       tg.kernel @grouped_mm_fallback_backward_0
// CHECK-SAME:    fills_zeros = true, x = <0 strides[32, 1]>, w = <1 strides[1536, 48, 1]>, y = <3 strides[48, 1]>, ends = <2 strides[1]>, to_x = <4 strides[32, 1]>>}
// CHECK-LABEL: func.func @backward
func.func @backward(%x: tensor<64x32xf32>, %w: tensor<4x32x48xf32>, %ends: tensor<4xi32>, %g: tensor<64x48xf32>) -> tensor<64x32xf32> {
  %r:2 = tg.node "transformers.grouped_mm_fallback_backward.default"(%x, %w, %ends, %g) : (tensor<64x32xf32>, tensor<4x32x48xf32>, tensor<4xi32>, tensor<64x48xf32>) -> (tensor<64x32xf32>, tensor<4x32x48xf32>)
  return %r#0 : tensor<64x32xf32>
}

// -----

// Near misses: few elements, and numbers that no library has.
// CHECK-NOT:   library_call
// CHECK-LABEL: func.func @small
// REMARK: no library computes 'grouped_mm': loops are as fast for so few elements
func.func @small(%x: tensor<8x4xf32>, %w: tensor<2x4x5xf32>, %ends: tensor<2xi32>) -> tensor<8x5xf32> {
  %y = tg.node "aten._grouped_mm.default"(%x, %w, %ends) : (tensor<8x4xf32>, tensor<2x4x5xf32>, tensor<2xi32>) -> tensor<8x5xf32>
  return %y : tensor<8x5xf32>
}

// -----

// In an elastic step what is small on many ranks has the bits of what is not.
// CHECK:       tg.kernel @grouped_mm_0
// CHECK-SAME:    library_call = #tg.grouped_gemm<groups = 2, rows = 8
// CHECK-LABEL: func.func @small_part
func.func @small_part(%x: tensor<8x4xf32>, %w: tensor<2x4x5xf32>, %ends: tensor<2xi32>) -> tensor<8x5xf32> attributes {tg.elastic = 4 : i64} {
  %y = tg.node "aten._grouped_mm.default"(%x, %w, %ends) : (tensor<8x4xf32>, tensor<2x4x5xf32>, tensor<2xi32>) -> tensor<8x5xf32>
  return %y : tensor<8x5xf32>
}

// -----

// CHECK-NOT:   library_call
// CHECK-LABEL: func.func @double
// REMARK: no library computes 'grouped_mm': the library has no routine for numbers of this type
func.func @double(%x: tensor<64x32xf64>, %w: tensor<4x32x48xf64>, %ends: tensor<4xi32>) -> tensor<64x48xf64> {
  %y = tg.node "aten._grouped_mm.default"(%x, %w, %ends) : (tensor<64x32xf64>, tensor<4x32x48xf64>, tensor<4xi32>) -> tensor<64x48xf64>
  return %y : tensor<64x48xf64>
}
