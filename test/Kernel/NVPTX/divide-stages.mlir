// RUN: regather-opt %s --kernel-divide-stages | FileCheck %s

// A sum of all elements: parts of it, and then their sum. The first stage hands
// on a temporary, buffer 2, behind the argument and the result.
// EXAMPLE kernel-divide-stages
// CHECK: gpu.module @kernels
// CHECK: module @sum attributes {tg.signature = (tensor<1024x4096xf32>) -> tensor<f32>, tg.temporaries = [tensor<[[PARTS:[0-9x]*]]xf32>]}
// CHECK: module @stage_0
// CHECK: tg.kernel @sum({{.*}}tensor<1024x4096xf32>) -> tensor<[[PARTS]]xf32>
// CHECK-SAME: tg.buffers = array<i64: 0, 2>
// CHECK: module @stage_1
// CHECK: tg.kernel @sum({{.*}}tensor<[[PARTS]]xf32>) -> tensor<f32>
// CHECK-SAME: tg.buffers = array<i64: 2, 1>
tg.kernel @sum(%x: tensor<1024x4096xf32>) -> tensor<f32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, []] : (tensor<1024x4096xf32>) -> tensor<f32>
  tg.return %s : tensor<f32>
}
// END

// Each tile has rows of its own: one stage.
// CHECK: module @row_sums attributes {tg.signature = (tensor<1024x4096xf32>) -> tensor<1024xf32>}
// CHECK: module @stage_0
// CHECK: tg.kernel @row_sums
// CHECK-SAME: tg.buffers = array<i64: 0, 1>, tg.tile_bytes
// CHECK-NOT: module @stage_1
tg.kernel @row_sums(%x: tensor<1024x4096xf32>) -> tensor<1024xf32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<1024x4096xf32>) -> tensor<1024xf32>
  tg.return %s : tensor<1024xf32>
}

// What computes the same shares the stages.
// CHECK-NOT: module @row_sums_again
tg.kernel @row_sums_again(%x: tensor<1024x4096xf32>) -> tensor<1024xf32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<1024x4096xf32>) -> tensor<1024xf32>
  tg.return %s : tensor<1024xf32>
}
