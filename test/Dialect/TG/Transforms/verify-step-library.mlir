// Kernels whose library call says what their body computes.
// RUN: regather-opt %s --tg-verify-step | FileCheck %s
// RUN: regather-opt %s --tg-verify-step --convert-tg-to-exec --exec-plan-memory --tg-verify-step | FileCheck %s

// CHECK: tg.kernel @small_gemm
// CHECK-SAME: #tg.gemm
tg.kernel @small_gemm(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf32>
    attributes {library_call = #tg.gemm<m = 3, n = 5, k = 4, a = <0 strides[4, 1]>, b = <1 strides[5, 1]>, c = <2 strides[5, 1]>>} {
  %mm = tg.node "aten.mm.default"(%x, %y) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  tg.return %mm : tensor<3x5xf32>
}

// A kernel without a call may compute a GEMM: its code is generated.
// CHECK: tg.kernel @generated
// CHECK-NOT: #tg.gemm
tg.kernel @generated(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %mm = tg.node "aten.mm.default"(%x, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  tg.return %mm : tensor<64x64xf32>
}

func.func @step(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>, %z: tensor<64x64xf32>) -> (tensor<3x5xf32>, tensor<64x64xf32>) {
  %mm = tg.launch @small_gemm(%x, %y) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %g = tg.launch @generated(%z) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %mm, %g : tensor<3x5xf32>, tensor<64x64xf32>
}
