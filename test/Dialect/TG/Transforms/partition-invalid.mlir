// RUN: regather-opt %s -split-input-file --tg-partition=mode=min-cut -verify-diagnostics
// RUN: not regather-opt %s -split-input-file --tg-partition="mode=replay saved=gone" 2>&1 | FileCheck %s --check-prefix=GONE
// RUN: not regather-opt %s -split-input-file --tg-partition="mode=replay saved=exp:1" 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not regather-opt %s -split-input-file --tg-partition="saved=exp" 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not regather-opt %s -split-input-file --tg-partition="mode=replay" 2>&1 | FileCheck %s --check-prefix=NOTHING

// GONE: error: record names "gone", but no operation of forward has the id "gone"
// INDEX: error: record names "exp:1", but the operation has 1 results
// MODE: error: option 'saved' is for mode replay
// NOTHING: error: there is nothing to replay: no operation of forward has 'tg.saved_results' or 'tg.policy'
// NOTHING: error: record saves gathered parameter "w" for backward, although its 'tg.reshard' is #tg.reshard<always>
// NOTHING: note: the parameter is declared here
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>, tg.id = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
  %g = tg.node "aten.neg.default"(%a) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

func.func @micro_batches(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note@+1 {{the value is computed here}}
  %g = tg.node "aten.neg.default"(%a) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{forward reads a value that backward computes, so that the step cannot be split}}
  %b = tg.node "aten.exp.default"(%g) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// expected-note@+1 {{the step is here}}
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// expected-error@+1 {{name "forward" is that of a part of the partitioned step}}
func.func private @forward()

// -----

// expected-note@+1 {{the first one is here}}
func.func @one() { return }
// expected-error@+1 {{module has several public functions; one of them can be partitioned}}
func.func @two() { return }

// -----

// expected-error@+1 {{step is called, so that it cannot be split}}
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

func.func private @caller(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @step(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{step is called, so that it cannot be split}}
func.func @recursive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @recursive(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Only updates leave a function on the host.
func.func @step(%x: tensor<4xf32> {tg.role = #tg.role<parameter>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = tg.node "aten.exp.default"(%x) {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
  %start = tg.offload %y {tg.phase = #tg.phase<forward>} : (tensor<4xf32>) -> !tg.future<tensor<4xf32, #tg.host>>
  // expected-error@+1 {{a value on the host lives on from forward to backward, so that the step cannot be split}}
  %away = tg.wait %start : !tg.future<tensor<4xf32, #tg.host>>
  %back = tg.fetch %away {tg.phase = #tg.phase<backward>} : (tensor<4xf32, #tg.host>) -> !tg.future<tensor<4xf32>>
  %again = tg.wait %back : !tg.future<tensor<4xf32>>
  %z = tg.node "aten.neg.default"(%again) {tg.phase = #tg.phase<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// The record was made before the parameter was released. Anything but a replay
// gathers it again.
tg.mesh @mesh [dp = 2]
func.func @step(%w: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "w", tg.reshard = #tg.reshard<always>}) -> tensor<4xf16> {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 {tg.phase = #tg.phase<forward>} : !tg.future<tensor<4xf32>>
  %2 = tg.node "aten._to_copy.default"(%1) kwargs {dtype = f16} {tg.phase = #tg.phase<forward>, tg.saved_results = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf16>
  %3 = tg.node "aten.neg.default"(%2) {tg.phase = #tg.phase<backward>} : (tensor<4xf16>) -> tensor<4xf16>
  return %3 : tensor<4xf16>
}
