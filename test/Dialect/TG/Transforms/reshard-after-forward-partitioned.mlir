// RUN: regather-opt %s --tg-partition --tg-reshard-after-forward=mode=always --tg-verify-step | FileCheck %s

// Forward has saved the gathered parameter for another function: nothing is left
// to release, and no argument is said to be.
// CHECK-NOT: tg.reshard
// CHECK:     func.func @forward
// CHECK-NOT: tg.reshard
tg.mesh @mesh [dp = 2]

func.func @step(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %y = tg.node "aten.mm.default"(%x, %whole) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.mm.default"(%y, %whole) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}
