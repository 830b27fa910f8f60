// Plans for modules, and what selective saves.

// RUN: regather-opt %s --tg-apply-policy="modules=layers.0:full,layers.1:selective" | FileCheck %s --check-prefix=MODULES
// RUN: regather-opt %s --tg-apply-policy="policy=selective save=aten.ex*" | FileCheck %s --check-prefix=SAVE
// RUN: regather-opt %s --tg-apply-policy="policy=selective every-second-product=true" | FileCheck %s --check-prefix=SECOND

// MODULES: aten.mm.default{{.*}}must_recompute
// MODULES: aten.exp.default{{.*}}must_recompute
// MODULES: aten.relu.default{{.*}}must_save
// MODULES: aten.mm.default{{.*}}must_save
// MODULES: aten.exp.default{{.*}}must_recompute

// SAVE: aten.mm.default{{.*}}must_recompute
// SAVE: aten.exp.default{{.*}}must_save
// SAVE: aten.relu.default{{.*}}must_save
// SAVE: aten.mm.default{{.*}}must_recompute
// SAVE: aten.exp.default{{.*}}must_save

// SECOND: aten.mm.default{{.*}}must_save
// SECOND: aten.mm.default{{.*}}must_recompute
func.func @step(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.exp.default"(%a) {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tg.node "aten.relu.default"(%b) {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = tg.node "aten.mm.default"(%c, %c) {tg.phase = #tg.phase<forward>, tg.module = "layers.1"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = tg.node "aten.exp.default"(%d) {tg.phase = #tg.phase<forward>, tg.module = "layers.1"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = tg.node "aten.relu.default"(%e) {tg.phase = #tg.phase<forward>, tg.module = "layers.1"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %f : tensor<4x4xf32>
}
