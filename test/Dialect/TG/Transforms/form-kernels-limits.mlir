// Limits on what one kernel may have.
// RUN: regather-opt %s --tg-form-kernels=max-ops=2 --remark-format=emitRemark --remarks-filter=tg-form-kernels 2>&1 | FileCheck %s --check-prefix=OPS
// RUN: regather-opt %s --tg-form-kernels=max-operands=2 --remark-format=emitRemark --remarks-filter=tg-form-kernels 2>&1 | FileCheck %s --check-prefix=OPERANDS
// RUN: regather-opt %s --tg-form-kernels="max-ops=3 max-operands=3" | FileCheck %s --check-prefix=ALL

// OPS:      'mul' is not fused with 'add', which it reads: the kernel would have too many operations
// OPS:      tg.kernel @exp_add_0(
// OPS:      tg.kernel @mul_1(
// OPERANDS: 'mul' is not fused with 'add', which it reads: the kernel would have too many operands
// OPERANDS: tg.kernel @exp_add_0(
// OPERANDS: tg.kernel @mul_1(
// ALL:      tg.kernel @exp_add_mul_0(
func.func @chain(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %a = tg.node "aten.exp.default"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = tg.node "aten.add.Tensor"(%a, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %c = tg.node "aten.mul.Tensor"(%b, %z) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}
