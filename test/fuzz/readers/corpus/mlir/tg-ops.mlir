
tg.mesh @mesh [dp = 4, tp = 2]
tg.mesh @single [x = 1] {sym_visibility = "private"}
tg.mesh @no_axes []
tg.mesh @quoted ["data parallel" = 2]

func.func @axis_index() -> (index, index) {
  %flattened = tg.axis_index on @mesh [tp, dp]
  %none = tg.axis_index on @mesh []
  return %flattened, %none : index, index
}

func.func @nodes(%x: tensor<4xf32>, %rng: !tg.opaque<"torch.Generator">) {
  %relu = tg.node "aten.relu.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %many:2 = tg.node "my.op"(%x, %relu)
      args [#tg.operand<0>, unit, 1.0, "mean", [#tg.operand<1>, #tg.operand<0>]]
      : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>)
  %rand = tg.node "aten.rand.default"() kwargs {dtype = f32, size = [2]} : () -> tensor<2xf32>
  tg.node "my.next"(%rng) effects : (!tg.opaque<"torch.Generator">) -> ()
  return
}

func.func @attributes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %relu = tg.node "aten.relu.default"(%x) {
    tg.id = "relu_1", tg.module = "layers.0", tg.phase = #tg.phase<backward>,
    tg.policy = #tg.policy<prefer_recompute>, tg.saved_results = array<i64: 0>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %relu : tensor<4xf32>
}

module attributes {test.attributes = [
  #tg.policy<must_save>, #tg.policy<prefer_save>, #tg.policy<must_recompute, planned>, #tg.policy<offload>,
  #tg.axes<[dp, tp]>, #tg.axis_placement<[dp] = shard 1>
]} {}

func.func @placements(
    %replicated: tensor<8xf32> {tg.placement = #tg.placement<@mesh []>},
    %uneven: tensor<3x8xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 0] of [10, 8]>},
    %two: tensor<3x8xf32> {tg.placement = #tg.placement<@mesh [[dp] = shard 0, [tp] = shard 1]>},
    %flattened: tensor<3x8xf32> {tg.placement = #tg.placement<@mesh [[tp, dp] = shard 1]>},
    %partial: tensor<3xf32> {tg.placement = #tg.placement<@mesh [[dp] = partial max]>}) {
  return
}

func.func @members(
    %flat: tensor<8xf32> {
      tg.role = #tg.role<parameter>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>,
      tg.members = #tg.members<["layers.0.norm" at 0 of [5] registration 3,
                                "layers.0.scale" at 16 of [] aliases ["tied", "again"],
                                "empty" at 17 of [0, 2]]>},
    %none: tensor<0xf32> {tg.role = #tg.role<optimizer_state>, tg.members = #tg.members<[]>}) {
  return
}

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

func.func @random(%seed: tensor<i64>, %offset: tensor<i64>, %first: index) {
  %0 = tg.random %seed, %offset stream 4294967295 {tg.id = "bits"} : tensor<4x0xi32>
  %1 = tg.random %seed, %offset first %first stream 0 : tensor<i64>
  return
}
