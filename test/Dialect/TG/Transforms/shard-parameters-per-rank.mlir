// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:4 batch=per-rank layout=per-parameter" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:4 batch=auto layout=per-parameter" 2>/dev/null | FileCheck %s
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:4 batch=auto" -o %t 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:4 batch=per-rank replicate-axis=dp" | FileCheck %s --check-prefix=DDP
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:3 batch=auto layout=per-parameter" | FileCheck %s --check-prefix=GLOBAL

// Operations stay as they are, on three rows; the loss and the gradient become
// means. A batch that the ranks divide is that of all of them with batch=auto.
// CHECK-LABEL: @step
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<2x4xf32>
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<3x8xf32> {tg.name = "x", tg.placement = #tg.placement<@mesh {{\[\[}}dp] = shard 0]>, tg.role
// CHECK-SAME:    %[[MASK:[a-z0-9]+]]: tensor<4xf32> {tg.role
// CHECK-SAME:    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<2x4xf32> {tg.role = #tg.role<gradient of 0>}, tensor<3x4xf32> {tg.placement = #tg.placement<@mesh {{\[\[}}dp] = shard 0]>}, tensor<4xf32>)
// CHECK:         %[[GATHER:.*]] = tg.all_gather %[[W]]
// CHECK:         %[[WHOLE:.*]] = tg.wait %[[GATHER]]
// CHECK:         %[[Y:.*]] = tg.node "aten.mm.default"(%[[X]], %[[WHOLE]]) {{.*}} -> tensor<3x4xf32>
// CHECK:         %[[OWN:.*]] = tg.node "aten.mean.default"(%[[Y]])
// CHECK-NEXT:    %[[REDUCE:.*]] = tg.all_reduce avg %[[OWN]] on @mesh [dp] phase forward
// CHECK-NEXT:    %[[LOSS:.*]] = tg.wait %[[REDUCE]]
// CHECK:         tg.node "aten.ones_like.default"(%[[OWN]])
// CHECK:         %[[DW:.*]] = tg.node "aten.mm.default"(%{{.*}}, %{{.*}}) {{.*}} -> tensor<8x4xf32>
// CHECK-NEXT:    %[[SCATTER:.*]] = tg.reduce_scatter avg %[[DW]] on @mesh [dp] dim 0 phase backward
// CHECK-NEXT:    %[[SHARD:.*]] = tg.wait %[[SCATTER]]
// CHECK:         %[[NORM:.*]] = tg.node "aten.mul.Tensor"(%{{.*}}, %[[MASK]])
// CHECK:         %[[MEAN:.*]] = tg.all_reduce avg %[[NORM]]
// CHECK:         %[[METRIC:.*]] = tg.wait %[[MEAN]]
// CHECK:         return %[[LOSS]], %[[SHARD]], %[[Y]], %[[METRIC]]
// AUTO:        warning: batch of 3 (dimension 0 of input "x") cannot be divided by 4 ranks; it is taken for that of one rank
// GLOBAL-LABEL: @step
// GLOBAL:        tensor<1x8xf32>
func.func @step(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<3x8xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %mask: tensor<4xf32> {tg.role = #tg.role<input>})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<3x4xf32>, tensor<4xf32>) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>} : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %loss = tg.node "aten.mean.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<3x4xf32>) -> tensor<f32>
  %one = tg.node "aten.ones_like.default"(%loss) {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<f32>
  %dy = tg.node "aten.expand.default"(%one) args [#tg.operand<0>, [3, 4]] {tg.phase = #tg.phase<backward>} : (tensor<f32>) -> tensor<3x4xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %dw = tg.node "aten.mm.default"(%xt, %dy) {tg.phase = #tg.phase<backward>} : (tensor<8x3xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %sum = tg.node "aten.sum.dim_IntList"(%y) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<forward>} : (tensor<3x4xf32>) -> tensor<4xf32>
  %norm = tg.node "aten.mul.Tensor"(%sum, %mask) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %loss, %dw, %y, %norm : tensor<f32>, tensor<8x4xf32>, tensor<3x4xf32>, tensor<4xf32>
}

// -----

// A gradient is rounded when it is complete.
// CHECK-LABEL: @rounded
// CHECK:         %[[OWN:.*]] = tg.node "aten.mm.default"{{.*}} -> tensor<4x4xf32>
// CHECK:         %[[SCATTER:.*]] = tg.reduce_scatter avg %[[OWN]]
// CHECK:         %[[PART:.*]] = tg.wait %[[SCATTER]]
// CHECK:         %[[ROUNDED:.*]] = tg.node "aten._to_copy.default"(%[[PART]]) {{.*}} : (tensor<1x4xf32>) -> tensor<1x4xbf16>
// CHECK:         return %[[ROUNDED]]
func.func @rounded(
    %w: tensor<4x4xbf16> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<3x4xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<4x4xbf16> {tg.role = #tg.role<gradient of 0>}) {
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %exact = tg.node "aten.mm.default"(%xt, %x) {tg.phase = #tg.phase<backward>} : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
  %dw = tg.node "aten._to_copy.default"(%exact) kwargs {dtype = bf16} {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  return %dw : tensor<4x4xbf16>
}

// -----

// Backward goes on with the gradient that the rank's own batch gives, as where a
// parameter is added to an activation of its shape; the optimizer takes the mean.
// CHECK-LABEL: @read_by_backward
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<1xf32>
// CHECK:         %[[OWN:.*]] = tg.node "aten.sum.dim_IntList"
// CHECK:         %[[SCATTER:.*]] = tg.reduce_scatter avg %[[OWN]]
// CHECK:         %[[MEAN:.*]] = tg.wait %[[SCATTER]]
// CHECK:         tg.node "aten.mul.Tensor"(%{{.*}}, %[[OWN]])
// CHECK:         tg.node "aten.sub.Tensor"(%[[B]], %[[MEAN]])
// DDP-LABEL:   @read_by_backward
// DDP-SAME:      %[[B:[a-z0-9]+]]: tensor<4xf32>
// DDP:           %[[OWN:.*]] = tg.node "aten.sum.dim_IntList"
// DDP:           %[[REDUCE:.*]] = tg.all_reduce avg %[[OWN]]
// DDP:           %[[MEAN:.*]] = tg.wait %[[REDUCE]]
// DDP:           tg.node "aten.mul.Tensor"(%{{.*}}, %[[OWN]])
// DDP:           tg.node "aten.sub.Tensor"(%[[B]], %[[MEAN]])
func.func @read_by_backward(
    %b: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "b"},
    %x: tensor<3x4xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<4xf32> {tg.role = #tg.role<update of 0>},
        tensor<3x4xf32>) {
  %db = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] {tg.phase = #tg.phase<backward>} : (tensor<3x4xf32>) -> tensor<4xf32>
  %dx = tg.node "aten.mul.Tensor"(%x, %db) {tg.phase = #tg.phase<backward>} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %new = tg.node "aten.sub.Tensor"(%b, %db) {tg.phase = #tg.phase<optimizer>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %new, %dx : tensor<4xf32>, tensor<3x4xf32>
}

// -----

// Each rank draws its own numbers, and a buffer becomes the mean; what does not
// depend on the batch is equal anyway.
// CHECK-LABEL: @buffers
// CHECK:         %[[RANK:.*]] = tg.axis_index on @mesh [dp]
// CHECK:         %[[FIRST:.*]] = arith.muli %[[RANK]], %{{.*}}
// CHECK:         %[[BITS:.*]] = tg.random %{{.*}}, %{{.*}} first %[[FIRST]] stream 0 : tensor<3x4xi32>
// CHECK:         %[[NEXT:.*]] = tg.node "aten.add.Scalar"
// CHECK:         %[[OWN:.*]] = tg.node "aten.sum.dim_IntList"
// CHECK:         %[[REDUCE:.*]] = tg.all_reduce avg %[[OWN]]
// CHECK:         %[[MEAN:.*]] = tg.wait %[[REDUCE]]
// CHECK:         return %[[MEAN]], %[[NEXT]]
func.func @buffers(
    %w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<3x4xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %mean: tensor<4xf32> {tg.role = #tg.role<buffer>, tg.name = "mean"},
    %seed: tensor<i64> {tg.role = #tg.role<rng>, tg.name = "rng.seed"},
    %offset: tensor<i64> {tg.role = #tg.role<rng>, tg.name = "rng.offset"})
    -> (tensor<4xf32> {tg.role = #tg.role<update of 2>},
        tensor<i64> {tg.role = #tg.role<update of 4>}) {
  %bits = tg.random %seed, %offset stream 0 : tensor<3x4xi32>
  %next = tg.node "aten.add.Scalar"(%offset) args [#tg.operand<0>, 1] : (tensor<i64>) -> tensor<i64>
  %dropped:2 = tg.node "aten.native_dropout.default"(%x, %bits) args [#tg.operand<0>, 0.5, true] kwargs {bits = #tg.operand<1>}
      : (tensor<3x4xf32>, tensor<3x4xi32>) -> (tensor<3x4xf32>, tensor<3x4xi1>)
  %new = tg.node "aten.sum.dim_IntList"(%dropped#0) args [#tg.operand<0>, [0]] : (tensor<3x4xf32>) -> tensor<4xf32>
  return %new, %next : tensor<4xf32>, tensor<i64>
}
