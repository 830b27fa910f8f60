// RUN: regather-opt %s --shard-record-placements | FileCheck %s

// The sharding of an argument is that of the annotation of its value, and what
// is returned is sharded as its last annotation says.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %{{.*}}: tensor<8x16xf32> {tg.planned_placement = #tg.placement<@grid {{\[\[}}axis0] = shard 0]>}
// CHECK-SAME: %{{.*}}: tensor<16x8xf32> {tg.name = "w", tg.planned_placement = #tg.placement<@grid {{\[\[}}axis1, axis0] = shard 1]>}
// CHECK-SAME: %{{.*}}: tensor<f32>)
// CHECK-SAME: -> (tensor<8x8xf32> {tg.planned_placement = #tg.placement<@grid []>}, tensor<f32>)
// EXAMPLE shard-record-placements
shard.grid @grid(shape = 2x4)

func.func @product(%x: tensor<8x16xf32>, %w: tensor<16x8xf32> {tg.name = "w"},
                   %scale: tensor<f32>) -> (tensor<8x8xf32>, tensor<f32>) {
  %replicated = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @grid split_axes = [[], [1, 0]] : !shard.sharding
  %x0 = shard.shard %x to %rows : tensor<8x16xf32>
  %x1 = shard.shard %x0 to %rows annotate_for_users : tensor<8x16xf32>
  %w0 = shard.shard %w to %columns : tensor<16x8xf32>
  %w1 = shard.shard %w0 to %replicated annotate_for_users : tensor<16x8xf32>
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %y = linalg.matmul ins(%x1, %w1 : tensor<8x16xf32>, tensor<16x8xf32>)
      outs(%zero : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y0 = shard.shard %y to %rows : tensor<8x8xf32>
  %y1 = shard.shard %y0 to %replicated annotate_for_users : tensor<8x8xf32>
  return %y1, %scale : tensor<8x8xf32>, tensor<f32>
}
// END

// A declaration has nothing to record.
// CHECK: func.func private @external(tensor<8x16xf32>)
func.func private @external(tensor<8x16xf32>)
