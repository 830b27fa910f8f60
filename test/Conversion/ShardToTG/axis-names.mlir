// RUN: regather-opt %s --convert-shard-to-tg=axis-names=dp,tp | FileCheck %s
// RUN: not regather-opt %s --convert-shard-to-tg=axis-names=dp 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not regather-opt %s --convert-shard-to-tg=axis-names=dp,dp 2>&1 | FileCheck %s --check-prefix=TWICE

// COUNT: [[# @LINE + 3]]:1: error: 'shard.grid' op has 2 axes, but 1 axis names are given
// TWICE: [[# @LINE + 2]]:1: error: 'shard.grid' op axis "dp" is listed twice
// CHECK: tg.mesh @grid [dp = 2, tp = 4]
shard.grid @grid(shape = 2x4)

// Recorded placements have the default names, which change with the mesh's.
// CHECK-LABEL: func.func @renamed
// CHECK-SAME: #tg.placement<@grid {{\[\[}}dp, tp] = shard 0]>
// CHECK-SAME: -> (tensor<8xf32> {tg.placement = #tg.placement<@grid {{\[\[}}dp] = shard 0]>})
// CHECK: tg.all_gather %{{.*}} on @grid [tp]
func.func @renamed(%x: tensor<2xf32> {tg.planned_placement = #tg.placement<@grid [[axis0, axis1] = shard 0]>})
    -> (tensor<8xf32> {tg.planned_placement = #tg.placement<@grid [[axis0] = shard 0]>}) {
  %0 = shard.all_gather %x on @grid grid_axes = [1] gather_axis = 0 : tensor<2xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
