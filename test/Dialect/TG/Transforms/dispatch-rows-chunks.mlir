// RUN: regather-opt %s -split-input-file --tg-dispatch-rows='capacity=1.25 chunks=2' --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-dispatch-rows='capacity=1.25 chunks=3' --tg-verify-step | FileCheck %s --check-prefix=THREE
// RUN: regather-opt %s -split-input-file --tg-dispatch-rows='capacity=1.25 chunks=1' --tg-verify-step | FileCheck %s --check-prefix=ONE
// RUN: regather-opt %s -split-input-file --tg-dispatch-rows='chunks=2' --remark-format=emitRemark --remarks-filter=tg-dispatch-rows -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Of 24 rows, the first 12 of the batch are one chunk: of them, each of two ranks
// gets six if experts get equally many, and has room for eight. The experts of
// both chunks are told at once; rows are sent, multiplied and sent back chunk by
// chunk. The gradient of the matrices is a sum over the rows of both, in the order
// of ranks; that of the rows is computed chunk by chunk.
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<2x8x6xf32>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<24x8xf32>
// CHECK:         %[[SORT:.*]]:2 = tg.node "aten.sort.default"
// CHECK:         %[[CHUNK:.*]] = tg.node "aten.searchsorted.Tensor"(%{{.*}}) {{.*}} : (tensor<1xi64>, tensor<24xi64>)
// CHECK:         %[[PLACES:.*]]:2 = tg.node "aten.sort.default"
// CHECK:         %[[IDS:.*]] = tg.node "aten.index_select.default"(%[[SORT]]#0, %[[PLACES]]#1)
// CHECK:         tg.node "aten.scalar_tensor.default"() args [-8]
// CHECK:         %[[MAX:.*]] = tg.all_reduce max
// CHECK:         %[[OVERFLOW:.*]] = tg.wait %[[MAX]]
// CHECK:         %[[SLOTS:.*]] = tg.node "aten.index_put.default"(%{{.*}}, %[[PLACES]]#1, %{{.*}}) {{.*}} -> tensor<24xi64>
// CHECK:         tg.all_to_all %{{.*}} phase forward : (tensor<32xi64>)
// CHECK:         %[[RECEIVED:.*]] = tg.wait
// CHECK:         %[[THERE:.*]]:2 = tg.node "aten.sort.default"({{.*}}tensor<2x16xi64>)
// CHECK:         %[[INVERSE:.*]] = tg.node "aten.index_put.default"({{.*}} -> tensor<32xi64>
// CHECK-NOT:     tg.all_to_all {{.*}}i64
// CHECK:         %[[SEND0:.*]] = tg.all_to_all %{{.*}} phase forward : (tensor<16x8xf32>)
// CHECK:         %[[SENT0:.*]] = tg.wait %[[SEND0]]
// CHECK:         %[[ROWS0:.*]] = tg.node "aten.index_select.default"(%[[SENT0]],
// CHECK:         %[[Y0:.*]] = tg.node "aten._grouped_mm.default"(%[[ROWS0]], %[[W]], %{{.*}}) {{.*}}tg.row_share = 7.500000e-01 : f64} : (tensor<16x8xf32>, tensor<2x8x6xf32>, tensor<2xi32>)
// CHECK:         %[[SEND1:.*]] = tg.all_to_all %{{.*}} phase forward : (tensor<16x8xf32>)
// CHECK:         %[[SENT1:.*]] = tg.wait %[[SEND1]]
// CHECK:         %[[ROWS1:.*]] = tg.node "aten.index_select.default"(%[[SENT1]],
// CHECK:         %[[Y1:.*]] = tg.node "aten._grouped_mm.default"(%[[ROWS1]], %[[W]],
// CHECK:         tg.node "aten.relu.default"(%[[Y0]])
// CHECK:         tg.node "aten.relu.default"(%[[Y1]])
// CHECK-COUNT-2: tg.all_to_all %{{.*}} phase forward : (tensor<16x6xf32>)
// CHECK:         %[[BACK:.*]] = tg.node "aten.cat.default"({{.*}} -> tensor<32x6xf32>
// CHECK:         %[[FOUND:.*]] = tg.node "aten.index_select.default"(%[[SLOTS]],
// CHECK:         %[[PLACED:.*]] = tg.node "aten.index.Tensor"(%[[BACK]], %[[FOUND]]) {{.*}} -> tensor<24x6xf32>
// CHECK:         %[[ALL:.*]]:2 = tg.node "aten.sort.default"(%[[RECEIVED]])
// CHECK:         %[[MERGED:.*]] = tg.node "aten.index_select.default"(%{{.*}}, %[[ALL]]#1)
// CHECK:         %[[BOTHX:.*]] = tg.node "aten.cat.default"(%[[ROWS0]], %[[ROWS1]])
// CHECK:         %[[ALLX:.*]] = tg.node "aten.index_select.default"(%[[BOTHX]], %[[MERGED]])
// CHECK:         %[[TURNED:.*]] = tg.node "aten.permute.default"(%[[ALLX]])
// CHECK-COUNT-2: tg.all_to_all %{{.*}} phase backward : (tensor<16x6xf32>)
// CHECK:         %[[ALLDY:.*]] = tg.node "aten.index_select.default"(%{{.*}}, %[[MERGED]])
// CHECK:         %[[DW:.*]] = tg.node "aten._grouped_mm.default"(%[[TURNED]], %[[ALLDY]], %{{.*}} -> tensor<2x8x6xf32>
// CHECK-COUNT-2: tg.node "aten._grouped_mm.default"({{.*}} -> tensor<16x8xf32>
// CHECK-COUNT-2: tg.all_to_all %{{.*}} phase backward : (tensor<16x8xf32>)
// CHECK-NOT:     tg.all_to_all
// CHECK:         return %[[PLACED]], %[[DW]], %{{.*}}, %[[OVERFLOW]]

// Eight rows each, and room for eight from each rank.
// THREE-LABEL: func.func @step(
// THREE:         tg.all_to_all %{{.*}} : (tensor<48xi64>)
// THREE-COUNT-3: tg.all_to_all %{{.*}} : (tensor<16x8xf32>)
// THREE:         tg.node "aten._grouped_mm.default"{{.*}} : (tensor<8x48xf32>, tensor<48x6xf32>, tensor<2xi32>)

// ONE-LABEL: func.func @step(
// ONE-NOT:     aten.cat
// ONE:         tg.all_to_all %{{.*}} phase forward : (tensor<32x8xf32>)
// ONE:         tg.all_to_all %{{.*}} phase forward : (tensor<32x6xf32>)
// ONE:         tg.all_to_all %{{.*}} phase backward : (tensor<32x6xf32>)
// ONE:         tg.all_to_all %{{.*}} phase backward : (tensor<32x8xf32>)
// ONE-NOT:     tg.all_to_all
// ONE:         return

// REMARK: [Passed] dispatched | {{.*}}chunks=2, experts=2, room=8, rows=24, slots=32
tg.mesh @mesh [ep = 2]
func.func @step(
    %w: tensor<2x8x6xf32> {tg.name = "w", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<parameter>},
    %x: tensor<24x8xf32> {tg.name = "x", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %chosen: tensor<24xi64> {tg.name = "chosen", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>})
    -> (tensor<24x6xf32>, tensor<2x8x6xf32> {tg.role = #tg.role<gradient of 0>}, tensor<24x8xf32>) {
  %ids, %order = tg.node "aten.sort.default"(%chosen) {tg.phase = #tg.phase<forward>} : (tensor<24xi64>) -> (tensor<24xi64>, tensor<24xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>, tensor<24xi64>) -> tensor<24x8xf32>
  %floats = tg.node "aten._to_copy.default"(%ids) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<24xi64>) -> tensor<24xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<24xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %start = tg.all_gather %w on @mesh [ep] dim 0 phase forward : (tensor<2x8x6xf32>) -> !tg.future<tensor<4x8x6xf32>>
  %all = tg.wait %start {tg.phase = #tg.phase<forward>} : !tg.future<tensor<4x8x6xf32>>
  %y = tg.node "aten._grouped_mm.default"(%rows, %all, %ends) {tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<24x6xf32>
  %z = tg.node "aten.relu.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<24x6xf32>) -> tensor<24x6xf32>
  %empty = tg.node "aten.empty_like.default"(%order) {tg.phase = #tg.phase<forward>} : (tensor<24xi64>) -> tensor<24xi64>
  %range = tg.node "aten.arange.start_step"() args [0, 24] {tg.phase = #tg.phase<forward>} : () -> tensor<24xi64>
  %back = tg.node "aten.index_put.default"(%empty, %order, %range) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>] {tg.phase = #tg.phase<forward>} : (tensor<24xi64>, tensor<24xi64>, tensor<24xi64>) -> tensor<24xi64>
  %placed = tg.node "aten.index.Tensor"(%z, %back) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<24x6xf32>, tensor<24xi64>) -> tensor<24x6xf32>
  %zeros = tg.node "aten.full.default"() args [[24, 6], 0] {tg.phase = #tg.phase<backward>} : () -> tensor<24x6xf32>
  %dy = tg.node "aten.index_put.default"(%zeros, %back, %placed) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<backward>} : (tensor<24x6xf32>, tensor<24xi64>, tensor<24x6xf32>) -> tensor<24x6xf32>
  %turned = tg.node "aten.permute.default"(%rows) args [#tg.operand<0>, [1, 0]] {tg.phase = #tg.phase<backward>} : (tensor<24x8xf32>) -> tensor<8x24xf32>
  %g = tg.node "aten._grouped_mm.default"(%turned, %dy, %ends) {tg.phase = #tg.phase<backward>} : (tensor<8x24xf32>, tensor<24x6xf32>, tensor<4xi32>) -> tensor<4x8x6xf32>
  %sum = tg.reduce_scatter sum %g on @mesh [ep] dim 0 phase backward : (tensor<4x8x6xf32>) -> !tg.future<tensor<2x8x6xf32>>
  %dw = tg.wait %sum {tg.phase = #tg.phase<backward>} : !tg.future<tensor<2x8x6xf32>>
  %wt = tg.node "aten.permute.default"(%all) args [#tg.operand<0>, [0, 2, 1]] {tg.phase = #tg.phase<backward>} : (tensor<4x8x6xf32>) -> tensor<4x6x8xf32>
  %drows = tg.node "aten._grouped_mm.default"(%dy, %wt, %ends) {tg.phase = #tg.phase<backward>} : (tensor<24x6xf32>, tensor<4x6x8xf32>, tensor<4xi32>) -> tensor<24x8xf32>
  %none = tg.node "aten.full.default"() args [[24, 8], 0] {tg.phase = #tg.phase<backward>} : () -> tensor<24x8xf32>
  %dx = tg.node "aten.index_put.default"(%none, %order, %drows) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<backward>} : (tensor<24x8xf32>, tensor<24xi64>, tensor<24x8xf32>) -> tensor<24x8xf32>
  return %placed, %dw, %dx : tensor<24x6xf32>, tensor<2x8x6xf32>, tensor<24x8xf32>
}

// -----

// A sum over rows that is summed over all ranks is one of all chunks, without
// slots that have no row. Where a rank needs the sum or the mean of its own rows,
// those of both chunks come back.
// CHECK-LABEL: func.func @sums(
// CHECK:         %[[Y0:.*]] = tg.node "aten._grouped_mm.default"({{.*}} -> tensor<16x6xf32>
// CHECK:         %[[Y1:.*]] = tg.node "aten._grouped_mm.default"({{.*}} -> tensor<16x6xf32>
// CHECK:         %[[BOTH:.*]] = tg.node "aten.cat.default"(%[[Y0]], %[[Y1]])
// CHECK:         %[[ALL:.*]] = tg.node "aten.index_select.default"(%[[BOTH]],
// CHECK:         %[[MASK:.*]] = tg.node "aten.lt.Scalar"(%{{.*}}) args [#tg.operand<0>, 2] {{.*}} -> tensor<32xi1>
// CHECK:         %[[BROAD:.*]] = tg.node "aten.view.default"(%[[MASK]])
// CHECK:         %[[KEPT:.*]] = tg.node "aten.where.self"(%[[BROAD]], %[[ALL]],
// CHECK:         %[[PART:.*]] = tg.node "aten.sum.default"(%[[KEPT]]) {{.*}}tensor<32x6xf32>
// CHECK:         tg.all_reduce sum %[[PART]]
// CHECK-COUNT-2: tg.all_to_all %{{.*}} phase forward : (tensor<16x6xf32>)
// CHECK:         %[[BACK:.*]] = tg.node "aten.index_select.default"({{.*}} -> tensor<24x6xf32>
// CHECK:         tg.node "aten.sum.default"(%[[BACK]])
// CHECK:         tg.node "aten.mean.default"(%[[BACK]])
tg.mesh @mesh [ep = 2]
func.func @sums(
    %w: tensor<2x8x6xf32> {tg.name = "w", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<parameter>},
    %x: tensor<24x8xf32> {tg.name = "x", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %chosen: tensor<24xi64> {tg.name = "chosen", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %seen: tensor<f32> {tg.name = "seen", tg.role = #tg.role<buffer>})
    -> (tensor<f32>, tensor<f32>, tensor<f32> {tg.role = #tg.role<update of 3>}) {
  %ids, %order = tg.node "aten.sort.default"(%chosen) {tg.phase = #tg.phase<forward>} : (tensor<24xi64>) -> (tensor<24xi64>, tensor<24xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>, tensor<24xi64>) -> tensor<24x8xf32>
  %floats = tg.node "aten._to_copy.default"(%ids) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<24xi64>) -> tensor<24xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<24xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %start = tg.all_gather %w on @mesh [ep] dim 0 phase forward : (tensor<2x8x6xf32>) -> !tg.future<tensor<4x8x6xf32>>
  %all = tg.wait %start {tg.phase = #tg.phase<forward>} : !tg.future<tensor<4x8x6xf32>>
  %y = tg.node "aten._grouped_mm.default"(%rows, %all, %ends) {tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<24x6xf32>
  %part = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<24x6xf32>) -> tensor<f32>
  %reduce = tg.all_reduce sum %part on @mesh [ep] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
  %total = tg.wait %reduce {tg.phase = #tg.phase<forward>} : !tg.future<tensor<f32>>
  %sum = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<24x6xf32>) -> tensor<f32>
  %mean = tg.node "aten.mean.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<24x6xf32>) -> tensor<f32>
  return %total, %mean, %sum : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// What is not sent has no chunks.
// CHECK-LABEL: func.func @order(
// CHECK:         tg.all_gather
// CHECK-NOT:     tg.all_to_all
// CHECK-NOT:     aten.cat
// CHECK:         return
tg.mesh @mesh [ep = 2]
func.func @order(
    %w: tensor<2x8x6xf32> {tg.name = "w", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<parameter>},
    %x: tensor<24x8xf32> {tg.name = "x", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>},
    %chosen: tensor<24xi64> {tg.name = "chosen", tg.placement = #tg.placement<@mesh [[ep] = shard 0]>, tg.role = #tg.role<input>})
    -> (tensor<24x6xf32>) {
  %ids, %order = tg.node "aten.sort.default"(%chosen) {tg.phase = #tg.phase<forward>} : (tensor<24xi64>) -> (tensor<24xi64>, tensor<24xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>, tensor<24xi64>) -> tensor<24x8xf32>
  %floats = tg.node "aten._to_copy.default"(%ids) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<24xi64>) -> tensor<24xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<24xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %start = tg.all_gather %w on @mesh [ep] dim 0 phase forward : (tensor<2x8x6xf32>) -> !tg.future<tensor<4x8x6xf32>>
  %all = tg.wait %start {tg.phase = #tg.phase<forward>} : !tg.future<tensor<4x8x6xf32>>
  %y = tg.node "aten._grouped_mm.default"(%rows, %all, %ends) {tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<24x6xf32>
  return %y : tensor<24x6xf32>
}
