// Convolutions that the runtime computes, with the views around them.
// RUN: regather-opt %s -split-input-file --tg-form-kernels --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-form-kernels --remark-format=emitRemark --remarks-filter=tg-form-kernels -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK:       tg.kernel @convolution_0
// CHECK-SAME:    attributes {library_call = #tg.convolution<batch = 2, inner = 3, outer = 8, extents = [17, 9], counts = [9, 9], sizes = [3, 3], strides = [2, 1], padding = [1, 1], dilation = [1, 1], x = <0 strides[459, 0, 153, 9, 1]>, w = <1 strides[0, 27, 9, 3, 1]>, bias = <2 strides[0, 1]>, to_y = <3 strides[648, 0, 81, 9, 1]>>}
// CHECK:         tg.node "aten.convolution.default"
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    tg.launch @convolution_0(%arg0, %arg1, %arg2)
func.func @forward(%x: tensor<2x3x17x9xf32>, %w: tensor<8x3x3x3xf32>, %b: tensor<8xf32>) -> tensor<2x8x9x9xf32> {
  %y = tg.node "aten.convolution.default"(%x, %w, %b) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, [2, 1], [1, 1], [1, 1], false, [0, 0], 1]
      : (tensor<2x3x17x9xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<2x8x9x9xf32>
  return %y : tensor<2x8x9x9xf32>
}

// -----

// Channels that lie last are read and written where they are. In two groups.
// CHECK:       tg.kernel @convolution_0
// CHECK-SAME:    attributes {library_call = #tg.convolution<batch = 2, groups = 2, inner = 4, outer = 16, extents = [64], counts = [60], sizes = [3], strides = [1], padding = [0], dilation = [2], x = <0 strides[512, 4, 1, 8]>, w = <1 strides[192, 12, 3, 1]>, to_y = <2 strides[1920, 16, 1, 32]>>}
// CHECK-LABEL: func.func @channels_last
// CHECK-NEXT:    tg.launch @convolution_0
// CHECK-NEXT:    return
func.func @channels_last(%x: tensor<2x64x8xbf16>, %w: tensor<32x4x3xbf16>) -> tensor<2x60x32xbf16> {
  %t = tg.node "aten.transpose.int"(%x) args [#tg.operand<0>, 1, 2] : (tensor<2x64x8xbf16>) -> tensor<2x8x64xbf16>
  %y = tg.node "aten.convolution.default"(%t, %w) args [#tg.operand<0>, #tg.operand<1>, unit, [1], [0], [2], false, [0], 2]
      : (tensor<2x8x64xbf16>, tensor<32x4x3xbf16>) -> tensor<2x32x60xbf16>
  %r = tg.node "aten.transpose.int"(%y) args [#tg.operand<0>, 1, 2] : (tensor<2x32x60xbf16>) -> tensor<2x60x32xbf16>
  return %r : tensor<2x60x32xbf16>
}

// -----

// A transposed convolution computes x.
// CHECK:       tg.kernel @convolution_0
// CHECK-SAME:    attributes {library_call = #tg.convolution<batch = 8, inner = 6, outer = 16, extents = [34], counts = [16], sizes = [4], strides = [2], padding = [0], dilation = [1], transposed = true, w = <1 strides[0, 24, 4, 1]>, y = <0 strides[256, 0, 16, 1]>, bias = <2 strides[0, 1]>, to_x = <3 strides[204, 0, 34, 1]>>}
// CHECK-LABEL: func.func @transposed
func.func @transposed(%y: tensor<8x16x16xf32>, %w: tensor<16x6x4xf32>, %b: tensor<6xf32>) -> tensor<8x6x34xf32> {
  %x = tg.node "aten.convolution.default"(%y, %w, %b) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, [2], [0], [1], true, [0], 1]
      : (tensor<8x16x16xf32>, tensor<16x6x4xf32>, tensor<6xf32>) -> tensor<8x6x34xf32>
  return %x : tensor<8x6x34xf32>
}

// -----

// Of the gradients, what is read; the other one is not computed.
// CHECK:       tg.kernel @convolution_backward_0
// CHECK-SAME:    -> (tensor<8x3x3x3xf32>, tensor<8xf32>)
// CHECK-SAME:    attributes {library_call = #tg.convolution<{{.*}}, x = <1 strides[192, 0, 64, 8, 1]>, w = <2 strides[0, 27, 9, 3, 1]>, y = <0 strides[512, 0, 64, 8, 1]>, to_w = <3 strides[0, 27, 9, 3, 1]>, to_bias = <4 strides[0, 1]>>}
// CHECK-LABEL: func.func @backward
// CHECK-NEXT:    %[[G:.*]]:2 = tg.launch @convolution_backward_0(%arg0, %arg1, %arg2)
// CHECK-NEXT:    return %[[G]]#0, %[[G]]#1
func.func @backward(%g: tensor<4x8x8x8xf32>, %x: tensor<4x3x8x8xf32>, %w: tensor<8x3x3x3xf32>) -> (tensor<8x3x3x3xf32>, tensor<8xf32>) {
  %r:3 = tg.node "aten.convolution_backward.default"(%g, %x, %w) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, [8], [1, 1], [1, 1], [1, 1], false, [0, 0], 1, [true, true, true]]
      : (tensor<4x8x8x8xf32>, tensor<4x3x8x8xf32>, tensor<8x3x3x3xf32>) -> (tensor<4x3x8x8xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>)
  return %r#1, %r#2 : tensor<8x3x3x3xf32>, tensor<8xf32>
}

// -----

// Near misses: few elements, and numbers that no library has.
// CHECK-NOT:   library_call
// CHECK-LABEL: func.func @small
// REMARK: no library computes 'convolution': loops are as fast for so few elements
func.func @small(%x: tensor<1x2x8xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x4x6xf32> {
  %y = tg.node "aten.convolution.default"(%x, %w) args [#tg.operand<0>, #tg.operand<1>, unit, [1], [0], [1], false, [0], 1]
      : (tensor<1x2x8xf32>, tensor<4x2x3xf32>) -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// -----

// CHECK-NOT:   library_call
// CHECK-LABEL: func.func @double
// REMARK: no library computes 'convolution': the library has no routine for numbers of this type
func.func @double(%x: tensor<2x32x64xf64>, %w: tensor<32x32x3xf64>) -> tensor<2x32x62xf64> {
  %y = tg.node "aten.convolution.default"(%x, %w) args [#tg.operand<0>, #tg.operand<1>, unit, [1], [0], [1], false, [0], 1]
      : (tensor<2x32x64xf64>, tensor<32x32x3xf64>) -> tensor<2x32x62xf64>
  return %y : tensor<2x32x62xf64>
}
