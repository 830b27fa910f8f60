// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @reshapes_without_a_detour
// CHECK: %[[VIEW:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
// CHECK-NEXT: return %[[VIEW]]
// CHECK-LABEL: func.func @reshapes_over_one_dimension
// CHECK: tensor.collapse_shape {{.*}} into tensor<6xf32>
// CHECK: tensor.expand_shape {{.*}} into tensor<3x2xf32>
func.func @reshapes_without_a_detour(%x: tensor<2x3x4xf32>) -> tensor<6x4xf32> {
  %0 = tg.node "aten.view.default"(%x) args [#tg.operand<0>, [6, 4]] : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
func.func @reshapes_over_one_dimension(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = tg.node "aten.view.default"(%x) args [#tg.operand<0>, [3, 2]] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// Bounds count from the back and are clamped.
// CHECK-LABEL: func.func @slices
// CHECK: tensor.extract_slice %{{.*}}[1, 0] [2, 3] [2, 1]
// CHECK-LABEL: func.func @slices_everything
// CHECK-NEXT: return
func.func @slices(%x: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %0 = tg.node "aten.slice.Tensor"(%x) args [#tg.operand<0>, 0, -3, 100, 2] : (tensor<4x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
func.func @slices_everything(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = tg.node "aten.slice.Tensor"(%x) args [#tg.operand<0>, 0, 0, 9223372036854775807] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @transposes
// CHECK: linalg.transpose {{.*}} permutation = [1, 0]
func.func @transposes(%x: tensor<4x3xf32>) -> tensor<3x4xf32> {
  %0 = tg.node "aten.t.default"(%x) : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Rows are added one after the other, so that the order of sums is fixed.
// CHECK-LABEL: func.func @adds_rows_in_order
// CHECK: scf.for
// CHECK: tensor.extract_slice
// CHECK: arith.addf
// CHECK: tensor.insert_slice
func.func @adds_rows_in_order(%g: tensor<4x3xf32>, %i: tensor<4xi64>) -> tensor<5x3xf32> {
  %0 = tg.node "aten.embedding_dense_backward.default"(%g, %i) args [#tg.operand<0>, #tg.operand<1>, 5, -1, false]
      : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// Writing needs no sums.
// CHECK-LABEL: func.func @overwrites
// CHECK: scf.for
// CHECK-NOT: arith.addf
// CHECK: return
func.func @overwrites(%x: tensor<5x3xf32>, %i: tensor<4x1xi64>) -> tensor<5x3xf32> {
  %0 = tg.node "aten.scatter.value"(%x, %i) args [#tg.operand<0>, 1, #tg.operand<1>, -1.0]
      : (tensor<5x3xf32>, tensor<4x1xi64>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}
