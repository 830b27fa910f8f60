// What `regather run` refuses to do to a step a second time, or in vain.

// RUN: split-file %s %t
// RUN: not regather run %t/sharded.mlir --mesh=dp:4 --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not regather run %t/sharded.mlir --replicate-axis=dp --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not regather run %t/updates.mlir --optimizer=adamw --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=UPDATES
// RUN: not regather run %t/loss.mlir --optimizer='adamw eps=1' --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not regather run %t/loss.mlir --report=- --random-inputs=1 --quiet 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: regather run %t/loss.mlir --report=%t/report --random-inputs=1 --quiet | FileCheck %s --check-prefix=STEPS
// RUN: FileCheck %s --check-prefix=FILE < %t/report
// A step without parameters runs on several ranks as it is.
// RUN: regather run %t/whole.mlir --ranks 2 --random-inputs=1 --json --quiet | FileCheck %s --check-prefix=WHOLE
// Complex arguments exist in captured graphs only: nodes are lowered first.
// RUN: regather run %t/complex.mlir --random-inputs=1 --quiet | FileCheck %s --check-prefix=COMPLEX

// COMPLEX: step 1/1
// MESH: sharded.mlir:1:1: error: the step lies over mesh "mesh" already, but a mesh dp:4 is asked for
// AXIS: regather: error: --replicate-axis needs --mesh
// UPDATES: updates.mlir:1:1: error: the step updates "w" already, but an optimizer "adamw" is asked for
// LOSS: loss.mlir:1:1: error: the step has no gradient of a parameter, but an optimizer "adamw eps=1" is asked for
// REPORT: regather: error: --report needs the name of a file
// STEPS: step 1/1  loss
// FILE: {"file":"{{.*}}loss.mlir","entry":"step","engine":"cpu","losses":[
// WHOLE: "ranks":2,
// WHOLE-SAME: "parameter_bytes_per_rank":0,

//--- sharded.mlir
tg.mesh @mesh [dp = 4]
func.func @step(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w"}) { return }
//--- updates.mlir
func.func @step(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w"})
    -> (tensor<2xf32> {tg.role = #tg.role<update of 0>}) {
  return %w : tensor<2xf32>
}
//--- whole.mlir
func.func @step(%x: tensor<2xf32> {tg.role = #tg.role<input>}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
//--- loss.mlir
func.func @step(%w: tensor<f32> {tg.role = #tg.role<parameter>, tg.name = "w"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}) {
  return %w : tensor<f32>
}
//--- complex.mlir
func.func @step(%x: tensor<2xcomplex<f32>> {tg.role = #tg.role<input>}) -> tensor<2x2xf32> {
  %y = tg.node "aten.view_as_real.default"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
