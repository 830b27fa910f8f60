// Flat tensors that the verifier rejects.
// RUN: regather-opt %s -split-input-file -verify-diagnostics

func.func @rank(%flat: tensor<2x4xf32>) {
  // expected-error @+1 {{operand #0 must be 1-d ranked tensor, but got 'tensor<2x4xf32>'}}
  %0 = tg.unflatten %flat offsets [0] : (tensor<2x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @number(%flat: tensor<8xf32>) {
  // expected-error @+1 {{'tg.unflatten' op expects one offset for each of 1 results, got 2}}
  %0 = tg.unflatten %flat offsets [0, 4] : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dynamic_flat(%flat: tensor<?xf32>) {
  // expected-error @+1 {{'tg.unflatten' op flat tensor must have a static shape, got 'tensor<?xf32>'}}
  %0 = tg.unflatten %flat offsets [0] : (tensor<?xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dynamic_member(%a: tensor<?xf32>) {
  // expected-error @+1 {{'tg.flatten' op operand 0 must have a static shape, got 'tensor<?xf32>'}}
  %0 = tg.flatten %a offsets [0] : (tensor<?xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @element_type(%a: tensor<4xf32>, %b: tensor<4xbf16>) {
  // expected-error @+1 {{'tg.flatten' op operand 1 must have the element type 'f32' of the flat tensor, got 'tensor<4xbf16>'}}
  %0 = tg.flatten %a, %b offsets [0, 4] : (tensor<4xf32>, tensor<4xbf16>) -> tensor<8xf32>
  return
}

// -----

func.func @negative(%flat: tensor<8xf32>) {
  // expected-error @+1 {{'tg.unflatten' op offset of result 0 must not be negative, got -1}}
  %0 = tg.unflatten %flat offsets [-1] : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @overlap(%flat: tensor<8xf32>) {
  // expected-error @+1 {{'tg.unflatten' op result 1 begins at element 3, but the one before it ends at element 4}}
  %0:2 = tg.unflatten %flat offsets [0, 3] : (tensor<8xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  return
}

// -----

func.func @order(%a: tensor<4xf32>) {
  // expected-error @+1 {{'tg.flatten' op operand 1 begins at element 0, but the one before it ends at element 8}}
  %0 = tg.flatten %a, %a offsets [4, 0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @end(%a: tensor<4xf32>) {
  // expected-error @+1 {{'tg.flatten' op operand 0 has 4 elements from 5 on, but the flat tensor has 8}}
  %0 = tg.flatten %a offsets [5] : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @overflow(%a: tensor<4xf32>) {
  // expected-error @+1 {{'tg.flatten' op operand 0 has 4 elements from 9223372036854775807 on, but the flat tensor has 8}}
  %0 = tg.flatten %a offsets [9223372036854775807] : (tensor<4xf32>) -> tensor<8xf32>
  return
}
