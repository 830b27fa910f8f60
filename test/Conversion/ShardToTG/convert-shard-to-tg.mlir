// RUN: regather-opt %s -split-input-file --convert-shard-to-tg | FileCheck %s --implicit-check-not=shard.

// What upstream's partition makes of two layers over a 2x2 grid: the weights of
// the first are cut along both axes and gathered, its outputs are reduced.
// CHECK: tg.mesh @grid [axis0 = 2, axis1 = 2]
// CHECK-LABEL: func.func @layer
// CHECK-SAME: %[[X:.*]]: tensor<4x16xf32> {tg.placement = #tg.placement<@grid {{\[\[}}axis0] = shard 0]>}
// CHECK-SAME: %[[W:.*]]: tensor<8x16xf32> {tg.placement = #tg.placement<@grid {{\[\[}}axis1] = shard 0, [axis0] = shard 1]>}
// CHECK: %[[STARTED:.*]] = tg.all_gather %[[W]] on @grid [axis1] dim 0 phase forward
// CHECK-NEXT: %[[GATHERED:.*]] = tg.wait %[[STARTED]]
// CHECK: %[[PRODUCT:.*]] = linalg.matmul ins(%[[X]], %[[GATHERED]]
// CHECK-NEXT: %[[REDUCING:.*]] = tg.all_reduce sum %[[PRODUCT]] on @grid [axis0] phase forward
// CHECK-NEXT: %[[REDUCED:.*]] = tg.wait %[[REDUCING]]
// CHECK-NEXT: return %[[REDUCED]]
// EXAMPLE convert-shard-to-tg
shard.grid @grid(shape = 2x2)

func.func @layer(
    %x: tensor<4x16xf32> {tg.planned_placement = #tg.placement<@grid [[axis0] = shard 0]>},
    %w: tensor<8x16xf32> {tg.planned_placement = #tg.placement<@grid [[axis1] = shard 0, [axis0] = shard 1]>})
    -> tensor<4x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x16xf32>
  %whole = shard.all_gather %w on @grid grid_axes = [1] gather_axis = 0
      : tensor<8x16xf32> -> tensor<16x16xf32>
  %product = linalg.matmul ins(%x, %whole : tensor<4x16xf32>, tensor<16x16xf32>)
      outs(%zero : tensor<4x16xf32>) -> tensor<4x16xf32>
  %sum = shard.all_reduce %product on @grid grid_axes = [0]
      : tensor<4x16xf32> -> tensor<4x16xf32>
  return %sum : tensor<4x16xf32>
}
// END

// -----

// Axes are listed in the order of the group; kinds of reductions are kept, and
// a minimum is a maximum of what has the opposite order.
// CHECK-LABEL: func.func @reductions
// CHECK-SAME: %[[X:.*]]: tensor<6xf32>, %[[I:.*]]: tensor<6xi32>
// CHECK: tg.all_reduce avg %[[X]] on @grid [axis1, axis0]
// CHECK: tg.reduce_scatter max %[[X]] on @grid [axis1] dim 0
// CHECK: %[[NEGATED:.*]] = arith.negf %[[X]]
// CHECK: %[[STARTED:.*]] = tg.all_reduce max %[[NEGATED]] on @grid [axis0]
// CHECK: %[[MAX:.*]] = tg.wait %[[STARTED]]
// CHECK: arith.negf %[[MAX]]
// CHECK: %[[ONES:.*]] = arith.constant dense<-1> : tensor<6xi32>
// CHECK: %[[FLIPPED:.*]] = arith.xori %[[I]], %[[ONES]]
// CHECK: tg.all_reduce max %[[FLIPPED]]
// CHECK: arith.xori
shard.grid @grid(shape = 2x3)
func.func @reductions(%x: tensor<6xf32>, %i: tensor<6xi32>)
    -> (tensor<6xf32>, tensor<2xf32>, tensor<6xf32>, tensor<6xi32>) {
  %0 = shard.all_reduce %x on @grid grid_axes = [1, 0] reduction = average : tensor<6xf32> -> tensor<6xf32>
  %1 = shard.reduce_scatter %x on @grid grid_axes = [1] reduction = max scatter_axis = 0 : tensor<6xf32> -> tensor<2xf32>
  %2 = shard.all_reduce %x on @grid grid_axes = [0] reduction = min : tensor<6xf32> -> tensor<6xf32>
  %3 = shard.reduce %i on @grid grid_axes = [0] reduction = min root = [1] : (tensor<6xi32>) -> tensor<6xi32>
  return %0, %1, %2, %3 : tensor<6xf32>, tensor<2xf32>, tensor<6xf32>, tensor<6xi32>
}

// -----

// CHECK-LABEL: func.func @moves_data
// CHECK-SAME: %[[X:.*]]: tensor<6x6xi8>
// CHECK: tg.all_to_all %[[X]] on @grid [axis1] split 0 concat 1
// The root [1, 2] of a group over axes 0 and 1 is at position 1 * 3 + 2.
// CHECK: tg.broadcast %[[X]] on @grid [axis0, axis1] root 5
// CHECK: tg.all_gather %[[X]] on @grid [axis0] dim 1
// CHECK: %[[STARTED:.*]] = tg.broadcast %[[X]] on @grid [axis1] root 2
// CHECK: %[[WHOLE:.*]] = tg.wait %[[STARTED]]
// CHECK: %[[INDEX:.*]] = tg.axis_index on @grid [axis1]
// CHECK: %[[OFFSET:.*]] = arith.muli %[[INDEX]], %c2
// CHECK: tensor.extract_slice %[[WHOLE]][%[[OFFSET]], 0] [2, 6] [1, 1]
shard.grid @grid(shape = 2x3)
func.func @moves_data(%x: tensor<6x6xi8>)
    -> (tensor<2x18xi8>, tensor<6x6xi8>, tensor<6x12xi8>, tensor<2x6xi8>) {
  %0 = shard.all_to_all %x on @grid grid_axes = [1] split_axis = 0 concat_axis = 1 : tensor<6x6xi8> -> tensor<2x18xi8>
  %1 = shard.broadcast %x on @grid grid_axes = [0, 1] root = [1, 2] : (tensor<6x6xi8>) -> tensor<6x6xi8>
  %2 = shard.gather %x on @grid grid_axes = [0] gather_axis = 1 root = [1] : (tensor<6x6xi8>) -> tensor<6x12xi8>
  %3 = shard.scatter %x on @grid grid_axes = [1] scatter_axis = 0 root = [2] : (tensor<6x6xi8>) -> tensor<2x6xi8>
  return %0, %1, %2, %3 : tensor<2x18xi8>, tensor<6x6xi8>, tensor<6x12xi8>, tensor<2x6xi8>
}

// -----

// Without rotation nobody sends beyond the end; an offset may exceed the size.
// CHECK-LABEL: func.func @shifts
// CHECK: tg.permute %{{.*}} on @grid [axis1] pairs [0 to 2, 1 to 3, 2 to 0, 3 to 1]
// CHECK: tg.permute %{{.*}} on @grid [axis1] pairs [1 to 0, 2 to 1, 3 to 2]
// CHECK: tg.permute %{{.*}} on @grid [axis1] pairs [0 to 3, 1 to 0, 2 to 1, 3 to 2]
// CHECK: tg.permute %{{.*}} on @grid [axis1] pairs []
shard.grid @grid(shape = 2x4)
func.func @shifts(%x: tensor<2xi8>) -> (tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>) {
  %0 = shard.shift %x on @grid grid_axes = [1] shift_axis = 1 offset = 2 rotate : tensor<2xi8> -> tensor<2xi8>
  %1 = shard.shift %x on @grid grid_axes = [0, 1] shift_axis = 1 offset = -1 : tensor<2xi8> -> tensor<2xi8>
  %2 = shard.shift %x on @grid grid_axes = [1] shift_axis = 1 offset = -5 rotate : tensor<2xi8> -> tensor<2xi8>
  %3 = shard.shift %x on @grid grid_axes = [1] shift_axis = 1 offset = 4 : tensor<2xi8> -> tensor<2xi8>
  return %0, %1, %2, %3 : tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>
}

// -----

// CHECK-LABEL: func.func @slices_reductions
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK: %[[STARTED:.*]] = tg.reduce_scatter sum %[[X]] on @grid [axis0] dim 0
// CHECK: tg.wait %[[STARTED]]
// CHECK-NOT: tg.all_reduce
shard.grid @grid(shape = 2x2)
func.func @slices_reductions(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  %1 = shard.all_slice %0 on @grid grid_axes = [0] slice_axis = 0 : tensor<4xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// Another axis, and another user of the sum.
// CHECK-LABEL: func.func @keeps_reductions
// CHECK-COUNT-2: tg.all_reduce
// CHECK-NOT: tg.reduce_scatter
shard.grid @grid(shape = 2x2)
func.func @keeps_reductions(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) {
  %0 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  %1 = shard.all_slice %0 on @grid grid_axes = [1] slice_axis = 0 : tensor<4xf32> -> tensor<2xf32>
  %2 = shard.all_reduce %x on @grid grid_axes = [1] : tensor<4xf32> -> tensor<4xf32>
  %3 = shard.all_slice %2 on @grid grid_axes = [1] slice_axis = 0 : tensor<4xf32> -> tensor<2xf32>
  return %1, %3, %2 : tensor<2xf32>, tensor<2xf32>, tensor<4xf32>
}

// -----

// No axes: every device is its own group.
// CHECK-LABEL: func.func @groups_of_one
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
shard.grid @grid(shape = 4)
func.func @groups_of_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = shard.all_gather %x on @grid gather_axis = 0 : tensor<4xf32> -> tensor<4xf32>
  %1 = shard.all_reduce %0 on @grid : tensor<4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @positions
// CHECK-DAG: %[[I0:.*]] = tg.axis_index on @grid [axis0]{{$}}
// CHECK-DAG: %[[I2:.*]] = tg.axis_index on @grid [axis2]{{$}}
// CHECK-DAG: %[[LINEAR:.*]] = tg.axis_index on @grid [axis0, axis1, axis2]
// CHECK-DAG: %[[SIZE:.*]] = arith.constant 4 : index
// CHECK: return %[[I0]], %{{.*}}, %[[I2]], %[[LINEAR]], %[[SIZE]]
shard.grid @grid(shape = 2x3x4)
func.func @positions() -> (index, index, index, index, index) {
  %0:3 = shard.process_multi_index on @grid : index, index, index
  %1 = shard.process_linear_index on @grid : index
  %2 = shard.grid_shape @grid axes = [2] : index
  return %0#0, %0#1, %0#2, %1, %2 : index, index, index, index, index
}

// -----

// The number of device (a, b, c) is (a * 3 + b) * 4 + c; along axis 1 its
// neighbours are 4 away.
// CHECK-LABEL: func.func @neighbors
// CHECK-SAME: %[[A:.*]]: index, %[[B:.*]]: index, %[[C:.*]]: index
// CHECK: %[[AB:.*]] = arith.addi %{{.*}}, %[[B]]
// CHECK: %[[ROW:.*]] = arith.muli %[[AB]], %c4
// CHECK: %[[LINEAR:.*]] = arith.addi %[[ROW]], %[[C]]
// CHECK: %[[DOWN:.*]] = arith.subi %[[LINEAR]], %[[STRIDE:.*]] :
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[B]], %c0
// CHECK: arith.select %[[FIRST]], %c-1{{.*}}, %[[DOWN]]
// CHECK: %[[UP:.*]] = arith.addi %[[LINEAR]], %[[STRIDE]]
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[B]], %c2
// CHECK: arith.select %[[LAST]], %c-1{{.*}}, %[[UP]]
shard.grid @grid(shape = 2x3x4)
func.func @neighbors(%a: index, %b: index, %c: index) -> (index, index) {
  %down, %up = shard.neighbors_linear_indices on @grid[%a, %b, %c] split_axes = [1] : index, index
  return %down, %up : index, index
}

// -----

// The phase and other marks go to the collective, not to the wait.
// CHECK-LABEL: func.func @keeps_marks
// CHECK: tg.all_gather %{{.*}} phase backward {tg.id = "gather", tg.module = "layers.0"}
// CHECK-NEXT: tg.wait %{{[0-9a-z]+}} :
shard.grid @grid(shape = 4)
func.func @keeps_marks(%x: tensor<4xf32>) -> tensor<16xf32> {
  %0 = shard.all_gather %x on @grid grid_axes = [0] gather_axis = 0
      {tg.phase = #tg.phase<backward>, tg.id = "gather", tg.module = "layers.0"}
      : tensor<4xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// A sharding that nothing is annotated with any more.
// CHECK-LABEL: func.func @drops_unused
// CHECK-NEXT: return
shard.grid @grid(shape = 4)
func.func @drops_unused(%x: tensor<4xf32>) {
  %0 = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %1 = shard.all_gather %x on @grid grid_axes = [0] gather_axis = 0 : tensor<4xf32> -> tensor<16xf32>
  return
}
