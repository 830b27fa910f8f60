// A plan for the first units that forward runs, and another one for the others.

// RUN: regather-opt %s --tg-apply-policy="policy=full units=1" | FileCheck %s --check-prefix=FIRST
// RUN: regather-opt %s --tg-apply-policy="policy=full units=2 others=selective" | FileCheck %s --check-prefix=TWO
// RUN: regather-opt %s --tg-apply-policy="policy=full units=3" > %t.all
// RUN: regather-opt %s --tg-apply-policy="policy=full" | diff - %t.all
// RUN: regather-opt %s --tg-apply-policy="policy=full units=0 others=selective" > %t.none
// RUN: regather-opt %s --tg-apply-policy="policy=selective" | diff - %t.none
// RUN: regather-opt %s --tg-apply-policy="policy=full units=1 modules=layers.2:none" | FileCheck %s --check-prefix=NAMED

// The first unit is the one that runs first, whatever its number.
// FIRST: aten.mm.default{{.*}}"layers.2"{{.*}}must_recompute
// FIRST: aten.exp.default{{.*}}"layers.2"{{.*}}must_save
// FIRST-NOT: tg.policy<
// FIRST: return

// TWO: aten.mm.default{{.*}}"layers.2"{{.*}}must_recompute
// TWO: aten.exp.default{{.*}}"layers.2"{{.*}}must_save
// TWO: aten.mm.default{{.*}}"layers.0"{{.*}}must_recompute
// TWO: aten.exp.default{{.*}}"layers.0"{{.*}}must_save
// TWO: aten.mm.default{{.*}}"layers.1"{{.*}}must_save
// TWO: aten.exp.default{{.*}}"layers.1"{{.*}}must_save

// A unit that a pattern names does not count.
// NAMED: "layers.2", tg.phase = #tg.phase<forward>}
// NAMED: "layers.2", tg.phase = #tg.phase<forward>}
// NAMED: aten.mm.default{{.*}}"layers.0"{{.*}}must_recompute
// NAMED: "layers.1", tg.phase = #tg.phase<forward>}
func.func @step(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = tg.node "aten.mm.default"(%x, %x) {tg.phase = #tg.phase<forward>, tg.module = "layers.2"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.exp.default"(%a) {tg.phase = #tg.phase<forward>, tg.module = "layers.2"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tg.node "aten.mm.default"(%b, %b) {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = tg.node "aten.exp.default"(%c) {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = tg.node "aten.mm.default"(%d, %d) {tg.phase = #tg.phase<forward>, tg.module = "layers.1"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = tg.node "aten.exp.default"(%e) {tg.phase = #tg.phase<forward>, tg.module = "layers.1"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = tg.node "aten.add.Tensor"(%f, %f) {tg.phase = #tg.phase<forward>, tg.module = "head"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}
