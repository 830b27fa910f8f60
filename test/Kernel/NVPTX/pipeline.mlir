// From a kernel of a step to its PTX by passes: loads of 16 bytes on the
// read-only path, one entry for each launch, and no local memory.
// RUN: regather-opt %s --pass-pipeline='builtin.module(convert-tg-kernels-to-gpu,convert-gpu-kernels-to-ptx{architecture=sm_90a})' | FileCheck %s

// CHECK: gpu.binary @kernels
// CHECK-NOT: .local
// CHECK: .visible .entry norms(
// CHECK-NOT: .local
// CHECK: ld.global.nc.v4
// CHECK-NOT: .local
// CHECK: shfl.sync.bfly
// CHECK-NOT: .local
// CHECK: .visible .entry norms_1(
// CHECK-NOT: .local
// CHECK: sqrt.rn.f32
// CHECK-NOT: .local
tg.kernel @norms(%x: tensor<1024x4096xf32>) -> tensor<f32> {
  %p = tg.node "aten.mul.Tensor"(%x, %x) : (tensor<1024x4096xf32>, tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  %s = tg.node "aten.sum.dim_IntList"(%p) args [#tg.operand<0>, []] : (tensor<1024x4096xf32>) -> tensor<f32>
  %n = tg.node "aten.sqrt.default"(%s) : (tensor<f32>) -> tensor<f32>
  tg.return %n : tensor<f32>
}
