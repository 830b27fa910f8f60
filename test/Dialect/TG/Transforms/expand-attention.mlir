// RUN: regather-opt %s -split-input-file --tg-expand-attention --tg-verify-step | FileCheck %s

// Scores of f32 are bounded before the mask is added, and products stay those of
// bf16. Two heads of the query share one of the key.
// CHECK-LABEL: func.func @capped
// CHECK-NOT:     regather.attention
// CHECK:         %[[Q:.*]] = tg.node "aten.view.default"(%arg0) args [#tg.operand<0>, [1, 8, 8]]
// CHECK:         %[[S:.*]] = tg.node "aten.bmm.default"(%[[Q]], {{.*}} -> tensor<1x8x6xbf16>
// CHECK:         -> tensor<1x2x4x6xf32>
// CHECK:         "aten.mul.Tensor"({{.*}}) args [#tg.operand<0>, 2.500000e-01]
// CHECK-NEXT:    %[[T:.*]] = tg.node "aten.tanh.default"
// CHECK-NEXT:    %[[U:.*]] = tg.node "aten.mul.Tensor"(%[[T]]) args [#tg.operand<0>, 2.000000e+00]
// CHECK:         tg.node "aten.add.Tensor"(%[[U]], {{.*}} -> tensor<1x2x4x6xf32>
// CHECK:         "aten.bmm.default"({{.*}} -> tensor<1x8x8xbf16>
// EXAMPLE tg-expand-attention
func.func @capped(%q: tensor<1x2x4x8xbf16>, %k: tensor<1x1x6x8xbf16>, %v: tensor<1x1x6x8xbf16>, %m: tensor<4x6xbf16>) -> (tensor<1x2x4x8xbf16>, tensor<1x2x4xf32>) {
  %o:2 = tg.node "regather.attention.default"(%q, %k, %v, %m)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, false]
      kwargs {attn_mask = #tg.operand<3>, scale = 5.000000e-01, softcap = 2.000000e+00} {tg.phase = #tg.phase<forward>}
      : (tensor<1x2x4x8xbf16>, tensor<1x1x6x8xbf16>, tensor<1x1x6x8xbf16>, tensor<4x6xbf16>) -> (tensor<1x2x4x8xbf16>, tensor<1x2x4xf32>)
  return %o#0, %o#1 : tensor<1x2x4x8xbf16>, tensor<1x2x4xf32>
}
// END

// -----

// The gradient of a mask of all sequences is a sum over them.
// CHECK-LABEL: func.func @biased
// CHECK-NOT:     regather.biased_attention_backward
// CHECK-COUNT-5: "aten.bmm.default"
// CHECK:         %[[G:.*]] = tg.node "aten.sum.dim_IntList"({{.*}}) args [#tg.operand<0>, [0], true] {{.*}} -> tensor<1x2x4x4xf32>
// CHECK-NEXT:    return {{.*}}, %[[G]]
func.func @biased(%x: tensor<3x2x4x8xf32>, %l: tensor<3x2x4xf32>, %m: tensor<1x2x4x4xf32>) -> (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<1x2x4x4xf32>) {
  %g:4 = tg.node "regather.biased_attention_backward.default"(%x, %x, %x, %x, %x, %l, %m)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, 0.0, true]
      kwargs {attn_mask = #tg.operand<6>} {tg.phase = #tg.phase<backward>}
      : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4xf32>, tensor<1x2x4x4xf32>) -> (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<1x2x4x4xf32>)
  return %g#0, %g#1, %g#2, %g#3 : tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<1x2x4x4xf32>
}

// -----

// GPUs have routines for this one.
// CHECK-LABEL: func.func @plain
// CHECK-NEXT:    %[[O:.*]]:2 = tg.node "regather.attention.default"
// CHECK-NEXT:    return %[[O]]#0
func.func @plain(%x: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %o:2 = tg.node "regather.attention.default"(%x, %x, %x) {tg.phase = #tg.phase<forward>}
      : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
  return %o#0 : tensor<1x2x4x8xf32>
}
