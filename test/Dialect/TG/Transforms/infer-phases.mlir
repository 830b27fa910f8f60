// RUN: regather-opt %s -split-input-file --tg-infer-phases | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-infer-phases --tg-verify-step -o %t

// What was captured comes out as it was captured.
// RUN: regather-translate --import-fx %S/../../../../examples/llama3-debug.fx.json | regather-opt -o %t.captured
// RUN: sed -E 's/(, )?tg\.phase = #tg\.phase<[a-z]+>//' %t.captured | sed 's/ {, / {/' > %t.stripped
// RUN: not grep tg.phase %t.stripped
// RUN: regather-opt %t.stripped --tg-infer-phases -o %t.inferred
// RUN: diff %t.captured %t.inferred

// The loss needs what is forward, and so does the new mean of the buffer. Only
// gradients need the view of the input and what comes behind the loss. A result
// that depends on a gradient, such as its norm, is not forward. The wait has
// the phase of its collective.
// CHECK-LABEL: @gradients
// CHECK: "aten.mm.default"{{.*}} {tg.phase = #tg.phase<forward>}
// CHECK: "aten.mean.default"{{.*}} {tg.phase = #tg.phase<forward>}
// CHECK: "test.average"{{.*}} {tg.phase = #tg.phase<forward>}
// CHECK: "aten.full_like.default"{{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: "aten.t.default"{{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: "aten.mm.default"{{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: tg.wait {{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: "aten.norm.default"{{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: "test.unused"{{.*}} {tg.phase = #tg.phase<forward>}
// EXAMPLE tg-infer-phases
tg.mesh @mesh [dp = 2]

func.func @gradients(
    %w: tensor<4x4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %mean: tensor<f32> {tg.role = #tg.role<buffer>, tg.name = "mean"},
    %x: tensor<4x4xf32> {tg.role = #tg.role<input>, tg.name = "x"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<f32> {tg.role = #tg.role<update of 1>},
        tensor<4x4xf32> {tg.role = #tg.role<gradient of 0>}, tensor<f32>) {
  %y = tg.node "aten.mm.default"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = tg.node "aten.mean.default"(%y) : (tensor<4x4xf32>) -> tensor<f32>
  %new = tg.node "test.average"(%mean, %y) : (tensor<f32>, tensor<4x4xf32>) -> tensor<f32>
  %dy = tg.node "aten.full_like.default"(%y) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %xt = tg.node "aten.t.default"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %dw = tg.node "aten.mm.default"(%xt, %dy) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = tg.all_reduce sum %dw on @mesh [dp] phase backward : (tensor<4x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %sum = tg.wait %0 : !tg.future<tensor<4x4xf32>>
  %norm = tg.node "aten.norm.default"(%sum) : (tensor<4x4xf32>) -> tensor<f32>
  %unused = tg.node "test.unused"(%y) : (tensor<4x4xf32>) -> tensor<f32>
  return %loss, %new, %sum, %norm : tensor<f32>, tensor<f32>, tensor<4x4xf32>, tensor<f32>
}
// END

// -----

// The optimizer is what updates need besides gradients: the decay, too, which
// reads none. Marks stay: the step that is marked as forward makes what it reads
// forward.
// CHECK-LABEL: @updates
// CHECK: "aten.exp.default"{{.*}} {tg.phase = #tg.phase<forward>}
// CHECK: "aten.sum.default"{{.*}} {tg.phase = #tg.phase<forward>}
// CHECK: "aten.mul.Tensor"{{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: "test.decay"{{.*}} {tg.phase = #tg.phase<optimizer>}
// CHECK: "test.momentum"{{.*}} {tg.phase = #tg.phase<optimizer>}
// CHECK: "aten.sub.Tensor"{{.*}} {tg.phase = #tg.phase<optimizer>}
// CHECK: "test.metric"{{.*}} {tg.phase = #tg.phase<forward>}
// CHECK: "test.marked"{{.*}} {tg.phase = #tg.phase<forward>}
func.func @updates(
    %w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %m: tensor<4xf32> {tg.role = #tg.role<optimizer_state>, tg.name = "w.momentum_buffer"},
    %lr: tensor<f32> {tg.role = #tg.role<learning_rate>, tg.name = "lr"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<4xf32> {tg.role = #tg.role<update of 0>}, tensor<4xf32> {tg.role = #tg.role<update of 1>}) {
  %y = tg.node "aten.exp.default"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %loss = tg.node "aten.sum.default"(%y) : (tensor<4xf32>) -> tensor<f32>
  %dw = tg.node "aten.mul.Tensor"(%y, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %decay = tg.node "test.decay"(%w, %lr) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %momentum = tg.node "test.momentum"(%m, %dw) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %new = tg.node "aten.sub.Tensor"(%decay, %momentum) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %metric = tg.node "test.metric"(%y) : (tensor<4xf32>) -> tensor<f32>
  %marked = tg.node "test.marked"(%metric) {tg.phase = #tg.phase<forward>} : (tensor<f32>) -> tensor<f32>
  return %loss, %dw, %new, %momentum : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Backward is marked, so that it tells itself from the optimizer, although no
// gradient is returned.
// CHECK-LABEL: @marked_backward
// CHECK: "aten.sum.default"{{.*}} {tg.phase = #tg.phase<forward>}
// CHECK: "aten.neg.default"{{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: "aten.mul.Tensor"{{.*}} {tg.phase = #tg.phase<backward>}
// CHECK: "aten.sub.Tensor"{{.*}} {tg.phase = #tg.phase<optimizer>}
func.func @marked_backward(%w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "w"})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4xf32> {tg.role = #tg.role<update of 0>}) {
  %loss = tg.node "aten.sum.default"(%w) : (tensor<4xf32>) -> tensor<f32>
  %n = tg.node "aten.neg.default"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %dw = tg.node "aten.mul.Tensor"(%n, %n) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %new = tg.node "aten.sub.Tensor"(%w, %dw) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %loss, %new : tensor<f32>, tensor<4xf32>
}

// -----

// A step without gradients is forward.
// CHECK-LABEL: @forward_only
// CHECK-COUNT-2: {tg.phase = #tg.phase<forward>}
func.func @forward_only(%w: tensor<4xf32> {tg.role = #tg.role<parameter>}) -> tensor<4xf32> {
  %y = tg.node "aten.exp.default"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %z = tg.node "aten.exp.default"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
