// RUN: regather-opt %s --convert-gpu-kernels-to-ptx --split-input-file --verify-diagnostics
// RUN: not regather-opt %s --convert-gpu-kernels-to-ptx="architecture=sm_42" 2>&1 | FileCheck %s
// CHECK: error: unknown architecture 'sm_42'

// Functions that have no expansion are in libdevice.
// expected-error @below {{cannot compile the module for sm_80: calls functions that nothing defines: __nv_sinf}}
gpu.module @kernels {
  gpu.func @sine(%x: memref<1xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0 : index
    %v = memref.load %x[%zero] : memref<1xf32>
    %s = math.sin %v : f32
    memref.store %s, %x[%zero] : memref<1xf32>
    gpu.return
  }
}
