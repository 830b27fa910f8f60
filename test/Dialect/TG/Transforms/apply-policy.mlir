// RUN: regather-opt %s -split-input-file --tg-apply-policy=policy=full | FileCheck %s --check-prefix=FULL
// RUN: regather-opt %s -split-input-file --tg-apply-policy=policy=selective | FileCheck %s --check-prefix=SELECTIVE
// RUN: regather-opt %s -split-input-file --tg-apply-policy | FileCheck %s --check-prefix=NONE
// RUN: regather-opt %s -split-input-file --tg-apply-policy=policy=full --remark-format=emitRemark --remarks-filter=tg-apply-policy -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The first layer's result goes on to the second one, and the second one's to
// the loss, which is in no block: both are saved. Nothing else of a unit is,
// but for what the user has marked. Gathers of parameters get no mark.
// FULL-LABEL: @step
// FULL: tg.all_gather {{.*}} {tg.module = "layers.0"} :
// FULL: aten.mm.default{{.*}}tg.module = "layers.0.up", tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute, planned>
// FULL: aten.relu.default{{.*}}tg.module = "layers.0", tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_save, planned>
// FULL: aten.mm.default{{.*}}tg.module = "layers.1.up", {{.*}}must_recompute
// FULL: aten.exp.default{{.*}}must_save
// FULL: tg.all_reduce {{.*}}must_recompute
// FULL: tg.wait {{.*}} {tg.module = "layers.1", tg.phase = #tg.phase<forward>} :
// FULL: aten.add.Tensor{{.*}}must_save
// FULL: aten.sum.default{{.*}}tg.module = "loss", tg.phase = #tg.phase<forward>}
// FULL-NOT: tg.policy
// FULL-LABEL: @selection
// REMARK: recomputed=3, saved=2

// SELECTIVE-LABEL: @step
// SELECTIVE: aten.mm.default{{.*}}must_save
// SELECTIVE: aten.relu.default{{.*}}must_save
// SELECTIVE: aten.mm.default{{.*}}must_save
// SELECTIVE: aten.exp.default{{.*}}must_save
// SELECTIVE: tg.all_reduce {{.*}}must_save
// SELECTIVE: aten.add.Tensor{{.*}}must_save

// NONE-COUNT-1: tg.policy =
// NONE-NOT: tg.policy =
// EXAMPLE tg-apply-policy{policy=full}
tg.mesh @mesh [dp = 2]

func.func @step(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}, %x: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward {tg.module = "layers.0"}
      : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %whole = tg.wait %future {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} : !tg.future<tensor<4x4xf32>>
  %a = tg.node "aten.mm.default"(%x, %whole) {tg.phase = #tg.phase<forward>, tg.module = "layers.0.up"}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = tg.node "aten.relu.default"(%a) {tg.phase = #tg.phase<forward>, tg.module = "layers.0"}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tg.node "aten.mm.default"(%b, %b) {tg.phase = #tg.phase<forward>, tg.module = "layers.1.up"}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = tg.node "aten.exp.default"(%c) {tg.phase = #tg.phase<forward>, tg.module = "layers.1", tg.policy = #tg.policy<must_save>}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %sum = tg.all_reduce sum %d on @mesh [dp] phase forward {tg.module = "layers.1"}
      : (tensor<4x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %e = tg.wait %sum {tg.phase = #tg.phase<forward>, tg.module = "layers.1"} : !tg.future<tensor<4x4xf32>>
  %f = tg.node "aten.add.Tensor"(%e, %d) {tg.phase = #tg.phase<forward>, tg.module = "layers.1"}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.sum.default"(%f) {tg.phase = #tg.phase<forward>, tg.module = "loss"} : (tensor<4x4xf32>) -> tensor<f32>
  %g = tg.node "aten.mul.Tensor"(%a, %c) {tg.phase = #tg.phase<backward>, tg.module = "layers.0"}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %g : tensor<f32>, tensor<4x4xf32>
}
// END

// -----

// Reductions are small, and saved; a random operation of its own is not the
// same the second time, one that is told its bits is.
// SELECTIVE-LABEL: @selection
// SELECTIVE: aten.sum.dim_IntList{{.*}}must_save
// SELECTIVE: aten.div.Tensor{{.*}}must_recompute
// SELECTIVE: aten.t.default{{.*}}must_recompute
// SELECTIVE: aten.rand_like.default{{.*}}must_save
// SELECTIVE: tg.random {{.*}}must_recompute
func.func @selection(%x: tensor<8x8xf32>, %n: tensor<i64>) -> tensor<8x8xf32> {
  %sum = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1], true] {tg.phase = #tg.phase<forward>, tg.module = "m"}
      : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %y = tg.node "aten.div.Tensor"(%x, %sum) {tg.phase = #tg.phase<forward>, tg.module = "m"} : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %t = tg.node "aten.t.default"(%y) {tg.phase = #tg.phase<forward>, tg.module = "m"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = tg.node "aten.rand_like.default"(%y) {tg.phase = #tg.phase<forward>, tg.module = "m"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %bits = tg.random %n, %n stream 0 {tg.phase = #tg.phase<forward>, tg.module = "m"} : tensor<8x8xi32>
  %s = tg.node "aten.mul.Tensor"(%t, %r) {tg.phase = #tg.phase<forward>, tg.module = "m"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %s : tensor<8x8xf32>
}
