// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2 micro-batches=2 layout=per-parameter" --tg-verify-step | FileCheck %s

// The input holds both batches, of which each rank works on its half. The
// parameter is gathered once, gradients are added before they are reduced, and
// the buffer of the second batch is that which the first one left.
// CHECK:       func.func @step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-SAME:    %[[SCALE:[a-z0-9]+]]: tensor<f32>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32> {{.*}}#tg.placement<@mesh {{\[\[}}dp] = shard 0]>
// CHECK:         %[[GATHER_X:.*]] = tg.all_gather %[[X]]
// CHECK:         %[[WHOLE:.*]] = tg.wait %[[GATHER_X]]
// CHECK:         %[[BATCH0:.*]] = tensor.extract_slice %[[WHOLE]][0, 0] [4, 8] [1, 1]
// CHECK:         %[[PART0:.*]] = tensor.extract_slice %[[BATCH0]][%{{.*}}, 0] [2, 8] [1, 1]
// CHECK:         %[[BATCH1:.*]] = tensor.extract_slice %[[WHOLE]][4, 0] [4, 8] [1, 1]
// CHECK:         %[[PART1:.*]] = tensor.extract_slice %[[BATCH1]][%{{.*}}, 0] [2, 8] [1, 1]
// CHECK:         tg.all_gather %[[W]]
// CHECK-NOT:     tg.all_gather
// CHECK:         tg.node "aten.mm.default"(%[[PART0]],
// CHECK:         %[[SCALE0:.*]] = tg.node "aten.mul.Tensor"(%[[SCALE]], %[[SCALE]]) {tg.micro_batch = 0 : i64
// CHECK:         %[[D0:.*]] = tg.node "aten.mm.default"{{.*}} {test.gradient
// CHECK:         tg.node "aten.mm.default"(%[[PART1]],
// CHECK:         %[[SCALE1:.*]] = tg.node "aten.mul.Tensor"(%[[SCALE0]], %[[SCALE0]])
// CHECK:         %[[D1:.*]] = tg.node "aten.mm.default"{{.*}} {test.gradient
// CHECK:         %[[SUM:.*]] = tg.node "aten.add.Tensor"(%[[D0]], %[[D1]]) {tg.micro_batch = 1 : i64
// CHECK:         %[[MEAN:.*]] = tg.node "aten.div.Scalar"(%[[SUM]]) args [#tg.operand<0>, 2]
// CHECK:         %[[SCATTER:.*]] = tg.reduce_scatter sum %[[MEAN]]
// CHECK:         %[[SHARD:.*]] = tg.wait %[[SCATTER]]
// CHECK-NOT:     tg.reduce_scatter
// CHECK:         return %{{.*}}, %[[SHARD]], %[[SCALE1]]
func.func @step(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %scale: tensor<f32> {tg.role = #tg.role<buffer>, tg.name = "scale"},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<f32> {tg.role = #tg.role<update of 1>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4x4xf32>) -> tensor<f32>
  %next = tg.node "aten.mul.Tensor"(%scale, %scale) {tg.phase = #tg.phase<forward>}
      : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {test.gradient, tg.phase = #tg.phase<backward>}
      : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %loss, %dw, %next : tensor<f32>, tensor<8x4xf32>, tensor<f32>
}
