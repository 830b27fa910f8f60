// RUN: regather-opt %s -split-input-file --shard-record-placements -verify-diagnostics

shard.grid @grid(shape = 2)
// expected-error@+2 {{argument 0 must be used once, by a 'shard.shard'; run --sharding-propagation first}}
// expected-error@+1 {{argument 1 must be used once, by a 'shard.shard'; run --sharding-propagation first}}
func.func @not_annotated(%x: tensor<4xf32>, %unused: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note@+1 {{used here}}
  %0 = math.exp %x : tensor<4xf32>
  // expected-error@+1 {{'func.return' op operand 0 must be the result of a 'shard.shard'; run --sharding-propagation first}}
  return %0 : tensor<4xf32>
}

// -----

// expected-note@+1 {{grid declared here}}
shard.grid @grid(shape = 2)
func.func @shards(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<5xf32>, %d: tensor<?xf32>, %e: tensor<4xf32>) {
  %halos = shard.sharding @grid split_axes = [[0]] halo_sizes = [1, 1] : !shard.sharding
  %sizes = shard.sharding @grid split_axes = [[0]] sharded_dims_offsets = [0, 1, 4] : !shard.sharding
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  // expected-error@+1 {{has halos, which a placement has not}}
  %0 = shard.shard %a to %halos : tensor<4xf32>
  // expected-error@+1 {{has shards of given sizes, but a placement has equal ones}}
  %1 = shard.shard %b to %sizes : tensor<4xf32>
  // expected-error@+1 {{must split dimension 0 of 'tensor<5xf32>' into equal parts}}
  %2 = shard.shard %c to %rows : tensor<5xf32>
  // expected-error@+1 {{must split dimension 0 of 'tensor<?xf32>' into equal parts}}
  %3 = shard.shard %d to %rows : tensor<?xf32>
  // expected-error@+1 {{splits dimension 1, but the tensor is 'tensor<4xf32>'}}
  %4 = shard.shard %e to %columns : tensor<4xf32>
  return
}

// -----

shard.grid @grid(shape = 2)
func.func @returns_differ(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %whole = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %0 = shard.shard %x to %rows : tensor<4xf32>
  cf.cond_br %c, ^first, ^second
^first:
  return %0 : tensor<4xf32>
^second:
  %1 = shard.shard %0 to %whole : tensor<4xf32>
  // expected-error@+1 {{operand 0 is placed as #tg.placement<@grid []>, but another return places it as #tg.placement<@grid [[axis0] = shard 0]>}}
  return %1 : tensor<4xf32>
}

// -----

// expected-note@+1 {{grid declared here}}
shard.grid @grid(shape = 2x2)
func.func @axes(%x: tensor<4x4xf32>) {
  %beyond = shard.sharding @grid split_axes = [[2]] : !shard.sharding
  // expected-error@+1 {{splits along axis 2, but the grid has 2 axes}}
  %0 = shard.shard %x to %beyond : tensor<4x4xf32>
  return
}

// -----

func.func @passed_in(%x: tensor<4xf32>, %sharding: !shard.sharding) {
  // expected-error@+1 {{must get its sharding from a 'shard.sharding'}}
  %0 = shard.shard %x to %sharding : tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{grid declared here}}
shard.grid @grid(shape = 2x?)
func.func @dynamic_grid(%x: tensor<4xf32>) {
  %rows = shard.sharding @grid split_axes = [[0, 1]] : !shard.sharding
  // expected-error@+1 {{must split dimension 0 of 'tensor<4xf32>' into equal parts}}
  %0 = shard.shard %x to %rows : tensor<4xf32>
  return
}
