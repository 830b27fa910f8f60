// RUN: regather-opt %s -split-input-file --convert-shard-to-tg -verify-diagnostics

// Everything is reported at once.
shard.grid @grid(shape = 2x2)
func.func @reductions(%x: tensor<4xf32>, %i: tensor<4xi32>, %m: memref<4xf32>) {
  // expected-error@+1 {{'shard.all_reduce' op cannot be converted: tg has no reduction "product"}}
  %0 = shard.all_reduce %x on @grid grid_axes = [0] reduction = product : tensor<4xf32> -> tensor<4xf32>
  // expected-error@+1 {{'shard.reduce_scatter' op cannot be converted: tg has no reduction "bitwise_or"}}
  %1 = shard.reduce_scatter %i on @grid grid_axes = [0] reduction = bitwise_or scatter_axis = 0 : tensor<4xi32> -> tensor<2xi32>
  // expected-error@+1 {{an average needs floating-point elements, got 'i32'}}
  %2 = shard.reduce %i on @grid grid_axes = [0] reduction = average root = [0] : (tensor<4xi32>) -> tensor<4xi32>
  // expected-error@+1 {{a reduction keeps the element type, but 'f32' becomes 'f64'}}
  %3 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<4xf32> -> tensor<4xf64>
  // expected-error@+1 {{expects ranked tensors, got 'memref<4xf32>'}}
  %4 = shard.all_reduce %m on @grid grid_axes = [0] : memref<4xf32> -> memref<4xf32>
  // Fine, and yet not converted.
  %5 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

shard.grid @grid(shape = 2)
func.func @tensors(%x: tensor<?xf32>, %c: tensor<4xcomplex<f32>>, %root: index) {
  // expected-error@+1 {{'shard.all_gather' op cannot be converted: dimension 0 of 'tensor<?xf32>' is dynamic}}
  %0 = shard.all_gather %x on @grid grid_axes = [0] gather_axis = 0 : tensor<?xf32> -> tensor<?xf32>
  // expected-error@+1 {{expects integer or floating-point elements, got 'tensor<4xcomplex<f32>>'}}
  %1 = shard.shift %c on @grid grid_axes = [0] shift_axis = 0 offset = 1 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  return
}

// -----

shard.grid @grid(shape = 2x2)
func.func @no_counterpart(%x: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{'shard.broadcast' op cannot be converted: the root must be known, but it is computed on the device}}
  %0 = shard.broadcast %x on @grid grid_axes = [0] root = [%i] : (tensor<4xf32>, index) -> tensor<4xf32>
  // expected-error@+1 {{'shard.send' op cannot be converted: tg has no half of an exchange; use 'shard.shift'}}
  %1 = shard.send %x on @grid grid_axes = [0] destination = [1] : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'shard.recv' op cannot be converted: tg has no half of an exchange; use 'shard.shift'}}
  %2 = shard.recv %x on @grid grid_axes = [0] source = [1] : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'shard.update_halo' op cannot be converted: tg has no halos}}
  %3 = shard.update_halo %x on @grid split_axes = [[0]] halo_sizes = [1, 1] : tensor<4xf32>
  // expected-error@+1 {{'shard.neighbors_linear_indices' op cannot be converted: expects one split axis, got 2}}
  %4:2 = shard.neighbors_linear_indices on @grid[%i, %i] split_axes = [0, 1] : index, index
  // expected-error@+1 {{'shard.neighbors_linear_indices' op cannot be converted: the grid has 2 axes, but the device has 1 indices}}
  %5:2 = shard.neighbors_linear_indices on @grid[%i] split_axes = [0] : index, index
  // expected-error@+1 {{'shard.neighbors_linear_indices' op cannot be converted: the grid has no axis 2}}
  %6:2 = shard.neighbors_linear_indices on @grid[%i, %i] split_axes = [2] : index, index
  return
}

// -----

shard.grid @grid(shape = 2)
// expected-error@+1 {{cannot be converted: result 0 is a sharding}}
func.func @not_partitioned(%x: tensor<4xf32>) -> !shard.sharding {
  // expected-error@+1 {{'shard.sharding' op cannot be converted: the sharding is used by 'func.return'}}
  %0 = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  // expected-error@+1 {{'shard.shard' op cannot be converted: the module is not partitioned; run --shard-partition first}}
  %1 = shard.shard %x to %0 : tensor<4xf32>
  // expected-note@+1 {{used here}}
  return %0 : !shard.sharding
}

// -----

// expected-error@+1 {{'shard.grid' op cannot be converted: a mesh has a static shape, but the size of axis 1 is dynamic}}
shard.grid @dynamic(shape = 2x?)
// expected-error@+1 {{axis "axis0" must have at least one rank, got 0}}
shard.grid @empty(shape = 0x2)

// -----

shard.grid @grid(shape = 2)
// expected-error@+1 {{planned placement of argument 0: there is no grid "other"}}
func.func @unknown_grid(%x: tensor<4xf32> {tg.planned_placement = #tg.placement<@other []>}) {
  return
}

// -----

// expected-note@+1 {{mesh declared here}}
shard.grid @grid(shape = 2)
// expected-error@+2 {{planned placement of argument 0: mesh "grid" has no axis "axis1"}}
// expected-error@+1 {{planned placement of argument 1: dimension 1 is sharded, but the tensor is 'tensor<4xf32>'}}
func.func @bad_plan(%x: tensor<4xf32> {tg.planned_placement = #tg.placement<@grid [[axis1] = shard 0]>},
                    %y: tensor<4xf32> {tg.planned_placement = #tg.placement<@grid [[axis0] = shard 1]>}) {
  return
}

// -----

// expected-error@+1 {{attribute 'tg.planned_placement' must be a #tg.placement, got 1 : i64}}
func.func @no_placement(%x: tensor<4xf32> {tg.planned_placement = 1}) {
  return
}

// -----

// expected-error@+1 {{'tg.planned_placement' of result 0 needs a ranked tensor, got 'index'}}
func.func private @no_tensor() -> (index {tg.planned_placement = #tg.placement<@grid []>})
