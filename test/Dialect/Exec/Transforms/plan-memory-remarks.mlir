// RUN: regather-opt %s --exec-plan-memory --remark-format=emitRemark --remarks-filter=exec-plan-memory -o /dev/null 2>&1 | FileCheck %s

// CHECK: remark: [Passed] planned | Category:exec-plan-memory | Reason="'step' has 2 buffers in an arena", arena_bytes=64, in_place_bytes=64, lower_bound_bytes=64
tg.kernel @neg(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = arith.negf %x : tensor<16xf32>
  tg.return %y : tensor<16xf32>
}
exec.program @step(%x: memref<16xf32>) -> memref<16xf32> attributes {streams = 1} {
  %a = exec.slice : memref<16xf32>
  %b = exec.slice : memref<16xf32>
  exec.launch @neg(%x) to (%a) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.launch @neg(%a) to (%b) stream 0 : (memref<16xf32>) -> memref<16xf32>
  exec.return %b : memref<16xf32>
}
