// The schedule has one chunk of rows on its way while experts compute the other
// one. In forward, the second chunk travels while the first one is multiplied, and
// the first one travels back while the second one is. In backward the same of the
// gradients of rows; the gradient of matrices, which nobody waits for, is computed
// while the last chunk travels.

// RUN: regather-opt %s --tg-dispatch-rows='chunks=2' --tg-schedule='mode=auto cluster=h100-nodes' --tg-verify-step | FileCheck %s
// RUN: regather-opt %s --tg-dispatch-rows='chunks=1' --tg-schedule='mode=auto cluster=h100-nodes' --tg-verify-step | FileCheck %s --check-prefix=ONE

// CHECK-LABEL: func.func @step(
// CHECK-DAG:     %[[SEND0:.*]] = tg.all_to_all %{{.*}} phase forward : (tensor<10240x1024xf32>)
// CHECK-DAG:     %[[SEND1:.*]] = tg.all_to_all %{{.*}} phase forward : (tensor<10240x1024xf32>)
// CHECK:         tg.wait %[[SEND0]]
// CHECK:         %[[Y0:.*]] = tg.node "aten._grouped_mm.default"
// CHECK:         %[[RETURN0:.*]] = tg.all_to_all %{{.*}} phase forward : (tensor<10240x2048xf32>)
// CHECK:         tg.wait %[[SEND1]]
// CHECK:         %[[Y1:.*]] = tg.node "aten._grouped_mm.default"
// CHECK:         tg.all_to_all %{{.*}} phase forward : (tensor<10240x2048xf32>)
// CHECK:         tg.wait %[[RETURN0]]
// CHECK:         %[[GRAD0:.*]] = tg.all_to_all %{{.*}} phase backward : (tensor<10240x2048xf32>)
// CHECK:         %[[GRAD1:.*]] = tg.all_to_all %{{.*}} phase backward : (tensor<10240x2048xf32>)
// CHECK:         tg.wait %[[GRAD0]]
// CHECK:         tg.node "aten._grouped_mm.default"({{.*}} -> tensor<10240x1024xf32>
// CHECK:         tg.wait %[[GRAD1]]
// CHECK:         tg.node "aten._grouped_mm.default"({{.*}} -> tensor<10240x1024xf32>
// CHECK:         tg.all_to_all %{{.*}} phase backward : (tensor<10240x1024xf32>)
// CHECK:         %[[HOME:.*]] = tg.all_to_all %{{.*}} phase backward : (tensor<10240x1024xf32>)
// CHECK:         tg.node "aten._grouped_mm.default"({{.*}} -> tensor<2x1024x2048xf32>
// CHECK:         tg.wait %[[HOME]]

// Without chunks, nothing is multiplied before all rows have come.
// ONE-LABEL: func.func @step(
// ONE:         %[[SEND:.*]] = tg.all_to_all %{{.*}} phase forward : (tensor<20480x1024xf32>)
// ONE-NOT:     _grouped_mm
// ONE:         tg.wait %[[SEND]]
// ONE:         tg.node "aten._grouped_mm.default"
// ONE:         %[[RETURN:.*]] = tg.all_to_all %{{.*}} phase forward : (tensor<20480x2048xf32>)
// ONE-NOT:     _grouped_mm
// ONE:         tg.wait %[[RETURN]]
tg.mesh @mesh [ep = 2]
func.func @step(
    %w: tensor<2x1024x2048xf32> {tg.name = "w", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<parameter>},
    %x: tensor<16384x1024xf32> {tg.name = "x", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %chosen: tensor<16384xi64> {tg.name = "chosen", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>})
    -> (tensor<16384x2048xf32>, tensor<2x1024x2048xf32> {tg.role = #tg.role<gradient of 0>}, tensor<16384x1024xf32>) {
  %ids, %order = tg.node "aten.sort.default"(%chosen) {tg.phase = #tg.phase<forward>} : (tensor<16384xi64>) -> (tensor<16384xi64>, tensor<16384xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<16384x1024xf32>, tensor<16384xi64>) -> tensor<16384x1024xf32>
  %floats = tg.node "aten._to_copy.default"(%ids) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<16384xi64>) -> tensor<16384xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<16384xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %start = tg.all_gather %w on @mesh [ep] dim 0 phase forward : (tensor<2x1024x2048xf32>) -> !tg.future<tensor<4x1024x2048xf32>>
  %all = tg.wait %start {tg.phase = #tg.phase<forward>} : !tg.future<tensor<4x1024x2048xf32>>
  %y = tg.node "aten._grouped_mm.default"(%rows, %all, %ends) {tg.phase = #tg.phase<forward>} : (tensor<16384x1024xf32>, tensor<4x1024x2048xf32>, tensor<4xi32>) -> tensor<16384x2048xf32>
  %z = tg.node "aten.relu.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<16384x2048xf32>) -> tensor<16384x2048xf32>
  %empty = tg.node "aten.empty_like.default"(%order) {tg.phase = #tg.phase<forward>} : (tensor<16384xi64>) -> tensor<16384xi64>
  %range = tg.node "aten.arange.start_step"() args [0, 16384] {tg.phase = #tg.phase<forward>} : () -> tensor<16384xi64>
  %back = tg.node "aten.index_put.default"(%empty, %order, %range) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>] {tg.phase = #tg.phase<forward>} : (tensor<16384xi64>, tensor<16384xi64>, tensor<16384xi64>) -> tensor<16384xi64>
  %placed = tg.node "aten.index.Tensor"(%z, %back) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<16384x2048xf32>, tensor<16384xi64>) -> tensor<16384x2048xf32>
  %zeros = tg.node "aten.full.default"() args [[16384, 2048], 0] {tg.phase = #tg.phase<backward>} : () -> tensor<16384x2048xf32>
  %dy = tg.node "aten.index_put.default"(%zeros, %back, %placed) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<backward>} : (tensor<16384x2048xf32>, tensor<16384xi64>, tensor<16384x2048xf32>) -> tensor<16384x2048xf32>
  %turned = tg.node "aten.permute.default"(%rows) args [#tg.operand<0>, [1, 0]] {tg.phase = #tg.phase<backward>} : (tensor<16384x1024xf32>) -> tensor<1024x16384xf32>
  %g = tg.node "aten._grouped_mm.default"(%turned, %dy, %ends) {tg.phase = #tg.phase<backward>} : (tensor<1024x16384xf32>, tensor<16384x2048xf32>, tensor<4xi32>) -> tensor<4x1024x2048xf32>
  %sum = tg.reduce_scatter sum %g on @mesh [ep] dim 0 phase backward : (tensor<4x1024x2048xf32>) -> !tg.future<tensor<2x1024x2048xf32>>
  %dw = tg.wait %sum {tg.phase = #tg.phase<backward>} : !tg.future<tensor<2x1024x2048xf32>>
  %wt = tg.node "aten.permute.default"(%all) args [#tg.operand<0>, [0, 2, 1]] {tg.phase = #tg.phase<backward>} : (tensor<4x1024x2048xf32>) -> tensor<4x2048x1024xf32>
  %drows = tg.node "aten._grouped_mm.default"(%dy, %wt, %ends) {tg.phase = #tg.phase<backward>} : (tensor<16384x2048xf32>, tensor<4x2048x1024xf32>, tensor<4xi32>) -> tensor<16384x1024xf32>
  %none = tg.node "aten.full.default"() args [[16384, 1024], 0] {tg.phase = #tg.phase<backward>} : () -> tensor<16384x1024xf32>
  %dx = tg.node "aten.index_put.default"(%none, %order, %drows) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<backward>} : (tensor<16384x1024xf32>, tensor<16384xi64>, tensor<16384x1024xf32>) -> tensor<16384x1024xf32>
  return %placed, %dw, %dx : tensor<16384x2048xf32>, tensor<2x1024x2048xf32>, tensor<16384x1024xf32>
}
