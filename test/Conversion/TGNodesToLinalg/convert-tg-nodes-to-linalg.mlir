// RUN: regather-opt %s -split-input-file --convert-tg-nodes-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @linear
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x2xf32>
// CHECK: %[[FILL:.*]] = linalg.fill
// CHECK: %[[PRODUCT:.*]] = linalg.matmul {tg.id = "mm", tg.module = "layers.0", tg.phase = #tg.phase<forward>}
// CHECK-SAME: ins(%[[X]], %[[W]]
// CHECK: %[[RELU:.*]] = linalg.generic {{.*}} ins(%[[PRODUCT]]
// CHECK: return %[[RELU]]
// EXAMPLE convert-tg-nodes-to-linalg
func.func @linear(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = tg.node "aten.mm.default"(%x, %w)
      {tg.id = "mm", tg.module = "layers.0", tg.phase = #tg.phase<forward>}
      : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %1 = tg.node "aten.relu.default"(%0) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}
// END

// -----

// Only what computes the result is the node; what prepares it is not.
// CHECK-LABEL: func.func @marks_the_result
// CHECK: linalg.matmul ins
// CHECK: linalg.generic {{.*}} attrs = {tg.policy = #tg.policy<must_save>, tg.saved_results = array<i64: 0>}
func.func @marks_the_result(%x: tensor<4x8xbf16>, %w: tensor<8x2xbf16>) -> tensor<4x2xbf16> {
  %0 = tg.node "aten.mm.default"(%x, %w)
      {tg.policy = #tg.policy<must_save>, tg.saved_results = array<i64: 0>}
      : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  return %0 : tensor<4x2xbf16>
}

// -----

// Kernels are formed of what works on one block of rows of one micro-batch, so
// all parts of a node say which; constants do not.
// CHECK-LABEL: func.func @keeps_row_chunks
// CHECK: arith.constant 0
// CHECK: linalg.matmul {tg.micro_batch = 1 : i64, tg.phase = #tg.phase<forward>, tg.row_chunk = array<i64: 0, 2>}
// CHECK: linalg.generic {{.*}} attrs = {tg.id = "addmm.0", tg.micro_batch = 1 : i64, tg.phase = #tg.phase<forward>, tg.row_chunk = array<i64: 0, 2>}
func.func @keeps_row_chunks(%b: tensor<2xf32>, %x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = tg.node "aten.addmm.default"(%b, %x, %w)
      {tg.id = "addmm.0", tg.micro_batch = 1 : i64, tg.phase = #tg.phase<forward>, tg.row_chunk = array<i64: 0, 2>}
      : (tensor<2xf32>, tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// A node that does nothing leaves nothing, and marks nothing else.
// CHECK-LABEL: func.func @removes_identities
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK-NEXT: return %[[X]]
func.func @removes_identities(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tg.node "aten.clone.default"(%x) {tg.id = "clone"} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = tg.node "aten.view.default"(%0) args [#tg.operand<0>, [2]] : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// To save a view that changes nothing is to save what it is a view of: the mark
// goes there, and so does the record. A mark to recompute does not.
// CHECK-LABEL: func.func @keeps_saving_marks
// CHECK: tg.all_gather {{.*}} phase forward :
// CHECK: tg.wait %{{.*}} {tg.policy = #tg.policy<must_save>, tg.saved_results = array<i64: 0>}
// CHECK: math.exp
// CHECK-NOT: tg.policy
// CHECK: return
tg.mesh @mesh [dp = 2]
func.func @keeps_saving_marks(%w: tensor<1x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward {tg.policy = #tg.policy<must_recompute>} : (tensor<1x2xf32>) -> !tg.future<tensor<2x2xf32>>
  %whole = tg.wait %future : !tg.future<tensor<2x2xf32>>
  %view = tg.node "aten.view.default"(%whole) args [#tg.operand<0>, [2, 2]]
      {tg.id = "view", tg.policy = #tg.policy<must_save>, tg.saved_results = array<i64: 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %e = tg.node "aten.exp.default"(%view) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %again = tg.node "aten.view.default"(%e) args [#tg.operand<0>, [2, 2]] {tg.policy = #tg.policy<must_recompute>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %view, %again : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Collectives and other operations stay, and nodes in regions are found.
// CHECK-LABEL: func.func @leaves_the_rest
// CHECK: tg.all_reduce
// CHECK: tg.wait
// CHECK: scf.if
// CHECK: math.exp
// CHECK-NOT: tg.node
tg.mesh @mesh [dp = 4]
func.func @leaves_the_rest(%x: tensor<2xf32>, %condition: i1) -> tensor<2xf32> {
  %future = tg.all_reduce sum %x on @mesh [dp] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %sum = tg.wait %future : !tg.future<tensor<2xf32>>
  %0 = scf.if %condition -> tensor<2xf32> {
    %1 = tg.node "aten.exp.default"(%sum) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  } else {
    scf.yield %sum : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

// All that computes the results of a node belongs to its phase; constants have
// none.
// CHECK-LABEL: func.func @keeps_the_phase_of_each_operation
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: linalg.fill {tg.phase = #tg.phase<backward>}
// CHECK: linalg.reduce {{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: tensor.expand_shape {{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} attrs = {tg.id = "softmax", tg.phase = #tg.phase<backward>}
func.func @keeps_the_phase_of_each_operation(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = tg.node "aten._softmax.default"(%x) args [#tg.operand<0>, 1, false]
      {tg.id = "softmax", tg.phase = #tg.phase<backward>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
