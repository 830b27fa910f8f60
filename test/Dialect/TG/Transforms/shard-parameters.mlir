// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:4 layout=per-parameter" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:4 layout=per-parameter" --remark-format=emitRemark --remarks-filter=tg-shard-parameters -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The parameter is gathered before its use; the gradient, a sum over the batch,
// is reduced to the shard, and the loss to a whole.
// CHECK-LABEL: tg.mesh @mesh [dp = 4]
// CHECK:       func.func @step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<2x4xf32> {tg.donated, tg.name = "up.weight", tg.placement = #tg.placement<@mesh {{\[\[}}dp] = shard 0]>, tg.role = #tg.role<parameter>}
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x8xf32> {{.*}}#tg.placement<@mesh {{\[\[}}dp] = shard 0]>
// CHECK-SAME:    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<2x4xf32> {tg.role = #tg.role<gradient of 0>})
// CHECK:         %[[GATHER:.*]] = tg.all_gather %[[W]] on @mesh [dp] dim 0 phase forward {tg.module = "up"}
// CHECK:         %[[WHOLE:.*]] = tg.wait %[[GATHER]] {tg.module = "up", tg.phase = #tg.phase<forward>}
// CHECK:         %[[Y:.*]] = tg.node "aten.mm.default"(%[[X]], %[[WHOLE]]) {{.*}} -> tensor<2x4xf32>
// CHECK:         %[[SUM:.*]] = tg.node "aten.sum.default"(%[[Y]])
// CHECK:         %[[REDUCE:.*]] = tg.all_reduce sum %[[SUM]] on @mesh [dp] phase forward
// CHECK:         %[[LOSS:.*]] = tg.wait %[[REDUCE]]
// CHECK:         %[[ONES:.*]] = tg.node "aten.ones.default"() args {{\[\[}}2, 4]]
// CHECK:         %[[PARTIAL:.*]] = tg.node "aten.mm.default"(%{{.*}}, %[[ONES]]) {{.*}} -> tensor<8x4xf32>
// CHECK:         %[[SCATTER:.*]] = tg.reduce_scatter sum %[[PARTIAL]] on @mesh [dp] dim 0 phase backward {tg.module = "up"}
// CHECK:         %[[SHARD:.*]] = tg.wait %[[SCATTER]]
// CHECK:         return %[[LOSS]], %[[SHARD]]
// EXAMPLE tg-shard-parameters{mesh=dp:4}
func.func @step(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "up.weight", tg.donated},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>, tg.module = "up"}
      : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>) -> tensor<f32>
  %ones = tg.node "aten.ones.default"() args [[8, 4]] {tg.phase = #tg.phase<backward>} : () -> tensor<8x4xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = tg.node "aten.mm.default"(%xt, %ones) {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %loss, %dw : tensor<f32>, tensor<8x4xf32>
}
// END

// -----

// Sizes that the ranks do not divide are padded, and said in the placement.
// CHECK-LABEL: @uneven
// CHECK-SAME:    tensor<3x4xf32> {{.*}}#tg.placement<@mesh {{\[\[}}dp] = shard 0] of [10, 4]>
// CHECK:         tg.all_gather {{.*}} : (tensor<3x4xf32>) -> !tg.future<tensor<10x4xf32>>
func.func @uneven(
    %w: tensor<10x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x10xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32>) {
  %y = tg.node "aten.mm.default"(%x, %w) : (tensor<8x10xf32>, tensor<10x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// One argument that is used twice is gathered once, and its gradients are added
// before they are reduced.
// CHECK-LABEL: @tied
// CHECK-COUNT-1: tg.all_gather
// CHECK-NOT:     tg.all_gather
// CHECK:         %[[FIRST:.*]] = tg.node "aten.mm.default"{{.*}} {test.first
// CHECK:         %[[SECOND:.*]] = tg.node "aten.mm.default"{{.*}} {test.second
// CHECK-NOT:     tg.reduce_scatter
// CHECK:         %[[SUM:.*]] = tg.node "aten.add.Tensor"(%[[FIRST]], %[[SECOND]])
// CHECK:         tg.reduce_scatter sum %[[SUM]]
// CHECK-NOT:     tg.reduce_scatter
func.func @tied(
    %w: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x8xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = tg.node "aten.mm.default"(%y, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %yt = tg.node "aten.t.default"(%y) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %d0 = tg.node "aten.mm.default"(%yt, %z) {test.first, tg.phase = #tg.phase<backward>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d1 = tg.node "aten.mm.default"(%xt, %z) {test.second, tg.phase = #tg.phase<backward>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = tg.node "aten.add.Tensor"(%d0, %d1) {tg.phase = #tg.phase<backward>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %dw : tensor<8x8xf32>
}

// -----

// A frozen parameter is gathered like any other; nothing is reduced.
// CHECK-LABEL: @frozen
// CHECK-SAME:    tensor<2x4xf32>
// CHECK:         tg.all_gather
// CHECK-NOT:     tg.reduce_scatter
// CHECK-NOT:     tg.all_reduce
func.func @frozen(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>}) -> tensor<8x4xf32> {
  %y = tg.node "aten.mm.default"(%x, %w) : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// Inputs of another size, buffers and scalar parameters stay whole. The mean of
// a scalar's gradient is reduced over all ranks.
// CHECK-LABEL: @whole_arguments
// CHECK-SAME:    %[[SCALE:[a-z0-9]+]]: tensor<f32> {tg.name = "scale", tg.role = #tg.role<parameter>}
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-SAME:    %[[POSITIONS:[a-z0-9]+]]: tensor<4xf32> {tg.role = #tg.role<input>}
// CHECK-SAME:    %[[BUFFER:[a-z0-9]+]]: tensor<8x4xf32> {tg.role = #tg.role<buffer>}
// CHECK-NOT:     tg.all_gather
// CHECK:         %[[SCALED:.*]] = tg.node "aten.mul.Tensor"(%[[X]], %[[SCALE]])
// CHECK:         %[[SHIFTED:.*]] = tg.node "aten.add.Tensor"(%[[SCALED]], %[[POSITIONS]])
// CHECK:         %[[PART:.*]] = tensor.extract_slice %[[BUFFER]][%{{.*}}, 0] [2, 4] [1, 1]
// CHECK:         %[[SUM:.*]] = tg.node "aten.add.Tensor"(%[[SHIFTED]], %[[PART]])
// CHECK:         %[[MEAN:.*]] = tg.node "aten.mean.default"(%[[SUM]])
// CHECK:         tg.all_reduce avg %[[MEAN]] on @mesh [dp] phase backward
func.func @whole_arguments(
    %scale: tensor<f32> {tg.role = #tg.role<parameter>, tg.name = "scale"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>},
    %positions: tensor<4xf32> {tg.role = #tg.role<input>},
    %buffer: tensor<8x4xf32> {tg.role = #tg.role<buffer>})
    -> (tensor<f32> {tg.role = #tg.role<gradient of 0>}) {
  %scaled = tg.node "aten.mul.Tensor"(%x, %scale) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %shifted = tg.node "aten.add.Tensor"(%scaled, %positions) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %sum = tg.node "aten.add.Tensor"(%shifted, %buffer) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %mean = tg.node "aten.mean.default"(%sum) {tg.phase = #tg.phase<backward>} : (tensor<8x4xf32>) -> tensor<f32>
  return %mean : tensor<f32>
}

// -----

// A rank's part of a tensor without elements is another one: no slice could begin
// in it. Integers have no other zero.
// CHECK-LABEL: @without_elements
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-NOT:     tensor.extract_slice
// CHECK:         %[[NONE:.*]] = tg.node "aten.full.default"() args {{\[\[}}2, 0], 0] {{.*}} : () -> tensor<2x0xf32>
// CHECK:         tg.node "aten.cat.default"(%[[X]], %[[NONE]]) {{.*}} -> tensor<2x4xf32>
// CHECK:         tg.node "aten.full.default"() args {{\[\[}}2, 0], 0] {{.*}} : () -> tensor<2x0xi64>
func.func @without_elements(
    %w: tensor<f32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>},
    %ids: tensor<8x4xi64> {tg.role = #tg.role<input>},
    %rest: tensor<8x0xf32> {tg.role = #tg.role<buffer>},
    %others: tensor<8x0xi64> {tg.role = #tg.role<buffer>})
    -> (tensor<8x4xf32>, tensor<8x4xi64>) {
  %all = tg.node "aten.cat.default"(%x, %rest) args [[#tg.operand<0>, #tg.operand<1>], 1]
      : (tensor<8x4xf32>, tensor<8x0xf32>) -> tensor<8x4xf32>
  %both = tg.node "aten.cat.default"(%ids, %others) args [[#tg.operand<0>, #tg.operand<1>], 1]
      : (tensor<8x4xi64>, tensor<8x0xi64>) -> tensor<8x4xi64>
  return %all, %both : tensor<8x4xf32>, tensor<8x4xi64>
}

// -----

// An operation that nothing is known about gets its operands whole; a remark
// names it.
// REMARK-NOT:    remark:
// REMARK:        remark: [Missed] kept-whole {{.*}}'custom.op' cannot be carried out on parts of its operands{{.*}}gathered_bytes=128
// REMARK:        'aten._native_batch_norm_legit_no_training.default'
// REMARK-NOT:    remark:
// CHECK-LABEL: @unknown_target
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<1xf32>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-DAG:     tg.all_gather %[[W]]
// CHECK-DAG:     %[[GATHER:.*]] = tg.all_gather %[[X]] on @mesh [dp] dim 0
// CHECK:         %[[WHOLE:.*]] = tg.wait %[[GATHER]]
// CHECK:         tg.node "custom.op"(%[[WHOLE]], %{{.*}}) {{.*}} -> tensor<8x4xf32>
func.func @unknown_target(
    %w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>}) -> tensor<8x4xf32> {
  %y = tg.node "custom.op"(%x, %w) {tg.phase = #tg.phase<forward>}
      : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// A region sees all of what it uses from outside.
// CHECK-LABEL: @captured
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<1xf32>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK:         tg.all_gather %[[W]]
// CHECK:         %[[GATHER:.*]] = tg.all_gather %[[X]]
// CHECK:         %[[WHOLE:.*]] = tg.wait %[[GATHER]]
// CHECK:         scf.if
// CHECK:           scf.yield %[[WHOLE]] : tensor<8xf32>
func.func @captured(
    %w: tensor<1xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8xf32> {tg.role = #tg.role<input>}) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %first = tensor.extract %w[%c0] : tensor<1xf32>
  %positive = arith.cmpf ogt, %first, %zero : f32
  %y = scf.if %positive -> tensor<8xf32> {
    scf.yield %x : tensor<8xf32>
  } else {
    %empty = tensor.empty() : tensor<8xf32>
    scf.yield %empty : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

// Without parameters there is nothing to shard.
// CHECK:       {{^}}module {
// CHECK-NEXT:    func.func @no_parameters(%{{.*}}: tensor<8xf32>
func.func @no_parameters(%x: tensor<8xf32> {tg.role = #tg.role<input>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// Only the step is sharded, not what is private.
// CHECK-LABEL: func.func private @helper(%{{.*}}: tensor<8xf32> {tg.role
// CHECK-LABEL: func.func @step(%{{.*}}: tensor<2xf32>
func.func private @helper(%w: tensor<8xf32> {tg.role = #tg.role<parameter>}) -> tensor<8xf32> {
  return %w : tensor<8xf32>
}
func.func @step(%w: tensor<8xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<8xf32> {tg.role = #tg.role<update of 0>}) {
  return %w : tensor<8xf32>
}

// -----

// A partial value is reduced while it is small, not after it has been expanded.
// CHECK-LABEL: @small_partial
// CHECK:         %[[SUM:.*]] = tg.node "aten.sum.default"
// CHECK:         tg.all_reduce sum %[[SUM]] {{.*}} (tensor<f32>)
// CHECK:         tg.node "aten.expand.default"
// CHECK-NOT:     tg.all_reduce
func.func @small_partial(
    %w: tensor<4xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>}) -> tensor<4x4xf32> {
  %sum = tg.node "aten.sum.default"(%x) : (tensor<8x4xf32>) -> tensor<f32>
  %expanded = tg.node "aten.expand.default"(%sum) args [#tg.operand<0>, [4, 4]] : (tensor<f32>) -> tensor<4x4xf32>
  return %expanded : tensor<4x4xf32>
}

// -----

// Results that the rule does not describe must not be used: the first node is
// carried out on parts, the second is not.
// CHECK-LABEL: @undescribed_results
// CHECK:         tg.node "aten._native_batch_norm_legit_no_training.default"{{.*}} -> (tensor<2x4xf32>, tensor<0xf32>, tensor<0xf32>)
// CHECK:         tg.node "aten._native_batch_norm_legit_no_training.default"{{.*}} -> (tensor<8x4xf32>, tensor<0xf32>, tensor<0xf32>)
func.func @undescribed_results(
    %w: tensor<4xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>}) -> (tensor<8x4xf32>, tensor<0xf32>) {
  %0:3 = tg.node "aten._native_batch_norm_legit_no_training.default"(%x, %w, %w, %w, %w)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, 0.1, 1.0e-05]
      : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<0xf32>, tensor<0xf32>)
  %1:3 = tg.node "aten._native_batch_norm_legit_no_training.default"(%0#0, %w, %w, %w, %w)
      args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, 0.1, 1.0e-05]
      : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<0xf32>, tensor<0xf32>)
  return %1#0, %1#1 : tensor<8x4xf32>, tensor<0xf32>
}
