// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// CHECK-DAG: #[[LEFT:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-DAG: #[[RIGHT:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @broadcasts_by_maps
// CHECK: linalg.generic {indexing_maps = [#[[LEFT]], #[[RIGHT]], #[[ALL]]]
// CHECK: arith.addf
func.func @broadcasts_by_maps(%x: tensor<3x1xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = tg.node "aten.add.Tensor"(%x, %y) : (tensor<3x1xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// A dimension of size 1 that stays is not broadcast.
// CHECK-LABEL: func.func @keeps_unit_dimensions
// CHECK: linalg.generic {indexing_maps = [#[[ALL]], #[[ALL]], #[[ALL]]]
func.func @keeps_unit_dimensions(%x: tensor<3x1xf32>, %y: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %0 = tg.node "aten.add.Tensor"(%x, %y) : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// CHECK-LABEL: func.func @rounds_narrow_floats_once
// CHECK: arith.extf
// CHECK: math.exp %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK-NOT: arith.truncf
func.func @rounds_narrow_floats_once(%x: tensor<2xbf16>) -> tensor<2xbf16> {
  %0 = tg.node "aten.silu.default"(%x) : (tensor<2xbf16>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// CHECK-LABEL: func.func @does_not_widen_f64
// CHECK-NOT: arith.extf
// CHECK: math.exp %{{.*}} : f64
// CHECK-NOT: arith.truncf
func.func @does_not_widen_f64(%x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = tg.node "aten.silu.default"(%x) : (tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @scales_by_alpha
// CHECK: arith.constant 2.000000e+00 : f32
// CHECK: arith.mulf
// CHECK: arith.subf
func.func @scales_by_alpha(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tg.node "aten.sub.Tensor"(%x, %y) kwargs {alpha = 2 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @does_not_scale_by_one
// CHECK-NOT: arith.mulf
// CHECK: arith.subf
func.func @does_not_scale_by_one(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tg.node "aten.sub.Tensor"(%x, %y) kwargs {alpha = 1.0 : f64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @multiplies_for_small_powers
// CHECK-COUNT-2: arith.mulf
// CHECK-NOT: math.powf
// CHECK-LABEL: func.func @calls_pow_for_fractions
// CHECK: math.powf
func.func @multiplies_for_small_powers(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tg.node "aten.pow.Tensor_Scalar"(%x) args [#tg.operand<0>, 3] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @calls_pow_for_fractions(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tg.node "aten.pow.Tensor_Scalar"(%x) args [#tg.operand<0>, 2.5] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @multiplies_for_integers
// CHECK-COUNT-14: arith.muli
// CHECK-NOT: arith.muli
// CHECK-NOT: math.
// CHECK: return
func.func @multiplies_for_integers(%x: tensor<2xi8>, %n: tensor<2xi8>) -> tensor<2xi8> {
  %0 = tg.node "aten.pow.Tensor_Tensor"(%x, %n) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  return %0 : tensor<2xi8>
}

// Integers are compared with a float as floats, with an integer as integers.
// CHECK-LABEL: func.func @compares_in_the_common_type
// CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : f32
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : i64
func.func @compares_in_the_common_type(%x: tensor<2xi64>) -> (tensor<2xi1>, tensor<2xi1>) {
  %0 = tg.node "aten.lt.Scalar"(%x) args [#tg.operand<0>, 1.5] : (tensor<2xi64>) -> tensor<2xi1>
  %1 = tg.node "aten.lt.Scalar"(%x) args [#tg.operand<0>, 1] : (tensor<2xi64>) -> tensor<2xi1>
  return %0, %1 : tensor<2xi1>, tensor<2xi1>
}

// Of a number, too; what is computed is a float.
// CHECK-LABEL: func.func @takes_the_sign_of_another
// CHECK: math.copysign %{{.*}}, %{{.*}} : f32
// CHECK: arith.sitofp %{{.*}} : i64 to f32
// CHECK: math.copysign %{{.*}}, %{{.*}} : f32
func.func @takes_the_sign_of_another(%x: tensor<2xf32>, %y: tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = tg.node "aten.copysign.Tensor"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = tg.node "aten.copysign.Scalar"(%y) args [#tg.operand<0>, -2.0] : (tensor<2xi64>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
