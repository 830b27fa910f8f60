// RUN: regather-opt %s -split-input-file --tg-append-optimizer -verify-diagnostics | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-append-optimizer='keep-gradients state-dtype=bf16' -verify-diagnostics | FileCheck %s --check-prefix=KEEP
// RUN: regather-opt %s -split-input-file --tg-append-optimizer='optimizer=sgd momentum=0.9 nesterov' -verify-diagnostics | FileCheck %s --check-prefix=SGD
// RUN: regather-opt %s -split-input-file --tg-append-optimizer='optimizer=sgd momentum=0.9 dampening=0.5' -verify-diagnostics | FileCheck %s --check-prefix=DAMPENED
// RUN: regather-opt %s -split-input-file --tg-append-optimizer='max-norm=1.0' -verify-diagnostics | FileCheck %s --check-prefix=CLIP
// RUN: regather-opt %s -split-input-file --tg-append-optimizer='eps=0' -verify-diagnostics | FileCheck %s --check-prefix=NO-EPS
// RUN: regather-opt %s -split-input-file --tg-append-optimizer='optimizer=adamax' -verify-diagnostics | FileCheck %s --check-prefix=NO-EPS

// The parameter is f32, so that nothing is converted.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<4xf32> {tg.donated, tg.module = "norm", tg.name = "norm.weight.exp_avg", tg.role = #tg.role<optimizer_state>}
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<4xf32> {tg.donated, tg.module = "norm", tg.name = "norm.weight.exp_avg_sq", tg.role = #tg.role<optimizer_state>}
// CHECK-SAME: %[[LR:[a-z0-9]+]]: tensor<f32> {tg.name = "learning_rate", tg.role = #tg.role<learning_rate>}
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: tensor<i64> {tg.name = "step", tg.role = #tg.role<step>}
// CHECK-SAME: -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4xf32> {tg.role = #tg.role<update of 0>}, tensor<4xf32> {tg.role = #tg.role<update of 2>}, tensor<4xf32> {tg.role = #tg.role<update of 3>})
// CHECK: %[[SCALARS:.*]]:3 = linalg.generic
// CHECK-SAME: ins(%[[LR]], %[[STEP]] : tensor<f32>, tensor<i64>)
// CHECK-SAME: tg.phase = #tg.phase<optimizer>
// CHECK-COUNT-2: math.powf %{{.*}}, %{{.*}} : f64
// CHECK: %[[G:.*]] = arith.mulf %[[W]]
// CHECK-NEXT: %[[NEW:.*]]:3 = linalg.generic
// CHECK-SAME: iterator_types = ["parallel"]
// CHECK-SAME: ins(%[[W]], %[[M]], %[[V]], %[[G]], %[[SCALARS]]#0, %[[SCALARS]]#1, %[[SCALARS]]#2
// CHECK-SAME: outs(%[[W]], %[[M]], %[[V]]
// CHECK-SAME: tg.module = "norm", tg.phase = #tg.phase<optimizer>
// CHECK-NOT: arith.extf
// CHECK: math.sqrt
// CHECK: arith.negf
// CHECK: return %{{.*}}, %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2

// Gradients stay where they were; states are converted to and from bf16.
// KEEP-LABEL: func.func @step(
// KEEP-SAME: tensor<4xbf16> {tg.donated, tg.module = "norm", tg.name = "norm.weight.exp_avg",
// KEEP-SAME: -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4xf32> {tg.role = #tg.role<gradient of 0>}, tensor<4xf32> {tg.role = #tg.role<update of 0>}, tensor<4xbf16>
// KEEP: %[[G:.*]] = arith.mulf %{{.*}}phase<backward>
// KEEP-COUNT-2: arith.extf %{{.*}} : bf16 to f32
// KEEP-COUNT-2: arith.truncf %{{.*}} : f32 to bf16
// KEEP: return %{{.*}}, %[[G]],

// No dependence on the number of the step: SGD does not ask for it.
// SGD-LABEL: func.func @step(
// SGD-SAME: tg.name = "norm.weight.momentum_buffer"
// SGD-NOT: #tg.role<step>
// SGD: return

// With dampening, the first step differs.
// DAMPENED-LABEL: func.func @step(
// DAMPENED-SAME: #tg.role<step>
// DAMPENED: arith.cmpf oeq
// DAMPENED-NEXT: arith.constant 5.000000e-01 : f64
// DAMPENED-NEXT: arith.select

// Clipping waits for all gradients.
// CLIP-LABEL: func.func @step(
// CLIP: %[[G:.*]] = arith.mulf %{{.*}}phase<backward>
// CLIP-NEXT: arith.negf
// CLIP: %[[SQUARES:.*]] = linalg.generic
// CLIP-SAME: iterator_types = ["reduction"]
// CLIP-SAME: ins(%[[G]] : tensor<4xf32>) outs(%{{.*}} : tensor<f64>)
// CLIP: %[[CLIP:.*]] = linalg.generic
// CLIP-SAME: ins(%[[SQUARES]] : tensor<f64>) outs(%{{.*}} : tensor<f32>)
// CLIP: math.sqrt
// CLIP: arith.minimumf
// CLIP: linalg.generic
// CLIP-SAME: ins(%{{.*}}, %{{.*}}, %{{.*}}, %[[G]], %[[CLIP]],
// CLIP: return
// EXAMPLE tg-append-optimizer
func.func @step(
    %w: tensor<4xf32> {tg.role = #tg.role<parameter>, tg.name = "norm.weight", tg.module = "norm"},
    %x: tensor<4xf32> {tg.role = #tg.role<input>})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %loss = tensor.empty() : tensor<f32>
  %gradient = arith.mulf %w, %x {tg.phase = #tg.phase<backward>} : tensor<4xf32>
  %later = arith.negf %x {tg.phase = #tg.phase<backward>} : tensor<4xf32>
  return %loss, %gradient : tensor<f32>, tensor<4xf32>
}
// END

// -----

// A bf16 parameter is computed in f32; a scalar and an empty one work too. One
// set of scalars serves all f32 arithmetic, another one the f64 parameter.
// CHECK-LABEL: func.func @types(
// CHECK-SAME: tensor<2xf32> {{[^}]*}}tg.name = "half.exp_avg"
// CHECK-SAME: tensor<f32> {{[^}]*}}tg.name = "scalar.exp_avg"
// CHECK-SAME: tensor<0x3xf32> {{[^}]*}}tg.name = "empty.exp_avg"
// CHECK-SAME: tensor<2xf64> {{[^}]*}}tg.name = "double.exp_avg"
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<f32>, tensor<i64>) outs(%{{.*}} : tensor<f32>, tensor<f32>, tensor<f32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<f32>, tensor<i64>) outs(%{{.*}} : tensor<f64>, tensor<f64>, tensor<f64>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2xbf16>, tensor<2xf32>, tensor<2xf32>)
// CHECK-COUNT-2: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: linalg.generic {{.*}}iterator_types = []{{.*}} outs(%{{.*}} : tensor<f32>, tensor<f32>, tensor<f32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<0x3xf32>, tensor<0x3xf32>, tensor<0x3xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>)
func.func @types(
    %half: tensor<2xbf16> {tg.role = #tg.role<parameter>, tg.name = "half"},
    %scalar: tensor<f32> {tg.role = #tg.role<parameter>, tg.name = "scalar"},
    %empty: tensor<0x3xf32> {tg.role = #tg.role<parameter>, tg.name = "empty"},
    %double: tensor<2xf64> {tg.role = #tg.role<parameter>, tg.name = "double"})
    -> (tensor<2xbf16> {tg.role = #tg.role<gradient of 0>}, tensor<f32> {tg.role = #tg.role<gradient of 1>},
        tensor<0x3xf32> {tg.role = #tg.role<gradient of 2>}, tensor<2xf64> {tg.role = #tg.role<gradient of 3>}) {
  return %half, %scalar, %empty, %double : tensor<2xbf16>, tensor<f32>, tensor<0x3xf32>, tensor<2xf64>
}

// -----

// Sharded over dp, sharded over both axes (in either order), and replicated:
// three sums, two all-reduces. Padding does not count, and squares are added in
// the order of registration. The collective that was there comes first.
// CLIP-LABEL: func.func @sharded(
// CLIP-SAME: tg.name = "a.exp_avg", tg.placement = #tg.placement<@mesh {{\[\[}}dp] = shard 0] of [3, 2]>
// CLIP: tg.all_reduce sum %{{.*}} phase backward
// CLIP: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<f64>
// CLIP: %[[SUM_D:.*]] = linalg.generic {{.*}} ins(%arg3 : tensor<5xf32>) outs(%[[ZERO]] : tensor<f64>)
// CLIP: %[[RANK:.*]] = tg.axis_index on @mesh [dp]
// CLIP: %[[BEGIN:.*]] = arith.muli %[[RANK]]
// CLIP: %[[SIZE:.*]] = arith.subi %{{.*}}, %[[BEGIN]]
// CLIP: %[[SUM_A:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<2x2xf32>) outs(%[[ZERO]] : tensor<f64>)
// CLIP: %[[ROW:.*]] = linalg.index 0
// CLIP-NEXT: arith.cmpi slt, %[[ROW]], %[[SIZE]]
// CLIP: %[[SUM_B:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<2xf32>) outs(%[[ZERO]] : tensor<f64>)
// CLIP-NOT: linalg.index
// CLIP: %[[SUM_BC:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<2xf32>) outs(%[[SUM_B]] : tensor<f64>)
// CLIP: %[[FUTURE_A:.*]] = tg.all_reduce sum %[[SUM_A]] on @mesh [dp] phase optimizer : (tensor<f64>)
// CLIP: %[[A:.*]] = tg.wait %[[FUTURE_A]]
// CLIP: %[[DA:.*]] = linalg.generic {{.*}} ins(%[[SUM_D]], %[[A]] :
// CLIP: %[[FUTURE_BC:.*]] = tg.all_reduce sum %[[SUM_BC]] on @mesh [dp, tp] phase optimizer : (tensor<f64>)
// CLIP: %[[BC:.*]] = tg.wait %[[FUTURE_BC]]
// CLIP: %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[DA]], %[[BC]] :
// CLIP: linalg.generic {{.*}} ins(%[[ALL]] : tensor<f64>) outs(%{{.*}} : tensor<f32>)
// CLIP: return

// Without eps, padding would become 0 / 0, and the norm of Adamax is never zero. It stays zero, in the parameter and in
// its states; parts without padding are left alone.
// NO-EPS-LABEL: func.func @sharded(
// NO-EPS: %[[RANK:.*]] = tg.axis_index on @mesh [dp]
// NO-EPS: %[[BEGIN:.*]] = arith.muli %[[RANK]]
// NO-EPS: %[[SIZE:.*]] = arith.subi %{{.*}}, %[[BEGIN]]
// NO-EPS: linalg.generic {{.*}} outs(%arg0, %{{.*}} : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
// NO-EPS-COUNT-3: arith.select
// NO-EPS-NOT: arith.select
// NO-EPS: return

// Near miss: without clipping nothing is communicated, and with eps padding stays
// zero by itself.
// CHECK-LABEL: func.func @sharded(
// CHECK-NOT: arith.select
// CHECK-COUNT-1: tg.all_reduce
// CHECK-NOT: {{tg.all_reduce|arith.select}}
// CHECK: return
tg.mesh @mesh [dp = 2, tp = 2]
func.func @sharded(
    %a: tensor<2x2xf32> {tg.role = #tg.role<parameter>, tg.name = "a", tg.registration = 1 : i64, tg.placement = #tg.placement<@mesh [[dp] = shard 0] of [3, 2]>},
    %b: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "b", tg.registration = 2 : i64, tg.placement = #tg.placement<@mesh [[dp, tp] = shard 0]>},
    %c: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "c", tg.registration = 3 : i64, tg.placement = #tg.placement<@mesh [[tp, dp] = shard 0]>},
    %d: tensor<5xf32> {tg.role = #tg.role<parameter>, tg.name = "d", tg.registration = 0 : i64, tg.placement = #tg.placement<@mesh []>},
    %x: tensor<f32> {tg.role = #tg.role<input>})
    -> (tensor<2x2xf32> {tg.role = #tg.role<gradient of 0>}, tensor<2xf32> {tg.role = #tg.role<gradient of 1>},
        tensor<2xf32> {tg.role = #tg.role<gradient of 2>}, tensor<5xf32> {tg.role = #tg.role<gradient of 3>},
        tensor<f32>) {
  %future = tg.all_reduce sum %x on @mesh [dp] phase backward : (tensor<f32>) -> !tg.future<tensor<f32>>
  %y = tg.wait %future : !tg.future<tensor<f32>>
  return %a, %b, %c, %d, %y : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<5xf32>, tensor<f32>
}

// -----

// What is there is used: the learning rate, and the update of %v.
// CHECK-LABEL: func.func @captured(
// CHECK-SAME: tensor<f32> {tg.name = "rate", tg.role = #tg.role<learning_rate>}
// CHECK-SAME: tg.name = "w.exp_avg"
// CHECK-NOT: tg.name = "v.exp_avg"
// CHECK-NOT: tg.name = "learning_rate"
// CHECK-SAME: -> (tensor<2xf32> {tg.role = #tg.role<update of 1>}, tensor<2xf32> {tg.role = #tg.role<gradient of 1>}, tensor<2xf32> {tg.role = #tg.role<update of 0>},
// expected-warning@+1 {{1 of 2 parameters with a gradient get no update from the optimizer, since the step updates them already; the first is "v"}}
func.func @captured(
    %w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %v: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "v"},
    %rate: tensor<f32> {tg.role = #tg.role<learning_rate>, tg.name = "rate"})
    -> (tensor<2xf32> {tg.role = #tg.role<update of 1>}, tensor<2xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<2xf32> {tg.role = #tg.role<gradient of 1>}) {
  return %v, %w, %w : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-remark@+2 {{no optimizer is appended to "updated", which updates its parameters already}}
// CHECK-LABEL: func.func @updated(%arg0: tensor<2xf32> {tg.role = #tg.role<parameter>}) -> (tensor<2xf32> {tg.role = #tg.role<update of 0>}) {
func.func @updated(%w: tensor<2xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<2xf32> {tg.role = #tg.role<update of 0>}) {
  return %w : tensor<2xf32>
}

// -----

// expected-warning@+2 {{no optimizer is appended to "forward", which has 1 parameters but no gradient}}
// CHECK-LABEL: func.func @forward(%arg0: tensor<2xf32> {tg.role = #tg.role<parameter>}) -> tensor<2xf32> {
func.func @forward(%w: tensor<2xf32> {tg.role = #tg.role<parameter>}) -> tensor<2xf32> {
  return %w : tensor<2xf32>
}

// -----

// Near miss: not a step.
// CHECK-LABEL: func.func @helper(%arg0: tensor<2xf32>) -> tensor<2xf32> {
func.func @helper(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
