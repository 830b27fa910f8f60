// RUN: regather-opt %s --convert-tg-kernels-to-gpu --verify-diagnostics

// All kernels that cannot be lowered are reported.

// expected-error @below {{cannot lower the kernel to the gpu dialect: }}
tg.kernel @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %z = tg.node "aten.no_such.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  tg.return %z : tensor<4xf32>
}

// expected-error @below {{cannot lower the kernel to the gpu dialect: }}
tg.kernel @second(%x: tensor<8xf32>) -> tensor<8xf32> {
  %z = tg.node "aten.no_such.default"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  tg.return %z : tensor<8xf32>
}
