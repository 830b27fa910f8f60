// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// One column after the other: the largest element of what is left becomes the
// pivot, its row changes places, and multiples of it are subtracted from those
// below. Position and info of a column are known then.
// CHECK-LABEL: func.func @lu
// CHECK: scf.for %[[I:[a-z0-9]+]] = {{.*}} -> (tensor<2x4x3xf32>, tensor<2x3x1xi32>, tensor<2x1x1xi32>)
// CHECK: math.absf
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]
// CHECK: tensor.extract
// CHECK: arith.divf
// CHECK: arith.subf
// CHECK: tensor.insert_slice {{.*}}[0, %[[I]], 0] [2, 1, 1]
func.func @lu(%a: tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xi32>, tensor<2xi32>) {
  %0:3 = tg.node "aten.linalg_lu_factor_ex.default"(%a) : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xi32>, tensor<2xi32>)
  return %0#0, %0#1, %0#2 : tensor<2x4x3xf32>, tensor<2x3xi32>, tensor<2xi32>
}

// The order of the rows, from which the permutation is made; no triangles.
// CHECK-LABEL: func.func @permutation_alone
// CHECK: scf.for {{.*}} -> (tensor<1x4x1xi64>)
// CHECK: return %{{.*}} : tensor<4x4xf32>
func.func @permutation_alone(%a: tensor<4x3xf32>, %p: tensor<3xi32>) -> tensor<4x4xf32> {
  %0:3 = tg.node "aten.lu_unpack.default"(%a, %p) kwargs {unpack_data = false} : (tensor<4x3xf32>, tensor<3xi32>) -> (tensor<4x4xf32>, tensor<0xf32>, tensor<0xf32>)
  return %0#0 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @triangles_alone
// CHECK-NOT: scf.for
// CHECK: return
func.func @triangles_alone(%a: tensor<4x3xf32>, %p: tensor<3xi32>) -> (tensor<4x3xf32>, tensor<3x3xf32>) {
  %0:3 = tg.node "aten.lu_unpack.default"(%a, %p) kwargs {unpack_pivots = false} : (tensor<4x3xf32>, tensor<3xi32>) -> (tensor<0xf32>, tensor<4x3xf32>, tensor<3x3xf32>)
  return %0#1, %0#2 : tensor<4x3xf32>, tensor<3x3xf32>
}

// The root of what is not positive is NaN.
// CHECK-LABEL: func.func @cholesky
// CHECK: scf.for %[[I:[a-z0-9]+]] = {{.*}} -> (tensor<1x4x4xf64>, tensor<1x1x1xi32>)
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: arith.subf
// CHECK: arith.cmpf ogt
// CHECK: math.sqrt
// CHECK: tensor.insert_slice {{.*}}[0, 0, %[[I]]] [1, 4, 1]
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @cholesky(%a: tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<i32>) {
  %0:2 = tg.node "aten.linalg_cholesky_ex.default"(%a) : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<i32>)
  return %0#0, %0#1 : tensor<4x4xf64>, tensor<i32>
}

// The upper factor is the transposed lower one, of the other triangle.
// CHECK-LABEL: func.func @upper_cholesky
// CHECK: linalg.transpose
// CHECK: scf.for
// CHECK: linalg.transpose
func.func @upper_cholesky(%a: tensor<4x4xf64>) -> tensor<4x4xf64> {
  %0:2 = tg.node "aten.linalg_cholesky_ex.default"(%a) kwargs {upper = true} : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<i32>)
  return %0#0 : tensor<4x4xf64>
}

// Reflections, and then those of the identity, of which no more columns than
// are asked for.
// CHECK-LABEL: func.func @qr
// CHECK: scf.for {{.*}} -> (tensor<1x5x3xf32>, tensor<1x5x3xf32>)
// CHECK: math.sqrt
// CHECK: scf.for {{.*}} -> (tensor<1x5x3xf32>) {
func.func @qr(%a: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3x3xf32>) {
  %0:2 = tg.node "aten.linalg_qr.default"(%a) : (tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3x3xf32>)
  return %0#0, %0#1 : tensor<5x3xf32>, tensor<3x3xf32>
}

// CHECK-LABEL: func.func @complete_qr
// CHECK: scf.for {{.*}} -> (tensor<1x5x3xf32>, tensor<1x5x3xf32>)
// CHECK: scf.for {{.*}} -> (tensor<1x5x5xf32>) {
func.func @complete_qr(%a: tensor<5x3xf32>) -> (tensor<5x5xf32>, tensor<5x3xf32>) {
  %0:2 = tg.node "aten.linalg_qr.default"(%a) kwargs {mode = "complete"} : (tensor<5x3xf32>) -> (tensor<5x5xf32>, tensor<5x3xf32>)
  return %0#0, %0#1 : tensor<5x5xf32>, tensor<5x3xf32>
}

// CHECK-LABEL: func.func @r_alone
// CHECK-COUNT-1: scf.for
// CHECK-NOT: scf.for
// CHECK: return
func.func @r_alone(%a: tensor<5x3xf32>) -> tensor<3x3xf32> {
  %0:2 = tg.node "aten.linalg_qr.default"(%a) kwargs {mode = "r"} : (tensor<5x3xf32>) -> (tensor<0xf32>, tensor<3x3xf32>)
  return %0#1 : tensor<3x3xf32>
}
