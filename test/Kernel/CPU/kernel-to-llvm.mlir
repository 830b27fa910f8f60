// The pipeline that the product runs for CPUs: two tensors in, one out, two
// numbers of tiles, and no memory besides.
// RUN: regather-opt %s --kernel-to-llvm=tile-bytes=4096 | FileCheck %s

// CHECK-LABEL: llvm.func @sum(
// CHECK-SAME: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64) -> i32 attributes {tg.num_tiles = 8 : i64}
// CHECK: llvm.fadd
// CHECK-NOT: {{memref|tensor|linalg}}
tg.kernel @sum(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %z = tg.node "aten.add.Tensor"(%x, %y) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  tg.return %z : tensor<64x32xf32>
}
