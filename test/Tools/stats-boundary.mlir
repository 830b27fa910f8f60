// What lives on from forward to backward: before and after a parameter is
// released, an activation recomputed, and the step split.

// RUN: regather stats %s --json | FileCheck %s --check-prefix=BEFORE
// RUN: regather-opt %s --tg-reshard-after-forward=mode=always --tg-rematerialize -o %t.mlir
// RUN: regather stats %t.mlir --json | FileCheck %s --check-prefix=AFTER
// RUN: regather-opt %t.mlir --tg-partition | regather stats - --json | FileCheck %s --check-prefix=AFTER
// RUN: regather stats %s | FileCheck %s --check-prefix=TEXT

// The parameter counts once, though backward reads it twice: 64 bytes. So do
// the GEMM and what is made of it.
// BEFORE:      "gathered_bytes_across_boundary": 64,
// BEFORE-NEXT: "saved_bytes": 192,
// BEFORE-NEXT: "recomputed_flops": 0,
// AFTER:       "gathered_bytes_across_boundary": 0,
// AFTER-NEXT:  "saved_bytes": 64,
// AFTER-NEXT:  "recomputed_flops": 16,
// TEXT: 192 bytes live on to backward, 64 of them gathered parameters; 0{{.*}} flops are computed again
tg.mesh @mesh [dp = 2]

func.func @step(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}, %x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %t = tg.node "aten.t.default"(%whole) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = tg.node "aten.mm.default"(%x, %t) {tg.phase = #tg.phase<forward>, tg.id = "mm"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = tg.node "aten.exp.default"(%y) {tg.phase = #tg.phase<forward>, tg.id = "exp", tg.policy = #tg.policy<must_recompute>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.addcmul.default"(%y, %z, %t) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = tg.node "aten.mm.default"(%g, %whole) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %z, %h : tensor<4x4xf32>, tensor<4x4xf32>
}
