// RUN: regather-opt %s -split-input-file --tg-partition="mode=budget budget=64 split=false" | FileCheck %s

// Marks come before the budget: what must be recomputed is, although there is
// room, and what must be saved is, although it is as cheap to compute again.
// CHECK-LABEL: @marks
// CHECK:         "aten.exp.default"{{.*}}must_recompute>} :
// CHECK:         "aten.cos.default"{{.*}}saved_results
// CHECK:         "aten.sin.default"{{.*}}saved_results
// CHECK:         "aten.exp.default"{{.*}}backward
// CHECK-NOT:     "aten.cos.default"{{.*}}backward
func.func @marks(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> tensor<4xf32>
  %b = tg.node "aten.cos.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save>} : (tensor<4xf32>) -> tensor<4xf32>
  %c = tg.node "aten.sin.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.addcmul.default"(%a, %b, %c) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %a, %b, %c, %g : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A gathered parameter counts (%v, 16 bytes) unless it is released (%w); what
// has been communicated is not communicated again (%sum, 16 bytes). So of the
// other three tensors of 16 bytes, two can be saved, and the one that is
// cheapest to compute is not.
// CHECK-LABEL: @parameters
// CHECK:         tg.wait %{{.*}} {tg.saved_results = array<i64: 1>}
// CHECK:         tg.wait %{{.*}} {tg.saved_results = array<i64: 0>}
// CHECK:         "aten.mm.default"{{.*}}saved_results
// CHECK:         "aten.exp.default"
// CHECK-NOT:     saved_results
// CHECK:         "aten.mm.default"{{.*}}saved_results
// CHECK:         tg.all_gather %arg0 {{.*}} phase backward generation 1
// CHECK-NOT:     "aten.mm.default"
// CHECK:         "aten.exp.default"{{.*}}backward
tg.mesh @mesh [dp = 2]

func.func @parameters(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.reshard = #tg.reshard<always>},
                      %v: tensor<2xf32> {tg.role = #tg.role<parameter>},
                      %large: tensor<4x1000000xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tg.all_gather %w, %v on @mesh [dp] dim 0 phase forward : (tensor<2xf32>, tensor<2xf32>) -> !tg.future<tensor<4xf32>, tensor<4xf32>>
  %a, %b = tg.wait %0 : !tg.future<tensor<4xf32>, tensor<4xf32>>
  %y = tg.node "aten.mul.Tensor"(%a, %b) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = tg.all_reduce sum %y on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %sum = tg.wait %1 : !tg.future<tensor<4xf32>>
  %l = tg.node "aten.mm.default"(%large, %large) {tg.phase = #tg.phase<forward>} : (tensor<4x1000000xf32>, tensor<4x1000000xf32>) -> tensor<4xf32>
  %e = tg.node "aten.exp.default"(%sum) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  %m = tg.node "aten.mm.default"(%large, %large) {tg.phase = #tg.phase<forward>} : (tensor<4x1000000xf32>, tensor<4x1000000xf32>) -> tensor<4xf32>
  %loss = tg.node "aten.addcmul.default"(%l, %e, %m) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.addcmul.default"(%a, %b, %sum) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h = tg.node "aten.addcmul.default"(%l, %e, %m) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %sum2 = tg.node "aten.add.Tensor"(%g, %h) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %loss, %sum2 : tensor<4xf32>, tensor<4xf32>
}
