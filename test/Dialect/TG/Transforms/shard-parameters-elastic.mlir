// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2 elastic=4" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:1 elastic=4" --tg-verify-step | FileCheck %s --check-prefix=ONE

// Sums over the batch are cut at segments; the ranks exchange them and add.
// CHECK:       func.func @step(
// CHECK-SAME:    tg.elastic = 4 : i64
// CHECK-NOT:     tg.all_reduce
// CHECK-NOT:     tg.reduce_scatter
// CHECK:         %[[Y:.*]] = tg.node "aten.mm.default"{{.*}} -> tensor<4x4xf32>
// CHECK:         %[[LOW:.*]] = tg.node "aten.sum.default"({{.*}}) {{.*}}(tensor<2x4xf32>) -> tensor<f32>
// CHECK:         %[[HIGH:.*]] = tg.node "aten.sum.default"({{.*}}) {{.*}}(tensor<2x4xf32>) -> tensor<f32>
// CHECK:         tg.node "aten.add.Tensor"(%[[LOW]], %[[HIGH]])
// CHECK:         tg.all_gather {{.*}}(tensor<1xf32>) -> !tg.future<tensor<2xf32>>
// CHECK:         tg.node "aten.add.Tensor"({{.*}}) {{.*}}(tensor<1xf32>, tensor<1xf32>)
// CHECK:         %[[DW0:.*]] = tg.node "aten.mm.default"({{.*}}) {{.*}}(tensor<8x2xf32>, tensor<2x4xf32>)
// CHECK:         %[[DW1:.*]] = tg.node "aten.mm.default"({{.*}}) {{.*}}(tensor<8x2xf32>, tensor<2x4xf32>)
// CHECK:         tg.node "aten.add.Tensor"(%[[DW0]], %[[DW1]])
// CHECK:         tg.all_to_all {{.*}} split 0 concat 0 phase backward
// CHECK-NOT:     tg.all_reduce
// CHECK-NOT:     tg.reduce_scatter

// One rank adds in the same order, each pair as soon as it is there.
// ONE:         %[[A:.*]] = tg.node "aten.mm.default"({{.*}}) {{.*}}(tensor<8x2xf32>, tensor<2x4xf32>)
// ONE:         %[[B:.*]] = tg.node "aten.mm.default"({{.*}}) {{.*}}(tensor<8x2xf32>, tensor<2x4xf32>)
// ONE:         %[[AB:.*]] = tg.node "aten.add.Tensor"(%[[A]], %[[B]])
// ONE:         %[[C:.*]] = tg.node "aten.mm.default"({{.*}}) {{.*}}(tensor<8x2xf32>, tensor<2x4xf32>)
// ONE:         %[[D:.*]] = tg.node "aten.mm.default"({{.*}}) {{.*}}(tensor<8x2xf32>, tensor<2x4xf32>)
// ONE:         %[[CD:.*]] = tg.node "aten.add.Tensor"(%[[C]], %[[D]])
// ONE:         tg.node "aten.add.Tensor"(%[[AB]], %[[CD]])
func.func @step(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>) -> tensor<f32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %loss, %dw : tensor<f32>, tensor<8x4xf32>
}
