// RUN: regather-opt %s --tg-form-kernels --split-input-file | FileCheck %s

// The gradient of a norm's input is computed row by row, with what reads it;
// those of weight and bias column by column, in a kernel of their own.

// CHECK-LABEL: tg.kernel @native_layer_norm_backward_exp
// CHECK-SAME: tensor<64x256xf32> {tg.rows = 0 : i64}
// CHECK: %[[D:.*]]:3 = tg.node "aten.native_layer_norm_backward.default"{{.*}} [true, false, false]]
// CHECK-SAME: -> (tensor<64x256xf32>, !tg.opaque<"none">, !tg.opaque<"none">)
// CHECK: tg.node "aten.exp.default"(%[[D]]#0)
// CHECK: tg.kernel @native_layer_norm_backward
// CHECK-SAME: tensor<64x256xf32> {tg.rows = 1 : i64}
// CHECK-SAME: -> (tensor<256xf32> {tg.rows = 0 : i64}, tensor<256xf32> {tg.rows = 0 : i64})
// CHECK: tg.node "aten.native_layer_norm_backward.default"{{.*}} [false, true, true]]
// CHECK-SAME: -> (!tg.opaque<"none">, tensor<256xf32>, tensor<256xf32>)
// CHECK-LABEL: func.func @layer_norm
// CHECK-COUNT-2: tg.launch
func.func @layer_norm(%g: tensor<64x256xf32>, %x: tensor<64x256xf32>, %m: tensor<64x1xf32>, %r: tensor<64x1xf32>, %w: tensor<256xf32>, %b: tensor<256xf32>)
    -> (tensor<64x256xf32>, tensor<256xf32>, tensor<256xf32>) {
  %d:3 = tg.node "aten.native_layer_norm_backward.default"(%g, %x, %m, %r, %w, %b)
      args [#tg.operand<0>, #tg.operand<1>, [256], #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, [true, true, true]]
      : (tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x1xf32>, tensor<64x1xf32>, tensor<256xf32>, tensor<256xf32>)
      -> (tensor<64x256xf32>, tensor<256xf32>, tensor<256xf32>)
  %e = tg.node "aten.exp.default"(%d#0) : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %e, %d#1, %d#2 : tensor<64x256xf32>, tensor<256xf32>, tensor<256xf32>
}

// -----

// What nobody reads is not computed: the bias has no gradient here.

// CHECK-LABEL: tg.kernel @native_layer_norm_backward
// CHECK: [true, false, false]]
// CHECK: tg.kernel @native_layer_norm_backward
// CHECK: [false, true, false]]
func.func @no_bias(%g: tensor<64x256xf32>, %x: tensor<64x256xf32>, %m: tensor<64x1xf32>, %r: tensor<64x1xf32>, %w: tensor<256xf32>, %b: tensor<256xf32>)
    -> (tensor<64x256xf32>, tensor<256xf32>) {
  %d:3 = tg.node "aten.native_layer_norm_backward.default"(%g, %x, %m, %r, %w, %b)
      args [#tg.operand<0>, #tg.operand<1>, [256], #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, [true, true, true]]
      : (tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x1xf32>, tensor<64x1xf32>, tensor<256xf32>, tensor<256xf32>)
      -> (tensor<64x256xf32>, tensor<256xf32>, tensor<256xf32>)
  return %d#0, %d#1 : tensor<64x256xf32>, tensor<256xf32>
}

// -----

// The same for RMS norms.

// CHECK-LABEL: tg.kernel @fused_rms_norm_backward
// CHECK: [true, false]]
// CHECK: tg.kernel @fused_rms_norm_backward
// CHECK: [false, true]]
func.func @rms_norm(%g: tensor<64x256xf32>, %x: tensor<64x256xf32>, %r: tensor<64x1xf32>, %w: tensor<256xf32>)
    -> (tensor<64x256xf32>, tensor<256xf32>) {
  %d:2 = tg.node "aten._fused_rms_norm_backward.default"(%g, %x, %r, %w)
      args [#tg.operand<0>, #tg.operand<1>, [256], #tg.operand<2>, #tg.operand<3>, [true, true]]
      : (tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x1xf32>, tensor<256xf32>)
      -> (tensor<64x256xf32>, tensor<256xf32>)
  return %d#0, %d#1 : tensor<64x256xf32>, tensor<256xf32>
}

// -----

// Nobody reads the sums, or the mask leaves them out: one node stays one.

// CHECK-LABEL: tg.kernel @native_layer_norm_backward
// CHECK: [true, true, true]]
// CHECK-NOT: native_layer_norm_backward.default
// CHECK-LABEL: func.func @input_only
func.func @input_only(%g: tensor<64x256xf32>, %x: tensor<64x256xf32>, %m: tensor<64x1xf32>, %r: tensor<64x1xf32>, %w: tensor<256xf32>, %b: tensor<256xf32>)
    -> tensor<64x256xf32> {
  %d:3 = tg.node "aten.native_layer_norm_backward.default"(%g, %x, %m, %r, %w, %b)
      args [#tg.operand<0>, #tg.operand<1>, [256], #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, [true, true, true]]
      : (tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x1xf32>, tensor<64x1xf32>, tensor<256xf32>, tensor<256xf32>)
      -> (tensor<64x256xf32>, tensor<256xf32>, tensor<256xf32>)
  return %d#0 : tensor<64x256xf32>
}

// -----

// CHECK-LABEL: tg.kernel @native_layer_norm_backward
// CHECK: [false, true, true]]
// CHECK-NOT: native_layer_norm_backward.default
// CHECK-LABEL: func.func @sums_only
func.func @sums_only(%g: tensor<64x256xf32>, %x: tensor<64x256xf32>, %m: tensor<64x1xf32>, %r: tensor<64x1xf32>, %w: tensor<256xf32>, %b: tensor<256xf32>)
    -> (tensor<256xf32>, tensor<256xf32>) {
  %d:3 = tg.node "aten.native_layer_norm_backward.default"(%g, %x, %m, %r, %w, %b)
      args [#tg.operand<0>, #tg.operand<1>, [256], #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, [false, true, true]]
      : (tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x1xf32>, tensor<64x1xf32>, tensor<256xf32>, tensor<256xf32>)
      -> (!tg.opaque<"none">, tensor<256xf32>, tensor<256xf32>)
  return %d#1, %d#2 : tensor<256xf32>, tensor<256xf32>
}
