// What has been recorded is saved again, and nothing else.

// RUN: regather-opt %s --tg-partition="mode=replay split=false" | FileCheck %s
// RUN: regather-opt %s --tg-partition="mode=replay split=false" --tg-partition="mode=replay split=false" | FileCheck %s
// RUN: regather-opt %s --tg-partition="mode=replay split=false saved=a,both:1,a" | FileCheck %s --check-prefixes=CHECK,NAMED
// RUN: regather-opt %s --tg-partition="mode=min-cut split=false" | FileCheck %s --check-prefix=CUT

// The record of a minimum cut would be another one: it would keep the matmul.
// CUT: tg.node "aten.mm.default"{{.*}}saved_results

// The mark to recompute wins over the record. The record says which of several
// results is saved, unless all of them must be.
// CHECK-LABEL: @step
// CHECK:       tg.node "aten.mm.default"(%arg0, %arg0) {tg.phase
// CHECK-NOT:   saved_results
// CHECK-SAME:  :
// CHECK:       tg.node "aten.exp.default"{{.*}}tg.id = "a"{{.*}}tg.saved_results = array<i64: 0>
// CHECK:       tg.node "aten.cos.default"{{.*}}must_recompute>} :
// CHECK:       "aten.split.Tensor"{{.*}}tg.id = "both"{{.*}}tg.saved_results = array<i64: 1>
// CHECK:       "aten.split.Tensor"{{.*}}must_save>, tg.saved_results = array<i64: 0, 1>
// CHECK:       tg.node "aten.mm.default"{{.*}}backward
func.func @step(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<2x4xf32>) {
  %y = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = tg.node "aten.exp.default"(%y) {tg.phase = #tg.phase<forward>, tg.id = "a", tg.saved_results = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.cos.default"(%y) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>, tg.saved_results = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c, %d = tg.node "aten.split.Tensor"(%a) {tg.phase = #tg.phase<forward>, tg.id = "both", tg.saved_results = array<i64: 1>} : (tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %e, %f = tg.node "aten.split.Tensor"(%b) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>, tg.saved_results = array<i64: 1>} : (tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %g = tg.node "aten.mul.Tensor"(%a, %b) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = tg.node "aten.addcmul.default"(%c, %d, %e, %f) {tg.phase = #tg.phase<backward>} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %g, %h : tensor<4x4xf32>, tensor<2x4xf32>
}
// NAMED: return
