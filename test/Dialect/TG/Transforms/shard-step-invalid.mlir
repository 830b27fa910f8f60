// RUN: regather-opt %s -split-input-file "--tg-shard-step=mesh=tp:2,cp:3 shard={up=[tp] shard 0,x=[cp] shard 1}" -verify-diagnostics

// expected-error@+1 {{option 'shard' asks for "up=[tp] shard 0", but parameter "up" has no dimension 0: 'tensor<f32>'}}
func.func @dimension(
    %up: tensor<f32> {tg.role = #tg.role<parameter>, tg.name = "up"},
    %x: tensor<6x6xf32> {tg.role = #tg.role<input>, tg.name = "x"}) {
  return
}

// -----

// Parameters may be padded, but not to nothing.
// expected-error@+1 {{option 'shard' asks for "up=[tp] shard 0", but the 2 ranks of axis "tp" do not divide the 1 elements of dimension 0 of parameter "up"}}
func.func @size(
    %up: tensor<1x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up"},
    %x: tensor<6x6xf32> {tg.role = #tg.role<input>, tg.name = "x"}) {
  return
}

// -----

// expected-error@+1 {{option 'shard' asks for "x=[cp] shard 1", but the 3 ranks of axis "cp" do not divide the 8 elements of dimension 1 of "x"}}
func.func @input(
    %up: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up"},
    %x: tensor<6x8xf32> {tg.role = #tg.role<input>, tg.name = "x"}) {
  return
}

// -----

// expected-error@+1 {{module has a symbol called "mesh"; if the step is sharded already, leave it as it is, otherwise choose another option 'mesh-name'}}
module {
  // expected-note@+1 {{declared here}}
  tg.mesh @mesh [tp = 2, cp = 3]
  func.func @has_mesh(%w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "up"}) {
    return
  }
}

// -----

// No axis of the option is to be cut, and yet it would be a second mesh.
tg.mesh @other [dp = 6]
// expected-error@+1 {{expects a step on one device, but argument "up" is sharded already: #tg.placement<@other [[dp] = shard 0]>}}
func.func @placed(
    %up: tensor<2x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up",
                          tg.placement = #tg.placement<@other [[dp] = shard 0]>}) {
  return
}

// -----

// A parameter that is whole, in a step that communicates.
tg.mesh @other [dp = 6]
func.func @communicates(
    %up: tensor<f32> {tg.role = #tg.role<parameter>, tg.name = "up"})
    -> tensor<f32> {
  // expected-error@+1 {{expects a step on one device, but 'tg.all_reduce' communicates over mesh @other already}}
  %future = tg.all_reduce sum %up on @other [dp] phase forward
      : (tensor<f32>) -> !tg.future<tensor<f32>>
  %sum = tg.wait %future : !tg.future<tensor<f32>>
  return %sum : tensor<f32>
}

// -----

// expected-error@+1 {{option 'mesh' has 6 ranks, but mesh "other" of the module has 4}}
module {
  // expected-note@+1 {{declared here}}
  tg.mesh @other [dp = 4]
  func.func @ranks(%up: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "up"}) {
    return
  }
}
