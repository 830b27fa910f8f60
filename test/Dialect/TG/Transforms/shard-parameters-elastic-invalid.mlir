// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 elastic=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:4 elastic=6" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 elastic=6" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:16 elastic=16" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 elastic=4 batch=per-rank" 2>&1 | FileCheck %s --check-prefix=OWN
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 elastic=4 reduce-dtype=f64" 2>&1 | FileCheck %s --check-prefix=REDUCE
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2,rep:2 replicate-axis=rep elastic=4" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: regather-opt %s "--tg-shard-parameters=mesh=rep:2,dp:2 replicate-axis=rep elastic=4" --tg-verify-step | FileCheck %s --check-prefix=HYBRID

// NEGATIVE: error: option 'elastic' must not be negative, got -1
// RANKS: error: option 'elastic' cuts the batch into 6 segments, of which 4 ranks cannot hold equal subtrees; 1, 2 or 6 ranks can
// ROWS: error: option 'elastic' cuts the batch into 6 segments, which do not divide its 8 rows; 2, 4 or 8 segments do
// MANY: error: batch of 8 (dimension 0 of input "x") cannot be divided by 16 ranks
// OWN: error: option 'elastic' cuts the batch of all ranks, but option 'batch' says that each rank has its own
// REDUCE: error: option 'elastic' sums narrow gradients in f32 and others in their own type, but option 'reduce-dtype' asks for f64
// ORDER: error: option 'elastic' expects replicate axis "rep" to stand before shard axis "dp" in option 'mesh', so that sums over shards are subtrees
// HYBRID: tg.all_to_all {{.*}} on @mesh [dp]
// HYBRID: tg.all_gather {{.*}} on @mesh [rep]
func.func @step(
    %w: tensor<8x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<8x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<8x4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<8x4xf32>) -> tensor<f32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %loss, %dw : tensor<f32>, tensor<8x4xf32>
}
