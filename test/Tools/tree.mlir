// RUN: regather tree %s | FileCheck %s --match-full-lines --check-prefix=TEXT
// RUN: regather tree %s --depth 1 | FileCheck %s --check-prefix=SHALLOW
// RUN: regather tree %s --no-fold --module 'layers.*' --depth 0 | FileCheck %s --check-prefix=LAYERS
// RUN: regather tree %s --no-fold --module '*.2' --depth 0 | FileCheck %s --check-prefix=ANYWHERE
// RUN: regather tree %s --json --cluster h100-8 | FileCheck %s --check-prefix=JSON
// RUN: not regather tree %s --module 'blocks.*' 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not regather tree %s --cluster h100-9 2>&1 | FileCheck %s --check-prefix=CLUSTER

tg.mesh @mesh [dp = 8]

// Layers 1 and 2 do the same and are shown as one, with what both do; layer 0
// has no backward part.
// TEXT:               parameters            forward                          backward                         unmarked
// TEXT-NEXT:module           bytes  per rank     ops   flops  coll.  received     ops   flops  coll.  received     ops   flops  coll.  received
// TEXT-NEXT:model              768        96       6   9.22k      3       672       2    128      0         0       3       0      0         0
// TEXT-NEXT:  layers           768        96       6   9.22k      3       672       2    128      0         0       3       0      0         0
// TEXT-NEXT:    0              256        32       2   3.07k      1       224       0       0      0         0       1       0      0         0
// TEXT-NEXT:      wq           256        32       2   3.07k      1       224       0       0      0         0       1       0      0         0
// TEXT-NEXT:    {1..2}         512        64       4   6.14k      2       448       2    128      0         0       2       0      0         0
// TEXT-NEXT:      wq           512        64       4   6.14k      2       448       2    128      0         0       2       0      0         0

// SHALLOW:     model
// SHALLOW-NEXT:  layers
// SHALLOW-NOT: wq

// LAYERS:      layers.0
// LAYERS-NEXT: layers.1
// LAYERS-NEXT: layers.2
// LAYERS-NOT:  wq
// ANYWHERE-NOT: layers.{{[01]}}
// ANYWHERE:     layers.2

// JSON:        "cluster": "h100-8",
// JSON:        "module": "",
// JSON-NEXT:   "parameters": {
// JSON-NEXT:     "count": 3,
// JSON-NEXT:     "elements": 192,
// JSON-NEXT:     "bytes": 768,
// JSON-NEXT:     "bytes_per_rank": 96
// JSON:          "forward": {
// JSON-NEXT:       "ops": 6,
// JSON-NEXT:       "flops": 9216,
// JSON-NEXT:       "collectives": {
// JSON-NEXT:         "all_gather": 3
// JSON-NEXT:       },
// JSON-NEXT:       "collective_bytes": 672,
// JSON-NEXT:       "compute_seconds": {{[0-9.e-]*[1-9]}},
// JSON-NEXT:       "collective_seconds": {{[0-9.e-]*[1-9]}}
// JSON:        "module": "layers",
// JSON:        "module": "layers.0",
// JSON:        "module": "layers.0.wq",
// JSON:        "module": "layers.1",

// NOTHING: error: pattern "blocks.*" of option 'module' matches no module; there are layers.{0..2}
// CLUSTER: regather: error: cannot read cluster file 'h100-9': No such file or directory; clusters known by name are a100-8,
func.func @step(
    %x: tensor<24x8xf32>,
    %w0: tensor<1x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.wq.weight", tg.placement = #tg.placement<@mesh [[dp] = shard 0]>},
    %w1: tensor<1x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.wq.weight", tg.placement = #tg.placement<@mesh [[dp] = shard 0]>},
    %w2: tensor<1x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.wq.weight", tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}) {
  %f0 = tg.all_gather %w0 on @mesh [dp] dim 0 phase forward {tg.module = "layers.0.wq"} : (tensor<1x8xf32>) -> !tg.future<tensor<8x8xf32>>
  %g0 = tg.wait %f0 : !tg.future<tensor<8x8xf32>>
  %y0 = tg.node "aten.mm.default"(%x, %g0) {tg.module = "layers.0.wq", tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
  %f1 = tg.all_gather %w1 on @mesh [dp] dim 0 phase forward {tg.module = "layers.1.wq"} : (tensor<1x8xf32>) -> !tg.future<tensor<8x8xf32>>
  %g1 = tg.wait %f1 : !tg.future<tensor<8x8xf32>>
  %y1 = tg.node "aten.mm.default"(%y0, %g1) {tg.module = "layers.1.wq", tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
  %f2 = tg.all_gather %w2 on @mesh [dp] dim 0 phase forward {tg.module = "layers.2.wq"} : (tensor<1x8xf32>) -> !tg.future<tensor<8x8xf32>>
  %g2 = tg.wait %f2 : !tg.future<tensor<8x8xf32>>
  %y2 = tg.node "aten.mm.default"(%y1, %g2) {tg.module = "layers.2.wq", tg.phase = #tg.phase<forward>} : (tensor<24x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
  %b2 = tg.node "aten.relu.default"(%g2) {tg.module = "layers.2.wq", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %b1 = tg.node "aten.relu.default"(%g1) {tg.module = "layers.1.wq", tg.phase = #tg.phase<backward>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}
