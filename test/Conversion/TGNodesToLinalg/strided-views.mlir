// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// Elements are found by their place in row-major order.
// CHECK-LABEL: func.func @reads_the_diagonal
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape
// CHECK-DAG: arith.constant 5 : index
// CHECK: tensor.extract %[[FLAT]]
func.func @reads_the_diagonal(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %0 = tg.node "aten.diagonal.default"(%x) : (tensor<3x4xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @reverses_by_maps
// CHECK: linalg.generic
// CHECK-NOT: tensor.extract
func.func @reverses_by_maps(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = tg.node "aten.flip.default"(%x) args [#tg.operand<0>, [0, 1]] : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// What is asserted about data is not checked.
// CHECK-LABEL: func.func @drops_assertions
// CHECK-NOT: tg.node
func.func @drops_assertions(%x: tensor<i1>) -> tensor<i1> {
  tg.node "aten._assert_async.msg"(%x) args [#tg.operand<0>, "must hold"] effects : (tensor<i1>) -> ()
  return %x : tensor<i1>
}
