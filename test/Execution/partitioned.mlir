// A step that tg-partition has split: forward runs, then backward with what
// forward has saved. On both engines it does what the step did, and updates that
// forward makes do not change the arguments that backward reads.

// RUN: split-file %s %t
// RUN: regather-opt %t/step.mlir --tg-partition -o %t/parts.mlir
// RUN: FileCheck %s --check-prefix=PARTS < %t/parts.mlir
// RUN: regather run %t/step.mlir --engine=interpreter --random-inputs=1,integers --steps=3 --outputs %t/whole --quiet | FileCheck %s
// RUN: regather run %t/parts.mlir --engine=interpreter --random-inputs=1,integers --steps=3 --outputs %t/a --quiet | FileCheck %s
// RUN: regather run %t/parts.mlir --engine=cpu --random-inputs=1,integers --steps=3 --outputs %t/b --quiet | FileCheck %s
// RUN: cmp %t/whole %t/a
// RUN: cmp %t/whole %t/b
// Options of a pass hold for both parts.
// RUN: regather run %t/parts.mlir --check-plan --pass-option=exec-plan-memory:donate=false --random-inputs=1,integers --json --quiet | FileCheck %s --check-prefix=REPORT
// A part that is named runs alone.
// RUN: regather run %t/parts.mlir --entry=forward --random-inputs=1,integers --json --quiet | FileCheck %s --check-prefix=FORWARD
// Bundles, simulations and reports take both parts as one program.
// RUN: regather compile %t/parts.mlir -o %t/parts.rgb --quiet
// RUN: regather run %t/parts.rgb --random-inputs=1,integers --steps=3 --outputs %t/c --quiet | FileCheck %s
// RUN: cmp %t/whole %t/c
// RUN: regather simulate %t/parts.mlir --json=%t/parts.json | FileCheck %s --check-prefix=SIMULATED
// RUN: FileCheck %s --check-prefix=ENTRY --input-file=%t/parts.json
// RUN: regather report %t/parts.mlir --json=%t/report.json -o %t/report.html
// RUN: FileCheck %s --check-prefix=SAVED --input-file=%t/report.json
// RUN: not regather simulate %t/parts.mlir --policy=full 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: regather run %t/nothing-saved.mlir --random-inputs=1 --quiet | FileCheck %s
// RUN: not regather run %t/nothing-saved.mlir --ranks=2 --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not regather run %t/nothing-saved.mlir --optimizer=adamw --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=OPTIMIZER

// PARTS: func.func @forward
// PARTS-SAME: #tg.role<update of 0>
// PARTS-SAME: #tg.role<saved>
// PARTS: func.func @backward
// PARTS-SAME: #tg.role<update of 1>
// CHECK: step {{.}}/{{.}}  loss
// REPORT: "entry":"forward","engine":"cpu"
// FORWARD: "entry":"forward"
// MESH: nothing-saved.mlir:{{.*}}: error: the step is partitioned already, but a mesh "dp:2" is asked for
// OPTIMIZER: nothing-saved.mlir:{{.*}}: error: the step is partitioned already, but an optimizer "adamw" is asked for
// SIMULATED: step {{.*}} on 2 ranks of h100-8 (dp:2)
// ENTRY: "entry": "step"
// ENTRY: "name": "mul"
// SAVED: "entry": "step"
// SAVED: "after": {
// SAVED: "saved_bytes": {{[1-9]}}
// SAVED: "timing": {
// SAVED: "cluster": "h100-8"
// POLICY: parts.mlir:{{.*}}: error: the step is partitioned already, but a policy "full" is asked for

//--- step.mlir
// Forward updates the buffer, which backward reads as it was.
tg.mesh @mesh [dp = 2]
func.func @step(%b: tensor<4xf32> {tg.role = #tg.role<buffer>, tg.name = "b"},
                %w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"})
    -> (tensor<4xf32> {tg.role = #tg.role<update of 0>}, tensor<f32> {tg.role = #tg.role<loss>},
        tensor<4xf32> {tg.role = #tg.role<update of 1>}) {
  %y = tg.node "aten.mul.Tensor"(%b, %w) {tg.phase = #tg.phase<forward>, tg.id = "mul"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = tg.all_reduce max %y on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %next = tg.wait %0 {tg.phase = #tg.phase<forward>} : !tg.future<tensor<4xf32>>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<f32>
  %g = tg.node "aten.neg.default"(%y) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tg.all_reduce sum %g on @mesh [dp] phase backward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %sum = tg.wait %1 {tg.phase = #tg.phase<backward>} : !tg.future<tensor<4xf32>>
  %moved = tg.node "aten.sub.Tensor"(%sum, %b) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %next, %loss, %moved : tensor<4xf32>, tensor<f32>, tensor<4xf32>
}

//--- nothing-saved.mlir
func.func @forward(%x: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "x"}) -> (tensor<f32> {tg.role = #tg.role<loss>}) {
  %y = tg.node "aten.sum.default"(%x) : (tensor<2xf32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func @backward(%x: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "x"}) -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.neg.default"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
