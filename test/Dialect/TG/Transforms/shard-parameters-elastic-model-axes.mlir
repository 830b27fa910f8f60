// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2,tp:2 model-axes=tp elastic=4" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s "--tg-shard-parameters=mesh=dp:2,tp:2 model-axes=tp elastic=4" "--tg-append-optimizer=max-norm=1" --tg-verify-step | FileCheck %s --check-prefix=NORM

// A step that tp has cut: %up by columns, so that the loss, a sum over these, is
// reduced over tp; and %odd, whose six rows the four segments do not divide.
tg.mesh @mesh [dp = 2, tp = 2]

// Sums over the batch are trees over four segments; sums over tp stay one
// collective, over what is whole.
// CHECK:       func.func @step(
// CHECK-SAME:    %{{[^:]*}}: tensor<4x4xf32> {tg.name = "up", tg.placement = #tg.placement<@mesh {{\[\[}}tp] = shard 1, [dp] = shard 0]>
// What two numbers of ranks would cut in different places stays as tp cut it.
// CHECK-SAME:    tensor<6x4xf32> {tg.name = "odd", tg.placement = #tg.placement<@mesh {{\[\[}}tp] = shard 0]>
// CHECK-SAME:    tg.elastic = 4 : i64
// CHECK-SAME:    tg.model_segments = {tp = 0 : i64}
// CHECK:         tg.node "aten.mm.default"{{.*}} -> tensor<4x4xf32>
// CHECK-NOT:     tg.all_reduce
// CHECK:         %[[LOW:.*]] = tg.node "aten.sum.default"({{.*}}) {{.*}}(tensor<2x4xf32>) -> tensor<f32>
// CHECK:         %[[HIGH:.*]] = tg.node "aten.sum.default"({{.*}}) {{.*}}(tensor<2x4xf32>) -> tensor<f32>
// CHECK:         tg.node "aten.add.Tensor"(%[[LOW]], %[[HIGH]])
// CHECK:         tg.all_gather {{.*}} on @mesh [dp] dim 0
// CHECK:         tg.node "aten.add.Tensor"
// CHECK:         tg.all_reduce sum {{.*}} on @mesh [tp]

// The norm is a tree over the segments of dp, and then a sum over tp, for which
// dp does not count.
// NORM:          %[[DP:.*]] = tg.all_gather {{.*}} on @mesh [dp] dim 0 phase optimizer : (tensor<1xf64>)
// NORM:          %[[PARTS:.*]] = tg.wait %[[DP]]
// NORM:          tg.node "aten.add.Tensor"({{.*}}(tensor<1xf64>, tensor<1xf64>)
// NORM:          tg.all_reduce sum {{.*}} on @mesh [tp] phase optimizer
func.func @step(
    %up: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "up", tg.placement = #tg.placement<@mesh [[tp] = shard 1]>},
    %odd: tensor<6x4xf32> {tg.role = #tg.role<parameter>, tg.name = "odd", tg.placement = #tg.placement<@mesh [[tp] = shard 0]>},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<6x4xf32> {tg.role = #tg.role<gradient of 1>}) {
  %y = tg.node "aten.mm.default"(%x, %up) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %part = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>) -> tensor<f32>
  %future = tg.all_reduce sum %part on @mesh [tp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
  %loss = tg.wait %future {tg.phase = #tg.phase<forward>} : !tg.future<tensor<f32>>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %dodd = tg.node "aten.mul.Tensor"(%odd, %odd) {tg.phase = #tg.phase<backward>} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %loss, %dw, %dodd : tensor<f32>, tensor<8x4xf32>, tensor<6x4xf32>
}
