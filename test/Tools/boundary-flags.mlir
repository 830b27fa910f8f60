// What lives on from forward to backward, by flags of `regather run` and
// `regather compile`.

// RUN: split-file %s %t
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --json --quiet --schedule=none | FileCheck %s --check-prefixes=CUT,KEPT
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --json --quiet --schedule=none --recompute=none | FileCheck %s --check-prefixes=SAVED,KEPT
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --json --quiet --recompute=min-cut --engine=interpreter | FileCheck %s --check-prefix=KEPT
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --json --quiet --schedule=none --reshard=never | FileCheck %s --check-prefixes=CUT,KEPT
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --json --quiet --reshard=always | FileCheck %s --check-prefix=RELEASED
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --json --quiet --reshard='never modules=up:always' --engine=interpreter | FileCheck %s --check-prefix=RELEASED
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --json --quiet --reshard=modules=up:never | FileCheck %s --check-prefix=KEPT
// Spaces and commas of a regular expression are its own; the path of a file is none.
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --json --quiet --reshard='never modules=/up|a, b/:always' | FileCheck %s --check-prefix=RELEASED
// RUN: not regather run %t/step.mlir --ranks=2 --random-inputs=1 --quiet --recompute='min-cut cluster=/no/such/file.json' 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --json --quiet --plan='{"tg-reshard-after-forward": {"mode": "always"}, "tg-apply-policy": {"policy": "full"}}' | FileCheck %s --check-prefix=RELEASED
// RUN: regather run %t/step.mlir --ranks=4 --random-inputs=1 --json --quiet --reshard='always group=2' | FileCheck %s --check-prefix=GROUP
// The bits are the same whatever is decided.
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --quiet --recompute=none --outputs %t/a
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --quiet --reshard=always --policy=full --outputs %t/b
// RUN: regather compile %t/step.mlir --ranks=2 --quiet --reshard=always --policy='selective save=aten.exp.*' -o %t/step.rgb
// RUN: regather run %t/step.rgb --random-inputs=1 --quiet --outputs %t/c
// RUN: cmp %t/a %t/b
// RUN: cmp %t/a %t/c
// A step about which something is decided is run as it is.
// RUN: regather-opt %t/step.mlir --regather-training-pipeline='mesh=dp:2 recompute=default bucket=none schedule=none lower=false' -o %t/decided.mlir
// RUN: regather run %t/decided.mlir --random-inputs=1 --json --quiet | FileCheck %s --check-prefix=SAVED
// RUN: regather run %t/decided.mlir --random-inputs=1 --json --quiet --recompute=min-cut | FileCheck %s --check-prefix=CUT

// The exponential, 512 bytes, is computed again.
// SAVED:     "planned_bytes":33856,
// CUT:       "planned_bytes":33344,
// KEPT:      "collectives":[{"kind":"all_gather","phase":"forward",
// KEPT-NOT:  "all_gather","phase":"backward"
// RELEASED:  {"kind":"all_gather","phase":"forward",{{.*}}{"kind":"all_gather","phase":"backward",{{.*}}"ranks":2
// GROUP:     {"kind":"all_gather","phase":"forward","mesh":"mesh","axes":["dp"],"ranks":4,
// GROUP-NOT: "phase":"backward","mesh":"mesh","axes":["dp"],"ranks":4,{{.*}}"phase":"backward"
// GROUP:     {"kind":"all_gather","phase":"backward","mesh":"mesh_groups","axes":["dp_inner"],"ranks":2,

// RUN: not regather run %t/step.mlir --ranks=2 --random-inputs=1 --quiet --reshard=sometimes 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not regather run %t/step.mlir --ranks=2 --random-inputs=1 --quiet --reshard=modules=down:always 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not regather run %t/step.mlir --ranks=2 --random-inputs=1 --quiet --reshard='always group=3' 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not regather run %t/step.mlir --ranks=2 --random-inputs=1 --quiet --policy=most 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not regather run %t/step.mlir --ranks=2 --random-inputs=1 --quiet --recompute=some 2>&1 | FileCheck %s --check-prefix=RECOMPUTE
// RUN: not regather run %t/step.rgb --random-inputs=1 --quiet --reshard=always 2>&1 | FileCheck %s --check-prefix=BUNDLE
// RUN: not regather run %t/step.rgb --random-inputs=1 --quiet --compile-threads=2 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not regather run %t/step.rgb --random-inputs=1 --quiet --cache-dir=%t/cache 2>&1 | FileCheck %s --check-prefix=CACHE
// RUN: regather-opt %t/decided.mlir --tg-partition -o %t/parts.mlir
// RUN: not regather run %t/parts.mlir --random-inputs=1 --quiet --recompute=min-cut 2>&1 | FileCheck %s --check-prefix=PARTS

// FILE: '/no/such/file.json'
// MODE: --reshard expects always, never, default or none, got "sometimes"
// PATTERN: error: pattern "down" of option 'modules' matches no module of a gathered parameter
// RANKS: error: the 2 ranks of this gather cannot be cut into groups of 3
// POLICY: --policy expects none, full or selective, got "most"
// RECOMPUTE: --recompute expects min-cut, default, replay, budget or none, got "some"
// BUNDLE: --reshard has no effect on a bundle
// THREADS: --compile-threads has no effect on a bundle
// CACHE: --cache-dir has no effect on a bundle
// PARTS: error: the step is partitioned already, but recomputation "min-cut" is asked for

//--- step.mlir
func.func @step(%w: tensor<64x64xf32> {tg.role = #tg.role<parameter>, tg.name = "up.w", tg.module = "up"},
                %x: tensor<4x64xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<64x64xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>, tg.module = "up", tg.id = "y"} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %e = tg.node "aten.exp.default"(%y) {tg.phase = #tg.phase<forward>, tg.module = "up", tg.id = "e"} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %loss = tg.node "aten.sum.default"(%e) {tg.phase = #tg.phase<forward>, tg.id = "loss"} : (tensor<4x64xf32>) -> tensor<f32>
  %t = tg.node "aten.t.default"(%w) {tg.phase = #tg.phase<backward>, tg.module = "up", tg.id = "t"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = tg.node "aten.mul.Tensor"(%e, %y) {tg.phase = #tg.phase<backward>, tg.id = "d"} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %m = tg.node "aten.mm.default"(%d, %t) {tg.phase = #tg.phase<backward>, tg.module = "up", tg.id = "m"} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %xt = tg.node "aten.t.default"(%x) {tg.phase = #tg.phase<backward>, tg.module = "up", tg.id = "xt"} : (tensor<4x64xf32>) -> tensor<64x4xf32>
  %g = tg.node "aten.mm.default"(%xt, %m) {tg.phase = #tg.phase<backward>, tg.module = "up", tg.id = "g"} : (tensor<64x4xf32>, tensor<4x64xf32>) -> tensor<64x64xf32>
  return %loss, %g : tensor<f32>, tensor<64x64xf32>
}
