// What cannot be simulated, and orders that are none of the step's.

// RUN: split-file %s %t
// DEFINE: %{simulate} = not regather simulate %t/step.mlir --cluster=%S/Inputs/round-numbers.json
// RUN: %{simulate} --order=%t/early.txt 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: %{simulate} --order=%t/early.json 2>&1 | FileCheck %s --check-prefix=EARLY-JSON
// RUN: %{simulate} --order=%t/twice.txt 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: %{simulate} --order=%t/missing.txt 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: %{simulate} --order=%t/unknown.txt 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: %{simulate} --order=%t/numbers.json 2>&1 | FileCheck %s --check-prefix=NUMBERS
// RUN: %{simulate} --order=%t/cut.json 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: %{simulate} --order=%t/none.txt 2>&1 | FileCheck %s --check-prefix=NONE
// EARLY:      regather: error: {{.*}}early.txt:2: operation "wait" comes before "gather" on line 4, which it needs
// EARLY-JSON: regather: error: {{.*}}early.json:3: operation "use" comes before "wait" on line 4, which it needs
// TWICE:      regather: error: {{.*}}twice.txt:3: operation "gather" comes a second time, after line 1
// MISSING:    regather: error: {{.*}}missing.txt: operation "wait" is missing
// UNKNOWN:    regather: error: {{.*}}unknown.txt:2: the step has no operation "scatter"
// NUMBERS:    regather: error: {{.*}}numbers.json: expects a list of names, got an element that is no string
// CUT:        regather: error: {{.*}}cut.json: {{.*}}Expected
// NONE:       regather: error: cannot read order '{{.*}}none.txt':

// RUN: not regather simulate %t/step.mlir --cluster=h1000 2>&1 | FileCheck %s --check-prefix=CLUSTER
// CLUSTER: regather: error: cannot read cluster file 'h1000': {{.*}}; clusters known by name are a100-8,
// RUN: %{simulate} --ranks=8 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: step.mlir:1:1: error: {{.*}}4 ranks
// RUN: not regather simulate %t/large.mlir --cluster=%S/Inputs/round-numbers.json 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: large.mlir:1:1: error: {{.*}}16
// RUN: not regather simulate %t/nested.mlir --cluster=%S/Inputs/round-numbers.json 2>&1 | FileCheck %s --check-prefix=NESTED
// NESTED: nested.mlir:4:10: error: communication in control flow cannot be simulated
// RUN: %{simulate} --trace=%t/no/such/folder/trace.json 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: regather: error: cannot write '{{.*}}trace.json':
// RUN: %{simulate} --pass-option=tg-append-optimizer:optimizer=sgd 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: options for pass "tg-append-optimizer" are given, which this step does not go through

// Deep nesting is an error, not an overflow of the stack.
// RUN: %python -c "print('[' * 100000)" > %t/deep.json
// RUN: %{simulate} --order=%t/deep.json 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: %{simulate} --plan=%t/deep.json 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: not regather simulate %t/step.mlir --cluster=%t/deep.json 2>&1 | FileCheck %s --check-prefix=DEEP
// DEEP: regather: error: {{.*}}deep.json{{.*}}: values are nested deeper than 100 levels

//--- step.mlir
tg.mesh @mesh [dp = 4]
func.func @step(%x: tensor<2xf32>) -> tensor<8xf32> {
  %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward {tg.id = "gather"}
    : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
  %1 = tg.wait %0 {tg.id = "wait"} : !tg.future<tensor<8xf32>>
  %2 = tg.node "aten.relu.default"(%1) {tg.id = "use"} : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

//--- early.txt

wait
use
gather

//--- early.json
[
  "gather",
  "use",
  "wait"
]

//--- twice.txt
gather
wait
gather
use

//--- missing.txt
gather
use

//--- unknown.txt
gather
scatter

//--- numbers.json
["gather", 1]

//--- cut.json
["gather", "wait"

//--- large.mlir
tg.mesh @mesh [dp = 16]
func.func @step(%x: tensor<2xf32>) -> tensor<32xf32> {
  %0 = tg.all_gather %x on @mesh [dp] dim 0 phase forward
    : (tensor<2xf32>) -> !tg.future<tensor<32xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<32xf32>>
  return %1 : tensor<32xf32>
}

//--- nested.mlir
tg.mesh @mesh [dp = 4]
func.func @step(%x: tensor<8xf32>, %flag: i1) -> tensor<8xf32> {
  %0 = scf.if %flag -> tensor<8xf32> {
    %1 = tg.all_reduce sum %x on @mesh [dp] phase forward
      : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
    %2 = tg.wait %1 : !tg.future<tensor<8xf32>>
    scf.yield %2 : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
