// RUN: regather-opt %s -split-input-file --tg-verify-step -verify-diagnostics

tg.mesh @mesh [dp = 4]
func.func @branch_on_rank(%y: tensor<f32>) {
  %rank = tg.axis_index on @mesh [dp]
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %rank, %c0 : index
  // expected-note@+1 {{'scf.if' depends on the rank here}}
  scf.if %first {
    // expected-error@+1 {{is nested in control flow that may differ between ranks}}
    %0 = tg.all_reduce sum %y on @mesh [dp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
    %1 = tg.wait %0 : !tg.future<tensor<f32>>
  }
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @branch_on_sharded_data(
    %x: tensor<2xi1> {tg.placement = #tg.placement<@mesh [[dp] = shard 0]>}, %y: tensor<f32>) {
  %c0 = arith.constant 0 : index
  %condition = tensor.extract %x[%c0] : tensor<2xi1>
  // expected-note@+1 {{'scf.if' depends on the rank here}}
  scf.if %condition {
    // expected-error@+1 {{is nested in control flow that may differ between ranks}}
    %0 = tg.all_reduce sum %y on @mesh [dp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
    %1 = tg.wait %0 : !tg.future<tensor<f32>>
  }
  return
}

// -----

// A gather over one axis leaves differences along the other.
tg.mesh @mesh [dp = 2, tp = 2]
func.func @branch_on_partly_gathered(
    %x: tensor<2xi1> {tg.placement = #tg.placement<@mesh [[dp, tp] = shard 0]>}, %y: tensor<f32>) {
  %c0 = arith.constant 0 : index
  %future = tg.all_gather %x on @mesh [tp] dim 0 phase forward : (tensor<2xi1>) -> !tg.future<tensor<4xi1>>
  %all = tg.wait %future : !tg.future<tensor<4xi1>>
  %condition = tensor.extract %all[%c0] : tensor<4xi1>
  // expected-note@+1 {{'scf.if' depends on the rank here}}
  scf.if %condition {
    // expected-error@+1 {{is nested in control flow that may differ between ranks}}
    %0 = tg.all_reduce sum %y on @mesh [dp, tp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
    %1 = tg.wait %0 : !tg.future<tensor<f32>>
  }
  return
}

// -----

tg.mesh @mesh [dp = 4]
func.func @loop_to_rank(%y: tensor<f32>) {
  %rank = tg.axis_index on @mesh [dp]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note@+1 {{'scf.for' depends on the rank here}}
  scf.for %i = %c0 to %rank step %c1 {
    // expected-error@+1 {{is nested in control flow that may differ between ranks}}
    %0 = tg.all_reduce sum %y on @mesh [dp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
    %1 = tg.wait %0 : !tg.future<tensor<f32>>
  }
  return
}

// -----

// The condition of a while loop depends on what the loop carries.
tg.mesh @mesh [dp = 4]
func.func @while_on_rank(%y: tensor<f32>) {
  %rank = tg.axis_index on @mesh [dp]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note@+1 {{'scf.while' depends on the rank here}}
  %n = scf.while (%i = %rank) : (index) -> index {
    %more = arith.cmpi sgt, %i, %c0 : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i: index):
    // expected-error@+1 {{is nested in control flow that may differ between ranks}}
    %0 = tg.all_reduce sum %y on @mesh [dp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>
    %1 = tg.wait %0 : !tg.future<tensor<f32>>
    %next = arith.subi %i, %c1 : index
    scf.yield %next : index
  }
  return
}

// -----

func.func @dynamic_result(%n: index) {
  // expected-error@+1 {{'%0' must have a static shape, but dimension 1 of 'tensor<2x?xf32>' is dynamic}}
  %0 = tensor.empty(%n) : tensor<2x?xf32>
  return
}

// -----

// expected-error@+1 {{'%arg0' must have a static shape, but dimension 0 of 'tensor<?xf32>' is dynamic}}
func.func @dynamic_argument(%x: tensor<?xf32>) {
  return
}

// -----

// expected-error@+1 {{'%arg0' must have a static shape, got 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error@+1 {{a future may not enter or leave a function}}
func.func @passes_future(%x: !tg.future<tensor<2xf32>>) -> !tg.future<tensor<2xf32>> {
  return %x : !tg.future<tensor<2xf32>>
}

// -----

// expected-error@+1 {{arguments 0 and 2 have the same name "w"}}
func.func @same_name(%a: f32 {tg.name = "w"}, %b: f32 {tg.name = "v"}, %c: f32 {tg.name = "w"}) {
  return
}

// -----

// expected-error@+1 {{results 0 and 1 are both the loss}}
func.func @two_losses(%a: f32) -> (f32 {tg.role = #tg.role<loss>}, f32 {tg.role = #tg.role<loss>}) {
  return %a, %a : f32, f32
}

// -----

// expected-error@+1 {{results 0 and 1 are both the update of argument 0}}
func.func @two_updates(%a: f32 {tg.role = #tg.role<parameter>})
    -> (f32 {tg.role = #tg.role<update of 0>}, f32 {tg.role = #tg.role<update of 0>}) {
  return %a, %a : f32, f32
}

// -----

// expected-error@+1 {{argument 1 has a gradient (result 1) but no update, although the step has an optimizer}}
func.func @missing_update(%a: f32 {tg.role = #tg.role<parameter>}, %b: f32 {tg.role = #tg.role<parameter>},
                          %rate: tensor<f32> {tg.role = #tg.role<learning_rate>})
    -> (f32 {tg.role = #tg.role<update of 0>}, f32 {tg.role = #tg.role<gradient of 1>}) {
  return %a, %b : f32, f32
}

// -----

// Forward is marked, backward is not: all of it would count as forward.
// expected-note@+1 {{result 1 is a gradient}}
func.func @backward_without_phase(%w: tensor<4xf32> {tg.role = #tg.role<parameter>})
    -> (tensor<f32> {tg.role = #tg.role<loss>}, tensor<4xf32> {tg.role = #tg.role<gradient of 0>}) {
  %y = tg.node "aten.exp.default"(%w) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  %loss = tg.node "aten.sum.default"(%y) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<f32>
  // expected-error@+1 {{only gradients need this operation, but it has no 'tg.phase' and counts as forward; tg-infer-phases marks what is backward}}
  %dy = tg.node "aten.full_like.default"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %dw = tg.node "aten.mul.Tensor"(%dy, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %loss, %dw : tensor<f32>, tensor<4xf32>
}

// -----

// expected-error@+1 {{arguments 0 and 2 both have role "learning_rate"}}
func.func @two_learning_rates(%a: tensor<f32> {tg.role = #tg.role<learning_rate>}, %b: tensor<i64> {tg.role = #tg.role<step>},
                              %c: tensor<f32> {tg.role = #tg.role<learning_rate>}) {
  return
}

// -----

// expected-error@+1 {{arguments 0 and 1 have the same name "w"}}
func.func @member_name(
    %flat: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "flat",
                          tg.members = #tg.members<["w" at 0 of [2]]>},
    %w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w"}) {
  return
}
