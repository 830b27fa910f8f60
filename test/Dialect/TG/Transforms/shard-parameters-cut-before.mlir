// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2,tp:2 model-axes=tp" --tg-verify-step | FileCheck %s

// Another axis has cut rows before. Those of a part are cut again if all parts of
// the two cuts are equal, padding included (4 rows of 7); else columns are; else
// the part stays whole. Gradients and states follow, and each dimension has a
// collective of its own.
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[ROWS:[a-z0-9]+]]: tensor<2x4xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp, dp] = shard 0] of [7, 4]>
// CHECK-SAME:    %[[COLUMNS:[a-z0-9]+]]: tensor<5x2xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp] = shard 0, [dp] = shard 1] of [9, 4]>
// CHECK-SAME:    %[[WHOLE:[a-z0-9]+]]: tensor<5x3xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp] = shard 0] of [9, 3]>
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<5x2xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp] = shard 0, [dp] = shard 1] of [9, 4]>
// CHECK-SAME:    -> (tensor<2x4xf32> {{[^)]*}}tensor<5x2xf32> {{[^)]*}}tensor<5x3xf32> {{[^)]*}}tensor<5x2xf32>
// CHECK-DAG:     tg.all_gather %[[ROWS]] on @mesh [dp] dim 0 phase forward {{.*}}: (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
// CHECK-DAG:     tg.all_gather %[[COLUMNS]] on @mesh [dp] dim 1 phase forward {{.*}}: (tensor<5x2xf32>) -> !tg.future<tensor<5x4xf32>>
// CHECK-NOT:     tg.all_gather
// CHECK-DAG:     tg.reduce_scatter sum %{{.*}} on @mesh [dp] dim 0 phase backward {{.*}}: (tensor<4x4xf32>) -> !tg.future<tensor<2x4xf32>>
// CHECK-DAG:     tg.reduce_scatter sum %{{.*}} on @mesh [dp] dim 1 phase backward {{.*}}: (tensor<5x4xf32>) -> !tg.future<tensor<5x2xf32>>
// CHECK-DAG:     tg.all_reduce sum %{{.*}} on @mesh [dp] phase backward {{.*}}: (tensor<5x3xf32>)
// CHECK:         %[[NEXT:.*]] = tg.node "aten.add.Tensor"(%[[STATE]], %{{.*}}) {{.*}} -> tensor<5x2xf32>
// CHECK:         tg.node "aten.sub.Tensor"(%[[COLUMNS]], %[[NEXT]]) {{.*}} -> tensor<5x2xf32>
tg.mesh @mesh [dp = 2, tp = 2]
func.func @step(
    %rows: tensor<4x4xf32> {tg.role = #tg.role<parameter>, tg.name = "m.rows", tg.placement = #tg.placement<@mesh [[tp] = shard 0] of [7, 4]>},
    %columns: tensor<5x4xf32> {tg.role = #tg.role<parameter>, tg.name = "m.columns", tg.placement = #tg.placement<@mesh [[tp] = shard 0] of [9, 4]>},
    %whole: tensor<5x3xf32> {tg.role = #tg.role<parameter>, tg.name = "m.whole", tg.placement = #tg.placement<@mesh [[tp] = shard 0] of [9, 3]>},
    %state: tensor<5x4xf32> {tg.role = #tg.role<optimizer_state>, tg.name = "m.columns.sum", tg.placement = #tg.placement<@mesh [[tp] = shard 0] of [9, 4]>},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %y: tensor<8x5xf32> {tg.role = #tg.role<input>, tg.name = "y"})
    -> (tensor<4x4xf32> {tg.role = #tg.role<update of 0>},
        tensor<5x4xf32> {tg.role = #tg.role<update of 1>},
        tensor<5x3xf32> {tg.role = #tg.role<update of 2>},
        tensor<5x4xf32> {tg.role = #tg.role<update of 3>}) {
  %a = tg.node "aten.mm.default"(%x, %rows) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %b = tg.node "aten.mm.default"(%y, %columns) {tg.phase = #tg.phase<forward>} : (tensor<8x5xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>
  %c = tg.node "aten.mm.default"(%y, %whole) {tg.phase = #tg.phase<forward>} : (tensor<8x5xf32>, tensor<5x3xf32>) -> tensor<8x3xf32>
  %at = tg.node "aten.t.default"(%a) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %yt = tg.node "aten.t.default"(%y) {tg.phase = #tg.phase<backward>} : (tensor<8x5xf32>) -> tensor<5x8xf32>
  %da = tg.node "aten.mm.default"(%at, %a) {tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %db = tg.node "aten.mm.default"(%yt, %b) {tg.phase = #tg.phase<backward>} : (tensor<5x8xf32>, tensor<8x4xf32>) -> tensor<5x4xf32>
  %dc = tg.node "aten.mm.default"(%yt, %c) {tg.phase = #tg.phase<backward>} : (tensor<5x8xf32>, tensor<8x3xf32>) -> tensor<5x3xf32>
  %r = tg.node "aten.sub.Tensor"(%rows, %da) {tg.phase = #tg.phase<optimizer>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %w = tg.node "aten.sub.Tensor"(%whole, %dc) {tg.phase = #tg.phase<optimizer>} : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %next = tg.node "aten.add.Tensor"(%state, %db) {tg.phase = #tg.phase<optimizer>} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %update = tg.node "aten.sub.Tensor"(%columns, %next) {tg.phase = #tg.phase<optimizer>} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  return %r, %update, %w, %next : tensor<4x4xf32>, tensor<5x4xf32>, tensor<5x3xf32>, tensor<5x4xf32>
}
