// RUN: regather stats %s --json | FileCheck %s --check-prefix=JSON
// RUN: regather stats %s | FileCheck %s --check-prefix=TEXT
// RUN: not regather stats %t.missing 2>&1 | FileCheck %s --check-prefix=MISSING

tg.mesh @mesh [dp = 4, tp = 2]

// JSON:      "ops": 7,
// JSON-NEXT: "nodes": 1,
// JSON-NEXT: "ops_by_dialect": {
// JSON-NEXT:   "tg": 7
// JSON-NEXT: },
// JSON-NEXT: "ops_by_phase": {
// JSON-NEXT:   "backward": 1,
// JSON-NEXT:   "forward": 3,
// JSON-NEXT:   "unmarked": 3
// JSON-NEXT: },
// JSON-NEXT: "flops_by_phase": {
// JSON-NEXT:   "backward": 0,
// A product of 10x8 and 8x4: 2 * 10 * 8 * 4.
// JSON-NEXT:   "forward": 640,

// Three shards of 3x8xf32 and of 1xbf16 are received: 3 * (96 + 2) bytes.
// JSON:      "kind": "all_gather",
// JSON-NEXT: "phase": "forward",
// JSON-NEXT: "mesh": "mesh",
// JSON-NEXT: "axes": [
// JSON-NEXT:   "dp"
// JSON-NEXT: ],
// JSON-NEXT: "ranks": 4,
// JSON-NEXT: "count": 1,
// JSON-NEXT: "tensors": 2,
// JSON-NEXT: "bytes": 294
// 2 * (8 - 1) * ceil(40 / 8) bytes.
// JSON:      "kind": "all_reduce",
// JSON-NEXT: "phase": "forward",
// JSON:        "dp",
// JSON-NEXT:   "tp"
// JSON:      "ranks": 8,
// JSON:      "bytes": 70
// JSON:      "kind": "reduce_scatter",
// JSON-NEXT: "phase": "backward",
// JSON:      "bytes": 288
// JSON:      "collective_count": 3,
// JSON-NEXT: "collective_bytes": 652,
// JSON:      "parameters": {
// JSON-NEXT:   "count": 2,
// JSON-NEXT:   "elements": 84,
// JSON-NEXT:   "bytes": 328,
// JSON-NEXT:   "bytes_per_rank": 98

// TEXT: 7 operations  tg 7
// TEXT: 2 parameters, 84 elements, 328 bytes, 98 on each rank
// TEXT: all_gather      forward    dp                1        2              294
// TEXT: all_reduce      forward    dp,tp             1        1               70
// TEXT: reduce_scatter  backward   dp                1        1              288

// MISSING: regather: error: cannot open input file
func.func @step(
    %w: tensor<3x8xf32> {tg.role = #tg.role<parameter>, tg.placement = #tg.placement<@mesh [[dp] = shard 0] of [10, 8]>},
    %b: tensor<1xbf16> {tg.role = #tg.role<parameter>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>},
    %x: tensor<8x4xf32> {tg.role = #tg.role<input>}, %z: tensor<10xf32>) {
  %0 = tg.all_gather %w, %b on @mesh [dp] dim 0 phase forward
      : (tensor<3x8xf32>, tensor<1xbf16>) -> !tg.future<tensor<10x8xf32>, tensor<4xbf16>>
  %full:2 = tg.wait %0 : !tg.future<tensor<10x8xf32>, tensor<4xbf16>>
  %y = tg.node "aten.mm.default"(%full#0, %x) {tg.phase = #tg.phase<forward>}
      : (tensor<10x8xf32>, tensor<8x4xf32>) -> tensor<10x4xf32>
  %1 = tg.all_reduce sum %z on @mesh [dp, tp] phase forward : (tensor<10xf32>) -> !tg.future<tensor<10xf32>>
  %2 = tg.wait %1 : !tg.future<tensor<10xf32>>
  %3 = tg.reduce_scatter sum %full#0 on @mesh [dp] dim 0 phase backward : (tensor<10x8xf32>) -> !tg.future<tensor<3x8xf32>>
  %4 = tg.wait %3 : !tg.future<tensor<3x8xf32>>
  return
}
