// RUN: regather-opt %s -split-input-file --tg-dispatch-rows=capacity=1.25 --tg-verify-step | FileCheck %s

// A number for each row makes wide rows of narrow ones: these come back before
// they are multiplied. Gradients are sent before they are widened, and once: what
// is made of them for the matrices and for the rows is made where they arrive. Of
// the gradient of the numbers, which needs the results of the experts, no row
// comes back.
// CHECK-LABEL: func.func @weighted(
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<2x8x6xbf16>
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<24x8xbf16>
// CHECK-SAME:    %[[G:[a-z0-9]+]]: tensor<24x1xf32>
// CHECK:         tg.all_to_all %{{.*}} phase forward : (tensor<32xi64>)
// CHECK:         tg.all_to_all %{{.*}} phase forward : (tensor<32x8xbf16>)
// CHECK:         %[[Y:.*]] = tg.node "aten._grouped_mm.default"{{.*}} -> tensor<32x6xbf16>
// CHECK:         %[[SLOTS:.*]] = tg.node "aten.index_select.default"(%[[Y]],
// CHECK:         %[[RETURN:.*]] = tg.all_to_all %[[SLOTS]] on @mesh [ep] split 0 concat 0 phase forward : (tensor<32x6xbf16>)
// CHECK:         %[[BACK:.*]] = tg.wait %[[RETURN]]
// CHECK:         %[[ROWS:.*]] = tg.node "aten.index_select.default"(%[[BACK]],
// CHECK:         %[[PRODUCT:.*]] = tg.node "aten.mul.Tensor"(%[[ROWS]], %{{.*}}) {{.*}} -> tensor<24x6xf32>
// CHECK:         tg.node "aten.index.Tensor"(%[[PRODUCT]],
// CHECK:         %[[NARROW:.*]] = tg.node "aten.clone.default"({{.*}} -> tensor<24x6xbf16>
// CHECK:         %[[READ:.*]] = tg.node "aten.index_select.default"(%[[NARROW]],
// CHECK:         %[[SEND:.*]] = tg.all_to_all %[[READ]] {{.*}} phase backward : (tensor<32x6xbf16>)
// CHECK:         %[[SENT:.*]] = tg.wait %[[SEND]]
// CHECK:         %[[SORTED:.*]] = tg.node "aten.index_select.default"(%[[SENT]],
// CHECK:         %[[WIDE:.*]] = tg.node "aten._to_copy.default"(%[[SORTED]]) kwargs {dtype = f32} {{.*}} -> tensor<32x6xf32>
// CHECK:         %[[TERMS:.*]] = tg.node "aten.mul.Tensor"(%[[WIDE]], %[[Y]])
// CHECK:         %[[DG:.*]] = tg.node "aten.sum.dim_IntList"(%[[TERMS]]) {{.*}} -> tensor<32x1xf32>
// CHECK-NOT:     tg.all_to_all {{.*}}32x6
// CHECK:         %[[DYF:.*]] = tg.node "aten.mul.Tensor"(%[[WIDE]],
// CHECK:         %[[DY:.*]] = tg.node "aten._to_copy.default"(%[[DYF]]) kwargs {dtype = bf16}
// CHECK-NOT:     tg.all_to_all {{.*}}32x6
// CHECK:         %[[TURNED:.*]] = tg.node "aten.permute.default"(%[[DY]]) {{.*}} -> tensor<6x32xbf16>
// CHECK:         tg.node "aten._grouped_mm.default"(%[[TURNED]], {{.*}} -> tensor<2x6x8xbf16>
// CHECK:         tg.node "aten._grouped_mm.default"(%[[DY]], {{.*}} -> tensor<32x8xbf16>
// CHECK-DAG:     tg.all_to_all %{{.*}} phase backward : (tensor<32x1xf32>)
// CHECK-DAG:     tg.all_to_all %{{.*}} phase backward : (tensor<32x8xbf16>)
// CHECK-NOT:     tg.all_to_all
tg.mesh @mesh [ep = 2]
func.func @weighted(
    %w: tensor<2x8x6xbf16> {tg.name = "w", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<parameter>},
    %x: tensor<24x8xbf16> {tg.name = "x", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %g: tensor<24x1xf32> {tg.name = "g", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %dout: tensor<24x6xbf16> {tg.name = "dout", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %chosen: tensor<24xi64> {tg.name = "chosen", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>})
    -> (tensor<24x6xf32>, tensor<24x1xf32>, tensor<24x8xbf16>, tensor<2x6x8xbf16>) {
  %ids, %order = tg.node "aten.sort.default"(%chosen) {tg.phase = #tg.phase<forward>} : (tensor<24xi64>) -> (tensor<24xi64>, tensor<24xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<24x8xbf16>, tensor<24xi64>) -> tensor<24x8xbf16>
  %weights = tg.node "aten.index.Tensor"(%g, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<24x1xf32>, tensor<24xi64>) -> tensor<24x1xf32>
  %floats = tg.node "aten._to_copy.default"(%ids) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<24xi64>) -> tensor<24xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<24xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %start = tg.all_gather %w on @mesh [ep] dim 0 phase forward : (tensor<2x8x6xbf16>) -> !tg.future<tensor<4x8x6xbf16>>
  %all = tg.wait %start {tg.phase = #tg.phase<forward>} : !tg.future<tensor<4x8x6xbf16>>
  %y = tg.node "aten._grouped_mm.default"(%rows, %all, %ends) {tg.phase = #tg.phase<forward>} : (tensor<24x8xbf16>, tensor<4x8x6xbf16>, tensor<4xi32>) -> tensor<24x6xbf16>
  %product = tg.node "aten.mul.Tensor"(%y, %weights) {tg.phase = #tg.phase<forward>} : (tensor<24x6xbf16>, tensor<24x1xf32>) -> tensor<24x6xf32>
  %empty = tg.node "aten.empty_like.default"(%order) {tg.phase = #tg.phase<forward>} : (tensor<24xi64>) -> tensor<24xi64>
  %range = tg.node "aten.arange.start_step"() args [0, 24] {tg.phase = #tg.phase<forward>} : () -> tensor<24xi64>
  %back = tg.node "aten.index_put.default"(%empty, %order, %range) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>] {tg.phase = #tg.phase<forward>} : (tensor<24xi64>, tensor<24xi64>, tensor<24xi64>) -> tensor<24xi64>
  %placed = tg.node "aten.index.Tensor"(%product, %back) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<24x6xf32>, tensor<24xi64>) -> tensor<24x6xf32>
  %wide = tg.node "aten._to_copy.default"(%dout) kwargs {dtype = f32} {tg.phase = #tg.phase<backward>} : (tensor<24x6xbf16>) -> tensor<24x6xf32>
  %copied = tg.node "aten.clone.default"(%wide) {tg.phase = #tg.phase<backward>} : (tensor<24x6xf32>) -> tensor<24x6xf32>
  %zeros = tg.node "aten.full.default"() args [[24, 6], 0] {tg.phase = #tg.phase<backward>} : () -> tensor<24x6xf32>
  %drows = tg.node "aten.index_put.default"(%zeros, %back, %copied) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<backward>} : (tensor<24x6xf32>, tensor<24xi64>, tensor<24x6xf32>) -> tensor<24x6xf32>
  %terms = tg.node "aten.mul.Tensor"(%drows, %y) {tg.phase = #tg.phase<backward>} : (tensor<24x6xf32>, tensor<24x6xbf16>) -> tensor<24x6xf32>
  %dweights = tg.node "aten.sum.dim_IntList"(%terms) args [#tg.operand<0>, [1], true] {tg.phase = #tg.phase<backward>} : (tensor<24x6xf32>) -> tensor<24x1xf32>
  %dyf = tg.node "aten.mul.Tensor"(%drows, %weights) {tg.phase = #tg.phase<backward>} : (tensor<24x6xf32>, tensor<24x1xf32>) -> tensor<24x6xf32>
  %dy = tg.node "aten._to_copy.default"(%dyf) kwargs {dtype = bf16} {tg.phase = #tg.phase<backward>} : (tensor<24x6xf32>) -> tensor<24x6xbf16>
  %turned = tg.node "aten.permute.default"(%dy) args [#tg.operand<0>, [1, 0]] {tg.phase = #tg.phase<backward>} : (tensor<24x6xbf16>) -> tensor<6x24xbf16>
  %gw = tg.node "aten._grouped_mm.default"(%turned, %rows, %ends) {tg.phase = #tg.phase<backward>} : (tensor<6x24xbf16>, tensor<24x8xbf16>, tensor<4xi32>) -> tensor<4x6x8xbf16>
  %scatter = tg.reduce_scatter sum %gw on @mesh [ep] dim 0 phase backward : (tensor<4x6x8xbf16>) -> !tg.future<tensor<2x6x8xbf16>>
  %dw = tg.wait %scatter {tg.phase = #tg.phase<backward>} : !tg.future<tensor<2x6x8xbf16>>
  %wt = tg.node "aten.permute.default"(%all) args [#tg.operand<0>, [0, 2, 1]] {tg.phase = #tg.phase<backward>} : (tensor<4x8x6xbf16>) -> tensor<4x6x8xbf16>
  %dxrows = tg.node "aten._grouped_mm.default"(%dy, %wt, %ends) {tg.phase = #tg.phase<backward>} : (tensor<24x6xbf16>, tensor<4x6x8xbf16>, tensor<4xi32>) -> tensor<24x8xbf16>
  %zeros1 = tg.node "aten.full.default"() args [[24, 1], 0] {tg.phase = #tg.phase<backward>} : () -> tensor<24x1xf32>
  %dg = tg.node "aten.index_put.default"(%zeros1, %order, %dweights) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<backward>} : (tensor<24x1xf32>, tensor<24xi64>, tensor<24x1xf32>) -> tensor<24x1xf32>
  %zeros2 = tg.node "aten.full.default"() args [[24, 8], 0] {tg.phase = #tg.phase<backward>} : () -> tensor<24x8xbf16>
  %dx = tg.node "aten.index_put.default"(%zeros2, %order, %dxrows) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<backward>} : (tensor<24x8xbf16>, tensor<24xi64>, tensor<24x8xbf16>) -> tensor<24x8xbf16>
  return %placed, %dg, %dx, %dw : tensor<24x6xf32>, tensor<24x1xf32>, tensor<24x8xbf16>, tensor<2x6x8xbf16>
}
