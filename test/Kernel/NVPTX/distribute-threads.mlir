// RUN: regather-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(kernel-distribute-threads)))' | FileCheck %s

// Each of 32 threads reads, adds and writes four elements at once. The second
// operation reads what other threads have written: a barrier.
// EXAMPLE kernel-distribute-threads
#id = affine_map<(d0) -> (d0)>
#turned = affine_map<(d0) -> (127 - d0)>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @twice(
  // CHECK: gpu.thread_id x
  // CHECK: vector.load {{.*}} vector<4xf32>
  // CHECK: arith.addf
  // CHECK: vector.store {{.*}} vector<4xf32>
  // CHECK: gpu.barrier
  // CHECK: memref.load
  // CHECK-NOT: linalg.generic
  // CHECK: gpu.return
  gpu.func @twice(%x: memref<128xf32> {llvm.align = 16 : i64}, %y: memref<128xf32> {llvm.align = 16 : i64}, %z: memref<128xf32> {llvm.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<128xf32>) outs(%y : memref<128xf32>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.addf %v, %v : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel"]} ins(%y : memref<128xf32>) outs(%z : memref<128xf32>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.mulf %v, %v : f32
      linalg.yield %s : f32
    }
    gpu.return
  }

  // Neither touches what the other writes.
  // CHECK-LABEL: gpu.func @apart(
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @apart(%x: memref<128xf32> {llvm.align = 16 : i64}, %y: memref<128xf32> {llvm.align = 16 : i64}, %z: memref<128xf32> {llvm.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<128xf32>) outs(%y : memref<128xf32>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.addf %v, %v : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<128xf32>) outs(%z : memref<128xf32>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.mulf %v, %v : f32
      linalg.yield %s : f32
    }
    gpu.return
  }

  // A function that knows its thread was written by hand.
  // CHECK-LABEL: gpu.func @by_hand(
  // CHECK-NEXT: gpu.thread_id x
  // CHECK-NEXT: gpu.return
  gpu.func @by_hand() kernel {
    %thread = gpu.thread_id x
    gpu.return
  }
}
// END
