// RUN: regather-opt %s --kernel-select-single-scatters | FileCheck %s

// One row of eight is written: each element is the old one or the new one.
// EXAMPLE kernel-select-single-scatters
// CHECK-LABEL: func.func @one_row(
// CHECK-SAME: %[[INTO:.*]]: tensor<8x4xf32>, %{{.*}}: tensor<1xi64>, %[[ROWS:.*]]: tensor<1x4xf32>)
// CHECK-NOT: scf.for
// CHECK: %[[PLACE:.*]] = arith.index_cast
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[PLACE]], %c8
// CHECK: cf.assert %[[INSIDE]], "an index is out of bounds"
// CHECK: linalg.generic {{.*}} ins(%[[INTO]], %[[ROWS]] :
// CHECK: ^bb0(%[[OLD:.*]]: f32, %[[NEW:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[ROW:.*]] = linalg.index 0
// CHECK: %[[HERE:.*]] = arith.cmpi eq, %[[ROW]], %[[PLACE]]
// CHECK: arith.select %[[HERE]], %[[NEW]], %[[OLD]]
func.func @one_row(%into: tensor<8x4xf32>, %indices: tensor<1xi64>, %rows: tensor<1x4xf32>) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %result = scf.for %i = %c0 to %c1 step %c1 iter_args(%old = %into) -> (tensor<8x4xf32>) {
    %index = tensor.extract %indices[%i] : tensor<1xi64>
    %place = arith.index_cast %index : i64 to index
    %row = tensor.extract_slice %rows[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> to tensor<1x4xf32>
    %new = tensor.insert_slice %row into %old[%place, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
    scf.yield %new : tensor<8x4xf32>
  }
  return %result : tensor<8x4xf32>
}
// END

// Two rows may be written to one place: the last one counts.
// CHECK-LABEL: func.func @two_rows(
// CHECK: scf.for
// CHECK-NOT: linalg.generic
func.func @two_rows(%into: tensor<8x4xf32>, %indices: tensor<2xi64>, %rows: tensor<2x4xf32>) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %result = scf.for %i = %c0 to %c2 step %c1 iter_args(%old = %into) -> (tensor<8x4xf32>) {
    %index = tensor.extract %indices[%i] : tensor<2xi64>
    %place = arith.index_cast %index : i64 to index
    %row = tensor.extract_slice %rows[%i, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<1x4xf32>
    %new = tensor.insert_slice %row into %old[%place, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
    scf.yield %new : tensor<8x4xf32>
  }
  return %result : tensor<8x4xf32>
}
