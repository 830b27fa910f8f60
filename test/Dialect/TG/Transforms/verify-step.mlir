// RUN: regather-opt %s -split-input-file --tg-verify-step=fingerprint -verify-diagnostics | FileCheck %s

// The pass leaves the step as it is.
// CHECK-LABEL: @step
// CHECK: tg.all_gather
// EXAMPLE tg-verify-step
tg.mesh @mesh [dp = 4]

func.func @step(
    %w: tensor<2x8xf32> {tg.role = #tg.role<parameter>, tg.name = "weight",
                         tg.placement = #tg.placement<@mesh [[dp] = shard 0]>})
    -> tensor<8x8xf32> {
  %future = tg.all_gather %w on @mesh [dp] dim 0 phase forward
      : (tensor<2x8xf32>) -> !tg.future<tensor<8x8xf32>>
  %weight = tg.wait %future : !tg.future<tensor<8x8xf32>>
  return %weight : tensor<8x8xf32>
}
// END
// expected-remark@-10 {{fingerprint 76a4b289f523fdd6 of 1 collectives}}

// -----

// Every rank has the whole of %all, so that they agree on the branch.
tg.mesh @mesh [dp = 4]
// expected-remark@+1 {{of 2 collectives}}
func.func @equal_condition(%x: tensor<2xi1> {tg.placement = #tg.placement<@mesh [[dp] = shard 0]>},
                           %y: tensor<f32>) {
  %c0 = arith.constant 0 : index
  %future = tg.all_gather %x on @mesh [dp] dim 0 phase forward
      : (tensor<2xi1>) -> !tg.future<tensor<8xi1>>
  %all = tg.wait %future : !tg.future<tensor<8xi1>>
  %condition = tensor.extract %all[%c0] : tensor<8xi1>
  scf.if %condition {
    %0 = tg.all_reduce sum %y on @mesh [dp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
    %1 = tg.wait %0 : !tg.future<tensor<f32>>
  }
  return
}

// -----

// Ranks may branch as they like where they do not communicate.
tg.mesh @mesh [dp = 4]
// expected-remark@+1 {{of 1 collectives}}
func.func @rank_dependent_compute(%y: tensor<f32>) {
  %rank = tg.axis_index on @mesh [dp]
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %rank, %c0 : index
  %z = scf.if %first -> tensor<f32> {
    scf.yield %y : tensor<f32>
  } else {
    %double = arith.addf %y, %y : tensor<f32>
    scf.yield %double : tensor<f32>
  }
  %0 = tg.all_reduce sum %z on @mesh [dp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
  %1 = tg.wait %0 : !tg.future<tensor<f32>>
  return
}

// -----

// A loop whose bounds are equal everywhere, although it carries rank data.
tg.mesh @mesh [dp = 4]
// expected-remark@+1 {{of 1 collectives}}
func.func @equal_loop(%y: tensor<f32> {tg.placement = #tg.placement<@mesh [[dp] = partial sum]>},
                      %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %y) -> tensor<f32> {
    %1 = tg.all_reduce avg %x on @mesh [dp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
    %2 = tg.wait %1 : !tg.future<tensor<f32>>
    scf.yield %2 : tensor<f32>
  }
  return
}

// -----

// Without updates, a step for gradients only.
func.func @gradients_only(%w: tensor<2xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>}) {
  return %w : tensor<2xf32>
}

// -----

// Near miss: a buffer is updated, parameters are left to the caller.
func.func @gradients_and_buffer(%w: tensor<2xf32> {tg.role = #tg.role<parameter>},
                                %mean: tensor<2xf32> {tg.role = #tg.role<buffer>})
    -> (tensor<2xf32> {tg.role = #tg.role<gradient of 0>},
        tensor<2xf32> {tg.role = #tg.role<update of 1>}) {
  return %w, %mean : tensor<2xf32>, tensor<2xf32>
}

// -----

// A mark that tg-rematerialize has still to follow is no error.
func.func @not_recomputed_yet(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>, tg.policy = #tg.policy<must_recompute>} : (tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.neg.default"(%a) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// What reads a value of backward is backward without a phase of its own, and
// what is made of constants needs none. Forward needs none at all.
// CHECK-LABEL: func.func @backward_by_its_operands(
func.func @backward_by_its_operands(%w: tensor<4xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %loss = tg.node "aten.sum.default"(%w) : (tensor<4xf32>) -> tensor<f32>
  %one = tg.node "aten.ones.default"() : () -> tensor<4xf32>
  %two = tg.node "aten.add.Tensor"(%one, %one) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = tg.node "aten.mul.Tensor"(%w, %two) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %dw = tg.node "aten.neg.default"(%d) : (tensor<4xf32>) -> tensor<4xf32>
  return %loss, %dw : tensor<f32>, tensor<4xf32>
}

// -----

// Without a loss, nothing tells which operations only gradients need.
// CHECK-LABEL: func.func @gradients_alone(
func.func @gradients_alone(%w: tensor<4xf32> {tg.role = #tg.role<parameter>}) -> (tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %dw = tg.node "aten.exp.default"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  return %dw : tensor<4xf32>
}

// -----

// Without an optimizer, a parameter that the model itself changes may have an
// update, while the caller gets the gradients.
// CHECK-LABEL: func.func @changes_one_parameter(
func.func @changes_one_parameter(%a: f32 {tg.role = #tg.role<parameter>}, %b: f32 {tg.role = #tg.role<parameter>})
    -> (f32 {tg.role = #tg.role<update of 0>}, f32 {tg.role = #tg.role<gradient of 1>}) {
  return %a, %b : f32, f32
}
