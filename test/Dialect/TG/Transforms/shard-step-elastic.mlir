// RUN: regather-opt %s "--tg-shard-step=mesh=dp:2,tp:2 shard={up=[tp] shard 1} elastic-axes=tp:4" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s "--tg-shard-step=mesh=dp:2,tp:1 shard={up=[tp] shard 1} elastic-axes=tp:4" --tg-verify-step | FileCheck %s --check-prefix=ONE
// RUN: regather-opt %s "--tg-shard-step=mesh=dp:2,tp:2 shard={up=[tp] shard 1} elastic-axes=tp:4" "--tg-shard-parameters=mesh=dp:2,tp:2 model-axes=tp elastic=2" "--tg-append-optimizer=max-norm=1" --tg-verify-step | FileCheck %s --check-prefix=BOTH

// Sums over the columns of %up, which lie over tp, are trees over four segments,
// of which a rank has two: it adds its own, and the ranks add theirs as a tree.
// What several ranks sent has a dimension of its own, so that the batch can be
// cut later. A product of which each column is one of its own is not cut.
// CHECK:       func.func @step(%[[UP:.*]]: tensor<8x4xf32> {tg.name = "up", {{.*}} %[[DOWN:.*]]: tensor<4x8xf32> {tg.name = "down",
// CHECK-SAME:    tensor<6x8xf32> {tg.name = "odd", tg.role
// CHECK-SAME:    attributes {tg.model_segments = {tp = 4 : i64}}
// CHECK:         %[[Y:.*]] = tg.node "aten.mm.default"({{.*}} -> tensor<8x4xf32>
// CHECK:         %[[LOW:.*]] = tg.node "aten.mm.default"({{.*}} (tensor<8x2xf32>, tensor<2x8xf32>)
// CHECK:         %[[HIGH:.*]] = tg.node "aten.mm.default"({{.*}} (tensor<8x2xf32>, tensor<2x8xf32>)
// CHECK:         %[[PART:.*]] = tg.node "aten.add.Tensor"(%[[LOW]], %[[HIGH]])
// A softmax reduces its rows in the same way.
// CHECK-COUNT-2: tg.node "aten.amax.default"({{.*}}(tensor<8x2xf32>) -> tensor<8x1xf32>
// CHECK:         tg.node "aten.maximum.default"({{.*}}(tensor<8x1xf32>
// CHECK:         tg.all_gather {{.*}} on @mesh [tp] dim 0 {{.*}}(tensor<1x8x1xf32>)
// CHECK:         tg.node "aten.maximum.default"({{.*}}(tensor<1x8x1xf32>
// CHECK-COUNT-2: tg.node "aten.sum.dim_IntList"({{.*}}(tensor<8x2xf32>) -> tensor<8x1xf32>
// CHECK:         tg.node "aten.mm.default"({{.*}}(tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK:         %[[ROW:.*]] = tensor.expand_shape %[[PART]]
// CHECK:         tg.all_gather %[[ROW]] on @mesh [tp] dim 0 {{.*}}(tensor<1x8x8xf32>) -> !tg.future<tensor<2x8x8xf32>>
// CHECK:         tg.node "aten.add.Tensor"({{.*}}(tensor<1x8x8xf32>
// CHECK-NOT:     tg.all_reduce
// CHECK-NOT:     tg.reduce_scatter

// One rank has all segments, and the same tree.
// ONE:           tensor<8x8xf32> {tg.name = "up", tg.placement = #tg.placement<@mesh {{\[\[}}tp] = shard 1]>
// ONE:           %[[A:.*]] = tg.node "aten.mm.default"({{.*}} (tensor<8x2xf32>, tensor<2x8xf32>)
// ONE:           %[[B:.*]] = tg.node "aten.mm.default"({{.*}} (tensor<8x2xf32>, tensor<2x8xf32>)
// ONE:           %[[AB:.*]] = tg.node "aten.add.Tensor"(%[[A]], %[[B]])
// ONE:           %[[C:.*]] = tg.node "aten.mm.default"({{.*}} (tensor<8x2xf32>, tensor<2x8xf32>)
// ONE:           %[[D:.*]] = tg.node "aten.mm.default"({{.*}} (tensor<8x2xf32>, tensor<2x8xf32>)
// ONE:           %[[CD:.*]] = tg.node "aten.add.Tensor"(%[[C]], %[[D]])
// ONE:           tg.node "aten.add.Tensor"(%[[AB]], %[[CD]])
// ONE-NOT:       tg.all_gather

// The norm: blocks of columns that lie over tp, of each the rows over dp; of rows
// that lie over both, segments of both are one tree.
// BOTH:          tensor<4x4xf32> {tg.name = "up", tg.placement = #tg.placement<@mesh {{\[\[}}tp] = shard 1, [dp] = shard 0]>
// BOTH-SAME:     tensor<2x8xf32> {tg.name = "down", tg.placement = #tg.placement<@mesh {{\[\[}}tp, dp] = shard 0]>
// BOTH:          tensor.extract_slice {{.*}}<optimizer>} : tensor<4x4xf32> to tensor<4x2xf32>
// BOTH:          tg.all_gather {{.*}} on @mesh [dp] dim 0 phase optimizer
// BOTH:          tensor.extract_slice {{.*}}<optimizer>} : tensor<4x4xf32> to tensor<4x2xf32>
// BOTH:          tg.all_gather {{.*}} on @mesh [dp] dim 0 phase optimizer
// BOTH:          tg.all_gather {{.*}} on @mesh [tp] dim 0 phase optimizer
// BOTH:          tensor.extract_slice {{.*}}<optimizer>} : tensor<2x8xf32> to tensor<1x8xf32>
// BOTH:          tg.all_gather {{.*}} on @mesh [tp, dp] dim 0 phase optimizer : (tensor<1xf64>) -> !tg.future<tensor<4xf64>>
func.func @step(
    %up: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up"},
    %down: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "down"},
    %odd: tensor<6x8xf32> {tg.role = #tg.role<parameter>, tg.name = "odd"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<8x8xf32>,
        tensor<8x8xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<8x8xf32> {tg.role = #tg.role<gradient of 1>},
        tensor<8x1xf32>, tensor<6x8xf32>) {
  %y = tg.node "aten.mm.default"(%x, %up) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = tg.node "aten.mm.default"(%y, %down) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = tg.node "aten._softmax.default"(%y) args [#tg.operand<0>, 1, false] {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = tg.node "aten.sum.dim_IntList"(%p) args [#tg.operand<0>, [1], true] {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %yt = tg.node "aten.t.default"(%y) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %dup = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %ddown = tg.node "aten.mm.default"(%yt, %z) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %o = tg.node "aten.mm.default"(%odd, %y) {tg.phase = #tg.phase<forward>} : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  return %z, %dup, %ddown, %s, %o : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x1xf32>, tensor<6x8xf32>
}
