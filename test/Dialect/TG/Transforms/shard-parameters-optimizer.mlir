// RUN: regather-opt %s -split-input-file --tg-shard-parameters=mesh=dp:4 --tg-verify-step | FileCheck %s

// The optimizer works on shards: of the parameter, of its state, and of the
// gradient, which is scattered before it. The norm of all gradients is a sum
// over shards.
// CHECK-LABEL: @adagrad
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<2x4xf32> {{.*}}#tg.placement<@mesh {{\[\[}}dp] = shard 0]>, tg.role = #tg.role<optimizer_state>
// CHECK-SAME:    -> (tensor<2x4xf32> {tg.role = #tg.role<update of 0>}, tensor<2x4xf32> {tg.role = #tg.role<update of 1>})
// CHECK-COUNT-1: tg.all_gather %[[W]]
// CHECK:         tg.reduce_scatter sum %{{.*}} on @mesh [dp] dim 0 phase backward
// CHECK:         %[[SHARD:.*]] = tg.wait
// CHECK:         %[[SQUARE:.*]] = tg.node "aten.mul.Tensor"(%[[SHARD]], %[[SHARD]]) {{.*}} -> tensor<2x4xf32>
// CHECK:         %[[SUM:.*]] = tg.node "aten.sum.default"(%[[SQUARE]])
// CHECK:         tg.all_reduce sum %[[SUM]] on @mesh [dp] phase optimizer
// CHECK:         %[[TOTAL:.*]] = tg.wait
// CHECK:         %[[NORM:.*]] = tg.node "aten.sqrt.default"(%[[TOTAL]])
// CHECK:         %[[CLIPPED:.*]] = tg.node "aten.div.Tensor"(%[[SHARD]], %[[NORM]]) {{.*}} -> tensor<2x4xf32>
// CHECK:         %[[NEXT:.*]] = tg.node "aten.add.Tensor"(%[[STATE]], %{{.*}}) {{.*}} -> tensor<2x4xf32>
// CHECK:         %[[UPDATE:.*]] = tg.node "aten.sub.Tensor"(%[[W]], %[[CLIPPED]]) {{.*}} -> tensor<2x4xf32>
// CHECK:         return %[[UPDATE]], %[[NEXT]]
func.func @adagrad(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %state: tensor<8x4xf32> {tg.role = #tg.role<optimizer_state>, tg.name = "state"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32> {tg.role = #tg.role<update of 0>},
        tensor<8x4xf32> {tg.role = #tg.role<update of 1>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>}
      : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %square = tg.node "aten.mul.Tensor"(%dw, %dw) {tg.phase = #tg.phase<optimizer>}
      : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %sum = tg.node "aten.sum.default"(%square) {tg.phase = #tg.phase<optimizer>} : (tensor<8x4xf32>) -> tensor<f32>
  %norm = tg.node "aten.sqrt.default"(%sum) {tg.phase = #tg.phase<optimizer>} : (tensor<f32>) -> tensor<f32>
  %clipped = tg.node "aten.div.Tensor"(%dw, %norm) {tg.phase = #tg.phase<optimizer>}
      : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %next = tg.node "aten.add.Tensor"(%state, %square) {tg.phase = #tg.phase<optimizer>}
      : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %update = tg.node "aten.sub.Tensor"(%w, %clipped) {tg.phase = #tg.phase<optimizer>}
      : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %update, %next : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// A state of another shape stays whole, and so does one that is combined with
// a parameter that is not sharded.
// CHECK-LABEL: @other_states
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<2x4xf32>
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<f32>
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<8xf32> {tg.role = #tg.role<optimizer_state>}
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<f32> {tg.role = #tg.role<optimizer_state>}
func.func @other_states(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>},
    %scale: tensor<f32> {tg.role = #tg.role<parameter>},
    %rows: tensor<8xf32> {tg.role = #tg.role<optimizer_state>},
    %step: tensor<f32> {tg.role = #tg.role<optimizer_state>})
    -> (tensor<8xf32> {tg.role = #tg.role<update of 2>},
        tensor<f32> {tg.role = #tg.role<update of 3>}) {
  %sum = tg.node "aten.sum.dim_IntList"(%w) args [#tg.operand<0>, [1]] {tg.phase = #tg.phase<optimizer>}
      : (tensor<8x4xf32>) -> tensor<8xf32>
  %next = tg.node "aten.add.Tensor"(%rows, %sum) {tg.phase = #tg.phase<optimizer>}
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %count = tg.node "aten.add.Tensor"(%step, %scale) {tg.phase = #tg.phase<optimizer>}
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %next, %count : tensor<8xf32>, tensor<f32>
}

// -----

// The padding of a scattered gradient is zero, and its square as well: the sum
// may run over the shard. What is exp of the padding is one: replaced before.
// CHECK-LABEL: @padding
// CHECK:         %[[SHARD:.*]] = tg.wait %{{.*}} : !tg.future<tensor<3x4xf32>>
// CHECK:         %[[SQUARE:.*]] = tg.node "aten.mul.Tensor"(%[[SHARD]], %[[SHARD]])
// CHECK:         %[[SUM:.*]] = tg.node "aten.sum.default"(%[[SQUARE]]) {{.*}} : (tensor<3x4xf32>) -> tensor<f32>
// CHECK:         %[[EXP:.*]] = tg.node "aten.exp.default"(%[[SHARD]]) {{.*}} -> tensor<3x4xf32>
// CHECK-NOT:     tg.all_gather
// CHECK:         %[[EXISTS:.*]] = tg.node "aten.lt.Scalar"(%{{.*}}) args [#tg.operand<0>, 10] {{.*}} -> tensor<3xi1>
// CHECK:         %[[MASK:.*]] = tg.node "aten.view.default"(%[[EXISTS]]) {{.*}} -> tensor<3x1xi1>
// CHECK:         %[[CLEARED:.*]] = tg.node "aten.where.self"(%[[MASK]], %[[EXP]], %{{.*}})
// CHECK:         %[[SUM2:.*]] = tg.node "aten.sum.default"(%[[CLEARED]]) {{.*}} : (tensor<3x4xf32>) -> tensor<f32>
// CHECK-DAG:     tg.all_reduce sum %[[SUM]] on @mesh [dp] phase optimizer
// CHECK-DAG:     tg.all_reduce sum %[[SUM2]] on @mesh [dp] phase optimizer
func.func @padding(
    %w: tensor<10x4xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<8x10xf32> {tg.role = #tg.role<input>})
    -> (tensor<f32>, tensor<f32>, tensor<10x4xf32> {tg.role = #tg.role<update of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<8x10xf32>, tensor<10x4xf32>) -> tensor<8x4xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x10xf32>) -> tensor<10x8xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>}
      : (tensor<10x8xf32>, tensor<8x4xf32>) -> tensor<10x4xf32>
  %square = tg.node "aten.mul.Tensor"(%dw, %dw) {tg.phase = #tg.phase<optimizer>}
      : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  %sum = tg.node "aten.sum.default"(%square) {tg.phase = #tg.phase<optimizer>} : (tensor<10x4xf32>) -> tensor<f32>
  %exp = tg.node "aten.exp.default"(%dw) {tg.phase = #tg.phase<optimizer>} : (tensor<10x4xf32>) -> tensor<10x4xf32>
  %exp_sum = tg.node "aten.sum.default"(%exp) {tg.phase = #tg.phase<optimizer>} : (tensor<10x4xf32>) -> tensor<f32>
  %update = tg.node "aten.sub.Tensor"(%w, %dw) {tg.phase = #tg.phase<optimizer>}
      : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  return %sum, %exp_sum, %update : tensor<f32>, tensor<f32>, tensor<10x4xf32>
}
