// RUN: regather-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(kernel-distribute-threads)))' --split-input-file --verify-diagnostics

gpu.module @kernels {
  // expected-error @below {{expects a known block size}}
  gpu.func @unknown() kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @calls(%x: memref<4xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{'memref.alloc' cannot be shared among threads}}
    %a = memref.alloc() : memref<4xf32>
    memref.dealloc %a : memref<4xf32>
    gpu.return
  }
}
