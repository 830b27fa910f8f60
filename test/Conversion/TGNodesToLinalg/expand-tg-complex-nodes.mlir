// RUN: regather-opt %s -split-input-file --expand-tg-complex-nodes | FileCheck %s
// RUN: regather-opt %s -split-input-file --expand-tg-complex-nodes --tg-verify-step -o %t
// A second run has nothing to do.
// RUN: regather-opt %s -split-input-file --expand-tg-complex-nodes -o %t.once
// RUN: regather-opt %t.once -split-input-file --expand-tg-complex-nodes | diff %t.once -
// What follows is the same as if lowering had taken them apart.
// RUN: regather-opt %s -split-input-file --convert-tg-nodes-to-linalg -o %t.late
// RUN: regather-opt %t.once -split-input-file --convert-tg-nodes-to-linalg | diff %t.late -

// Names and roles stay, and new nodes have the phase and the marks of what they
// replace. The complex parameter gets a last dimension.
// CHECK-LABEL: func.func @filter(
// CHECK-SAME: %[[X:.*]]: tensor<4x3x2xf32> {tg.name = "x", tg.role = #tg.role<input>}
// CHECK-SAME: %[[W:.*]]: tensor<3x2xf32> {tg.name = "filter", tg.role = #tg.role<parameter>}
// CHECK-SAME: -> (tensor<4x3x2xf32>, tensor<3x2xf32> {tg.role = #tg.role<gradient of 1>})
// CHECK-NOT: complex
// CHECK-COUNT-2: "aten.select.int"(%[[W]]) {{.*}} {tg.phase = #tg.phase<forward>}
// CHECK-COUNT-2: "aten.select.int"(%[[X]]) {{.*}} {tg.phase = #tg.phase<forward>}
// CHECK-COUNT-2: "aten.mul.Tensor"{{.*}} {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>}
// CHECK: "aten.sub.Tensor"{{.*}} {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>}
// CHECK-COUNT-2: "aten.mul.Tensor"{{.*}} {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>}
// CHECK: "aten.add.Tensor"{{.*}} {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>}
// CHECK: "aten.cat.default"{{.*}} {tg.phase = #tg.phase<forward>} : {{.*}} -> tensor<4x3x2xf32>
// CHECK: "aten.neg.default"{{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: "aten.cat.default"{{.*}} {tg.phase = #tg.phase<backward>} : {{.*}} -> tensor<3x2xf32>
// CHECK-NOT: complex
// CHECK: return
// EXAMPLE expand-tg-complex-nodes
func.func @filter(
    %x: tensor<4x3x2xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %w: tensor<3xcomplex<f32>> {tg.role = #tg.role<parameter>, tg.name = "filter"})
    -> (tensor<4x3x2xf32>,
        tensor<3xcomplex<f32>> {tg.role = #tg.role<gradient of 1>}) {
  %0 = tg.node "aten.view_as_complex.default"(%x) {tg.phase = #tg.phase<forward>}
      : (tensor<4x3x2xf32>) -> tensor<4x3xcomplex<f32>>
  %1 = tg.node "aten.mul.Tensor"(%0, %w) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>}
      : (tensor<4x3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<4x3xcomplex<f32>>
  %2 = tg.node "aten.view_as_real.default"(%1) {tg.phase = #tg.phase<forward>}
      : (tensor<4x3xcomplex<f32>>) -> tensor<4x3x2xf32>
  %3 = tg.node "aten._conj.default"(%0) {tg.phase = #tg.phase<backward>}
      : (tensor<4x3xcomplex<f32>>) -> tensor<4x3xcomplex<f32>>
  %4 = tg.node "aten.sum.dim_IntList"(%3) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>}
      : (tensor<4x3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  return %2, %4 : tensor<4x3x2xf32>, tensor<3xcomplex<f32>>
}
// END

// -----

// Real numbers are left alone, also by targets that complex ones have not.
// CHECK-LABEL: func.func @real
// CHECK-NEXT: "aten.mul.Tensor"
// CHECK-NEXT: "aten.tanh.default"
// CHECK-NEXT: "aten.abs.default"
// CHECK-NEXT: return
func.func @real(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = tg.node "aten.mul.Tensor"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = tg.node "aten.tanh.default"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = tg.node "aten.abs.default"(%1) : (tensor<3xf32>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}
