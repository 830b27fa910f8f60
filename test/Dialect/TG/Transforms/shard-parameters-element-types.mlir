// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2 layout=per-parameter" --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2 compute-dtype=f16 reduce-dtype=f64 layout=per-parameter" --tg-verify-step | FileCheck %s --check-prefix=OPTIONS
// RUN: regather-opt %s -split-input-file "--tg-shard-parameters=mesh=dp:2 parameter-dtype=f64 layout=per-parameter" --tg-verify-step | FileCheck %s --check-prefix=MASTER

// The cast that all uses share is made on the shard. The gradient is rounded
// after it is summed, not before.
// CHECK-LABEL: @mixed
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK:         %[[NARROW:.*]] = tg.node "aten._to_copy.default"(%[[W]]) kwargs {dtype = bf16} {{.*}} -> tensor<4x4xbf16>
// CHECK:         tg.all_gather %[[NARROW]] {{.*}} -> !tg.future<tensor<8x4xbf16>>
// CHECK-NOT:     tensor<8x4xf32>
// CHECK:         %[[PARTIAL:.*]] = tg.node "aten.mm.default"{{.*}} -> tensor<8x4xbf16>
// CHECK:         %[[WIDE:.*]] = tg.node "aten._to_copy.default"(%[[PARTIAL]]) {{.*}} -> tensor<8x4xf32>
// CHECK:         tg.reduce_scatter sum %[[WIDE]] {{.*}} -> !tg.future<tensor<4x4xf32>>

// OPTIONS-LABEL: @mixed
// OPTIONS-SAME:    %[[W:[a-z0-9]+]]: tensor<4x4xf32>
// OPTIONS:         %[[NARROW:.*]] = tg.node "aten._to_copy.default"(%[[W]]) kwargs {dtype = f16} {{.*}} -> tensor<4x4xf16>
// OPTIONS:         %[[GATHER:.*]] = tg.all_gather %[[NARROW]]
// OPTIONS:         %[[WHOLE:.*]] = tg.wait %[[GATHER]]
// OPTIONS:         tg.node "aten._to_copy.default"(%[[WHOLE]]) kwargs {dtype = f32} {{.*}} -> tensor<8x4xf32>
// OPTIONS:         %[[WIDE:.*]] = tg.node "aten._to_copy.default"(%{{.*}}) kwargs {dtype = f64} {{.*}} -> tensor<8x4xf64>
// OPTIONS:         %[[SCATTER:.*]] = tg.reduce_scatter sum %[[WIDE]]
// OPTIONS:         %[[SHARD:.*]] = tg.wait %[[SCATTER]]
// OPTIONS:         %[[GRADIENT:.*]] = tg.node "aten._to_copy.default"(%[[SHARD]]) kwargs {dtype = f32} {{.*}} -> tensor<4x4xf32>
// OPTIONS:         return %[[GRADIENT]]

// MASTER-LABEL: @mixed
// MASTER-SAME:    %[[W:[a-z0-9]+]]: tensor<4x4xf64>
// MASTER-SAME:    -> (tensor<4x4xf64> {tg.role = #tg.role<gradient of 0>})
// MASTER:         %[[NARROW:.*]] = tg.node "aten._to_copy.default"(%[[W]]) kwargs {dtype = bf16}
// MASTER:         tg.all_gather %[[NARROW]]
func.func @mixed(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xbf16> {tg.role = #tg.role<input>})
    -> (tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %0 = tg.node "aten._to_copy.default"(%w) kwargs {dtype = bf16} : (tensor<8x4xf32>) -> tensor<8x4xbf16>
  %1 = tg.node "aten._to_copy.default"(%w) kwargs {dtype = bf16} : (tensor<8x4xf32>) -> tensor<8x4xbf16>
  %y = tg.node "aten.mm.default"(%x, %0) : (tensor<8x8xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %z = tg.node "aten.mm.default"(%x, %1) : (tensor<8x8xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %s = tg.node "aten.add.Tensor"(%y, %z) : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %d = tg.node "aten.mm.default"(%xt, %s) {tg.phase = #tg.phase<backward>}
      : (tensor<8x8xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %dw = tg.node "aten._to_copy.default"(%d) kwargs {dtype = f32} {tg.phase = #tg.phase<backward>}
      : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  return %dw : tensor<8x4xf32>
}

// -----

// One use is not a cast: the parameter travels as it is. A gradient that is
// rounded is rounded on its shard.
// CHECK-LABEL: @also_used_wide
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK:         tg.all_gather %[[W]] {{.*}} -> !tg.future<tensor<8x8xf32>>
// CHECK:         %[[SCATTER:.*]] = tg.reduce_scatter sum %{{.*}} : (tensor<8x8xf32>)
// CHECK:         %[[SHARD:.*]] = tg.wait %[[SCATTER]]
// CHECK:         tg.node "aten._to_copy.default"(%[[SHARD]]) {{.*}} -> tensor<4x8xbf16>
func.func @also_used_wide(
    %w: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>})
    -> (tensor<8x8xbf16> {tg.role = #tg.role<gradient of 0>}) {
  %narrow = tg.node "aten._to_copy.default"(%w) kwargs {dtype = bf16} : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %y = tg.node "aten.mm.default"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = tg.node "aten.mul.Tensor"(%y, %narrow) : (tensor<8x8xf32>, tensor<8x8xbf16>) -> tensor<8x8xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = tg.node "aten.mm.default"(%xt, %z) {tg.phase = #tg.phase<backward>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = tg.node "aten._to_copy.default"(%d) kwargs {dtype = bf16} {tg.phase = #tg.phase<backward>}
      : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  return %dw : tensor<8x8xbf16>
}
