// A module is reduced to the operation that makes a check fail.
// RUN: regather-reduce %s -reduction-tree='traversal-mode=0 test=%S/Inputs/has-broadcast.sh' 2>/dev/null | FileCheck %s

// CHECK-NOT: @unrelated
// CHECK: @broadcast
// CHECK: tg.broadcast
// CHECK-NOT: @unrelated
func.func @unrelated_0(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}

func.func @unrelated_1(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}

tg.mesh @mesh [dp = 2]

func.func @broadcast(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tg.broadcast %a on @mesh [dp] root 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<2xf32>>
  return %1 : tensor<2xf32>
}
