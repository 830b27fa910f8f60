// RUN: regather-opt %s --convert-tg-kernels-to-gpu | FileCheck %s

// A thread reads and writes 16 bytes at a time; nothing is shared.
// CHECK-LABEL: gpu.func @add(
// CHECK-SAME: %[[X:.*]]: memref<64x4096xf32> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
// CHECK-SAME: %[[Z:.*]]: memref<64x4096xf32> {llvm.align = 16 : i64, llvm.noalias})
// CHECK-SAME: kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK-COUNT-4: arith.addf
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
tg.kernel @add(%x: tensor<64x4096xf32>, %y: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %z = tg.node "aten.add.Tensor"(%x, %y) : (tensor<64x4096xf32>, tensor<64x4096xf32>) -> tensor<64x4096xf32>
  tg.return %z : tensor<64x4096xf32>
}

// Eight bf16 at a time.
// CHECK-LABEL: gpu.func @add_bf16(
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xbf16>
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xbf16>
tg.kernel @add_bf16(%x: tensor<64x4096xbf16>, %y: tensor<64x4096xbf16>) -> tensor<64x4096xbf16> {
  %z = tg.node "aten.add.Tensor"(%x, %y) : (tensor<64x4096xbf16>, tensor<64x4096xbf16>) -> tensor<64x4096xbf16>
  tg.return %z : tensor<64x4096xbf16>
}

// Rows of odd length have no alignment.
// CHECK-LABEL: gpu.func @add_odd(
// CHECK-NOT: vector.load
// CHECK: gpu.return
tg.kernel @add_odd(%x: tensor<64x333xf32>, %y: tensor<64x333xf32>) -> tensor<64x333xf32> {
  %z = tg.node "aten.add.Tensor"(%x, %y) : (tensor<64x333xf32>, tensor<64x333xf32>) -> tensor<64x333xf32>
  tg.return %z : tensor<64x333xf32>
}

// A block for each row: vectors, five shuffles, partial sums of warps, which one
// thread reads as vectors.
// CHECK-LABEL: gpu.func @sum_rows(
// CHECK-SAME: workgroup({{.*}}memref<8xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xf32>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: gpu.return
tg.kernel @sum_rows(%x: tensor<64x4096xf32>) -> tensor<64xf32> {
  %z = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<64x4096xf32>) -> tensor<64xf32>
  tg.return %z : tensor<64xf32>
}

// Blocks sum some of the rows. In a second launch warps share the sums of a
// column, lanes are neighbours; the sums are in scratch memory.
// CHECK-LABEL: gpu.func @sum_columns(
// CHECK-SAME: memref<131072xi8>
// CHECK-SAME: known_grid_size = array<i32: 256, 1, 1>, tg.scratch_bytes = 131072
// CHECK: memref.view {{.*}} to memref<64x512xf32>
// CHECK: gpu.return
// CHECK: gpu.func @sum_columns_1(
// CHECK-SAME: memref<131072xi8>
// CHECK-SAME: workgroup({{.*}}memref<16x32xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>
// CHECK: memref.view {{.*}} to memref<64x512xf32>
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: gpu.return
tg.kernel @sum_columns(%x: tensor<1024x512xf32>) -> tensor<512xf32> {
  %z = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] : (tensor<1024x512xf32>) -> tensor<512xf32>
  tg.return %z : tensor<512xf32>
}

// Tiles pass through shared memory, whose rows are one element longer.
// CHECK-LABEL: gpu.func @transpose(
// CHECK-SAME: workgroup({{.*}}memref<32x33xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}
// CHECK: gpu.barrier
tg.kernel @transpose(%x: tensor<128x64xf32>) -> tensor<64x128xf32> {
  %e = tensor.empty() : tensor<64x128xf32>
  %t = linalg.transpose ins(%x : tensor<128x64xf32>) outs(%e : tensor<64x128xf32>) permutation = [1, 0]
  tg.return %t : tensor<64x128xf32>
}

// The last tiles leave out what is beyond.
// CHECK-LABEL: gpu.func @transpose_odd(
// CHECK-SAME: workgroup({{.*}}memref<32x33xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}
// CHECK: arith.cmpi ult, {{.*}} : index
// CHECK: gpu.barrier
tg.kernel @transpose_odd(%x: tensor<100x64xf32>) -> tensor<64x100xf32> {
  %e = tensor.empty() : tensor<64x100xf32>
  %t = linalg.transpose ins(%x : tensor<100x64xf32>) outs(%e : tensor<64x100xf32>) permutation = [1, 0]
  tg.return %t : tensor<64x100xf32>
}

// Few columns are not worth tiles.
// CHECK-LABEL: gpu.func @transpose_narrow(
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
tg.kernel @transpose_narrow(%x: tensor<100x4xf32>) -> tensor<4x100xf32> {
  %e = tensor.empty() : tensor<4x100xf32>
  %t = linalg.transpose ins(%x : tensor<100x4xf32>) outs(%e : tensor<4x100xf32>) permutation = [1, 0]
  tg.return %t : tensor<4x100xf32>
}

// An index that data decide stops the kernel if it is out of bounds.
// CHECK-LABEL: gpu.func @gather(
// CHECK: llvm.intr.trap
tg.kernel @gather(%w: tensor<8x64xf32>, %i: tensor<40xi64>) -> tensor<40x64xf32> {
  %y = tg.node "aten.embedding.default"(%w, %i) : (tensor<8x64xf32>, tensor<40xi64>) -> tensor<40x64xf32>
  tg.return %y : tensor<40x64xf32>
}

// A kernel that computes the same needs no function of its own.
// CHECK-NOT: @add_again(
// CHECK: }
tg.kernel @add_again(%x: tensor<64x4096xf32>, %y: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %z = tg.node "aten.add.Tensor"(%x, %y) : (tensor<64x4096xf32>, tensor<64x4096xf32>) -> tensor<64x4096xf32>
  tg.return %z : tensor<64x4096xf32>
}

// Rows that blocks keep in device memory would take too much of it if there was
// a block for each: some blocks compute several rows.
// CHECK-LABEL: gpu.func @long_rows(
// CHECK-SAME: known_grid_size = array<i32: 511, 1, 1>, tg.scratch_bytes = 133988288
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: scf.for %{{.*}} = %[[BLOCK]] to %{{.*}} step
// CHECK: gpu.barrier
tg.kernel @long_rows(%x: tensor<4096x65536xf32> {tg.rows = 0})
    -> (tensor<4096x65536xf32> {tg.rows = 0}, tensor<4096x65536xf32> {tg.rows = 0}) {
  %e = tg.node "aten.exp.default"(%x) : (tensor<4096x65536xf32>) -> tensor<4096x65536xf32>
  %s = tg.node "aten.sum.dim_IntList"(%e) args [#tg.operand<0>, [1], true] : (tensor<4096x65536xf32>) -> tensor<4096x1xf32>
  %y = tg.node "aten.div.Tensor"(%e, %s) : (tensor<4096x65536xf32>, tensor<4096x1xf32>) -> tensor<4096x65536xf32>
  %z = tg.node "aten.mul.Tensor"(%e, %s) : (tensor<4096x65536xf32>, tensor<4096x1xf32>) -> tensor<4096x65536xf32>
  tg.return %y, %z : tensor<4096x65536xf32>, tensor<4096x65536xf32>
}
