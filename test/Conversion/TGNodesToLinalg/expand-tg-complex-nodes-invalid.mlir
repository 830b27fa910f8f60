// RUN: regather-opt %s -split-input-file --expand-tg-complex-nodes --verify-diagnostics

// All are listed, what reads another among them.
func.func @several(%x: tensor<2xcomplex<f32>>) -> tensor<2xf32> {
  // expected-error@+1 {{cannot convert target "aten.tanh.default" of complex numbers}}
  %0 = tg.node "aten.tanh.default"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %1 = tg.node "aten.neg.default"(%0) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  // expected-error@+1 {{cannot convert target "aten.sigmoid.default" of complex numbers}}
  %2 = tg.node "aten.sigmoid.default"(%1) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %3 = tg.node "aten.abs.default"(%2) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// In every function.
func.func @another(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  // expected-error@+1 {{cannot convert target "test.unknown" of complex numbers}}
  %0 = tg.node "test.unknown"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}

// -----

func.func @elsewhere(%x: tensor<2xcomplex<f32>>) -> tensor<1x2xcomplex<f32>> {
  // expected-error@+1 {{uses complex numbers, which only nodes may}}
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [1, 2] : tensor<2xcomplex<f32>> into tensor<1x2xcomplex<f32>>
  return %0 : tensor<1x2xcomplex<f32>>
}
