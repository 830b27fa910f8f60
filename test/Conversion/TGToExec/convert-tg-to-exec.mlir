// RUN: regather-opt %s -split-input-file --convert-tg-to-exec | FileCheck %s
// RUN: regather-opt %s -split-input-file --convert-tg-to-exec --exec-plan-memory --tg-verify-step -o /dev/null

// CHECK-LABEL: exec.program @step
// EXAMPLE convert-tg-to-exec
tg.mesh @mesh [dp = 2]

tg.kernel @square(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y = arith.mulf %x, %x : tensor<8x4xf32>
  tg.return %y : tensor<8x4xf32>
}

// A kernel, a collective that runs while another operation computes, a view.
func.func @step(%w: tensor<4x4xf32>, %x: tensor<8x4xf32>)
    -> (tensor<32xf32>, tensor<8x4xf32>) {
  %f = tg.all_gather %w on @mesh [dp] dim 0 phase forward
      : (tensor<4x4xf32>) -> !tg.future<tensor<8x4xf32>>
  %y = tg.launch @square(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %g = tg.wait %f : !tg.future<tensor<8x4xf32>>
  %sum = arith.addf %g, %y : tensor<8x4xf32>
  %flat = tensor.collapse_shape %sum [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
  return %flat, %y : tensor<32xf32>, tensor<8x4xf32>
}
// END
// CHECK-SAME: (%[[W:.*]]: memref<4x4xf32>, %[[X:.*]]: memref<8x4xf32>) -> (memref<32xf32>, memref<8x4xf32>)
// CHECK-SAME: streams = 2 : i64
// CHECK-NEXT: %[[DP:.*]] = exec.communicator on @mesh [dp]
// CHECK-NEXT: %[[GATHERED:.*]] = exec.slice : memref<8x4xf32>
// CHECK-NEXT: exec.collective all_gather dim 0 (%[[W]]) to (%[[GATHERED]]) over %[[DP]] stream 1 tag {{.*}} {tg.phase = #tg.phase<forward>}
// CHECK-NEXT: %[[DONE:.*]] = exec.record stream 1
// CHECK-NEXT: %[[Y:.*]] = exec.slice : memref<8x4xf32>
// CHECK-NEXT: exec.launch @square(%[[X]]) to (%[[Y]]) stream 0
// CHECK-NEXT: exec.wait %[[DONE]] stream 0
// CHECK-NEXT: %[[SUM:.*]] = exec.slice : memref<8x4xf32>
// CHECK-NEXT: exec.launch @addf_0(%[[GATHERED]], %[[Y]]) to (%[[SUM]]) stream 0
// CHECK-NEXT: %[[FLAT:.*]] = exec.view %[[SUM]][0] : memref<8x4xf32> to memref<32xf32>
// CHECK-NEXT: exec.return %[[FLAT]], %[[Y]]

// -----

// Attributes of arguments, results and operations are kept.
// CHECK-LABEL: exec.program @attributes
// CHECK-SAME: memref<4xf32> {tg.donated, tg.name = "w", tg.role = #tg.role<parameter>}
// CHECK-SAME: -> (memref<4xf32> {tg.role = #tg.role<update of 0>})
// CHECK: exec.launch @negf_0({{.*}} {tg.id = "neg", tg.module = "layer", tg.phase = #tg.phase<optimizer>}
func.func @attributes(%w: tensor<4xf32> {tg.donated, tg.name = "w", tg.role = #tg.role<parameter>})
    -> (tensor<4xf32> {tg.role = #tg.role<update of 0>}) {
  %y = arith.negf %w {tg.id = "neg", tg.module = "layer", tg.phase = #tg.phase<optimizer>} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Equal operations share a kernel; constants and fills are part of kernels.
// CHECK-LABEL: tg.kernel @matmul_0
// CHECK-SAME: (%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: linalg.fill
// CHECK: linalg.matmul
// CHECK-NOT: tg.kernel
// CHECK-LABEL: exec.program @equal
// CHECK: exec.launch @matmul_0(%[[X:.*]], %[[W:.*]]) to (%[[Y:.*]]) stream 0
// CHECK: exec.launch @matmul_0(%[[Y]], %[[W]])
func.func @equal(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.matmul {tg.module = "a"} ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = linalg.matmul {tg.module = "b"} ins(%y, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}

// -----

// A fill that is sent or returned is computed.
// CHECK-LABEL: exec.program @returned_fill
// CHECK: exec.launch @fill_0() to (%[[ZEROS:.*]]) stream 0
// CHECK: exec.return %[[ZEROS]]
func.func @returned_fill() -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %init : tensor<4xf32>
}

// -----

// Scalars are buffers of rank 0 outside of kernels, scalars again inside.
// CHECK-LABEL: tg.kernel @muli_0
// CHECK-SAME: (%[[RANK:.*]]: tensor<index>) -> tensor<index>
// CHECK: tensor.extract %[[RANK]][]
// CHECK: arith.muli
// CHECK: tensor.from_elements
// CHECK-LABEL: tg.kernel @extract_slice_1
// CHECK-SAME: (%{{.*}}: tensor<32x8xf32>, %{{.*}}: tensor<index>) -> tensor<8x8xf32>
// CHECK-LABEL: exec.program @scalars
// CHECK: %[[DP:.*]] = exec.communicator on @mesh [dp]
// CHECK: %[[INDEX:.*]] = exec.slice : memref<index>
// CHECK: exec.axis_index over %[[DP]] to %[[INDEX]] stream 0
// CHECK: exec.launch @muli_0(%[[INDEX]]) to (%[[FIRST:.*]]) stream 0
// CHECK: exec.launch @extract_slice_1(%{{.*}}, %[[FIRST]])
tg.mesh @mesh [dp = 4]
func.func @scalars(%batch: tensor<32x8xf32>) -> tensor<8x8xf32> {
  %rank = tg.axis_index on @mesh [dp]
  %rows = arith.constant 8 : index
  %first = arith.muli %rank, %rows : index
  %part = tensor.extract_slice %batch[%first, 0] [8, 8] [1, 1] : tensor<32x8xf32> to tensor<8x8xf32>
  return %part : tensor<8x8xf32>
}

// -----

// Views of contiguous parts move nothing; the others are computed.
// CHECK-LABEL: exec.program @views
// CHECK-SAME: (%[[X:.*]]: memref<4x2x4xf32>)
// CHECK-DAG: %[[ROWS:.*]] = exec.view %[[X]][32] : memref<4x2x4xf32> to memref<2x2x4xf32>
// CHECK-DAG: %[[ROW:.*]] = exec.view %[[X]][48] : memref<4x2x4xf32> to memref<4xf32>
// CHECK-DAG: %[[NODE:.*]] = exec.view %[[X]][0] : memref<4x2x4xf32> to memref<8x4xf32>
// CHECK-DAG: %[[SLICE:.*]] = exec.view %[[X]][64] : memref<4x2x4xf32> to memref<2x2x4xf32>
// CHECK-DAG: %[[SELECT:.*]] = exec.view %[[X]][96] : memref<4x2x4xf32> to memref<2x4xf32>
// CHECK-DAG: %[[UNIT:.*]] = exec.view %{{.*}}[0] : memref<4x1x2x4xf32> to memref<1x4x2x4xf32>
// CHECK: exec.launch @extract_slice_0(%[[X]])
// CHECK: exec.launch @transpose_1(%[[X]])
// CHECK: exec.launch @slice_2(%[[X]])
// CHECK: exec.return %[[ROWS]], %[[ROW]], %[[NODE]], %[[SLICE]], %[[SELECT]], %[[UNIT]]
func.func @views(%x: tensor<4x2x4xf32>)
    -> (tensor<2x2x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<2x2x4xf32>, tensor<2x4xf32>,
        tensor<1x4x2x4xf32>, tensor<4x2x1xf32>, tensor<2x4x4xf32>, tensor<2x2x4xf32>) {
  %rows = tensor.extract_slice %x[1, 0, 0] [2, 2, 4] [1, 1, 1] : tensor<4x2x4xf32> to tensor<2x2x4xf32>
  %row = tensor.extract_slice %x[1, 1, 0] [1, 1, 4] [1, 1, 1] : tensor<4x2x4xf32> to tensor<4xf32>
  %node = tg.node "aten.view.default"(%x) args [#tg.operand<0>, [8, 4]] : (tensor<4x2x4xf32>) -> tensor<8x4xf32>
  %slice = tg.node "aten.slice.Tensor"(%x) args [#tg.operand<0>, 0, -2, 100] : (tensor<4x2x4xf32>) -> tensor<2x2x4xf32>
  %select = tg.node "aten.select.int"(%x) args [#tg.operand<0>, 0, -1] : (tensor<4x2x4xf32>) -> tensor<2x4xf32>
  %one = tg.node "aten.unsqueeze.default"(%x) args [#tg.operand<0>, 1] : (tensor<4x2x4xf32>) -> tensor<4x1x2x4xf32>
  %unit = tg.node "aten.permute.default"(%one) args [#tg.operand<0>, [1, 0, 2, 3]] : (tensor<4x1x2x4xf32>) -> tensor<1x4x2x4xf32>
  %column = tensor.extract_slice %x[0, 0, 1] [4, 2, 1] [1, 1, 1] : tensor<4x2x4xf32> to tensor<4x2x1xf32>
  %moved = tg.node "aten.transpose.int"(%x) args [#tg.operand<0>, 0, 1] : (tensor<4x2x4xf32>) -> tensor<2x4x4xf32>
  %strided = tg.node "aten.slice.Tensor"(%x) args [#tg.operand<0>, 0, 0, 4, 2] : (tensor<4x2x4xf32>) -> tensor<2x2x4xf32>
  return %rows, %row, %node, %slice, %select, %unit, %column, %moved, %strided
      : tensor<2x2x4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<2x2x4xf32>, tensor<2x4xf32>,
        tensor<1x4x2x4xf32>, tensor<4x2x1xf32>, tensor<2x4x4xf32>, tensor<2x2x4xf32>
}

// -----

// Kernels load 16 bytes at a time, so what begins in between is copied.
// CHECK-LABEL: exec.program @unaligned
// CHECK-SAME: (%[[X:.*]]: memref<12xi64>)
// CHECK-NEXT: %[[COPY:.*]] = exec.slice : memref<8xi64>
// CHECK-NEXT: exec.launch @extract_slice_0(%[[X]]) to (%[[COPY]])
// CHECK-NEXT: %[[VIEW:.*]] = exec.view %[[X]][16] : memref<12xi64> to memref<8xi64>
// CHECK-NEXT: exec.return %[[COPY]], %[[VIEW]]
func.func @unaligned(%x: tensor<12xi64>) -> (tensor<8xi64>, tensor<8xi64>) {
  %odd = tensor.extract_slice %x[1] [8] [1] : tensor<12xi64> to tensor<8xi64>
  %even = tensor.extract_slice %x[2] [8] [1] : tensor<12xi64> to tensor<8xi64>
  return %odd, %even : tensor<8xi64>, tensor<8xi64>
}

// -----

// Small constants are stored, large ones of equal elements are filled, and
// nothing reads what tensor.empty leaves undefined.
// CHECK-LABEL: exec.program @constants
// CHECK: %[[SMALL:.*]] = exec.constant dense<{{.*}}> : tensor<2xf32>
// CHECK: exec.fill %[[LARGE:.*]] with 1.000000e+00 : f32 stream 0 : memref<65xf32>
// CHECK: exec.fill %[[EMPTY:.*]] with 0 : i32 stream 0 : memref<100xi32>
// CHECK: exec.return %[[SMALL]], %[[LARGE]], %[[EMPTY]]
func.func @constants() -> (tensor<2xf32>, tensor<65xf32>, tensor<100xi32>) {
  %small = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %large = arith.constant dense<1.0> : tensor<65xf32>
  %empty = tensor.empty() : tensor<100xi32>
  return %small, %large, %empty : tensor<2xf32>, tensor<65xf32>, tensor<100xi32>
}

// -----

// What is put together is computed in its place; an argument is copied, and so
// is what lies elsewhere already.
// CHECK-LABEL: exec.program @flat
// CHECK: %[[FLAT:.*]] = exec.slice : memref<32xf32>
// CHECK: %[[FIRST:.*]] = exec.view %[[FLAT]][0] : memref<32xf32> to memref<2x4xf32>
// CHECK: exec.launch @negf_0(%{{.*}}) to (%[[FIRST]]) stream 0
// CHECK: %[[SECOND:.*]] = exec.view %[[FLAT]][48]
// CHECK: exec.copy %{{.*}} to %[[SECOND]] stream 0 : memref<2x4xf32>
// CHECK: %[[THIRD:.*]] = exec.view %[[FLAT]][80]
// CHECK: exec.copy %{{.*}} to %[[THIRD]] stream 0 : memref<8xf32>
// CHECK-DAG: exec.fill %{{.*}} with 0.000000e+00 : f32 stream 0 : memref<4xf32>
// CHECK-DAG: exec.fill %{{.*}} with 0.000000e+00 : f32 stream 0 : memref<4xf32>
// CHECK: exec.return %[[FLAT]]
func.func @flat(%x: tensor<2x4xf32>) -> tensor<32xf32> {
  %y = arith.negf %x : tensor<2x4xf32>
  %line = tensor.collapse_shape %y [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %flat = tg.flatten %y, %x, %line offsets [0, 12, 20] : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<8xf32>) -> tensor<32xf32>
  return %flat : tensor<32xf32>
}

// -----

// Parts of a flat parameter are views of the gathered buffer, and gradients are
// scattered from where they were computed.
// CHECK-LABEL: exec.program @unit
// CHECK: exec.collective all_gather dim 0 (%{{.*}}) to (%[[WHOLE:.*]]) over
// CHECK: %[[W0:.*]] = exec.view %[[WHOLE]][0] : memref<32xf32> to memref<4x4xf32>
// CHECK: %[[W1:.*]] = exec.view %[[WHOLE]][64] : memref<32xf32> to memref<16xf32>
// CHECK: %[[GRADS:.*]] = exec.slice : memref<32xf32>
// CHECK: %[[G0:.*]] = exec.view %[[GRADS]][0] : memref<32xf32> to memref<4x4xf32>
// CHECK: exec.launch @negf_0(%[[W0]]) to (%[[G0]])
// CHECK: %[[G1:.*]] = exec.view %[[GRADS]][64] : memref<32xf32> to memref<16xf32>
// CHECK: exec.launch @negf_1(%[[W1]]) to (%[[G1]])
// CHECK-NOT: exec.copy
// CHECK: exec.collective reduce_scatter dim 0 reduction <sum> (%[[GRADS]])
tg.mesh @mesh [dp = 2]
func.func @unit(%shard: tensor<16xf32>) -> tensor<16xf32> {
  %f = tg.all_gather %shard on @mesh [dp] dim 0 phase forward : (tensor<16xf32>) -> !tg.future<tensor<32xf32>>
  %whole = tg.wait %f : !tg.future<tensor<32xf32>>
  %w:2 = tg.unflatten %whole offsets [0, 16] : (tensor<32xf32>) -> (tensor<4x4xf32>, tensor<16xf32>)
  %g0 = arith.negf %w#0 : tensor<4x4xf32>
  %g1 = arith.negf %w#1 : tensor<16xf32>
  %flat = tg.flatten %g0, %g1 offsets [0, 16] : (tensor<4x4xf32>, tensor<16xf32>) -> tensor<32xf32>
  %s = tg.reduce_scatter sum %flat on @mesh [dp] dim 0 phase backward : (tensor<32xf32>) -> !tg.future<tensor<16xf32>>
  %r = tg.wait %s : !tg.future<tensor<16xf32>>
  return %r : tensor<16xf32>
}

// -----

// What is asserted about data is not checked.
// CHECK-LABEL: exec.program @assertion
// CHECK-NEXT: exec.return
func.func @assertion(%x: tensor<i1>) {
  tg.node "aten._assert_async.msg"(%x) args [#tg.operand<0>, "not ok"] effects : (tensor<i1>) -> ()
  return
}

// -----

// What a library computes stays with the kernel that a launch names.
// CHECK-LABEL: tg.kernel @mm
// CHECK-SAME: attributes {library_call = #tg.gemm<m = 64, n = 64, k = 64, a = <0 strides[1, 64]>, b = <0 strides[64, 1]>, c = <1 strides[64, 1]>>}
// CHECK-LABEL: exec.program @library
// CHECK: exec.launch @mm(%{{.*}}) to (%{{.*}}) stream 0
tg.kernel @mm(%x: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {library_call = #tg.gemm<m = 64, n = 64, k = 64, a = <0 strides[1, 64]>, b = <0 strides[64, 1]>, c = <1 strides[64, 1]>>} {
  %t = tg.node "aten.t.default"(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %mm = tg.node "aten.mm.default"(%t, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  tg.return %mm : tensor<64x64xf32>
}
func.func @library(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = tg.launch @mm(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
