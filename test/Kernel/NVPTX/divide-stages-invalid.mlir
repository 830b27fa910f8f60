// RUN: regather-opt %s --kernel-divide-stages --verify-diagnostics

// All kernels that cannot be lowered are reported.

tg.kernel @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{cannot convert target "aten.no_such.default"}}
  %z = tg.node "aten.no_such.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  tg.return %z : tensor<4xf32>
}

tg.kernel @second(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{cannot convert target "aten.no_such.default"}}
  %z = tg.node "aten.no_such.default"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  tg.return %z : tensor<8xf32>
}
