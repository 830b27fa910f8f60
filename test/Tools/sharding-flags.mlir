// A step on one device, and the commands that shard it to say something of it.

// RUN: regather tree %s --mesh=dp:4 | FileCheck %s --check-prefix=TREE --match-full-lines
// RUN: regather tree %s --mesh=rep:2,dp:4 --replicate-axis=rep --json | FileCheck %s --check-prefix=HYBRID
// RUN: not regather tree %s --replicate-axis=dp 2>&1 | FileCheck %s --check-prefix=NO-MESH
// TREE:      module           bytes  per rank     ops   flops  coll.  received     ops   flops  coll.  received
// TREE-NEXT: model              256        64      {{.*}}
// TREE-NEXT:   up               256        64       {{.*}}      1       192 {{.*}}      1       192
// HYBRID:    "all_gather": 1
// HYBRID:    "reduce_scatter": 1
// NO-MESH:   error: --replicate-axis needs --mesh

// Model axes cut parameters before the batch is split over the others.
// RUN: regather simulate %s --mesh=dp:2,tp:2 --shard='up=[tp] shard 1' 2>&1 | FileCheck %s --check-prefix=MODEL --implicit-check-not=warning
// RUN: regather simulate %s --mesh=tp:2 --shard='up=[tp] shard 1' 2>&1 | FileCheck %s --check-prefix=ONLY --implicit-check-not=warning
// RUN: not regather simulate %s --shard='up=[tp] shard 1' 2>&1 | FileCheck %s --check-prefix=SHARD-MESH
// RUN: not regather simulate %s --mesh=dp:2,tp:2 --shard='up shard 1' 2>&1 | FileCheck %s --check-prefix=SHARD-TEXT
// RUN: not regather simulate %s --mesh=tp:2 --elastic=2 --shard='up=[tp] shard 1' 2>&1 | FileCheck %s --check-prefix=NO-DATA
// RUN: not regather simulate %s --mesh=dp:2,tp:2 --elastic-axes=tp:4 2>&1 | FileCheck %s --check-prefix=NO-SEGMENTS
// RUN: not regather simulate %s --mesh=dp:2 --elastic=4 --elastic-axes=tp:4 2>&1 | FileCheck %s --check-prefix=NO-AXIS
// MODEL:      step {{.*}} on 4 ranks of h100-8 (dp:2,tp:2)
// ONLY:       step {{.*}} on 2 ranks of h100-8 (tp:2)
// SHARD-MESH: error: --shard needs --mesh
// SHARD-TEXT: error: --shard expects placements such as "layers.*.wq=[tp] shard 0", got "up shard 1"
// NO-SEGMENTS: error: cannot prepare the step: elastic-axes "tp:4" needs a number of segments of the batch, elastic
// NO-AXIS:    error: cannot prepare the step: elastic-axes "tp:4" needs a mesh that has its axis, to cut the model over
// NO-DATA:    error: cannot prepare the step: elastic "2" needs a step with parameters, and no mesh

// The ranks do not divide four rows. Where no data is run, they can be one
// rank's.
// RUN: regather simulate %s --mesh=dp:8 --json=%t.json 2>&1 | FileCheck %s --check-prefix=FALLBACK
// RUN: FileCheck %s --check-prefix=FALLBACK-JSON --input-file=%t.json
// RUN: not regather simulate %s --mesh=dp:8 --batch=global 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: not regather run %s --mesh=dp:8 --random-inputs=1 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: regather compile %s --mesh=dp:8 -o %t.rgb 2>&1 | FileCheck %s --check-prefix=COMPILE
// RUN: regather manifest %t.rgb | FileCheck %s --check-prefix=MANIFEST
// RUN: not regather compile %s --mesh=dp:8 --batch=global -o %t.rgb 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: regather simulate %s --mesh=dp:4 2>&1 | FileCheck %s --check-prefix=DIVIDED --implicit-check-not=warning --implicit-check-not=per-rank
// RUN: not regather simulate %s --mesh=dp:8 --batch=mine 2>&1 | FileCheck %s --check-prefix=MINE
// FALLBACK:      warning: batch of 4 (dimension 0 of input "x") cannot be divided by 8 ranks; it is taken for that of one rank
// FALLBACK:      step {{.*}} on 8 ranks of h100-8 (dp:8)
// FALLBACK-NEXT: batch           the captured one on each rank (--batch=per-rank)
// COMPILE:       warning: batch of 4 (dimension 0 of input "x") cannot be divided by 8 ranks; it is taken for that of one rank
// MANIFEST:      "name": "x"
// MANIFEST:      "shape": [
// MANIFEST-NEXT: 4,
// MANIFEST:      "global_shape": [
// MANIFEST-NEXT: 32,
// FALLBACK-JSON: "cluster": "h100-8"
// FALLBACK-JSON: "batch": "per-rank"
// GLOBAL:        error: batch of 4 (dimension 0 of input "x") cannot be divided by 8 ranks
// GLOBAL:        note: if it is the batch of one rank, say batch=per-rank
// DIVIDED:       step {{.*}} on 4 ranks of h100-8 (dp:4)
// MINE:          mine

// More ranks than a node has are on several.
// RUN: regather simulate %s --mesh=dp:16 2>/dev/null | FileCheck %s --check-prefix=NODES
// RUN: regather simulate %s --ranks=16 2>/dev/null | FileCheck %s --check-prefix=NODES
// RUN: regather simulate %s --mesh=dp:16 --cluster=cpu-threads 2>/dev/null | FileCheck %s --check-prefix=THREADS
// NODES:   on 16 ranks of h100-nodes (dp:16)
// THREADS: on 16 ranks of cpu-threads (dp:16)

func.func @step(
    %w: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "up.weight"},
    %x: tensor<4x8xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<8x8xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>, tg.module = "up"}
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %dw = tg.node "aten.mm.default"(%xt, %y) {tg.phase = #tg.phase<backward>, tg.module = "up"}
      : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %dw : tensor<8x8xf32>
}
