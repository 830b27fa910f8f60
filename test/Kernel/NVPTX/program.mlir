// A step by passes, down to what a GPU is given: the program with its
// collectives in order, each waited for before its result is read, and beside
// it the PTX of the kernels: loads of 16 bytes, and no local memory.
// RUN: regather-opt %examples/mlp-fsdp.mlir --pass-pipeline='builtin.module(inline,tg-form-kernels,convert-tg-to-exec,exec-plan-memory,convert-tg-kernels-to-gpu,convert-gpu-kernels-to-ptx{architecture=sm_90a})' > %t
// RUN: FileCheck %s --input-file=%t
// RUN: FileCheck %s --input-file=%t --check-prefix=ORDER

// CHECK:      exec.program @step(
// CHECK:      %[[GROUP:.*]] = exec.communicator on @mesh [dp]
// CHECK:      exec.collective all_gather dim 0 (%arg0, %arg1) to (%[[W:.*]], %{{.*}}) over %[[GROUP]] stream 1
// CHECK-NEXT: %[[GATHERED:.*]] = exec.record stream 1
// CHECK-NEXT: exec.wait %[[GATHERED]] stream 0
// CHECK:      exec.launch @matmul_0(%arg6, %[[W]]) to ({{.*}}) stream 0
// CHECK:      gpu.binary @kernels
// CHECK-NOT:  .local
// CHECK:      .visible .entry matmul_0(
// CHECK-NOT:  .local
// CHECK:      ld.global.nc.v4
// CHECK-NOT:  .local

// ORDER-COUNT-3: exec.collective all_gather {{.*}}phase<forward>
// ORDER:         exec.collective all_reduce {{.*}}phase<forward>
// ORDER-NEXT:    exec.record
// ORDER:         exec.collective all_gather {{.*}}"layers.2"{{.*}}phase<backward>
// ORDER:         exec.collective reduce_scatter {{.*}}"layers.2"
// ORDER:         exec.collective all_gather {{.*}}"layers.1"{{.*}}phase<backward>
// ORDER:         exec.collective reduce_scatter {{.*}}"layers.1"
// ORDER:         exec.collective reduce_scatter {{.*}}"layers.0"
// ORDER-NOT:     exec.collective
// ORDER:         exec.return
