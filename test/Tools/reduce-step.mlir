// A step is reduced to the operation that makes a check fail, what it reads
// becomes arguments and constants, and roles keep their arguments.
// RUN: regather-reduce %s -step-reduction=test=%S/Inputs/has-broadcast.sh | FileCheck %s
// RUN: not regather-reduce %s -step-reduction=test=/bin/true 2>&1 | FileCheck %s --check-prefix=BORING
// RUN: not regather-reduce %s -step-reduction=test=/no/program 2>&1 | FileCheck %s --check-prefix=NO-PROGRAM

// CHECK:      func.func @step(
// CHECK-SAME:   %[[W:[^:]*]]: tensor<2xf32>
// CHECK-NOT:    %{{.*}}: tensor<4xf32>
// CHECK-SAME: -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>})
// CHECK-NOT:  tg.node
// CHECK:      tg.broadcast
// CHECK-NOT:  tg.all_reduce
// BORING: the module is not interesting: '/bin/true' does not exit with 1
// NO-PROGRAM: option 'test' must be the path of a program, got "/no/program"
tg.mesh @mesh [dp = 2]

func.func @step(%x: tensor<4xf32>, %y: tensor<4xf32>, %w: tensor<2xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<4xf32>, tensor<2xf32> {tg.role = #tg.role<gradient of 2>}, tensor<f32>) {
  %0 = tg.node "aten.mul.Tensor"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = tg.all_reduce sum %0 on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %2 = tg.wait %1 : !tg.future<tensor<4xf32>>
  %3 = tg.node "aten.neg.default"(%w) : (tensor<2xf32>) -> tensor<2xf32>
  %4 = tg.broadcast %3 on @mesh [dp] root 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %5 = tg.wait %4 : !tg.future<tensor<2xf32>>
  %6 = tg.node "aten.sum.default"(%2) : (tensor<4xf32>) -> tensor<f32>
  return %2, %5, %6 : tensor<4xf32>, tensor<2xf32>, tensor<f32>
}
