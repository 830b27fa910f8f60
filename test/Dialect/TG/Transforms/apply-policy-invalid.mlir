// RUN: not regather-opt %s --tg-apply-policy="modules=layers.0" 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not regather-opt %s --tg-apply-policy="modules=layers.0:some" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not regather-opt %s --tg-apply-policy="modules=head:full" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not regather-opt %s --tg-apply-policy="policy=selective save=aten.mm.*" 2>&1 | FileCheck %s --check-prefix=SAVE
// RUN: not regather-opt %s --tg-apply-policy="policy=selective save=aten.[" 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not regather-opt %s --tg-apply-policy="budget=1 policy=full" 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not regather-opt %s --tg-apply-policy="budget=1 cluster=none.json" 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not regather-opt %s --tg-apply-policy="policy=full cluster=h100-8" 2>&1 | FileCheck %s --check-prefix=UNUSED-CLUSTER
// RUN: not regather-opt %s --tg-apply-policy="policy=full every-second-product=true" 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: not regather-opt %s --tg-apply-policy="policy=selective save=aten.exp.* every-second-product=true" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not regather-opt %s --tg-apply-policy="policy=full units=2" 2>&1 | FileCheck %s --check-prefix=UNITS
// RUN: not regather-opt %s --tg-apply-policy="policy=full units=1 modules=layers.0:none" 2>&1 | FileCheck %s --check-prefix=NAMED
// RUN: not regather-opt %s --tg-apply-policy="policy=full units=-2" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not regather-opt %s --tg-apply-policy="units=1 others=full" 2>&1 | FileCheck %s --check-prefix=NO-POLICY
// RUN: not regather-opt %s --tg-apply-policy="policy=full others=selective" 2>&1 | FileCheck %s --check-prefix=OTHERS
// RUN: not regather-opt %s --tg-apply-policy="policy=full units=1 others=selective every-second-product=true save=aten.mm.*" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not regather-opt %s --tg-apply-policy="budget=1 others=full" 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: regather-opt %s --tg-apply-policy="modules=layers.0:selective every-second-product=true" -o %t

// UNITS: error: option 'units' is for the first 2 of 1 units of forward
// NAMED: error: option 'units' is for the first 1 of 0 units of forward
// NEGATIVE: error: 'units' expects a number of units, got -2
// NO-POLICY: error: 'units' has no effect without 'policy'
// OTHERS: error: 'others' has no effect without 'units'
// UNUSED-CLUSTER: error: 'cluster' has no effect without 'budget'
// SECOND: error: 'every-second-product' has no effect without 'policy=selective'
// BOTH: error: 'every-second-product' has no effect with 'save', which lists what is saved
// PLAN: error: 'modules' expects PATTERN:none, PATTERN:full or PATTERN:selective, got "layers.0"
// KIND: error: 'modules' expects PATTERN:none, PATTERN:full or PATTERN:selective, got "layers.0:some"
// NOTHING: error: pattern "head" of option 'modules' matches no module of forward
// SAVE: error: pattern "aten.mm.*" of option 'save' matches no operation whose policy is selective
// BUDGET: error: option 'budget' is a plan for all of forward; no other one can be given with it
// CLUSTER: error: cannot read cluster file 'none.json'
// GLOB: error: pattern "aten.[" of option 'save' is malformed
func.func @step(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %b = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}
