// What a captured step gets on several ranks if no flag decides.

// RUN: split-file %s %t
// RUN: regather-opt %t/step.mlir --regather-training-pipeline='mesh=dp:2 lower=false' | FileCheck %s --check-prefixes=RELEASED,CUT
// RUN: regather-opt %t/step.mlir --regather-training-pipeline='mesh=dp:2 plan=as-captured lower=false' | FileCheck %s --check-prefix=CAPTURED
// Flags stay what they are, each by itself.
// RUN: regather-opt %t/step.mlir --regather-training-pipeline='mesh=dp:2 reshard=never lower=false' | FileCheck %s --check-prefixes=KEPT,CUT
// RUN: regather-opt %t/step.mlir --regather-training-pipeline='mesh=dp:2 recompute=none lower=false' | FileCheck %s --check-prefix=RELEASED
// RUN: regather-opt %t/step.mlir --regather-training-pipeline='mesh=dp:2 plan=as-captured reshard=never lower=false' | FileCheck %s --check-prefixes=KEPT,UNCUT
// One rank has no collectives, and a step that is sharded already its own mesh.
// RUN: regather-opt %t/step.mlir --regather-training-pipeline='lower=false' | FileCheck %s --check-prefixes=ALONE,CUT
// RUN: regather-opt %t/step.mlir --tg-shard-parameters=mesh=dp:2 --regather-training-pipeline='lower=false' | FileCheck %s --check-prefixes=RELEASED,CUT
// What is decided stays.
// RUN: regather-opt %t/step.mlir --tg-shard-parameters=mesh=dp:2 --tg-reshard-after-forward=mode=never --regather-training-pipeline='lower=false' | FileCheck %s --check-prefixes=KEPT,UNCUT
// As text, the pipeline is what it was.
// RUN: regather-opt %t/step.mlir --regather-training-pipeline='mesh=dp:2 policy={full modules=up:none} lower=false' --dump-pass-pipeline 2>&1 >/dev/null | FileCheck %s --check-prefix=TEXT
// RUN: not regather-opt %t/step.mlir --regather-training-pipeline='plan=captured' 2>&1 | FileCheck %s --check-prefix=PLAN

// RELEASED-DAG: tg.name = "up.{{[^"]*}}", {{[^}]*}}tg.reshard = #tg.reshard<always>
// RELEASED-DAG: tg.name = "down.{{[^"]*}}", {{[^}]*}}tg.reshard = #tg.reshard<never>
// RELEASED:     tg.all_gather {{.*}} phase backward generation 1
// KEPT:         tg.reshard = #tg.reshard<never>{{.*}}tg.reshard = #tg.reshard<never>
// KEPT-NOT:     phase backward generation 1
// CUT:          tg.node "aten.exp.default"{{.*}}#tg.phase<backward>
// UNCUT-NOT:    tg.node "aten.exp.default"{{.*}}#tg.phase<backward>
// ALONE-NOT:    tg.reshard
// CAPTURED-NOT: tg.reshard
// CAPTURED-NOT: phase backward generation 1
// CAPTURED-NOT: tg.node "aten.exp.default"{{.*}}#tg.phase<backward>
// TEXT:         regather-training-pipeline{lower=false mesh=dp:2 policy={full modules=up:none}}
// PLAN:         plan expects "as-captured", got "captured"

// The commands choose the same, and buckets and an order, too.
// RUN: regather simulate %t/step.mlir --mesh=dp:2 --cluster=%S/Inputs/round-numbers.json --json=%t/chosen.json
// RUN: regather simulate %t/step.mlir --mesh=dp:2 --cluster=%S/Inputs/round-numbers.json --json=%t/said.json --reshard=default --recompute=min-cut --bucket=auto --schedule=auto
// RUN: regather simulate %t/step.mlir --mesh=dp:2 --cluster=%S/Inputs/round-numbers.json --json=%t/captured.json --plan=as-captured
// RUN: regather simulate %t/step.mlir --mesh=dp:2 --cluster=%S/Inputs/round-numbers.json --json=%t/none.json --reshard=none --recompute=none --bucket=none --schedule=none
// RUN: cmp %t/chosen.json %t/said.json
// RUN: cmp %t/captured.json %t/none.json
// RUN: not cmp -s %t/chosen.json %t/captured.json
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --quiet --outputs=%t/chosen
// RUN: regather run %t/step.mlir --ranks=2 --random-inputs=1 --quiet --outputs=%t/captured --plan=as-captured
// RUN: cmp %t/chosen %t/captured
// Options of passes go over what is chosen; a plan file and as-captured go together.
// RUN: echo '{"tg-bucket-collectives": {"plan": "[up,down]"}}' > %t/plan.json
// RUN: regather simulate %t/step.mlir --mesh=dp:2 --plan=%t/plan.json --cluster=%S/Inputs/round-numbers.json --json=%t/planned.json
// RUN: regather simulate %t/step.mlir --mesh=dp:2 --bucket='[up,down]' --cluster=%S/Inputs/round-numbers.json --json=%t/bucket.json
// RUN: cmp %t/planned.json %t/bucket.json
// RUN: regather simulate %t/step.mlir --mesh=dp:2 --plan=as-captured --plan=%t/plan.json --cluster=%S/Inputs/round-numbers.json --json=%t/planned.json
// RUN: regather simulate %t/step.mlir --mesh=dp:2 --plan=as-captured --bucket='[up,down]' --cluster=%S/Inputs/round-numbers.json --json=%t/bucket.json
// RUN: cmp %t/planned.json %t/bucket.json

//--- step.mlir
func.func @step(%w: tensor<64x64xf32> {tg.role = #tg.role<parameter>, tg.name = "up.w", tg.module = "up"},
                %v: tensor<64x64xf32> {tg.role = #tg.role<parameter>, tg.name = "down.w", tg.module = "down"},
                %x: tensor<4x64xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<64x64xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<64x64xf32> {tg.role = #tg.role<gradient of 1>}) {
  %y = tg.node "aten.mm.default"(%x, %w) {tg.phase = #tg.phase<forward>, tg.module = "up", tg.id = "y"} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %e = tg.node "aten.exp.default"(%y) {tg.phase = #tg.phase<forward>, tg.module = "up", tg.id = "e"} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %z = tg.node "aten.mm.default"(%e, %v) {tg.phase = #tg.phase<forward>, tg.module = "down", tg.id = "z"} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %loss = tg.node "aten.sum.default"(%z) {tg.phase = #tg.phase<forward>, tg.id = "loss"} : (tensor<4x64xf32>) -> tensor<f32>
  %vt = tg.node "aten.t.default"(%v) {tg.phase = #tg.phase<backward>, tg.module = "down", tg.id = "vt"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %de = tg.node "aten.mm.default"(%z, %vt) {tg.phase = #tg.phase<backward>, tg.module = "down", tg.id = "de"} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %et = tg.node "aten.t.default"(%e) {tg.phase = #tg.phase<backward>, tg.module = "down", tg.id = "et"} : (tensor<4x64xf32>) -> tensor<64x4xf32>
  %dv = tg.node "aten.mm.default"(%et, %z) {tg.phase = #tg.phase<backward>, tg.module = "down", tg.id = "dv"} : (tensor<64x4xf32>, tensor<4x64xf32>) -> tensor<64x64xf32>
  %dy = tg.node "aten.mul.Tensor"(%de, %y) {tg.phase = #tg.phase<backward>, tg.module = "up", tg.id = "dy"} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %wt = tg.node "aten.t.default"(%w) {tg.phase = #tg.phase<backward>, tg.module = "up", tg.id = "wt"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %dx = tg.node "aten.mm.default"(%dy, %wt) {tg.phase = #tg.phase<backward>, tg.module = "up", tg.id = "dx"} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  %xt = tg.node "aten.t.default"(%dx) {tg.phase = #tg.phase<backward>, tg.module = "up", tg.id = "xt"} : (tensor<4x64xf32>) -> tensor<64x4xf32>
  %dw = tg.node "aten.mm.default"(%xt, %dy) {tg.phase = #tg.phase<backward>, tg.module = "up", tg.id = "dw"} : (tensor<64x4xf32>, tensor<4x64xf32>) -> tensor<64x64xf32>
  return %loss, %dw, %dv : tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>
}
