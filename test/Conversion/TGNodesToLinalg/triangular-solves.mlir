// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// Rows from the first on; what lies right of them is not read as a factor.
// CHECK-LABEL: func.func @lower
// CHECK: scf.for %[[I:[a-z0-9]+]] = {{.*}} -> (tensor<6x4x2xf32>)
// CHECK: arith.cmpi ult, %{{.*}}, %[[I]]
// CHECK: arith.divf
func.func @lower(%a: tensor<3x4x4xf32>, %b: tensor<2x1x4x2xf32>) -> tensor<2x3x4x2xf32> {
  %0 = tg.node "aten.linalg_solve_triangular.default"(%a, %b) kwargs {upper = false} : (tensor<3x4x4xf32>, tensor<2x1x4x2xf32>) -> tensor<2x3x4x2xf32>
  return %0 : tensor<2x3x4x2xf32>
}

// From the right, an upper system is the lower one of the transposed matrices.
// CHECK-LABEL: func.func @upper_from_the_right
// CHECK-COUNT-2: linalg.transpose
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: arith.cmpi ult, %{{.*}}, %[[I]]
// CHECK: linalg.transpose
func.func @upper_from_the_right(%a: tensor<4x4xf32>, %b: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = tg.node "aten.linalg_solve_triangular.default"(%a, %b) kwargs {upper = true, left = false} : (tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @unit_diagonal
// CHECK: arith.cmpi ugt
// CHECK-NOT: arith.divf
// CHECK: return
func.func @unit_diagonal(%a: tensor<4x4xf32>, %b: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = tg.node "aten.linalg_solve_triangular.default"(%a, %b) kwargs {upper = true, unitriangular = true} : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
