// RUN: regather-opt %s --convert-tg-to-exec --exec-plan-memory --tg-verify-step | FileCheck %s

// Copies to the host and back have the two last streams; those of collectives
// come before. A copy starts behind what was computed before it, and what it
// gives is there behind its wait.
// CHECK-LABEL: exec.program @step
// CHECK-SAME:    streams = 4
// CHECK:         exec.launch @double(%{{.*}}) to (%[[A:.*]]) stream 0
// CHECK:         %[[HOST:.*]] = exec.host_slice 0 : memref<8xf32, #tg.host>
// CHECK:         %[[READY:.*]] = exec.record stream 0
// CHECK:         exec.wait %[[READY]] stream 2
// CHECK:         exec.transfer %[[A]] to %[[HOST]] stream 2 {tg.id = "a", tg.phase = #tg.phase<forward>} : memref<8xf32> to memref<8xf32, #tg.host>
// CHECK:         %[[AWAY:.*]] = exec.record stream 2
// CHECK:         exec.collective all_reduce
// CHECK-SAME:      stream 1
// CHECK:         exec.wait %[[AWAY]] stream 0
// CHECK:         exec.launch @double
// CHECK:         %[[FREE:.*]] = exec.record stream 0
// CHECK:         exec.wait %[[FREE]] stream 3
// CHECK:         exec.transfer %[[HOST]] to %[[BACK:.*]] stream 3
// CHECK:         %[[THERE:.*]] = exec.record stream 3
// CHECK:         exec.wait %[[THERE]] stream 0
// CHECK:         exec.launch @double(%[[BACK]])
tg.mesh @mesh [dp = 2]
tg.kernel @double(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = arith.addf %x, %x : tensor<8xf32>
  tg.return %y : tensor<8xf32>
}
func.func @step(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = tg.launch @double(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %away = tg.offload %a {tg.id = "a", tg.phase = #tg.phase<forward>}
      : (tensor<8xf32>) -> !tg.future<tensor<8xf32, #tg.host>>
  %sum = tg.all_reduce sum %a on @mesh [dp] phase forward
      : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
  %total = tg.wait %sum : !tg.future<tensor<8xf32>>
  %host = tg.wait %away : !tg.future<tensor<8xf32, #tg.host>>
  %b = tg.launch @double(%total) : (tensor<8xf32>) -> tensor<8xf32>
  %future = tg.fetch %host {tg.phase = #tg.phase<backward>}
      : (tensor<8xf32, #tg.host>) -> !tg.future<tensor<8xf32>>
  %back = tg.wait %future : !tg.future<tensor<8xf32>>
  %c = tg.launch @double(%back) : (tensor<8xf32>) -> tensor<8xf32>
  return %b, %c : tensor<8xf32>, tensor<8xf32>
}
