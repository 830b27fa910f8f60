// RUN: regather-opt %s --kernel-emit-ptx=architecture=sm_90a | FileCheck %s

// EXAMPLE kernel-emit-ptx{architecture=sm_90a}
// CHECK-NOT: gpu.module
// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a"
// CHECK-SAME: .visible .entry stored(
// CHECK-SAME: st.global
gpu.module @kernels {
  llvm.func @stored(%p: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %one = llvm.mlir.constant(1.0 : f32) : f32
    llvm.store %one, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}
// END

// What is no module of functions is left alone.
// CHECK: tg.kernel @other
tg.kernel @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  tg.return %x : tensor<4xf32>
}
