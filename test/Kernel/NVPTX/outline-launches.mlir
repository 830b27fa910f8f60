// RUN: regather-opt %s --pass-pipeline='builtin.module(gpu.module(kernel-outline-launches))' | FileCheck %s

// Two stages that hand on a tensor in device memory. The first has 8 tiles, one
// for each block; the second writes into shared memory first.
// EXAMPLE kernel-outline-launches
// CHECK: gpu.module @kernels
// CHECK-NOT: module @k
// CHECK: gpu.func @k(%[[X:.*]]: memref<64xf32> {{.*}}llvm.readonly}, %{{.*}}: memref<64xf32> {{.*}}, %[[MEMORY:.*]]: memref<256xi8>
// CHECK-SAME: known_grid_size = array<i32: 8, 1, 1>, tg.scratch_bytes = 256
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[HANDED_ON:.*]] = memref.view %[[MEMORY]]
// CHECK-NOT: scf.for
// CHECK: arith.muli %[[BLOCK]]
// CHECK: linalg.copy ins(%{{.*}} : {{.*}}) outs(
// CHECK: gpu.return
// CHECK: gpu.func @k_1(
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<256xi8, #gpu.address_space<workgroup>>
// CHECK: memref.view {{.*}} to memref<64xf32>
gpu.module @kernels {
  builtin.module @k attributes {tg.signature = (tensor<64xf32>) -> tensor<64xf32>, tg.temporaries = [tensor<64xf32>]} {
    builtin.module @stage_0 {
      func.func @k(%x: memref<64xf32>, %y: memref<64xf32>, %begin: index, %end: index) attributes {tg.buffers = array<i64: 0, 2>, tg.num_tiles = 8 : i64} {
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        scf.for %tile = %begin to %end step %c1 {
          %row = arith.muli %tile, %c8 : index
          %a = memref.subview %x[%row] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
          %b = memref.subview %y[%row] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
          linalg.copy ins(%a : memref<8xf32, strided<[1], offset: ?>>) outs(%b : memref<8xf32, strided<[1], offset: ?>>)
        }
        return
      }
    }
    builtin.module @stage_1 {
      func.func @k(%x: memref<64xf32>, %y: memref<64xf32>, %begin: index, %end: index, %scratch: memref<256xi8>) attributes {tg.buffers = array<i64: 2, 1>, tg.num_tiles = 1 : i64, tg.tile_scratch_bytes = 256 : i64, tg.tile_scratch_offsets = array<i64: 0>} {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %t = memref.view %scratch[%c0][] : memref<256xi8> to memref<64xf32>
        scf.for %tile = %begin to %end step %c1 {
          linalg.copy ins(%x : memref<64xf32>) outs(%t : memref<64xf32>)
          linalg.copy ins(%t : memref<64xf32>) outs(%y : memref<64xf32>)
        }
        return
      }
    }
  }
}
// END

// A module that says nothing of stages is left alone.
// CHECK: gpu.module @others
// CHECK: module @other
gpu.module @others {
  builtin.module @other {
  }
}
