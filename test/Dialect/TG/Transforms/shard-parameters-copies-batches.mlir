// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep copy-axes=ep batch=per-rank" --tg-verify-step | FileCheck %s --check-prefix=MEAN
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep copy-axes=ep micro-batches=2" --tg-verify-step | FileCheck %s --check-prefix=BATCHES
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep copy-axes=ep" --tg-verify-step | FileCheck %s

// The ranks of ep have parts of the experts, and copies of all else, of whose
// gradients they have summands. Such parameters, and frozen ones, are shared by
// the ranks of dp and ep; the sum over ep is part of the reduction.
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<16xf32> {{[^%]*}}"m.w" at 0 of [4, 4]{{[^%]*}} tg.placement = #tg.placement<@mesh {{\[\[}}dp, ep] = shard 0]>
// CHECK-SAME:    %[[F:[a-z0-9]+]]: tensor<16xf32> {{[^%]*}}"m.f" at 0 of [4, 4]{{[^%]*}} tg.placement = #tg.placement<@mesh {{\[\[}}dp, ep] = shard 0]>
// CHECK-SAME:    %[[E:[a-z0-9]+]]: tensor<1x4xf32> {{[^%]*}}tg.placement = #tg.placement<@mesh {{\[\[}}ep, dp] = shard 0]>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x4xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}ep, dp] = shard 0]>
// CHECK-DAG:     tg.all_gather %[[W]], %[[F]] on @mesh [dp, ep] dim 0 phase forward {{.*}} -> !tg.future<tensor<64xf32>, tensor<64xf32>>
// CHECK-DAG:     tg.all_gather %[[E]] on @mesh [dp] dim 0 phase forward
// CHECK:         %[[DW:.*]] = tg.node "aten.mm.default"{{.*}} {test.gradient
// CHECK-NOT:     tg.all_reduce sum %{{.*}} on @mesh [ep]
// CHECK:         %[[FLAT:.*]] = tg.flatten %[[DW]] offsets [0]
// CHECK:         tg.reduce_scatter sum %[[FLAT]] on @mesh [dp, ep] dim 0 phase backward {{.*}} -> !tg.future<tensor<16xf32>>
// CHECK-NOT:     tg.all_reduce sum %{{.*}} on @mesh [ep]

// With a batch for each rank of dp, the mean over both axes is multiplied by the
// ranks of ep.
// MEAN-LABEL: func.func @step(
// MEAN:         %[[FUTURE:.*]] = tg.reduce_scatter avg %{{.*}} on @mesh [dp, ep] dim 0
// MEAN-NEXT:    %[[PART:.*]] = tg.wait %[[FUTURE]]
// MEAN:         %[[COPIES:.*]] = tg.node "aten.scalar_tensor.default"() args [2.000000e+00]
// MEAN:         %[[SUM:.*]] = tg.node "aten.mul.Tensor"(%[[PART]], %[[COPIES]])
// MEAN:         return %{{.*}}, %[[SUM]]

// Sums over ep of two batches are one.
// BATCHES-LABEL: func.func @step(
// BATCHES:         %[[D0:.*]] = tg.node "aten.mm.default"{{.*}} {test.gradient
// BATCHES:         %[[D1:.*]] = tg.node "aten.mm.default"{{.*}} {test.gradient
// BATCHES:         %[[BOTH:.*]] = tg.node "aten.add.Tensor"(%[[D0]], %[[D1]])
// BATCHES:         %[[HALF:.*]] = tg.node "aten.div.Scalar"(%[[BOTH]])
// BATCHES:         %[[FLAT:.*]] = tg.flatten %[[HALF]]
// BATCHES:         tg.reduce_scatter sum %[[FLAT]] on @mesh [dp, ep] dim 0
// BATCHES-NOT:     tg.all_reduce sum {{.*}} [ep]
tg.mesh @mesh [dp = 2, ep = 2]
func.func @step(
    %w: tensor<4x4xf32> {tg.role = #tg.role<parameter>, tg.name = "m.w", tg.module = "m"},
    %f: tensor<4x4xf32> {tg.role = #tg.role<parameter>, tg.name = "m.f", tg.module = "m"},
    %e: tensor<2x4xf32> {tg.role = #tg.role<parameter>, tg.name = "m.e", tg.module = "m", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>, tg.name = "x", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<4x4xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<2x4xf32> {tg.role = #tg.role<gradient of 2>}) {
  %a = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %b = tg.node "aten.mm.default"(%a, %f) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %sum = tg.node "aten.sum.dim_IntList"(%e) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<forward>} : (tensor<2x4xf32>) -> tensor<4xf32>
  %c = tg.node "aten.mul.Tensor"(%b, %sum) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %loss = tg.node "aten.sum.default"(%c) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>) -> tensor<f32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %dw = tg.node "aten.mm.default"(%xt, %c) {test.gradient, tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %future = tg.all_reduce sum %dw on @mesh [ep] phase backward : (tensor<4x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %reduced = tg.wait %future {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4x4xf32>>
  %row = tg.node "aten.sum.dim_IntList"(%c) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %de = tg.node "aten.expand.default"(%row) args [#tg.operand<0>, [2, 4]] {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<2x4xf32>
  return %loss, %reduced, %de : tensor<f32>, tensor<4x4xf32>, tensor<2x4xf32>
}
