// RUN: regather-opt %s --tg-apply-policy=policy=full --tg-verify-step | FileCheck %s

// What the model says of a wait counts for its collective: a plan does not
// contradict it.
// CHECK:     tg.all_reduce
// CHECK-NOT: tg.policy
// CHECK:     tg.wait {{.*}}tg.policy = #tg.policy<must_save>
// CHECK:     tg.node "aten.relu.default"{{.*}}#tg.policy<must_recompute, planned>
tg.mesh @mesh [dp = 2]

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tg.all_reduce sum %x on @mesh [dp] phase forward {tg.module = "layers.0"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %y = tg.wait %0 {tg.module = "layers.0", tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>} : !tg.future<tensor<4xf32>>
  %z = tg.node "aten.relu.default"(%y) {tg.module = "layers.0", tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.mul.Tensor"(%y, %z) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}
