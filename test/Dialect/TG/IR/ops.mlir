// Everything that is no collective, through print and parse, custom and generic.
// RUN: regather-opt %s | FileCheck %s
// RUN: regather-opt %s --mlir-print-op-generic | regather-opt | FileCheck %s
// RUN: regather-opt %s --emit-bytecode | regather-opt | FileCheck %s

// CHECK: tg.mesh @mesh [dp = 4, tp = 2]
tg.mesh @mesh [dp = 4, tp = 2]
// CHECK: tg.mesh @single [x = 1] {sym_visibility = "private"}
tg.mesh @single [x = 1] {sym_visibility = "private"}
// CHECK: tg.mesh @no_axes []
tg.mesh @no_axes []
// CHECK: tg.mesh @quoted ["data parallel" = 2]
tg.mesh @quoted ["data parallel" = 2]

// CHECK-LABEL: @axis_index
func.func @axis_index() -> (index, index) {
  // CHECK: tg.axis_index on @mesh [tp, dp]
  %flattened = tg.axis_index on @mesh [tp, dp]
  // CHECK: tg.axis_index on @mesh []
  %none = tg.axis_index on @mesh []
  return %flattened, %none : index, index
}

// Every kind of argument that a captured graph has.
// CHECK-LABEL: @nodes
func.func @nodes(%x: tensor<4xf32>, %rng: !tg.opaque<"torch.Generator">) {
  // CHECK: tg.node "aten.relu.default"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %relu = tg.node "aten.relu.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: args [#tg.operand<0>, unit, 1.000000e+00, "mean", [#tg.operand<1>, #tg.operand<0>]]
  %many:2 = tg.node "my.op"(%x, %relu)
      args [#tg.operand<0>, unit, 1.0, "mean", [#tg.operand<1>, #tg.operand<0>]]
      : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>)
  // CHECK: tg.node "aten.rand.default"() kwargs {dtype = f32, size = [2]} : () -> tensor<2xf32>
  %rand = tg.node "aten.rand.default"() kwargs {dtype = f32, size = [2]} : () -> tensor<2xf32>
  // CHECK: tg.node "my.next"(%{{.*}}) effects : (!tg.opaque<"torch.Generator">) -> ()
  tg.node "my.next"(%rng) effects : (!tg.opaque<"torch.Generator">) -> ()
  return
}

// CHECK-LABEL: @attributes
func.func @attributes(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: {tg.id = "relu_1", tg.module = "layers.0", tg.phase = #tg.phase<backward>,
  // CHECK-SAME: tg.policy = #tg.policy<prefer_recompute>, tg.saved_results = array<i64: 0>}
  %relu = tg.node "aten.relu.default"(%x) {
    tg.id = "relu_1", tg.module = "layers.0", tg.phase = #tg.phase<backward>,
    tg.policy = #tg.policy<prefer_recompute>, tg.saved_results = array<i64: 0>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %relu : tensor<4xf32>
}

// CHECK: #tg.policy<must_save>, #tg.policy<prefer_save>, #tg.policy<must_recompute, planned>, #tg.policy<offload>
// CHECK-SAME: #tg.axes<[dp, tp]>, #tg.axis_placement<[dp] = shard 1>
module attributes {test.attributes = [
  #tg.policy<must_save>, #tg.policy<prefer_save>, #tg.policy<must_recompute, planned>, #tg.policy<offload>,
  #tg.axes<[dp, tp]>, #tg.axis_placement<[dp] = shard 1>
]} {}

// CHECK-LABEL: @placements
// CHECK-SAME: tg.placement = #tg.placement<@mesh []>
// CHECK-SAME: tg.placement = #tg.placement<@mesh {{\[\[}}dp] = shard 0] of [10, 8]>
// CHECK-SAME: tg.placement = #tg.placement<@mesh {{\[\[}}dp] = shard 0, [tp] = shard 1]>
// CHECK-SAME: tg.placement = #tg.placement<@mesh {{\[\[}}tp, dp] = shard 1]>
// CHECK-SAME: tg.placement = #tg.placement<@mesh {{\[\[}}dp] = partial max]>
func.func @placements(
    %replicated: tensor<8xf32> {tg.placement = #tg.placement<@mesh []>},
    %uneven: tensor<3x8xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 0] of [10, 8]>},
    %two: tensor<3x8xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 0, [tp] = shard 1]>},
    %flattened: tensor<3x8xf32> {tg.placement = #tg.placement<@mesh [[tp, dp] = shard 1]>},
    %partial: tensor<3xf32> {tg.placement = #tg.placement<@mesh [[dp] = partial max]>}) {
  return
}

// CHECK-LABEL: @members
// CHECK-SAME: tg.members = #tg.members<["layers.0.norm" at 0 of [5] registration 3, "layers.0.scale" at 16 of [] aliases ["tied", "again"], "empty" at 17 of [0, 2]]>
// CHECK-SAME: tg.members = #tg.members<[]>
func.func @members(
    %flat: tensor<8xf32> {
      tg.role = #tg.role<parameter>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>,
      tg.members = #tg.members<["layers.0.norm" at 0 of [5] registration 3,
                                "layers.0.scale" at 16 of [] aliases ["tied", "again"],
                                "empty" at 17 of [0, 2]]>},
    %none: tensor<0xf32> {tg.role = #tg.role<optimizer_state>, tg.members = #tg.members<[]>}) {
  return
}

// CHECK-LABEL: @roles
// CHECK-SAME: tg.aliases = ["head.weight"], tg.donated, tg.module = "embed", tg.name = "embed.weight", tg.registration = 0 : i64, tg.reshard = #tg.reshard<group of 2>, tg.role = #tg.role<parameter>
// CHECK-SAME: tg.role = #tg.role<buffer>
// CHECK-SAME: tg.role = #tg.role<input>
// CHECK-SAME: tg.role = #tg.role<optimizer_state>
// CHECK-SAME: tg.role = #tg.role<rng>
// CHECK-SAME: tg.role = #tg.role<learning_rate>
// CHECK-SAME: tg.role = #tg.role<step>
// CHECK-SAME: tg.role = #tg.role<loss>
// CHECK-SAME: tg.role = #tg.role<gradient of 0>
// CHECK-SAME: tg.role = #tg.role<update of 3>
func.func @roles(
    %parameter: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "embed.weight",
                               tg.module = "embed", tg.registration = 0 : i64, tg.donated,
                               tg.aliases = ["head.weight"], tg.reshard = #tg.reshard<group of 2>},
    %buffer: tensor<2xf32> {tg.role = #tg.role<buffer>},
    %input: tensor<i64> {tg.role = #tg.role<input>},
    %state: tensor<2xf32> {tg.role = #tg.role<optimizer_state>},
    %rng: tensor<2xi64> {tg.role = #tg.role<rng>},
    %learning_rate: tensor<f32> {tg.role = #tg.role<learning_rate>},
    %step: tensor<i64> {tg.role = #tg.role<step>},
    %loss: tensor<f32>)
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<2xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<2xf32> {tg.role = #tg.role<update of 3>}) {
  return %loss, %parameter, %state : tensor<f32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @random
func.func @random(%seed: tensor<i64>, %offset: tensor<i64>, %first: index) {
  // CHECK: tg.random %{{.*}}, %{{.*}} stream 4294967295 {tg.id = "bits"} : tensor<4x0xi32>
  %0 = tg.random %seed, %offset stream 4294967295 {tg.id = "bits"} : tensor<4x0xi32>
  // CHECK: tg.random %{{.*}}, %{{.*}} first %{{.*}} stream 0 : tensor<i64>
  %1 = tg.random %seed, %offset first %first stream 0 : tensor<i64>
  return
}
