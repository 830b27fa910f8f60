// RUN: not regather-opt %s --tg-shard-parameters 2>&1 | FileCheck %s --check-prefix=NO-MESH
// RUN: not regather-opt %s --tg-shard-parameters=mesh=dp 2>&1 | FileCheck %s --check-prefix=NO-SIZE
// RUN: not regather-opt %s --tg-shard-parameters=mesh=dp:0 2>&1 | FileCheck %s --check-prefix=NO-RANK
// RUN: not regather-opt %s --tg-shard-parameters=mesh=dp:2,dp:2 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not regather-opt %s --tg-shard-parameters=mesh=a:99999,b:99999 2>&1 | FileCheck %s --check-prefix=TOO-MANY
// RUN: not regather-opt %s --tg-shard-parameters=mesh=rep:2,dp:2 2>&1 | FileCheck %s --check-prefix=AMBIGUOUS
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 replicate-axis=rep" 2>&1 | FileCheck %s --check-prefix=UNKNOWN-AXIS
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 shard-axis=dp replicate-axis=dp" 2>&1 | FileCheck %s --check-prefix=SAME-AXIS
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 layout=per-parameter alignment=128" 2>&1 | FileCheck %s --check-prefix=ALIGNMENT
// ALIGNMENT: error: option 'alignment' is for layout=flat, but the layout is per-parameter
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep copy-axes=dp" 2>&1 | FileCheck %s --check-prefix=COPIES
// COPIES: error: option 'copy-axes' names axis "dp", which is not in option 'model-axes'
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep copy-axes=ep layout=per-parameter" 2>&1 | FileCheck %s --check-prefix=COPIES-FLAT
// COPIES-FLAT: error: option 'copy-axes' is for layout=flat, but the layout is per-parameter
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2,ep:2 model-axes=ep copy-axes=ep elastic=2" 2>&1 | FileCheck %s --check-prefix=COPIES-ELASTIC
// COPIES-ELASTIC: error: option 'elastic' makes bits independent of the number of ranks, but option 'copy-axes' sums over axis "ep" in the order of its ranks
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 mesh-name=" 2>&1 | FileCheck %s --check-prefix=NO-NAME
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 units=blocks.*" 2>&1 | FileCheck %s --check-prefix=NO-MATCH
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 units=layers.*,layers.0" 2>&1 | FileCheck %s --check-prefix=CLAIMED
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 units=layers..w" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 ignore=[" 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 compute-dtype=int8" 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 parameter-dtype=f64" 2>&1 | FileCheck %s --check-prefix=UPDATED
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 micro-batches=0" 2>&1 | FileCheck %s --check-prefix=NO-BATCH
// RUN: not regather-opt %s "--tg-shard-parameters=mesh=dp:2 micro-batches=2" 2>&1 | FileCheck %s --check-prefix=NO-INPUT

// NO-MESH: error: option 'mesh' is missing; it lists the axes, such as mesh=dp:4
// NO-SIZE: error: option 'mesh' expects axes such as dp:4, got "dp"
// NO-RANK: error: axis "dp" of option 'mesh' must have at least one rank, got 0
// TWICE: error: option 'mesh' lists axis "dp" twice
// TOO-MANY: error: option 'mesh' has more ranks than 32 bits can number
// AMBIGUOUS: error: axes "rep" and "dp" could both be the one to shard over; name it with option 'shard-axis', or the one that holds copies with option 'replicate-axis'
// UNKNOWN-AXIS: error: option 'replicate-axis' names axis "rep", which is not in option 'mesh': "dp"
// SAME-AXIS: error: options 'shard-axis' and 'replicate-axis' both name axis "dp"
// NO-NAME: error: option 'mesh-name' must not be empty
// NO-MATCH: error: pattern "blocks.*" of option 'units' matches no parameter
// CLAIMED: error: "layers.0" is claimed by two patterns of option 'units': "layers.*" and "layers.0"
// EMPTY: error: pattern "layers..w" of option 'units' has an empty component
// MALFORMED: error: pattern "[" of option 'ignore' is malformed: {{.+}}
// DTYPE: error: option 'compute-dtype' expects bf16, f16, f32 or f64, got "int8"
// UPDATED: error: option 'parameter-dtype' asks for 'f64', but the step updates parameter "layers.0.w" in 'f32'
// NO-BATCH: error: option 'micro-batches' must be at least one, got 0
// NO-INPUT: error: option 'micro-batches' needs an input with a batch
func.func @step(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.w", tg.module = "layers.0"})
    -> (tensor<8xf32> {tg.role = #tg.role<update of 0>}) {
  return %w : tensor<8xf32>
}
