// RUN: regather-opt %s "--tg-shard-parameters=mesh=rep:2,dp:4 replicate-axis=rep layout=per-parameter" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:8 replicate-axis=dp mesh-name=ranks layout=per-parameter" --tg-verify-step | FileCheck %s --check-prefix=DDP
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:1 layout=per-parameter" --tg-verify-step --canonicalize | FileCheck %s --check-prefix=ONE

// The batch is split over both axes; parameters are sharded over one of them,
// and their gradients reduced over one after the other.
// CHECK:       tg.mesh @mesh [rep = 2, dp = 4]
// CHECK:       func.func @step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<2x4xf32> {{.*}}#tg.placement<@mesh {{\[\[}}dp] = shard 0]>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x8xf32> {{.*}}#tg.placement<@mesh {{\[\[}}rep, dp] = shard 0]>
// CHECK:         tg.all_gather %[[W]] on @mesh [dp] dim 0
// CHECK:         tg.all_reduce sum %{{.*}} on @mesh [rep, dp] phase forward
// CHECK:         %[[SCATTER:.*]] = tg.reduce_scatter sum %{{.*}} on @mesh [dp] dim 0 phase backward
// CHECK:         %[[PART:.*]] = tg.wait %[[SCATTER]]
// CHECK:         %[[REDUCE:.*]] = tg.all_reduce sum %[[PART]] on @mesh [rep] phase backward
// CHECK:         %[[SHARD:.*]] = tg.wait %[[REDUCE]]
// CHECK:         return %{{.*}}, %[[SHARD]]

// With one axis that replicates, no parameter is sharded.
// DDP:       tg.mesh @ranks [dp = 8]
// DDP:       func.func @step(
// DDP-SAME:    %[[W:[a-z0-9]+]]: tensor<8x4xf32> {tg.name = "w", tg.role = #tg.role<parameter>}
// DDP-SAME:    tensor<1x8xf32>
// DDP-NOT:     tg.all_gather
// DDP:         %[[PARTIAL:.*]] = tg.node "aten.mm.default"{{.*}} -> tensor<8x4xf32>
// DDP:         %[[REDUCE:.*]] = tg.all_reduce sum %[[PARTIAL]] on @ranks [dp] phase backward
// DDP:         %[[GRADIENT:.*]] = tg.wait %[[REDUCE]]
// DDP:         return %{{.*}}, %[[GRADIENT]]

// One rank computes what it was given.
// ONE:       func.func @step(
// ONE-SAME:    %[[W:[a-z0-9]+]]: tensor<8x4xf32>
// ONE-SAME:    %[[X:[a-z0-9]+]]: tensor<8x8xf32>
// ONE-NEXT:    %[[Y:.*]] = tg.node "aten.mm.default"(%[[X]], %[[W]])
// ONE-NEXT:    %[[LOSS:.*]] = tg.node "aten.sum.default"(%[[Y]])
// ONE-NEXT:    %[[XT:.*]] = tg.node "aten.t.default"(%[[X]])
// ONE-NEXT:    %[[DW:.*]] = tg.node "aten.mm.default"(%[[XT]], %[[Y]])
// ONE-NEXT:    return %[[LOSS]], %[[DW]]
func.func @step(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>) -> tensor<f32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>}
      : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %loss, %dw : tensor<f32>, tensor<8x4xf32>
}
