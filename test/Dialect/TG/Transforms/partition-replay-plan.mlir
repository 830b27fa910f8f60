// RUN: regather-opt %s --tg-partition="mode=replay split=false" --tg-verify-step=policies | FileCheck %s
// RUN: regather-opt %s --tg-partition="mode=replay split=false" --remark-format=emitRemark --remarks-filter=tg-partition -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Without a record, the marks of a plan are what there is to replay.
// RUN: sed 's/, tg.saved_results = [^}]*}/}/' %s | regather-opt --tg-partition="mode=replay split=false" | FileCheck %s --check-prefix=PLAN
// PLAN: "aten.cos.default"{{.*}}tg.saved_results
// PLAN: "aten.exp.default"{{.*}}backward

// A record counts more than a plan: what it saves is saved, although
// tg-apply-policy would recompute it, and nothing else is, although it would
// save that. Afterwards, no mark of the plan contradicts what has become of the
// step.
// CHECK-LABEL: @step
// CHECK:       tg.node "aten.exp.default"{{.*}}{tg.id = "kept", tg.phase = #tg.phase<forward>, tg.saved_results = array<i64: 0>}
// CHECK:       tg.node "aten.cos.default"{{.*}}{tg.id = "dropped", tg.phase = #tg.phase<backward>}
// REMARK: what is recorded is replayed; the marks that tg-apply-policy has given do not count{{.*}}marks=2
func.func @step(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>, tg.id = "kept", tg.policy = #tg.policy<must_recompute, planned>, tg.saved_results = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.cos.default"(%x) {tg.phase = #tg.phase<forward>, tg.id = "dropped", tg.policy = #tg.policy<must_save, planned>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tg.node "aten.mul.Tensor"(%a, %b) {tg.phase = #tg.phase<backward>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}
