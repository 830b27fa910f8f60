// Kernels and launches that the verifier rejects.
// RUN: regather-opt %s -split-input-file -verify-diagnostics

tg.mesh @mesh [dp = 2]
tg.kernel @communicates(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'tg.all_reduce' op has effects, which a kernel must not have}}
  %f = tg.all_reduce sum %x on @mesh [dp] phase forward : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %y = tg.wait %f : !tg.future<tensor<4xf32>>
  tg.return %y : tensor<4xf32>
}

// -----

tg.kernel @returns(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'tg.return' op returns 'tensor<4xf32>', but kernel 'returns' has the results 'tensor<8xf32>'}}
  tg.return %x : tensor<4xf32>
}

// -----

func.func @launch(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'tg.launch' op names 'missing', which is no kernel}}
  %y = tg.launch @missing(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @function(tensor<4xf32>) -> tensor<4xf32>
func.func @launch(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'tg.launch' op names 'function', which is no kernel}}
  %y = tg.launch @function(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-note @+1 {{the kernel}}
tg.kernel @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  tg.return %x : tensor<4xf32>
}
func.func @launch(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'tg.launch' op has type '(tensor<8xf32>) -> tensor<8xf32>', but kernel 'kernel' has type '(tensor<4xf32>) -> tensor<4xf32>'}}
  %y = tg.launch @kernel(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{failed to verify constraint: region with 1 blocks}}
"tg.kernel"() <{function_type = () -> (), sym_name = "empty"}> ({}) : () -> ()

// -----

// expected-error @+1 {{'tg.rows' of argument 0 names dimension 1, which 'tensor<4xf32>' does not have}}
tg.kernel @rows(%x: tensor<4xf32> {tg.rows = 1 : i64}) -> tensor<4xf32> {
  tg.return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'tg.rows' of result 0 names dimension -1, which 'tensor<4xf32>' does not have}}
tg.kernel @rows(%x: tensor<4xf32>) -> (tensor<4xf32> {tg.rows = -1 : i64}) {
  tg.return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{attribute 'tg.rows' must be an i64, got 0 : i32}}
tg.kernel @rows(%x: tensor<4xf32> {tg.rows = 0 : i32}) -> tensor<4xf32> {
  tg.return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'tg.rows' of argument 0 is for kernels}}
func.func @rows(%x: tensor<4xf32> {tg.rows = 0 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
