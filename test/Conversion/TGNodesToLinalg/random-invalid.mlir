// RUN: regather-opt %s -split-input-file --convert-tg-nodes-to-linalg -verify-diagnostics

func.func @no_bits(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{"aten.rand_like.default": argument "bits" is missing}}
  %0 = tg.node "aten.rand_like.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @wide_bits(%x: tensor<4xf32>, %bits: tensor<4xi64>) -> tensor<4xf32> {
  // expected-error@+1 {{"aten.rand_like.default": argument "bits" must have type tensor<4xi32>, got tensor<4xi64>}}
  %0 = tg.node "aten.rand_like.default"(%x, %bits) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @few_bits(%bits: tensor<3xi64>) -> tensor<4xf32> {
  // expected-error@+1 {{"aten.randn.default": argument "bits" must have type tensor<4xi64>, got tensor<3xi64>}}
  %0 = tg.node "aten.randn.default"(%bits) args [[4]] kwargs {bits = #tg.operand<0>} : (tensor<3xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @probability(%x: tensor<4xf32>, %bits: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi1>) {
  // expected-error@+1 {{"aten.native_dropout.default": argument "p" must be from 0.0}}
  %0:2 = tg.node "aten.native_dropout.default"(%x, %bits) args [#tg.operand<0>, 1.5, true] kwargs {bits = #tg.operand<1>}
      : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi1>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi1>
}

// -----

func.func @dropped_integers(%x: tensor<4xi32>, %bits: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi1>) {
  // expected-error@+1 {{"aten.native_dropout.default": expects a result of floats}}
  %0:2 = tg.node "aten.native_dropout.default"(%x, %bits) args [#tg.operand<0>, 0.5, true] kwargs {bits = #tg.operand<1>}
      : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi1>)
  return %0#0, %0#1 : tensor<4xi32>, tensor<4xi1>
}

// -----

func.func @empty_range(%bits: tensor<4xi64>) -> tensor<4xi64> {
  // expected-error@+1 {{"aten.randint.low": argument "high" must be more than 3, got 3}}
  %0 = tg.node "aten.randint.low"(%bits) args [3, 3, [4]] kwargs {bits = #tg.operand<0>} : (tensor<4xi64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

func.func @reversed(%x: tensor<4xf32>, %bits: tensor<4xi32>) -> tensor<4xf32> {
  // expected-error@+1 {{"aten.uniform.default": argument "to" must not be less than "from"}}
  %0 = tg.node "aten.uniform.default"(%x, %bits) args [#tg.operand<0>, 2.0, 1.0] kwargs {bits = #tg.operand<1>}
      : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @rate(%x: tensor<4xf32>, %bits: tensor<4xi32>) -> tensor<4xf32> {
  // expected-error@+1 {{"aten.exponential.default": argument "lambd" must be positive}}
  %0 = tg.node "aten.exponential.default"(%x, %bits) args [#tg.operand<0>, 0.0] kwargs {bits = #tg.operand<1>}
      : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @deviation(%bits: tensor<4xi64>) -> tensor<4xf32> {
  // expected-error@+1 {{"aten.normal.float_float": argument "std" must not be negative}}
  %0 = tg.node "aten.normal.float_float"(%bits) args [0.0, -1.0, [4]] kwargs {bits = #tg.operand<0>} : (tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @normal_integers(%bits: tensor<4xi64>) -> tensor<4xi32> {
  // expected-error@+1 {{"aten.randn.default": expects a result of floats}}
  %0 = tg.node "aten.randn.default"(%bits) args [[4]] kwargs {bits = #tg.operand<0>} : (tensor<4xi64>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @integer_probabilities(%x: tensor<4xi64>, %bits: tensor<4xi32>) -> tensor<4xi64> {
  // expected-error@+1 {{"aten.bernoulli.default": argument "self" must hold floats}}
  %0 = tg.node "aten.bernoulli.default"(%x, %bits) : (tensor<4xi64>, tensor<4xi32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
