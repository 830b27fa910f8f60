// RUN: regather-opt %s --kernel-generalize-contractions --split-input-file | FileCheck %s

// Conversions in the body can be written out then.
// EXAMPLE kernel-generalize-contractions
// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[A:.*]]: tensor<2x3xbf16>, %[[B:.*]]: tensor<3x4xbf16>, %[[C:.*]]: tensor<2x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[B]] : {{.*}}) outs(%[[C]] :
// CHECK: arith.extf
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @product(%a: tensor<2x3xbf16>, %b: tensor<3x4xbf16>, %c: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<2x3xbf16>, tensor<3x4xbf16>) outs(%c : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// END

// -----

// CHECK-LABEL: func.func @leaves_wide_types
// CHECK: linalg.matmul
func.func @leaves_wide_types(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x4xf32>) outs(%c : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func.func @leaves_what_has_no_products
// CHECK: linalg.fill
func.func @leaves_what_has_no_products(%x: bf16, %y: tensor<2xbf16>) -> tensor<2xbf16> {
  %r = linalg.fill ins(%x : bf16) outs(%y : tensor<2xbf16>) -> tensor<2xbf16>
  return %r : tensor<2xbf16>
}
