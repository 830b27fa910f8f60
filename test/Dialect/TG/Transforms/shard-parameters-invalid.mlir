// RUN: regather-opt %s -split-input-file --tg-shard-parameters=mesh=dp:4 -verify-diagnostics

// expected-error@+2 {{batch of 6 (dimension 0 of input "tokens") cannot be divided by 4 ranks}}
// expected-note@+1 {{if it is the batch of one rank, say batch=per-rank}}
func.func @batch(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>},
    %x: tensor<6x8xf32> {tg.role = #tg.role<input>, tg.name = "tokens"}) {
  return
}

// -----

// expected-error@+1 {{module has a symbol called "mesh"; if the step is sharded already, leave it as it is, otherwise choose another option 'mesh-name'}}
module {
  // expected-note@+1 {{declared here}}
  tg.mesh @mesh [dp = 4]
  func.func @has_mesh(%w: tensor<8xf32> {tg.role = #tg.role<parameter>}) {
    return
  }
}

// -----

tg.mesh @other [tp = 4]
// expected-error@+1 {{expects a step on one device, but argument "w" is sharded already: #tg.placement<@other [[tp] = shard 0]>}}
func.func @is_sharded(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w",
                       tg.placement = #tg.placement<@other [[tp] = shard 0]>}) {
  return
}

// -----

tg.mesh @other [tp = 4]
func.func @communicates(
    %w: tensor<f32> {tg.role = #tg.role<parameter>, tg.name = "w"})
    -> tensor<f32> {
  // expected-error@+1 {{expects a step on one device, but 'tg.all_reduce' communicates over mesh @other already}}
  %future = tg.all_reduce sum %w on @other [tp] phase forward
      : (tensor<f32>) -> !tg.future<tensor<f32>>
  %sum = tg.wait %future : !tg.future<tensor<f32>>
  return %sum : tensor<f32>
}

// -----

// expected-error@+1 {{option 'mesh' has 4 ranks, but mesh "other" of the module has 2}}
module {
  // expected-note@+1 {{declared here}}
  tg.mesh @other [tp = 2]
  func.func @ranks(%w: tensor<8xf32> {tg.role = #tg.role<parameter>}) {
    return
  }
}

// -----

// expected-note@+1 {{the first one is here}}
func.func @first(%w: tensor<8xf32> {tg.role = #tg.role<parameter>}) {
  return
}
// expected-error@+1 {{module has several public functions; make all but the step private}}
func.func @second(%w: tensor<8xf32> {tg.role = #tg.role<parameter>}) {
  return
}

// -----

// expected-error@+1 {{parameter "w" must be a ranked tensor, got 'f32'}}
func.func @number(%w: f32 {tg.role = #tg.role<parameter>, tg.name = "w"}) {
  return
}

// -----

// expected-error@+1 {{'%arg0' must have a static shape, got 'tensor<?xf32>'}}
func.func @dynamic(%w: tensor<?xf32> {tg.role = #tg.role<parameter>}) {
  return
}

// -----

// expected-error@+1 {{result 0 belongs to parameter "w" and must have the shape of 'tensor<8xf32>', got 'tensor<f32>'}}
func.func @gradient(%w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"})
    -> (tensor<f32> {tg.role = #tg.role<gradient of 0>}) {
  %0 = tg.node "aten.sum.default"(%w) : (tensor<8xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error@+1 {{expects a step of one block, got 2}}
func.func @blocks(%w: tensor<8xf32> {tg.role = #tg.role<parameter>}) {
  cf.br ^next
^next:
  return
}

// -----

// expected-error@+1 {{arguments 0 and 1 have the same name "w"}}
func.func @names(%a: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
                 %b: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"}) {
  return
}
