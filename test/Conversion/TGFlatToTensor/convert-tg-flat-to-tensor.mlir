// RUN: regather-opt %s --convert-tg-flat-to-tensor | FileCheck %s

// A matrix, a vector and a scalar.
// CHECK-LABEL: func.func @unflatten
// CHECK-SAME: (%[[FLAT:.*]]: tensor<32xf32>)
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[FLAT]][0] [12] [1] {tg.phase = #tg.phase<forward>}
// CHECK: %[[MATRIX:.*]] = tensor.expand_shape %[[ROW]] {{.*}} {tg.phase = #tg.phase<forward>} : tensor<12xf32> into tensor<4x3xf32>
// CHECK: %[[VECTOR:.*]] = tensor.extract_slice %[[FLAT]][16] [5] [1]
// CHECK: %[[ONE:.*]] = tensor.extract_slice %[[FLAT]][21] [1] [1]
// CHECK: %[[SCALAR:.*]] = tensor.collapse_shape %[[ONE]] [] {{.*}} : tensor<1xf32> into tensor<f32>
// CHECK: return %[[MATRIX]], %[[VECTOR]], %[[SCALAR]]
// EXAMPLE convert-tg-flat-to-tensor
func.func @unflatten(%flat: tensor<32xf32>) -> (tensor<4x3xf32>, tensor<5xf32>, tensor<f32>) {
  %members:3 = tg.unflatten %flat offsets [0, 16, 21] {tg.phase = #tg.phase<forward>}
      : (tensor<32xf32>) -> (tensor<4x3xf32>, tensor<5xf32>, tensor<f32>)
  return %members#0, %members#1, %members#2 : tensor<4x3xf32>, tensor<5xf32>, tensor<f32>
}
// END

// Gaps are filled, and nothing else is.
// CHECK-LABEL: func.func @flatten
// CHECK-SAME: (%[[MATRIX:.*]]: tensor<2x3xf32>, %[[VECTOR:.*]]: tensor<5xf32>)
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<16xf32>
// CHECK: %[[GAP:.*]] = tensor.extract_slice %[[EMPTY]][6] [2] [1]
// CHECK: %[[ZEROS:.*]] = linalg.fill ins(%{{.*}}) outs(%[[GAP]] : tensor<2xf32>)
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[ZEROS]] into %[[EMPTY]][6] [2] [1]
// CHECK: tensor.extract_slice %[[FIRST]][13] [3] [1]
// CHECK: %[[SECOND:.*]] = tensor.insert_slice %{{.*}} into %[[FIRST]][13] [3] [1]
// CHECK: %[[ROW:.*]] = tensor.collapse_shape %[[MATRIX]]
// CHECK: %[[THIRD:.*]] = tensor.insert_slice %[[ROW]] into %[[SECOND]][0] [6] [1]
// CHECK: %[[FLAT:.*]] = tensor.insert_slice %[[VECTOR]] into %[[THIRD]][8] [5] [1]
// CHECK: return %[[FLAT]]
func.func @flatten(%matrix: tensor<2x3xf32>, %vector: tensor<5xf32>) -> tensor<16xf32> {
  %flat = tg.flatten %matrix, %vector offsets [0, 8]
      : (tensor<2x3xf32>, tensor<5xf32>) -> tensor<16xf32>
  return %flat : tensor<16xf32>
}

// CHECK-LABEL: func.func @without_gaps
// CHECK-NOT: linalg.fill
// CHECK: return
func.func @without_gaps(%scalar: tensor<f32>, %vector: tensor<5xf32>) -> tensor<6xf32> {
  %flat = tg.flatten %scalar, %vector offsets [0, 1] : (tensor<f32>, tensor<5xf32>) -> tensor<6xf32>
  return %flat : tensor<6xf32>
}
