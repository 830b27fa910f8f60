// RUN: regather-opt %s --convert-tg-nodes-to-linalg | FileCheck %s

// A complex argument has its parts in a last dimension.
// CHECK-LABEL: func.func @multiplies
// CHECK-SAME: %{{.*}}: tensor<3x2xf32>, %{{.*}}: tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK-NOT: complex
// CHECK-COUNT-2: arith.mulf
// CHECK: arith.subf
// CHECK-COUNT-2: arith.mulf
// CHECK: arith.addf
// CHECK: tensor.concat
// CHECK: return
func.func @multiplies(%x: tensor<3xcomplex<f32>>, %y: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %0 = tg.node "aten.mul.Tensor"(%x, %y) : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  return %0 : tensor<3xcomplex<f32>>
}

// A real factor takes two products.
// CHECK-LABEL: func.func @scales
// CHECK-COUNT-2: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @scales(%x: tensor<3x2xf32>, %y: tensor<3xf32>) -> tensor<3x2xf32> {
  %0 = tg.node "aten.view_as_complex.default"(%x) : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %1 = tg.node "aten.mul.Tensor"(%0, %y) : (tensor<3xcomplex<f32>>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
  %2 = tg.node "aten.view_as_real.default"(%1) : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// Views are of both parts.
// CHECK-LABEL: func.func @views_both_parts
// CHECK-COUNT-2: tensor.expand_shape %{{.*}} : tensor<6xf32> into tensor<2x3xf32>
func.func @views_both_parts(%x: tensor<6xcomplex<f32>>) -> tensor<2x3x2xf32> {
  %0 = tg.node "aten.view.default"(%x) args [#tg.operand<0>, [2, 3]] : (tensor<6xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
  %1 = tg.node "aten.view_as_real.default"(%0) : (tensor<2x3xcomplex<f32>>) -> tensor<2x3x2xf32>
  return %1 : tensor<2x3x2xf32>
}

// Bytes are stored without a sign and computed with in i16.
// CHECK-LABEL: func.func @extends_bytes_without_sign
// CHECK-SAME: %[[BYTES:.*]]: tensor<3xi8>
// CHECK: linalg.generic {{.*}} ins(%[[BYTES]] : tensor<3xi8>)
// CHECK: arith.constant 255 : i16
// CHECK-NEXT: arith.andi
// CHECK: arith.sitofp %{{.*}} : i16 to f32
func.func @extends_bytes_without_sign(%x: tensor<3xui8>) -> tensor<3xf32> {
  %0 = tg.node "aten._to_copy.default"(%x) kwargs {dtype = f32} : (tensor<3xui8>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @wraps_sums_of_bytes
// CHECK-SAME: -> tensor<3xi8>
// CHECK: arith.addi %{{.*}}, %{{.*}} : i16
// CHECK: arith.andi
// CHECK: arith.trunci %{{.*}} : i16 to i8
func.func @wraps_sums_of_bytes(%x: tensor<3xui8>) -> tensor<3xui8> {
  %0 = tg.node "aten.add.Tensor"(%x, %x) : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// What lies between the parts of ranks moves the wider integers.
tg.mesh @mesh [tp = 2]

// CHECK-LABEL: func.func @moves_bytes
// CHECK: tensor.extract_slice %{{.*}} : tensor<4xi16> to tensor<2xi16>
// CHECK: tg.all_gather {{.*}} : (tensor<2xi16>) -> !tg.future<tensor<4xi16>>
// CHECK: tg.wait {{.*}} : !tg.future<tensor<4xi16>>
// CHECK: arith.trunci %{{.*}} : i16 to i8
func.func @moves_bytes(%i: index) -> tensor<4xui8> {
  %0 = tg.node "aten.arange.start_step"() args [0, 4] : () -> tensor<4xui8>
  %1 = tensor.extract_slice %0[%i] [2] [1] : tensor<4xui8> to tensor<2xui8>
  %2 = tg.all_gather %1 on @mesh [tp] dim 0 phase forward : (tensor<2xui8>) -> !tg.future<tensor<4xui8>>
  %3 = tg.wait %2 : !tg.future<tensor<4xui8>>
  return %3 : tensor<4xui8>
}
