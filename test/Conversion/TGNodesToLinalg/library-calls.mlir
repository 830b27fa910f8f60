// Kernels that a library computes, before and after their nodes are lowered.
// RUN: regather-opt %s --convert-tg-nodes-to-linalg --tg-verify-step | FileCheck %s

// A GEMM is read from structured operations, too.
// CHECK: tg.kernel @gemm
// CHECK-SAME: attributes {library_call = #tg.gemm<m = 64, n = 64, k = 64, a = <0 strides[1, 64]>, b = <1 strides[64, 1]>, c = <2 strides[64, 1]>>}
tg.kernel @gemm(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {library_call = #tg.gemm<m = 64, n = 64, k = 64, a = <0 strides[1, 64]>, b = <1 strides[64, 1]>, c = <2 strides[64, 1]>>} {
  %t = tg.node "aten.t.default"(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %mm = tg.node "aten.mm.default"(%t, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  tg.return %mm : tensor<64x64xf32>
}

// Attention in many operations is none that a library computes.
// CHECK: tg.kernel @attention
// CHECK-NOT: library_call
// CHECK: tg.return
tg.kernel @attention(%q: tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
    attributes {library_call = #tg.attention<
        batch = 1, heads = 2, rows = 2, columns = 2, width = 4, value_width = 4, scale = 0.5 : f32,
        q = <0 strides[16, 8, 4, 1]>, k = <0 strides[16, 8, 4, 1]>, v = <0 strides[16, 8, 4, 1]>, o = <1 strides[16, 8, 4, 1]>>} {
  %o, %l = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %q, %q)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, false]
      : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2xf32>)
  tg.return %o : tensor<1x2x2x4xf32>
}
