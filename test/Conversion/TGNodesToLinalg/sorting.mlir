// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// Rows of 100 elements: runs are merged 7 times, each with 7 steps of a search.
// CHECK-LABEL: func.func @merges_runs
// CHECK-DAG: %[[SEVEN:.*]] = arith.constant 7 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[SEVEN]] {{.*}} -> (tensor<6x100xi64>)
// CHECK: scf.for
func.func @merges_runs(%x: tensor<2x3x100xf32>) -> (tensor<2x3x100xf32>, tensor<2x3x100xi64>) {
  %0:2 = tg.node "aten.sort.default"(%x) : (tensor<2x3x100xf32>) -> (tensor<2x3x100xf32>, tensor<2x3x100xi64>)
  return %0#0, %0#1 : tensor<2x3x100xf32>, tensor<2x3x100xi64>
}

// CHECK-LABEL: func.func @one_element_is_sorted
// CHECK-NOT: scf.for
// CHECK: return
func.func @one_element_is_sorted(%x: tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<2x1xi64>) {
  %0:2 = tg.node "aten.sort.default"(%x) : (tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<2x1xi64>)
  return %0#0, %0#1 : tensor<2x1xf32>, tensor<2x1xi64>
}

// CHECK-LABEL: func.func @largest_along_a_dimension
// CHECK: linalg.transpose
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [3, 2] [1, 1] : tensor<3x8xi64> to tensor<3x2xi64>
func.func @largest_along_a_dimension(%x: tensor<8x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi64>) {
  %0:2 = tg.node "aten.topk.default"(%x) args [#tg.operand<0>, 2, 0] : (tensor<8x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi64>)
  return %0#0, %0#1 : tensor<2x3xi32>, tensor<2x3xi64>
}
