// RUN: regather-opt %s -split-input-file --tg-shard-step=mesh=ep:2 --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-shard-step=mesh=ep:2 --remark-format=emitRemark --remarks-filter=tg-shard-step -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: regather-opt %s -split-input-file --tg-shard-step=mesh=dp:2,ep:2 "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep" --tg-verify-step | FileCheck %s --check-prefix=BOTH

// An axis called ep cuts the experts and the batch. A rank gathers the tokens of
// all, sorts them by ids that count from its first expert, and multiplies those
// in front of the last end of its own. The rows behind it are zero where rows are
// put back. Of the matrices' gradient a rank has the part of its experts.
// CHECK-LABEL: func.func @experts(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<2x8x6xf32>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME:    %[[CHOSEN:[a-z0-9]+]]: tensor<4x2xi64>
// CHECK:         %[[START:.*]] = tg.all_gather %[[CHOSEN]] on @mesh [ep] dim 0
// CHECK:         %[[ALL:.*]] = tg.wait %[[START]]
// CHECK:         %[[EXISTS:.*]] = tg.node "aten.logical_and.default"
// CHECK:         %[[FIRST:.*]] = tg.node "aten.view.default"(%extracted_slice)
// CHECK:         %[[SUB:.*]] = tg.node "aten.sub.Tensor"(%[[ALL]], %[[FIRST]])
// CHECK:         %[[WRAPPED:.*]] = tg.node "aten.remainder.Scalar"(%[[SUB]]) args [#tg.operand<0>, 4]
// CHECK:         %[[OWN:.*]] = tg.node "aten.where.self"(%[[EXISTS]], %[[WRAPPED]],
// CHECK:         %[[FLAT:.*]] = tg.node "aten.view.default"(%[[OWN]]) args [#tg.operand<0>, [16]]
// CHECK:         %[[SORT:.*]]:2 = tg.node "aten.sort.default"(%[[FLAT]])
// CHECK:         %[[MASK:.*]] = tg.node "aten.lt.Scalar"(%[[SORT]]#0) args [#tg.operand<0>, 2]
// CHECK:         %[[TOKENS:.*]] = tg.node "aten.div.Tensor_mode"(%[[SORT]]#1)
// CHECK:         tg.all_gather %[[X]] on @mesh [ep] dim 0
// CHECK:         %[[ROWS:.*]] = tg.node "aten.index.Tensor"(%{{.*}}, %[[TOKENS]]) {{.*}} -> tensor<16x8xf32>
// CHECK:         %[[COUNTS:.*]] = tg.node "aten.histc.default"(%{{.*}}) args [#tg.operand<0>, 2, 0, 1.500000e+00]
// CHECK:         %[[ENDS:.*]] = tg.node "aten.cumsum.default"(%[[COUNTS]]) {{.*}} -> tensor<2xi32>
// CHECK:         %[[Y:.*]] = tg.node "aten._grouped_mm.default"(%[[ROWS]], %[[W]], %[[ENDS]]) {{.*}} -> tensor<16x6xf32>
// CHECK:         %[[BACK:.*]] = tg.node "aten.index_put.default"(%{{.*}}, %[[SORT]]#1,
// CHECK:         %[[BROAD:.*]] = tg.node "aten.view.default"(%[[MASK]]) args [#tg.operand<0>, [16, 1]]
// CHECK:         %[[MASKED:.*]] = tg.node "aten.where.self"(%[[BROAD]], %[[Y]],
// CHECK:         %[[PLACED:.*]] = tg.node "aten.index.Tensor"(%[[MASKED]], %[[BACK]])
// CHECK:         tg.all_reduce sum %[[PLACED]] on @mesh [ep]
// CHECK:         %[[DY:.*]] = tg.node "aten.index_put.default"(%{{.*}}, %[[BACK]],
// CHECK:         tg.node "aten._grouped_mm.default"(%{{.*}}, %[[DY]], %[[ENDS]]) {{.*}} -> tensor<2x8x6xf32>
// CHECK-NOT:     tg.all
// CHECK:         return
// REMARK: [Passed] divided | {{.*}}'aten.sort.default' puts the rows of a rank's experts first
// REMARK-NOT: kept-whole

// Behind it, an axis that splits the batch splits that of each rank of ep: of
// what these gather, a rank has its rows of each part, and sorts them.
// BOTH-LABEL: func.func @experts(
// BOTH-SAME:    tensor<1x8x6xf32>
// BOTH-NOT:     on @mesh [dp]
// BOTH:         tg.all_gather %{{.*}} on @mesh [ep] dim 0 phase forward : (tensor<2x2xi64>) -> !tg.future<tensor<4x2xi64>>
// BOTH:         %[[SORT:.*]]:2 = tg.node "aten.sort.default"(%{{.*}}) {{.*}} : (tensor<8xi64>)
// BOTH:         tg.all_gather %{{.*}} on @mesh [ep] dim 0 phase forward : (tensor<2x8xf32>) -> !tg.future<tensor<4x8xf32>>
// BOTH:         tg.all_gather %{{.*}} on @mesh [dp] dim 0 phase forward : (tensor<1x8x6xf32>) -> !tg.future<tensor<2x8x6xf32>>
// BOTH:         tg.node "aten._grouped_mm.default"(%{{.*}}) {{.*}} : (tensor<8x8xf32>, tensor<2x8x6xf32>, tensor<2xi32>) -> tensor<8x6xf32>
// BOTH:         tg.all_reduce sum %{{.*}} on @mesh [ep] phase forward : (tensor<8x6xf32>)
// BOTH:         tg.reduce_scatter sum %{{.*}} on @mesh [dp]
func.func @experts(
    %w: tensor<4x8x6xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %chosen: tensor<8x2xi64> {tg.role = #tg.role<input>, tg.name = "chosen"})
    -> (tensor<8x6xf32>, tensor<4x8x6xf32> {tg.role = #tg.role<gradient of 0>}) {
  %flat = tg.node "aten.view.default"(%chosen) args [#tg.operand<0>, [16]] {tg.phase = #tg.phase<forward>} : (tensor<8x2xi64>) -> tensor<16xi64>
  %ids, %order = tg.node "aten.sort.default"(%flat) {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> (tensor<16xi64>, tensor<16xi64>)
  %tokens = tg.node "aten.div.Tensor_mode"(%order) args [#tg.operand<0>, 2] kwargs {rounding_mode = "floor"} {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xi64>
  %rows = tg.node "aten.index.Tensor"(%x, %tokens) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<16xi64>) -> tensor<16x8xf32>
  %floats = tg.node "aten._to_copy.default"(%ids) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<16xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %y = tg.node "aten._grouped_mm.default"(%rows, %w, %ends) {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<16x6xf32>
  %empty = tg.node "aten.empty_like.default"(%order) {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xi64>
  %range = tg.node "aten.arange.start_step"() args [0, 16] {tg.phase = #tg.phase<forward>} : () -> tensor<16xi64>
  %back = tg.node "aten.index_put.default"(%empty, %order, %range) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>] {tg.phase = #tg.phase<forward>} : (tensor<16xi64>, tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %placed = tg.node "aten.index.Tensor"(%y, %back) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<16x6xf32>, tensor<16xi64>) -> tensor<16x6xf32>
  %pairs = tg.node "aten.view.default"(%placed) args [#tg.operand<0>, [8, 2, 6]] {tg.phase = #tg.phase<forward>} : (tensor<16x6xf32>) -> tensor<8x2x6xf32>
  %z = tg.node "aten.sum.dim_IntList"(%pairs) args [#tg.operand<0>, [1]] {tg.phase = #tg.phase<forward>} : (tensor<8x2x6xf32>) -> tensor<8x6xf32>
  %zeros = tg.node "aten.full.default"() args [[16, 6], 0] {tg.phase = #tg.phase<backward>} : () -> tensor<16x6xf32>
  %dy = tg.node "aten.index_put.default"(%zeros, %back, %placed) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<backward>} : (tensor<16x6xf32>, tensor<16xi64>, tensor<16x6xf32>) -> tensor<16x6xf32>
  %turned = tg.node "aten.permute.default"(%rows) args [#tg.operand<0>, [1, 0]] {tg.phase = #tg.phase<backward>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %g = tg.node "aten._grouped_mm.default"(%turned, %dy, %ends) {tg.phase = #tg.phase<backward>} : (tensor<8x16xf32>, tensor<16x6xf32>, tensor<4xi32>) -> tensor<4x8x6xf32>
  return %z, %g : tensor<8x6xf32>, tensor<4x8x6xf32>
}
// -----

// What is looked up by the ids of all experts reads these, and the number of rows
// of each is that of all ranks; a sum over rows leaves out those of others.
// CHECK-LABEL: func.func @ids(
// CHECK:         %[[SORT:.*]]:2 = tg.node "aten.sort.default"
// CHECK:         %[[LT:.*]] = tg.node "aten.lt.Scalar"(%[[SORT]]#0) args [#tg.operand<0>, 4]
// CHECK:         %[[SHIFTED:.*]] = tg.node "aten.add.Tensor"(%[[SORT]]#0, %{{.*}})
// CHECK:         %[[WRAPPED:.*]] = tg.node "aten.remainder.Scalar"(%[[SHIFTED]]) args [#tg.operand<0>, 4]
// CHECK:         %[[IDS:.*]] = tg.node "aten.where.self"(%[[LT]], %[[WRAPPED]],
// CHECK:         tg.node "aten.histc.default"(%{{.*}}) args [#tg.operand<0>, 2, 0, 1.500000e+00]
// CHECK:         %[[COUNTS:.*]] = tg.node "aten.histc.default"(%{{.*}}) args [#tg.operand<0>, 4, 0, 3]
// CHECK:         %[[B:.*]] = tg.node "aten.index.Tensor"(%{{.*}}, %[[IDS]]) {{.*}} -> tensor<16x6xf32>
// CHECK:         %[[Z:.*]] = tg.node "aten.add.Tensor"(%{{.*}}, %[[B]])
// CHECK:         %[[MASKED:.*]] = tg.node "aten.where.self"(%{{.*}}, %[[Z]],
// CHECK:         %[[SUM:.*]] = tg.node "aten.sum.default"(%[[MASKED]])
// CHECK:         tg.all_reduce sum %[[SUM]]
// CHECK:         return %{{.*}}, %[[COUNTS]]
func.func @ids(
    %w: tensor<4x8x6xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %bias: tensor<4x6xf32> {tg.role = #tg.role<parameter>, tg.name = "bias"},
    %x: tensor<16x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %ids: tensor<16xi64> {tg.role = #tg.role<input>, tg.name = "ids"})
    -> (tensor<f32>, tensor<4xf32>) {
  %sorted, %order = tg.node "aten.sort.default"(%ids) {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> (tensor<16xi64>, tensor<16xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<16xi64>) -> tensor<16x8xf32>
  %floats = tg.node "aten._to_copy.default"(%sorted) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<16xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %y = tg.node "aten._grouped_mm.default"(%rows, %w, %ends) {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<16x6xf32>
  %b = tg.node "aten.index.Tensor"(%bias, %sorted) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<4x6xf32>, tensor<16xi64>) -> tensor<16x6xf32>
  %z = tg.node "aten.add.Tensor"(%y, %b) {tg.phase = #tg.phase<forward>} : (tensor<16x6xf32>, tensor<16x6xf32>) -> tensor<16x6xf32>
  %sum = tg.node "aten.sum.default"(%z) {tg.phase = #tg.phase<forward>} : (tensor<16x6xf32>) -> tensor<f32>
  return %sum, %counts : tensor<f32>, tensor<4xf32>
}

// -----

// A mean over rows counts those of others.
// CHECK-LABEL: func.func @mean(
// CHECK:         %[[START:.*]] = tg.all_gather %{{.*}} -> !tg.future<tensor<4x8x6xf32>>
// CHECK:         %[[W:.*]] = tg.wait %[[START]]
// CHECK:         tg.node "aten._grouped_mm.default"(%{{.*}}, %[[W]],
// REMARK: [Passed] divided | {{.*}}'aten.sort.default' sorts the rows that a rank has
func.func @mean(
    %w: tensor<4x8x6xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<16x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %ids: tensor<16xi64> {tg.role = #tg.role<input>, tg.name = "ids"})
    -> tensor<f32> {
  %sorted, %order = tg.node "aten.sort.default"(%ids) {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> (tensor<16xi64>, tensor<16xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<16xi64>) -> tensor<16x8xf32>
  %floats = tg.node "aten._to_copy.default"(%sorted) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<16xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %y = tg.node "aten._grouped_mm.default"(%rows, %w, %ends) {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<16x6xf32>
  %mean = tg.node "aten.mean.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<16x6xf32>) -> tensor<f32>
  return %mean : tensor<f32>
}

// -----

// Numbers of rows are put back, of which those of others are not zero.
// CHECK-LABEL: func.func @integers(
// CHECK:         %[[START:.*]] = tg.all_gather %{{.*}} -> !tg.future<tensor<4x8x6xf32>>
// CHECK:         %[[W:.*]] = tg.wait %[[START]]
// CHECK:         tg.node "aten._grouped_mm.default"(%{{.*}}, %[[W]],
func.func @integers(
    %w: tensor<4x8x6xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<16x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %numbers: tensor<16x2xi64> {tg.role = #tg.role<input>, tg.name = "numbers"},
    %ids: tensor<16xi64> {tg.role = #tg.role<input>, tg.name = "ids"})
    -> (tensor<f32>, tensor<16x2xi64>) {
  %sorted, %order = tg.node "aten.sort.default"(%ids) {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> (tensor<16xi64>, tensor<16xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<16xi64>) -> tensor<16x8xf32>
  %floats = tg.node "aten._to_copy.default"(%sorted) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<16xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %y = tg.node "aten._grouped_mm.default"(%rows, %w, %ends) {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<16x6xf32>
  %sum = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<16x6xf32>) -> tensor<f32>
  %moved = tg.node "aten.index.Tensor"(%numbers, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<16x2xi64>, tensor<16xi64>) -> tensor<16x2xi64>
  %zeros = tg.node "aten.full.default"() args [[16, 2], 0] {tg.phase = #tg.phase<forward>} : () -> tensor<16x2xi64>
  %back = tg.node "aten.index_put.default"(%zeros, %order, %moved) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<forward>} : (tensor<16x2xi64>, tensor<16xi64>, tensor<16x2xi64>) -> tensor<16x2xi64>
  return %sum, %back : tensor<f32>, tensor<16x2xi64>
}

// -----

// Each rank adds its rows to zeros. What they are added to counts once, where
// the sum of all ranks is.
// CHECK-LABEL: func.func @added_to_ones(
// CHECK:         %[[Y:.*]] = tg.node "aten._grouped_mm.default"{{.*}} : (tensor<16x8xf32>, tensor<2x8x6xf32>, tensor<2xi32>)
// CHECK:         %[[ONES:.*]] = tg.node "aten.full.default"() args {{\[\[}}16, 6], 1]
// CHECK:         %[[ZEROS:.*]] = tg.node "aten.full.default"() args {{\[\[}}16, 6], 0]
// CHECK:         %[[ROWS:.*]] = tg.node "aten.index_put.default"(%[[ZEROS]],
// CHECK:         %[[FUTURE:.*]] = tg.all_reduce sum %[[ROWS]] on @mesh [ep]
// CHECK:         %[[SUM:.*]] = tg.wait %[[FUTURE]]
// CHECK:         %[[RESULT:.*]] = tg.node "aten.add.Tensor"(%[[ONES]], %[[SUM]])
// CHECK:         return %[[RESULT]]
func.func @added_to_ones(
    %w: tensor<4x8x6xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<16x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %ids: tensor<16xi64> {tg.role = #tg.role<input>, tg.name = "ids"})
    -> tensor<16x6xf32> {
  %sorted, %order = tg.node "aten.sort.default"(%ids) {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> (tensor<16xi64>, tensor<16xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<16xi64>) -> tensor<16x8xf32>
  %floats = tg.node "aten._to_copy.default"(%sorted) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<16xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %y = tg.node "aten._grouped_mm.default"(%rows, %w, %ends) {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<16x6xf32>
  %ones = tg.node "aten.full.default"() args [[16, 6], 1] {tg.phase = #tg.phase<forward>} : () -> tensor<16x6xf32>
  %z = tg.node "aten.index_put.default"(%ones, %order, %y) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<forward>} : (tensor<16x6xf32>, tensor<16xi64>, tensor<16x6xf32>) -> tensor<16x6xf32>
  return %z : tensor<16x6xf32>
}

// -----

// What lies in parts, such as the result of shared experts, gets the rank's part
// of the sum.
// CHECK-LABEL: func.func @added_to_rows(
// CHECK-SAME:    %[[SHARED:[a-z0-9]+]]: tensor<8x6xf32> {tg.name = "shared"
// CHECK:         %[[FUTURE:.*]] = tg.reduce_scatter sum %{{.*}} on @mesh [ep] dim 0 phase forward : (tensor<16x6xf32>)
// CHECK:         %[[SUM:.*]] = tg.wait %[[FUTURE]]
// CHECK:         %[[RESULT:.*]] = tg.node "aten.add.Tensor"(%[[SHARED]], %[[SUM]]) {{.*}} -> tensor<8x6xf32>
// CHECK:         return %[[RESULT]]
func.func @added_to_rows(
    %w: tensor<4x8x6xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<16x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %ids: tensor<16xi64> {tg.role = #tg.role<input>, tg.name = "ids"},
    %shared: tensor<16x6xf32> {tg.role = #tg.role<input>, tg.name = "shared"})
    -> tensor<16x6xf32> {
  %sorted, %order = tg.node "aten.sort.default"(%ids) {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> (tensor<16xi64>, tensor<16xi64>)
  %rows = tg.node "aten.index.Tensor"(%x, %order) args [#tg.operand<0>, [#tg.operand<1>]] {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<16xi64>) -> tensor<16x8xf32>
  %floats = tg.node "aten._to_copy.default"(%sorted) kwargs {dtype = f32} {tg.phase = #tg.phase<forward>} : (tensor<16xi64>) -> tensor<16xf32>
  %counts = tg.node "aten.histc.default"(%floats) args [#tg.operand<0>, 4, 0, 3] {tg.phase = #tg.phase<forward>} : (tensor<16xf32>) -> tensor<4xf32>
  %ends = tg.node "aten.cumsum.default"(%counts) args [#tg.operand<0>, 0] kwargs {dtype = i32} {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xi32>
  %y = tg.node "aten._grouped_mm.default"(%rows, %w, %ends) {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<16x6xf32>
  %z = tg.node "aten.index_put.default"(%shared, %order, %y) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, true] {tg.phase = #tg.phase<forward>} : (tensor<16x6xf32>, tensor<16xi64>, tensor<16x6xf32>) -> tensor<16x6xf32>
  return %z : tensor<16x6xf32>
}
