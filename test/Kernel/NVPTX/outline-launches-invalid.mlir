// RUN: regather-opt %s --pass-pipeline='builtin.module(gpu.module(kernel-outline-launches))' --split-input-file --verify-diagnostics

gpu.module @kernels {
  builtin.module @k attributes {tg.signature = (tensor<4xf32>) -> tensor<4xf32>} {
    // expected-error @below {{expects a stage of one function}}
    builtin.module @stage_0 {
    }
  }
}

// -----

gpu.module @kernels {
  builtin.module @k attributes {tg.signature = (tensor<4xf32>) -> tensor<4xf32>} {
    builtin.module @stage_0 {
      // expected-error @below {{expects a function of tiles that names its buffers}}
      func.func @k(%x: memref<4xf32>, %y: memref<4xf32>, %begin: index, %end: index) {
        return
      }
    }
  }
}
