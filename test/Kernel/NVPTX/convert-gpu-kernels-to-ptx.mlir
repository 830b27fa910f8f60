// RUN: regather-opt %s --convert-gpu-kernels-to-ptx="architecture=sm_90a" | FileCheck %s
// RUN: regather-opt %s --convert-gpu-kernels-to-ptx | FileCheck %s --check-prefix=DEFAULT

// Each thread reads and writes 16 bytes; what is not written is read by way of
// the cache for constants.
// CHECK-NOT: gpu.module
// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a"
// CHECK-SAME: assembly = "
// CHECK-SAME: .target sm_90a
// CHECK-SAME: .visible .entry doubled(
// CHECK-SAME: ld.global.nc.v4
// CHECK-SAME: add.rn.f32
// CHECK-SAME: st.global.v4
// DEFAULT: .target sm_80
gpu.module @kernels {
  gpu.func @doubled(%x: memref<128xf32> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly},
      %y: memref<128xf32> {llvm.align = 16 : i64, llvm.noalias}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %c4 = arith.constant 4 : index
    %thread = gpu.thread_id x
    %i = arith.muli %thread, %c4 : index
    %v = vector.load %x[%i] {alignment = 16 : i64} : memref<128xf32>, vector<4xf32>
    %w = arith.addf %v, %v : vector<4xf32>
    vector.store %w, %y[%i] {alignment = 16 : i64} : memref<128xf32>, vector<4xf32>
    gpu.return
  }
}

// What is no module of functions is left alone.
// CHECK: tg.kernel @other
tg.kernel @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  tg.return %x : tensor<4xf32>
}
