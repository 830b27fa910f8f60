// RUN: regather-opt %s -split-input-file --tg-chunk-rows=chunks=2 --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-chunk-rows='chunks=2 sums=blocks' --tg-verify-step | FileCheck %s --check-prefix=SUMS
// RUN: regather-opt %s -split-input-file --tg-chunk-rows=chunks=2 --remark-format=emitRemark --remarks-filter=tg-chunk-rows -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Scores, their logarithms and the gradients exist for four rows at a time. The
// gradient of the scores is put together for that of the weight, which sums over
// all rows; the loss of each row is, too. What says where the loss is, and not
// what it is, does not keep backward behind it.
// CHECK-LABEL: @step
// CHECK-SAME:    %[[W:.*]]: tensor<64x4xf32>
// CHECK-SAME:    %[[X:.*]]: tensor<8x4xf32>
// CHECK:         %[[ZERO:.*]] = tg.node "aten.full.default"() args {{\[\[\], 0\]}} kwargs {dtype = f32}
// CHECK:         tg.node "aten.full_like.default"(%[[ZERO]]) args [#tg.operand<0>, -1.250000e-01] {tg.phase = #tg.phase<forward>}
// CHECK:         %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [4, 4] [1, 1]
// CHECK:         %[[S0:.*]] = tg.node "aten.mm.default"(%[[X0]], %{{.*}}) {tg.id = "mm.0", tg.phase = #tg.phase<forward>, tg.row_chunk = array<i64: 0, 2>} {{.*}} -> tensor<4x64xf32>
// CHECK:         %[[P0:.*]] = tg.node "aten._log_softmax.default"(%[[S0]])
// CHECK:         %[[G0:.*]] = tg.node "aten.gather.default"(%[[P0]]
// CHECK:         %[[D0:.*]] = tg.node "aten._log_softmax_backward_data.default"
// CHECK-SAME:      tg.phase = #tg.phase<forward>, tg.row_chunk = array<i64: 0, 2>} {{.*}} -> tensor<4x64xf32>
// CHECK:         %[[DX0:.*]] = tg.node "aten.mm.default"(%[[D0]], %[[W]])
// CHECK:         tensor.extract_slice %[[X]][4, 0] [4, 4] [1, 1]
// CHECK:         tg.row_chunk = array<i64: 1, 2>
// CHECK-NOT:     tensor<8x64xf32>)
// CHECK:         %[[G:.*]] = tg.node "aten.cat.default"(%[[G0]], %{{.*}}) {{.*}} -> tensor<8x1xf32>
// CHECK:         %[[D:.*]] = tg.node "aten.cat.default"(%[[D0]], %{{.*}}) {{.*}} -> tensor<8x64xf32>
// CHECK:         tg.node "aten.cat.default"(%[[DX0]], %{{.*}}) {{.*}} -> tensor<8x4xf32>
// CHECK:         tg.node "aten.sum.default"(%[[G]])
// CHECK:         %[[T:.*]] = tg.node "aten.permute.default"(%[[D]])
// CHECK:         tg.node "aten.mm.default"(%[[T]], %[[X]]) {tg.id = "dw", tg.phase = #tg.phase<backward>}
// REMARK: {{.*}}Reason="8 operations are carried out on 2 blocks of rows"

// Sums in blocks are added up in the order of the blocks: nothing of 8 x 64
// exists.
// SUMS-LABEL: @step
// SUMS-NOT:     8x64
// SUMS:         %[[A:.*]] = tg.node "aten.mm.default"({{.*}}) {tg.id = "dw.0"
// SUMS-NOT:     8x64
// SUMS:         %[[B:.*]] = tg.node "aten.mm.default"({{.*}}) {tg.id = "dw.1"
// SUMS:         %[[SUM:.*]] = tg.node "aten.add.Tensor"(%[[A]], %[[B]])
// SUMS-NOT:     8x64
// SUMS:         return %{{.*}}, %[[SUM]], %{{.*}}
// EXAMPLE tg-chunk-rows
func.func @step(
    %w: tensor<64x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %t: tensor<8x1xi64> {tg.role = #tg.role<input>, tg.name = "t"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<64x4xf32> {tg.role = #tg.role<gradient of 0>}, tensor<8x4xf32>) {
  %wt = tg.node "aten.permute.default"(%w) args [#tg.operand<0>, [1, 0]] {tg.phase = #tg.phase<forward>}
      : (tensor<64x4xf32>) -> tensor<4x64xf32>
  %scores = tg.node "aten.mm.default"(%x, %wt) {tg.id = "mm", tg.phase = #tg.phase<forward>}
      : (tensor<8x4xf32>, tensor<4x64xf32>) -> tensor<8x64xf32>
  %p = tg.node "aten._log_softmax.default"(%scores) args [#tg.operand<0>, 1, false] {tg.phase = #tg.phase<forward>}
      : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %picked = tg.node "aten.gather.default"(%p, %t) args [#tg.operand<0>, 1, #tg.operand<1>] {tg.phase = #tg.phase<forward>}
      : (tensor<8x64xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
  %sum = tg.node "aten.sum.default"(%picked) {tg.phase = #tg.phase<forward>} : (tensor<8x1xf32>) -> tensor<f32>
  %loss = tg.node "aten.div.Scalar"(%sum) args [#tg.operand<0>, -8] {tg.phase = #tg.phase<forward>} : (tensor<f32>) -> tensor<f32>
  %scale = tg.node "aten.full_like.default"(%loss) args [#tg.operand<0>, -0.125] {tg.phase = #tg.phase<backward>}
      : (tensor<f32>) -> tensor<f32>
  %zeros = tg.node "aten.full_like.default"(%p) args [#tg.operand<0>, 0] {tg.phase = #tg.phase<backward>}
      : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %ones = tg.node "aten.scatter.value"(%zeros, %t) args [#tg.operand<0>, 1, #tg.operand<1>, 1.0] {tg.phase = #tg.phase<backward>}
      : (tensor<8x64xf32>, tensor<8x1xi64>) -> tensor<8x64xf32>
  %dp = tg.node "aten.mul.Tensor"(%ones, %scale) {tg.phase = #tg.phase<backward>}
      : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %d = tg.node "aten._log_softmax_backward_data.default"(%dp, %p) args [#tg.operand<0>, #tg.operand<1>, 1, f32] {tg.phase = #tg.phase<backward>}
      : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %dt = tg.node "aten.permute.default"(%d) args [#tg.operand<0>, [1, 0]] {tg.phase = #tg.phase<backward>}
      : (tensor<8x64xf32>) -> tensor<64x8xf32>
  %dw = tg.node "aten.mm.default"(%dt, %x) {tg.id = "dw", tg.phase = #tg.phase<backward>}
      : (tensor<64x8xf32>, tensor<8x4xf32>) -> tensor<64x4xf32>
  %dx = tg.node "aten.mm.default"(%d, %w) {tg.id = "dx", tg.phase = #tg.phase<backward>}
      : (tensor<8x64xf32>, tensor<64x4xf32>) -> tensor<8x4xf32>
  return %loss, %dw, %dx : tensor<f32>, tensor<64x4xf32>, tensor<8x4xf32>
}
// END

// -----

// A gradient that depends on the value of the loss needs all rows of forward
// before the first of backward.
// CHECK-LABEL: @reads_the_loss
// CHECK-NOT:     tg.row_chunk = array<i64: 0, 2>} {{.*}}_backward_data
// CHECK:         tg.node "aten._log_softmax_backward_data.default"({{.*}} -> tensor<8x64xf32>
// REMARK: a value of 2048 bytes stays whole: {{.*}} reads what is made of all rows
func.func @reads_the_loss(
    %w: tensor<4x64xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<8x64xf32>) {
  %scores = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<8x4xf32>, tensor<4x64xf32>) -> tensor<8x64xf32>
  %p = tg.node "aten._log_softmax.default"(%scores) args [#tg.operand<0>, 1, false] {tg.phase = #tg.phase<forward>}
      : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %loss = tg.node "aten.sum.default"(%p) {tg.phase = #tg.phase<forward>} : (tensor<8x64xf32>) -> tensor<f32>
  %dp = tg.node "aten.mul.Tensor"(%p, %loss) {tg.phase = #tg.phase<backward>}
      : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %d = tg.node "aten._log_softmax_backward_data.default"(%dp, %p) args [#tg.operand<0>, #tg.operand<1>, 1, f32] {tg.phase = #tg.phase<backward>}
      : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %loss, %d : tensor<f32>, tensor<8x64xf32>
}

// -----

// Without backward there is no loss to come to, and nothing to do.
// CHECK-LABEL: @forward_only
// CHECK-NOT:     tg.row_chunk
func.func @forward_only(%x: tensor<8x4xf32>, %w: tensor<4x64xf32>) -> tensor<8x64xf32> {
  %scores = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<8x4xf32>, tensor<4x64xf32>) -> tensor<8x64xf32>
  %e = tg.node "aten.exp.default"(%scores) {tg.phase = #tg.phase<forward>} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %e : tensor<8x64xf32>
}

// -----

// A chain that lies in backward alone stays there.
// CHECK-LABEL: @backward_alone
// CHECK-COUNT-4: tg.node "aten.mm.default"({{.*}}tg.phase = #tg.phase<backward>, tg.row_chunk
// CHECK-NOT:     phase<forward>
// SUMS-LABEL: @backward_alone
// REMARK: {{.*}}Reason="2 operations are carried out on 2 blocks of rows"
func.func @backward_alone(%w: tensor<64x4xf32> {tg.role = #tg.role<parameter>},
                          %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %c = arith.constant dense<1.0> : tensor<4x64xf32>
  %up = tg.node "aten.mm.default"(%x, %c) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>, tensor<4x64xf32>) -> tensor<8x64xf32>
  %down = tg.node "aten.mm.default"(%up, %w) {tg.phase = #tg.phase<backward>} : (tensor<8x64xf32>, tensor<64x4xf32>) -> tensor<8x4xf32>
  return %down : tensor<8x4xf32>
}

// -----

// A chain that begins in forward would take the second gather of a released
// parameter along, which another operation of backward reads as well.
// CHECK-LABEL: @gathers_again
// CHECK:         tg.node "aten._log_softmax.default"({{.*}} -> tensor<8x64xf32>
// CHECK:         %[[F:.*]] = tg.all_gather {{.*}} phase backward generation 1
// CHECK-NEXT:    tg.wait %[[F]] {tg.phase = #tg.phase<backward>}
// CHECK-NEXT:    tg.node "aten.mm.default"({{.*}} {tg.phase = #tg.phase<backward>} {{.*}} -> tensor<8x4xf32>
// SUMS-LABEL:  @gathers_again
// SUMS:          tg.all_gather {{.*}} phase backward generation 1
// SUMS-NEXT:     tg.wait {{.*}} {tg.phase = #tg.phase<backward>}
// REMARK: a value of 2048 bytes stays whole: the chain begins in forward, and reads "w", which backward gathers again
tg.mesh @mesh [dp = 2]
func.func @gathers_again(
    %w: tensor<32x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w", tg.placement = #tg.placement<@mesh [[dp] = shard 0]>, tg.reshard = #tg.reshard<always>},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<8x4xf32>, tensor<64x4xf32>) {
  %f = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<32x4xf32>) -> !tg.future<tensor<64x4xf32>>
  %g = tg.wait %f {tg.phase = #tg.phase<forward>} : !tg.future<tensor<64x4xf32>>
  %wt = tg.node "aten.permute.default"(%g) args [#tg.operand<0>, [1, 0]] {tg.phase = #tg.phase<forward>} : (tensor<64x4xf32>) -> tensor<4x64xf32>
  %scores = tg.node "aten.mm.default"(%x, %wt) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4x64xf32>) -> tensor<8x64xf32>
  %p = tg.node "aten._log_softmax.default"(%scores) args [#tg.operand<0>, 1, false] {tg.phase = #tg.phase<forward>} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %rows = tg.node "aten.sum.dim_IntList"(%p) args [#tg.operand<0>, [1]] {tg.phase = #tg.phase<forward>} : (tensor<8x64xf32>) -> tensor<8xf32>
  %loss = tg.node "aten.sum.default"(%rows) {tg.phase = #tg.phase<forward>} : (tensor<8xf32>) -> tensor<f32>
  %d = tg.node "aten._log_softmax_backward_data.default"(%p, %p) args [#tg.operand<0>, #tg.operand<1>, 1, f32] {tg.phase = #tg.phase<backward>} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %f2 = tg.all_gather %w on @mesh [dp] dim 0 phase backward generation 1 : (tensor<32x4xf32>) -> !tg.future<tensor<64x4xf32>>
  %g2 = tg.wait %f2 {tg.phase = #tg.phase<backward>} : !tg.future<tensor<64x4xf32>>
  %dx = tg.node "aten.mm.default"(%d, %g2) {tg.phase = #tg.phase<backward>} : (tensor<8x64xf32>, tensor<64x4xf32>) -> tensor<8x4xf32>
  %other = tg.node "aten.neg.default"(%g2) {tg.phase = #tg.phase<backward>} : (tensor<64x4xf32>) -> tensor<64x4xf32>
  return %loss, %dx, %other : tensor<f32>, tensor<8x4xf32>, tensor<64x4xf32>
}

// -----

// One that is kept after forward may as well.
// CHECK-LABEL: @keeps
// CHECK:         tg.node "aten._log_softmax_backward_data.default"({{.*}} {tg.phase = #tg.phase<forward>, tg.row_chunk = array<i64: 0, 2>}
// SUMS-LABEL:  @keeps
// REMARK: {{.*}} operations are carried out on 2 blocks of rows
tg.mesh @mesh [dp = 2]
func.func @keeps(
    %w: tensor<32x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w", tg.placement = #tg.placement<@mesh [[dp] = shard 0]>, tg.reshard = #tg.reshard<never>},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<8x4xf32>, tensor<64x4xf32>) {
  %f = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<32x4xf32>) -> !tg.future<tensor<64x4xf32>>
  %g = tg.wait %f {tg.phase = #tg.phase<forward>} : !tg.future<tensor<64x4xf32>>
  %wt = tg.node "aten.permute.default"(%g) args [#tg.operand<0>, [1, 0]] {tg.phase = #tg.phase<forward>} : (tensor<64x4xf32>) -> tensor<4x64xf32>
  %scores = tg.node "aten.mm.default"(%x, %wt) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>, tensor<4x64xf32>) -> tensor<8x64xf32>
  %p = tg.node "aten._log_softmax.default"(%scores) args [#tg.operand<0>, 1, false] {tg.phase = #tg.phase<forward>} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %rows = tg.node "aten.sum.dim_IntList"(%p) args [#tg.operand<0>, [1]] {tg.phase = #tg.phase<forward>} : (tensor<8x64xf32>) -> tensor<8xf32>
  %loss = tg.node "aten.sum.default"(%rows) {tg.phase = #tg.phase<forward>} : (tensor<8xf32>) -> tensor<f32>
  %d = tg.node "aten._log_softmax_backward_data.default"(%p, %p) args [#tg.operand<0>, #tg.operand<1>, 1, f32] {tg.phase = #tg.phase<backward>} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %f2 = tg.all_gather %w on @mesh [dp] dim 0 phase backward generation 1 : (tensor<32x4xf32>) -> !tg.future<tensor<64x4xf32>>
  %g2 = tg.wait %f2 {tg.phase = #tg.phase<backward>} : !tg.future<tensor<64x4xf32>>
  %dx = tg.node "aten.mm.default"(%d, %g2) {tg.phase = #tg.phase<backward>} : (tensor<8x64xf32>, tensor<64x4xf32>) -> tensor<8x4xf32>
  %other = tg.node "aten.neg.default"(%g2) {tg.phase = #tg.phase<backward>} : (tensor<64x4xf32>) -> tensor<64x4xf32>
  return %loss, %dx, %other : tensor<f32>, tensor<8x4xf32>, tensor<64x4xf32>
}
