// What is not alike in both parts of a complex tensor.

// RUN: regather-opt %s --expand-tg-complex-nodes | FileCheck %s

// What is given back as it came is not joined anew.
// CHECK-LABEL: func.func @gives_back
// CHECK-SAME:    %[[X:.*]]: tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK:         return %[[X]] : tensor<3x2xf64>
func.func @gives_back(%x: tensor<3xcomplex<f64>>) -> tensor<3xcomplex<f64>> {
  return %x : tensor<3xcomplex<f64>>
}

// Both parts of a saved result are saved, and nothing on the way to them.
// CHECK-LABEL: func.func @saves_both_parts
// CHECK-COUNT-2: "aten.mul.Tensor"{{.*}}tg.saved_results = array<i64>}
// CHECK:         "aten.sub.Tensor"{{.*}}tg.saved_results = array<i64: 0>}
// CHECK-COUNT-2: "aten.mul.Tensor"{{.*}}tg.saved_results = array<i64>}
// CHECK:         "aten.add.Tensor"{{.*}}tg.saved_results = array<i64: 0>}
func.func @saves_both_parts(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = tg.node "aten.view_as_complex.default"(%x) : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %1 = tg.node "aten.mul.Tensor"(%0, %0) {tg.saved_results = array<i64: 0>} : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %2 = tg.node "aten.view_as_real.default"(%1) : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// A real number fills the real part; the imaginary part is zero there.
// CHECK-LABEL: func.func @fills
// CHECK:         "aten.constant_pad_nd.default"(%{{.*}}) args [#tg.operand<0>, [1, 1], 1.500000e+00]
// CHECK:         "aten.constant_pad_nd.default"(%{{.*}}) args [#tg.operand<0>, [1, 1], 0.000000e+00]
// CHECK:         "aten.constant_pad_nd.default"(%{{.*}}) args [#tg.operand<0>, [1, 1]]
// CHECK:         "aten.constant_pad_nd.default"(%{{.*}}) args [#tg.operand<0>, [1, 1]]
// CHECK:         "aten.full_like.default"(%{{.*}}) args [#tg.operand<0>, 2.000000e+00] kwargs {dtype = f32}
// CHECK:         "aten.full_like.default"(%{{.*}}) args [#tg.operand<0>, -1.000000e+00] kwargs {dtype = f32}
func.func @fills(%x: tensor<3xcomplex<f32>>) -> (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) {
  %0 = tg.node "aten.constant_pad_nd.default"(%x) args [#tg.operand<0>, [1, 1], 1.5] : (tensor<3xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  %1 = tg.node "aten.constant_pad_nd.default"(%x) args [#tg.operand<0>, [1, 1]] : (tensor<3xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  %2 = tg.node "aten.full_like.default"(%1) args [#tg.operand<0>, dense<(2.0, -1.0)> : tensor<complex<f64>>] kwargs {dtype = complex<f32>} : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return %0, %1, %2 : tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>
}

// Integers beside complex numbers have no imaginary part, but indices say where
// in both parts.
// CHECK-LABEL: func.func @knows_places
// CHECK-SAME:    %[[X:.*]]: tensor<3x2xf32>, %[[N:.*]]: tensor<3xi64>, %[[IS:.*]]: tensor<3xi1>)
// CHECK:         %[[RE:.*]] = tg.node "aten.select.int"(%[[X]]) args [#tg.operand<0>, -1, 0]
// CHECK:         %[[IM:.*]] = tg.node "aten.select.int"(%[[X]]) args [#tg.operand<0>, -1, 1]
// CHECK:         tg.node "aten.index_select.default"(%[[RE]], %[[N]])
// CHECK:         tg.node "aten.index_select.default"(%[[IM]], %[[N]])
// CHECK:         %[[ZERO:.*]] = tg.node "aten.zeros_like.default"(%[[N]])
// CHECK:         tg.node "aten.where.self"(%[[IS]], %[[RE]], %[[N]])
// CHECK:         tg.node "aten.where.self"(%[[IS]], %[[IM]], %[[ZERO]])
func.func @knows_places(%x: tensor<3xcomplex<f32>>, %n: tensor<3xi64>, %is: tensor<3xi1>) -> (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) {
  %0 = tg.node "aten.index_select.default"(%x, %n) args [#tg.operand<0>, 0, #tg.operand<1>] : (tensor<3xcomplex<f32>>, tensor<3xi64>) -> tensor<3xcomplex<f32>>
  %1 = tg.node "aten.where.self"(%is, %x, %n) : (tensor<3xi1>, tensor<3xcomplex<f32>>, tensor<3xi64>) -> tensor<3xcomplex<f32>>
  return %0, %1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
}

// The factor of the second term may be complex, and turns a real term.
// CHECK-LABEL: func.func @scales_a_term
// CHECK-SAME:    %[[X:.*]]: tensor<3x2xf32>, %[[Y:.*]]: tensor<3xf32>)
// CHECK:         %[[RE:.*]] = tg.node "aten.select.int"(%[[X]]) args [#tg.operand<0>, -1, 0]
// CHECK:         %[[IM:.*]] = tg.node "aten.select.int"(%[[X]]) args [#tg.operand<0>, -1, 1]
// CHECK:         %[[ZERO:.*]] = tg.node "aten.mul.Tensor"(%[[Y]]) args [#tg.operand<0>, 0.000000e+00]
// CHECK:         %[[TWICE:.*]] = tg.node "aten.mul.Tensor"(%[[Y]]) args [#tg.operand<0>, 2.000000e+00]
// CHECK:         tg.node "aten.sub.Tensor"(%[[RE]], %[[ZERO]])
// CHECK:         tg.node "aten.sub.Tensor"(%[[IM]], %[[TWICE]])
// A sum without a factor has no products.
// CHECK-NOT:     "aten.mul.Tensor"
// CHECK:         return
func.func @scales_a_term(%x: tensor<3xcomplex<f32>>, %y: tensor<3xf32>) -> (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) {
  %0 = tg.node "aten.sub.Tensor"(%x, %y) kwargs {alpha = dense<(0.0, 2.0)> : tensor<complex<f64>>} : (tensor<3xcomplex<f32>>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
  %1 = tg.node "aten.sub.Tensor"(%x, %y) : (tensor<3xcomplex<f32>>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
  return %0, %1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
}
