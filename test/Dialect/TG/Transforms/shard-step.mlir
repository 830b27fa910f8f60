// RUN: regather-opt %s -split-input-file "--tg-shard-step=mesh=dp:2,tp:2 shard={up=[tp] shard 1}" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file "--tg-shard-step=mesh=dp:2,tp:2 shard={up=[tp] shard 1}" --remark-format=emitRemark --remarks-filter=tg-shard-step -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Columns of one matrix are cut, so the rows of the next follow, and so does the
// bias between them. One sum is left to do, and none for the gradients.
// CHECK:       tg.mesh @mesh [dp = 2, tp = 2]
// CHECK-LABEL: func.func @column_and_row(
// CHECK-SAME:    %[[UP:[a-z0-9]+]]: tensor<4x4xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp] = shard 1]>
// CHECK-SAME:    %[[BIAS:[a-z0-9]+]]: tensor<4xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp] = shard 0]>
// CHECK-SAME:    %[[DOWN:[a-z0-9]+]]: tensor<4x6xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp] = shard 0]>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK:         %[[H:.*]] = tg.node "aten.mm.default"(%[[X]], %[[UP]]) {{.*}} -> tensor<8x4xf32>
// CHECK:         %[[B:.*]] = tg.node "aten.add.Tensor"(%[[H]], %[[BIAS]]) {{.*}} -> tensor<8x4xf32>
// CHECK:         %[[PARTIAL:.*]] = tg.node "aten.mm.default"(%[[B]], %[[DOWN]]) {{.*}} -> tensor<8x6xf32>
// CHECK:         %[[SUM:.*]] = tg.node "aten.sum.default"(%[[PARTIAL]]) {{.*}} -> tensor<f32>
// CHECK:         %[[REDUCE:.*]] = tg.all_reduce sum %[[SUM]] on @mesh [tp] phase forward
// CHECK:         %[[LOSS:.*]] = tg.wait %[[REDUCE]]
// CHECK-NOT:     tg.all
// CHECK:         return %[[LOSS]], %{{.*}} : tensor<f32>, tensor<4x4xf32>
// EXAMPLE tg-shard-step{mesh=dp:2,tp:2 shard={up=[tp] shard 1}}
func.func @column_and_row(
    %up: tensor<4x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up.weight"},
    %bias: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "bias"},
    %down: tensor<8x6xf32> {tg.role = #tg.role<parameter>, tg.name = "down.weight"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<4x8xf32> {tg.role = #tg.role<gradient of 0>}) {
  %h = tg.node "aten.mm.default"(%x, %up) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %b = tg.node "aten.add.Tensor"(%h, %bias) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %y = tg.node "aten.mm.default"(%b, %down) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<8x6xf32>) -> tensor<f32>
  %ones = tg.node "aten.ones.default"() args [[8, 6]] {tg.phase = #tg.phase<backward>} : () -> tensor<8x6xf32>
  %downt = tg.node "aten.t.default"(%down) {tg.phase = #tg.phase<backward>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %dh = tg.node "aten.mm.default"(%ones, %downt) {tg.phase = #tg.phase<backward>} : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %dup = tg.node "aten.mm.default"(%xt, %dh) {tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %loss, %dup : tensor<f32>, tensor<4x8xf32>
}
// END

// -----

// A parameter that was read whole before it is cut is gathered for that use.
// CHECK-LABEL: func.func @read_before(
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<8x4xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp] = shard 1]>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4x8xf32> {{[^%]*}}#tg.placement<@mesh {{\[\[}}tp] = shard 0]>
// CHECK:         tg.all_gather %[[W]] on @mesh [tp] dim 0 phase forward
// CHECK:         tg.node "aten.cumsum.default"
// CHECK:         %[[H:.*]] = tg.node "aten.mm.default"{{.*}} -> tensor<8x4xf32>
// CHECK:         tg.node "aten.mm.default"(%[[H]], %[[W]])
func.func @read_before(
    %up: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up.weight"},
    %w: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c = tg.node "aten.cumsum.default"(%w) args [#tg.operand<0>, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %h = tg.node "aten.mm.default"(%x, %up) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = tg.node "aten.mm.default"(%h, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y, %c : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// What needs all of a dimension gathers it, and says so.
// REMARK: remark: {{.*}}kept-whole{{.*}}gathered_bytes=256
// CHECK-LABEL: func.func @cumulative_sum(
// CHECK:         %[[H:.*]] = tg.node "aten.mm.default"{{.*}} -> tensor<8x4xf32>
// CHECK:         %[[GATHER:.*]] = tg.all_gather %[[H]] on @mesh [tp] dim 1 phase forward
// CHECK:         %[[WHOLE:.*]] = tg.wait %[[GATHER]]
// CHECK:         tg.node "aten.cumsum.default"(%[[WHOLE]])
func.func @cumulative_sum(
    %up: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up.weight"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<8x8xf32>) {
  %h = tg.node "aten.mm.default"(%x, %up) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = tg.node "aten.cumsum.default"(%h) args [#tg.operand<0>, 1] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Without parameters, nothing is done.
// CHECK-LABEL: func.func @no_parameters
// CHECK-NOT:     placement
func.func @no_parameters(%x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "up"}) -> tensor<8x8xf32> {
  return %x : tensor<8x8xf32>
}
